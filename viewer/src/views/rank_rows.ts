// Ranks side by side: a row of mean figures per step for each run, from its table of phases.
import type { Cell } from "../format";
import type { RunInfo, TableAnswer } from "../source";
import { cellOf } from "../table";

export function rankRows(runs: readonly RunInfo[], phases: readonly TableAnswer[]): TableAnswer {
  const figures =
    phases[0]?.columns.filter(({ unit, name }) => unit === "ns" && name !== "start_ns") ?? [];
  const rows = runs.map((info, at): Cell[] => {
    const table = phases[at]!;
    const mean = (column: string): Cell => {
      const steps = table.rows.length;
      const sum = table.rows.reduce(
        (total, row) => total + Number(cellOf(table, row, column) ?? 0),
        0,
      );
      return steps > 0 ? sum / steps : null;
    };
    return [info.id, info.name, table.rows.length, ...figures.map(({ name }) => mean(name))];
  });
  const columns = [
    { name: "run", unit: "" },
    { name: "name", unit: "" },
    { name: "steps", unit: "count" },
    ...figures,
  ];
  return { view: "ranks", columns, rows, stats: { rows_total: rows.length } };
}
