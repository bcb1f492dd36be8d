// What of a table can be plotted, what is plotted until someone chooses, and the list of statements.
import type { ColumnInfo, TableAnswer } from "../source";

export function numericColumns(table: TableAnswer): number[] {
  return table.columns
    .map((_, index) => index)
    .filter((index) => {
      const values = table.rows.map((row) => row[index]).filter((value) => value !== null);
      return values.length > 0 && values.every((value) => typeof value === "number");
    });
}

// Results of SQL have no units, but their names often tell one.
export function unitOf({ name, unit }: ColumnInfo): string {
  return unit !== "" ? unit : (/(?:^|_)(ns|bytes|fraction)$/.exec(name)?.[1] ?? "");
}

export interface PlotChoice {
  x: number;
  y: number;
}

// Time on x where there is one, else the first column of numbers; y is the first other one. Null
// where there are not two.
export function choosePlot(table: TableAnswer, x: string, y: string): PlotChoice | null {
  const numeric = numericColumns(table);
  if (numeric.length < 2 || table.rows.length < 2) return null;
  const named = (name: string) => numeric.find((index) => table.columns[index]!.name === name);
  const time = numeric.find((index) =>
    /(^|_)(start|time|begin)_ns$/.test(table.columns[index]!.name),
  );
  const chosenX = named(x) ?? time ?? numeric[0]!;
  const chosenY = named(y) ?? numeric.find((index) => index !== chosenX)!;
  return { x: chosenX, y: chosenY };
}

// The points by x, as uPlot needs them.
export function pointsOf(table: TableAnswer, { x, y }: PlotChoice): [number[], (number | null)[]] {
  const points = table.rows
    .filter((row) => typeof row[x] === "number")
    .map((row): [number, number | null] => [
      Number(row[x]),
      row[y] === null ? null : Number(row[y]),
    ]);
  points.sort((a, b) => a[0] - b[0]);
  return [points.map((point) => point[0]), points.map((point) => point[1])];
}

// Tables and their columns from the statements that sqlite_schema has.
export function columnsOfSchema(sql: string): string[] {
  const begin = sql.indexOf("(");
  const end = sql.lastIndexOf(")");
  if (begin < 0 || end < begin) return [];
  return sql
    .slice(begin + 1, end)
    .split(",")
    .map((part) => part.trim().replaceAll('"', ""))
    .filter((part) => part !== "");
}

const HISTORY = 30;

// The last statement first, none twice.
export function remembered(history: readonly string[], statement: string): string[] {
  const text = statement.trim();
  return text === ""
    ? [...history]
    : [text, ...history.filter((old) => old !== text)].slice(0, HISTORY);
}
