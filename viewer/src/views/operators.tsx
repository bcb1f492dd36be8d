// Operators on the host: by name, by the shapes of their inputs, or by the stack that called them.
import { source, useAnswer, version } from "../answer";
import { Note, Waiting } from "../banner";
import { Choice } from "../flame/flame_panel";
import type { Cell } from "../format";
import { run, setState, stateOf } from "../state";
import { cellOf, DataTable } from "../table";
import { ToTimeline } from "./links";
import { operatorColumns } from "./operator_columns";
import "./views.css";

export function Operators() {
  const by = stateOf("operators.by").value;
  const answer = useAnswer(
    (signal) => source.table(run.value, "operators", { limit: 0, by }, signal),
    [run.value, version(), by],
  );
  const table = answer.data;
  return (
    <section class="view">
      <div class="view-tools">
        <Choice
          title="By"
          value={by}
          options={[
            ["", "name"],
            ["shape", "name and input shapes"],
            ["stack", "name and Python stack"],
          ]}
          onChange={(value) => setState({ "operators.by": value })}
        />
      </div>
      {!table ? (
        <Waiting answer={answer} />
      ) : table.rows.length === 0 ? (
        <Note>{table.stats?.notes?.join(" ") ?? "No operators in this run"}.</Note>
      ) : (
        <DataTable
          id="operators"
          label="Operators"
          table={table}
          columns={operatorColumns(table)}
          bars={["self_host_ns", "self_device_ns"]}
          sort="-self_host_ns"
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
      )}
    </section>
  );
}
