// The columns of operators that say something: what tells rows apart first, then figures; columns with
// nothing but zeros are left out.
import type { Cell } from "../format";
import type { TableAnswer } from "../source";

const FIRST = ["name", "input_shapes", "stack", "kind"];

export function operatorColumns(table: TableAnswer): string[] {
  const names = table.columns.map(({ name }) => name);
  const hasFigures = (name: string) => {
    const at = names.indexOf(name);
    return table.rows.some((row) => row[at] !== null && row[at] !== 0 && row[at] !== false);
  };
  const first = FIRST.filter((name) => names.includes(name));
  return [...first, ...names.filter((name) => !FIRST.includes(name) && hasFigures(name))];
}

// A stack is one text, the innermost function first.
export function framesOf(stack: Cell): string[] {
  return typeof stack === "string" && stack !== "" ? stack.split(";") : [];
}
