// The table of functions with the columns that pstats and snakeviz have.
import type { Cell } from "../format";
import type { TableAnswer } from "../source";
import { cellOf } from "../table";

export const FUNCTION_TITLES: Record<string, string> = {
  calls: "ncalls",
  self_ns: "tottime",
  self_per_call_ns: "percall",
  total_ns: "cumtime",
  total_per_call_ns: "percall ",
  place: "filename:lineno(function)",
};

export const FUNCTION_COLUMNS = Object.keys(FUNCTION_TITLES);

// `percall` of the own time is per call, of the cumulative time per call that is not a recursion.
export function functionRows(table: TableAnswer): TableAnswer {
  const rows = table.rows.map((row): Cell[] => {
    const get = (column: string) => cellOf(table, row, column);
    const calls = get("calls");
    const primitive = get("primitive_calls");
    const self = get("self_ns");
    const total = get("total_ns");
    return [
      calls,
      primitive,
      self,
      per(self, calls),
      total,
      per(total, primitive),
      placeOf(get("file"), get("line"), String(get("name") ?? "")),
      labelOf(get("file"), get("line"), String(get("name") ?? "")),
    ];
  });
  const columns = [
    { name: "calls", unit: "count" },
    { name: "primitive_calls", unit: "count" },
    { name: "self_ns", unit: "ns" },
    { name: "self_per_call_ns", unit: "ns" },
    { name: "total_ns", unit: "ns" },
    { name: "total_per_call_ns", unit: "ns" },
    { name: "place", unit: "" },
    { name: "label", unit: "" },
  ];
  return { ...table, columns, rows };
}

function per(ns: Cell, calls: Cell): Cell {
  return typeof ns === "number" && typeof calls === "number" && calls > 0 ? ns / calls : null;
}

export function placeOf(file: Cell, line: Cell, name: string): string {
  return file === null || file === "" ? name : `${file}:${line ?? 0}(${name})`;
}

// As slices of functions are named.
export function labelOf(file: Cell, line: Cell, name: string): string {
  return file === null || file === "" ? name : `${file}(${line ?? 0}): ${name}`;
}

// "3/1": three calls, one of which was not made from within the function itself.
export function callsText(calls: Cell, primitive: Cell): string {
  const all = Number(calls ?? 0).toLocaleString("en-US");
  return primitive === null || primitive === calls
    ? all
    : `${all}/${Number(primitive).toLocaleString("en-US")}`;
}
