// What ran on the devices, by name, and how well each device was used.
import { source, useAnswer, version } from "../answer";
import { Note, Waiting } from "../banner";
import type { Cell } from "../format";
import { run } from "../state";
import { cellOf, DataTable } from "../table";
import { ToTimeline } from "./links";
import "./views.css";

export function Kernels() {
  const depends = [run.value, version()];
  const kernels = useAnswer(
    (signal) => source.table(run.value, "kernels", { limit: 0 }, signal),
    depends,
  );
  const devices = useAnswer((signal) => source.table(run.value, "devices", {}, signal), depends);
  const table = kernels.data;
  if (!table) return <Waiting answer={kernels} />;
  if (table.rows.length === 0) {
    return <Note>{table.stats?.notes?.join(" ") ?? "No kernels of a device in this run"}.</Note>;
  }
  return (
    <section class="view">
      {devices.data && devices.data.rows.length > 0 && (
        <div class="fixed-part">
          <h2>Devices</h2>
          <DataTable id="devices" table={devices.data} hasFilter={false} visibleRows={8} />
        </div>
      )}
      <DataTable
        id="kernels"
        label="Kernels"
        table={table}
        bars={["total_ns"]}
        sort="-total_ns"
        cell={(row: Cell[], column: string) => {
          if (column !== "name") return undefined;
          const name = String(cellOf(table, row, "name"));
          return (
            <>
              <ToTimeline name={name} /> {name}
            </>
          );
        }}
      />
    </section>
  );
}
