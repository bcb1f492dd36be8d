// Rows of horizontal bars, each of the same parts: ranks of a job, devices of a run. What is drawn of them is a matter of how many there are.
import type { Cell } from "../format";
import type { TableAnswer } from "../source";
import { cellOf } from "../table";

export interface PartRow {
  // "rank 5"
  name: string;
  // What stands before its bar: "5".
  label: string;
  total_ns: number;
  // By part.
  parts: number[];
  // Why it stands out; "" where it does not.
  remark: string;
}

export interface PartRows {
  parts: string[];
  rows: PartRow[];
}

// Parts that no row has are left out.
function partsOf(names: string[], rows: Cell[][], rowOf: (row: Cell[]) => PartRow): PartRows {
  const made = rows.map(rowOf);
  const kept = names.map((_, i) => made.some((row) => row.parts[i]! > 0));
  return {
    parts: names.filter((_, i) => kept[i]),
    rows: made.map((row) => ({ ...row, parts: row.parts.filter((_, i) => kept[i]) })),
  };
}

// A step of each rank: step = compute + communication - overlap + copy + idle. Of the communication that nothing hides, what is not waiting for
// others is transfer; where ranks were not matched, it is one part.
export function partsOfRanks(table: TableAnswer): PartRows {
  const hasWaits = table.rows.some((row) => cellOf(table, row, "wait_ns") !== null);
  const names = ["compute", hasWaits ? "transfer" : "communication", "waiting", "copy", "idle"];
  return partsOf(names, table.rows, (row) => {
    const ns = (column: string) => Number(cellOf(table, row, column) ?? 0);
    const exposed = ns("communication_ns") - ns("overlap_ns");
    const rank = String(cellOf(table, row, "rank"));
    const cause = String(cellOf(table, row, "cause") ?? "");
    return {
      name: `rank ${rank}`,
      label: rank,
      total_ns: ns("step_ns"),
      parts: [
        ns("compute_ns"),
        exposed - ns("wait_ns"),
        ns("wait_ns"),
        ns("copy_ns"),
        ns("idle_ns"),
      ],
      remark: cellOf(table, row, "straggler") === true ? `straggler: ${cause}` : "",
    };
  });
}

// The time of each device from its first piece of work to its last.
export function partsOfDevices(table: TableAnswer): PartRows {
  return partsOf(["compute", "other_work", "idle"], table.rows, (row) => {
    const ns = (column: string) => Number(cellOf(table, row, column) ?? 0);
    const device = cellOf(table, row, "device");
    return {
      name: device === null ? "device" : `device ${String(device)}`,
      label: device === null ? "" : String(device),
      total_ns: ns("span_ns"),
      parts: [ns("compute_ns"), ns("non_compute_ns"), ns("idle_ns")],
      remark: "",
    };
  });
}

// All of them together, in the mean.
export function meanOf({ parts, rows }: PartRows): { total_ns: number; parts: number[] } {
  const mean = (of: (row: PartRow) => number) =>
    rows.reduce((sum, row) => sum + of(row), 0) / Math.max(rows.length, 1);
  return {
    total_ns: mean((row) => row.total_ns),
    parts: parts.map((_, i) => mean((row) => row.parts[i]!)),
  };
}

const ALL_PX = 460;
const WIDEST_PX = 24;
export const LABEL_PX = 13;

// How far apart rows are: as many as possible in sight, never less than a pixel.
export function pitchOf(rows: number): number {
  return Math.min(WIDEST_PX, Math.max(1, Math.floor(ALL_PX / Math.max(rows, 1))));
}

// Which rows have their label drawn: those that stand out, then as many others as there is room for.
export function labelledRows(isRemarkable: readonly boolean[], pitch: number): number[] {
  const apart = Math.max(1, Math.ceil(LABEL_PX / pitch));
  const chosen: number[] = [];
  const isFree = (index: number) => chosen.every((other) => Math.abs(other - index) >= apart);
  isRemarkable.forEach((is, index) => {
    if (is && isFree(index)) chosen.push(index);
  });
  for (let index = 0; index < isRemarkable.length; index += apart)
    if (isFree(index)) chosen.push(index);
  return chosen.sort((a, b) => a - b);
}
