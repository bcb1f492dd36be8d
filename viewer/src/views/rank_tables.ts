// What the view of ranks shows of its tables: which columns first, which run a rank is of, and the processes of a run.
import type { Cell } from "../format";
import type { RunInfo, TableAnswer, Tracks } from "../source";

// What tells slow ranks from others comes first.
const FIRST = ["rank", "straggler", "cause", "cause_detail", "excess_ns", "own_ns", "step_ns"];

export function rankColumns(table: TableAnswer): string[] {
  const known = table.columns
    .filter((_, index) => table.rows.some((row) => row[index] !== null))
    .map(({ name }) => name);
  const first = FIRST.filter((name) => known.includes(name));
  return [...first, ...known.filter((name) => !first.includes(name))];
}

// Every rank may have notes of its own ("rank 5 (rank5.json): …"): hundreds, which must not hide those about all.
export function withJobNotesFirst(table: TableAnswer): TableAnswer {
  const notes = table.stats?.notes ?? [];
  const isOfRank = (note: string) => /^rank \d+ \(/.test(note);
  const ordered = [
    ...notes.filter((note) => !isOfRank(note)),
    ...notes.filter((note) => isOfRank(note)),
  ];
  return { ...table, stats: { ...table.stats, notes: ordered } };
}

// A rank is called as its run is, or as a file in the folder of its run.
export function runOfRank(runs: readonly RunInfo[], source: string): RunInfo | undefined {
  return (
    runs.find(({ name }) => source === name) ??
    runs.find(({ name }) => source.startsWith(`${name}/`))
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
