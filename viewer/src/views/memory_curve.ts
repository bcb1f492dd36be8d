// The rows of `memory --by category` as stacked curves. Between two rows nothing changes.
import type { TableAnswer } from "../source";

export interface MemoryCurve {
  device: string;
  times_ns: Float64Array;
  // The categories that are ever there, and their bytes.
  categories: string[];
  bytes: Float64Array[];
  peak: number;
}

const CATEGORY_COLORS: Record<string, string> = {
  parameter: "#3b7dd8",
  gradient: "#c2478b",
  "optimizer state": "#2f9e6e",
  activation: "#d97a2b",
  input: "#3aa6b9",
  temporary: "#b39b1f",
  "autograd detail": "#7a5cc9",
};

// Categories are "autograd_details" in the names of columns and "autograd detail" of one allocation.
export function colorOfCategory(category: string): string {
  const one = titleOfCategory(category).replace(/ies$/, "y").replace(/s$/, "");
  return CATEGORY_COLORS[one] ?? "#8d96a0";
}

export function titleOfCategory(category: string): string {
  return category.replaceAll("_", " ");
}

// The one that ever held most first.
export function devicesOf(table: TableAnswer): string[] {
  const at = table.columns.findIndex((column) => column.name === "device");
  const parts = categoryColumns(table);
  const most = new Map<string, number>();
  for (const row of table.rows) {
    const device = String(row[at] ?? "");
    const sum = parts.reduce((total, part) => total + Number(row[part] ?? 0), 0);
    most.set(device, Math.max(most.get(device) ?? 0, sum));
  }
  return [...most.keys()].sort((a, b) => most.get(b)! - most.get(a)!);
}

function categoryColumns(table: TableAnswer): number[] {
  return table.columns
    .map((_, index) => index)
    .filter((index) => /_bytes$/.test(table.columns[index]!.name))
    .filter((index) => !/^(total|allocated|reserved)_bytes$/.test(table.columns[index]!.name));
}

export function curveOf(table: TableAnswer, device: string, mostPoints: number): MemoryCurve {
  const column = (name: string) => table.columns.findIndex((info) => info.name === name);
  const deviceAt = column("device");
  const rows = table.rows.filter((row) => String(row[deviceAt] ?? "") === device);
  const used = categoryColumns(table).filter((part) =>
    rows.some((row) => Number(row[part] ?? 0) !== 0),
  );
  const sums = rows.map((row) => used.reduce((sum, part) => sum + Number(row[part] ?? 0), 0));
  const picked = pickedRows(sums, mostPoints);
  const values = (part: number) =>
    Float64Array.from(picked, (row) => Number(rows[row]![part] ?? 0));
  const bytes = used.map(values);
  return {
    device,
    times_ns: values(column("time_ns")),
    categories: used.map((part) => table.columns[part]!.name.replace(/_bytes$/, "")),
    bytes,
    peak: peakOf(bytes),
  };
}

// At most about so many rows: of each bucket the first, the one with the largest sum and the last.
export function pickedRows(sums: readonly number[], most: number): number[] {
  if (sums.length <= most) return sums.map((_, row) => row);
  const buckets = Math.max(1, Math.floor(most / 3));
  const picked: number[] = [];
  for (let bucket = 0; bucket < buckets; ++bucket) {
    const begin = Math.floor((bucket * sums.length) / buckets);
    const end = Math.floor(((bucket + 1) * sums.length) / buckets);
    let largest = begin;
    for (let row = begin; row < end; ++row) {
      if (sums[row]! > sums[largest]!) largest = row;
    }
    picked.push(...new Set([begin, largest, end - 1].sort((a, b) => a - b)));
  }
  return picked;
}

function peakOf(bytes: readonly Float64Array[]): number {
  let peak = 0;
  const sum = (point: number) => bytes.reduce((total, series) => total + series[point]!, 0);
  for (let point = 0; point < (bytes[0]?.length ?? 0); ++point) {
    if (sum(point) > sum(peak)) peak = point;
  }
  return peak;
}

// Each category on top of those before it.
export function stacked(bytes: readonly Float64Array[]): Float64Array[] {
  const tops: Float64Array[] = [];
  for (const series of bytes) {
    const below = tops.at(-1);
    tops.push(series.map((value, point) => value + (below?.[point] ?? 0)));
  }
  return tops;
}
