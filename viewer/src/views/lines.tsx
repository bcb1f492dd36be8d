// The lines of the program's own code that took most time, as looks at it tell: in Python, in native
// code or waiting.
import { useMemo } from "preact/hooks";
import type { Cell } from "../format";
import type { TableAnswer } from "../source";
import { cellOf, DataTable } from "../table";
import { Note } from "../banner";
import { placeOf } from "./function_rows";

const TITLES: Record<string, string> = {
  self_ns: "time",
  share: "share",
  python_fraction: "Python",
  native_fraction: "native",
  waiting_fraction: "waiting",
  samples: "looks",
  place: "filename:lineno(function)",
};

function withPlaces(table: TableAnswer): TableAnswer {
  const rows = table.rows.map((row): Cell[] => {
    const get = (column: string) => cellOf(table, row, column);
    return [...row, placeOf(get("file"), get("line"), String(get("name") ?? ""))];
  });
  return { ...table, columns: [...table.columns, { name: "place", unit: "" }], rows };
}

export function LineTable({ table }: { table: TableAnswer }) {
  const rows = useMemo(() => withPlaces(table), [table]);
  return (
    <div class="table-place">
      <Note>{table.stats?.notes?.join(" ") ?? ""}</Note>
      <DataTable
        id="lines"
        label="Lines"
        table={rows}
        columns={Object.keys(TITLES)}
        titles={TITLES}
        bars={["self_ns"]}
        sort="-self_ns"
      />
    </div>
  );
}
