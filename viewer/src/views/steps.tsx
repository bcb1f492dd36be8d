// Every step in figures: by what the training thread did, or by what was going on anywhere.
import { source, useAnswer, version } from "../answer";
import { Note, Waiting } from "../banner";
import { Choice } from "../flame/flame_panel";
import type { Cell } from "../format";
import { run, setState, stateOf } from "../state";
import { cellOf, DataTable } from "../table";
import { hrefOfRange } from "./links";
import "./views.css";

export function Steps() {
  const shown = stateOf("steps.show", "phases").value;
  const name = shown === "steps" ? "steps" : "phases";
  const answer = useAnswer(
    (signal) => source.table(run.value, name, { limit: 0 }, signal),
    [run.value, version(), name],
  );
  const table = answer.data;
  return (
    <section class="view">
      <div class="view-tools">
        <Choice
          title="Time by"
          value={name}
          options={[
            ["phases", "phases of the training thread"],
            ["steps", "what ran anywhere"],
          ]}
          onChange={(value) => setState({ "steps.show": value })}
        />
      </div>
      {!table ? (
        <Waiting answer={answer} />
      ) : table.rows.length === 0 ? (
        <Note>{table.stats?.notes?.join(" ") ?? "No steps in this run"}.</Note>
      ) : (
        <DataTable
          id="steps"
          label="Steps"
          table={table}
          bars={["dur_ns"]}
          cell={(row: Cell[], column: string) => {
            if (column !== "step") return undefined;
            const begin = Number(cellOf(table, row, "start_ns"));
            const end = begin + Number(cellOf(table, row, "dur_ns"));
            return <a href={hrefOfRange(begin, end)}>{String(cellOf(table, row, "step"))}</a>;
          }}
        />
      )}
    </section>
  );
}
