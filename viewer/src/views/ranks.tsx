// The ranks of a job: the processes of this run, and runs that were opened together, side by side.
import { runs, source, useAnswer, version } from "../answer";
import { Note, Waiting } from "../banner";
import type { Cell } from "../format";
import type { TableAnswer, Tracks } from "../source";
import { hrefOf, run } from "../state";
import { cellOf, DataTable } from "../table";
import { rankRows } from "./rank_rows";
import "./views.css";

export function Ranks() {
  const tracks = useAnswer((signal) => source.tracks(run.value, signal), [run.value, version()]);
  const known = (runs.value?.runs ?? []).filter((info) => !info.error);
  if (!tracks.data) return <Waiting answer={tracks} />;
  const processes = processTable(tracks.data);
  if (known.length < 2 && processes.rows.length < 2) {
    return (
      <Note>
        This run has one process. Open the traces of several ranks together to see them side by
        side: stepscope view rank0 rank1 …
      </Note>
    );
  }
  return (
    <section class="view">
      {known.length > 1 && <RunsSideBySide />}
      {processes.rows.length > 1 && (
        <>
          <h2>Processes of this run</h2>
          <DataTable id="processes" table={processes} visibleRows={16} hasFilter={false} />
        </>
      )}
    </section>
  );
}

function RunsSideBySide() {
  const known = (runs.value?.runs ?? []).filter((info) => !info.error);
  const answer = useAnswer(
    (signal) =>
      Promise.all(known.map((info) => source.table(info.id, "phases", { limit: 0 }, signal))),
    [known.map((info) => `${info.id} ${info.version}`).join()],
  );
  if (!answer.data || answer.data.length !== known.length) return <Waiting answer={answer} />;
  const table = rankRows(known, answer.data);
  return (
    <>
      <h2>Runs side by side: means per step</h2>
      <DataTable
        id="ranks"
        label="Runs side by side"
        table={table}
        bars={["dur_ns", "communication_ns"]}
        sort="-dur_ns"
        visibleRows={24}
        cell={(row: Cell[], column: string) => {
          if (column !== "name") return undefined;
          const id = Number(cellOf(table, row, "run"));
          return (
            <a href={hrefOf({ view: "timeline", run: id, range: null, slice: null })}>
              {String(cellOf(table, row, "name"))}
            </a>
          );
        }}
      />
    </>
  );
}

// The processes that have slices.
export function processTable(tracks: Tracks): TableAnswer {
  const rows: Cell[][] = [];
  for (const process of tracks.processes) {
    const own = tracks.tracks.filter(
      (track) => track.process === process.id && track.kind !== "counter",
    );
    const slices = (kind: string) =>
      own.filter((track) => track.kind === kind).reduce((sum, track) => sum + track.slices, 0);
    if (own.some((track) => track.slices > 0)) {
      rows.push([
        String(process.pid),
        process.name,
        process.labels === "" ? null : process.labels,
        own.length,
        slices("thread"),
        slices("stream"),
      ]);
    }
  }
  const columns = [
    { name: "pid", unit: "" },
    { name: "name", unit: "" },
    { name: "labels", unit: "" },
    { name: "tracks", unit: "count" },
    { name: "slices_of_threads", unit: "count" },
    { name: "slices_of_streams", unit: "count" },
  ];
  return { view: "processes", columns, rows, stats: { rows_total: rows.length } };
}
