// Operators on the host: by name, by the shapes of their inputs, or by the stack that called them. A
// click on a row shows its stack or shapes in full.
import { useState } from "preact/hooks";
import { source, useAnswer, version } from "../answer";
import { Note, Waiting } from "../banner";
import { Choice } from "../flame/flame_panel";
import { shortName } from "../flame/layout";
import type { Cell } from "../format";
import type { TableAnswer } from "../source";
import { run, setState, stateOf } from "../state";
import { cellOf, DataTable } from "../table";
import { ToTimeline } from "./links";
import { framesOf, operatorColumns } from "./operator_columns";
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
        <OperatorTable key={by} table={table} />
      )}
    </section>
  );
}

function OperatorTable({ table }: { table: TableAnswer }) {
  const [chosen, setChosen] = useState<Cell[] | null>(null);
  const cell = (row: Cell[], column: string) => {
    if (column === "stack") {
      return framesOf(cellOf(table, row, "stack"))
        .map(shortName)
        .join(" ← ");
    }
    if (column !== "name") return undefined;
    const name = String(cellOf(table, row, "name"));
    return (
      <>
        <ToTimeline name={name} /> {name}
      </>
    );
  };
  return (
    <>
      <DataTable
        id="operators"
        label="Operators"
        table={table}
        columns={operatorColumns(table)}
        bars={["self_host_ns", "self_device_ns"]}
        sort="-self_host_ns"
        cell={cell}
        onRow={(row) => setChosen(row === chosen ? null : row)}
        isSelected={(row) => row === chosen}
      />
      {chosen && <OperatorDetails table={table} row={chosen} />}
    </>
  );
}

function OperatorDetails({ table, row }: { table: TableAnswer; row: Cell[] }) {
  const frames = framesOf(cellOf(table, row, "stack"));
  const shapes = cellOf(table, row, "input_shapes");
  return (
    <div class="fixed-part row-details">
      <strong>{String(cellOf(table, row, "name"))}</strong>
      {shapes !== null && <pre>{String(shapes)}</pre>}
      {frames.length > 0 && (
        <ol>
          {frames.map((frame, depth) => (
            <li key={depth}>
              <ToTimeline name={frame} /> {frame}
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}
