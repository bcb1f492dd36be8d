// The rows of `modules` as a tree: modules are named by their path, "features.3" is in "features".
// A model has its class for a name; that paths are in it is seen by their times, which add up to its.
import type { Cell } from "../format";
import type { TableAnswer } from "../source";
import { cellOf } from "../table";

export interface TreeRow {
  // The row of the table; -1 for a path that was not called itself, such as a ModuleList.
  row: number;
  path: string;
  name: string;
  depth: number;
  hasChildren: boolean;
}

// In pre-order; siblings by `weight`, the heaviest first.
export function moduleTree(table: TableAnswer): TreeRow[] {
  const rowOf = new Map<string, number>();
  table.rows.forEach((row, index) => rowOf.set(String(cellOf(table, row, "name")), index));
  const model = findModel(table, rowOf);
  const parentOfTop = (path: string) => (isModel(table, rowOf, path) ? "" : model);
  const children = childrenOf([...rowOf.keys()], parentOfTop);
  const weight = (path: string) => weightOf(table, rowOf, children, path);
  const result: TreeRow[] = [];
  const stack: [string, number][] = [["", -1]];
  while (stack.length > 0) {
    const [path, depth] = stack.pop()!;
    const below = [...(children.get(path) ?? [])];
    if (depth >= 0) {
      const parent = result.findLast((row) => row.depth === depth - 1)?.path ?? "";
      const name =
        parent !== "" && path.startsWith(`${parent}.`) ? path.slice(parent.length + 1) : path;
      result.push({ row: rowOf.get(path) ?? -1, path, name, depth, hasChildren: below.length > 0 });
    }
    below.sort((a, b) => weight(a) - weight(b));
    for (const child of below) stack.push([child, depth + 1]);
  }
  return result;
}

function isModel(table: TableAnswer, rowOf: Map<string, number>, path: string): boolean {
  const row = table.rows[rowOf.get(path) ?? -1];
  return !path.includes(".") && row !== undefined && cellOf(table, row, "class") === path;
}

// The model that holds all the paths, "" where none or several could.
function findModel(table: TableAnswer, rowOf: Map<string, number>): string {
  const paths = [...rowOf.keys()];
  const inModels = paths.filter((path) => !isModel(table, rowOf, path));
  const children = childrenOf(inModels, () => "");
  const pathsNs = weightOf(table, rowOf, children, "");
  const holders = paths.filter((path) => {
    const row = table.rows[rowOf.get(path)!];
    const number = (column: string) => Number(cellOf(table, row, column) ?? 0);
    const callsNs = number("total_host_ns") - number("self_host_ns");
    return (
      isModel(table, rowOf, path) && callsNs > 0 && Math.abs(callsNs - pathsNs) <= 0.01 * callsNs
    );
  });
  return holders.length === 1 ? holders[0]! : "";
}

function childrenOf(
  paths: string[],
  parentOfTop: (path: string) => string,
): Map<string, Set<string>> {
  const children = new Map<string, Set<string>>([["", new Set()]]);
  const add = (parent: string, child: string) => {
    if (!children.has(parent)) children.set(parent, new Set());
    children.get(parent)!.add(child);
  };
  for (const path of paths) {
    let child = path;
    for (let point = path.lastIndexOf("."); point > 0; point = child.lastIndexOf(".")) {
      add(child.slice(0, point), child);
      child = child.slice(0, point);
    }
    add(parentOfTop(child), child);
  }
  return children;
}

// A container that is not called itself weighs as much as what is in it.
function weightOf(
  table: TableAnswer,
  rowOf: Map<string, number>,
  children: Map<string, Set<string>>,
  path: string,
): number {
  let weight = 0;
  const stack = [path];
  while (stack.length > 0) {
    const at = stack.pop()!;
    const row = rowOf.get(at);
    if (row === undefined) stack.push(...(children.get(at) ?? []));
    else weight += Number(cellOf(table, table.rows[row], "total_host_ns") ?? 0);
  }
  return weight;
}

// The rows to show where some are closed, as a table of the same columns; `paths` has a path per row.
export function openRows(
  table: TableAnswer,
  tree: readonly TreeRow[],
  closed: ReadonlySet<string>,
): { table: TableAnswer; rows: TreeRow[] } {
  const rows: TreeRow[] = [];
  let hiddenBelow = Infinity;
  for (const row of tree) {
    if (row.depth > hiddenBelow) continue;
    hiddenBelow = closed.has(row.path) ? row.depth : Infinity;
    rows.push(row);
  }
  const nothing: Cell[] = table.columns.map(() => null);
  const name = table.columns.findIndex((column) => column.name === "name");
  const cells = rows.map((row) => {
    const source = table.rows[row.row] ?? nothing;
    return source.map((value, index) => (index === name ? row.path : value));
  });
  const stats = { ...table.stats, rows_total: tree.length };
  return { table: { ...table, rows: cells, stats }, rows };
}
