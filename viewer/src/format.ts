// Figures as text, the same as the command line prints them (src/analyze/text_value.cc).

// As C++ rounds: of two texts that are equally near, the even one. Only a value that is an odd number of 2^-(digits + 1) lies between two.
export function fixed(value: number, digits: number): string {
  const text = value.toFixed(digits);
  const isBetween = Math.abs(value * 2 ** (digits + 1)) % 2 === 1;
  if (!isBetween || Number(text.at(-1)) % 2 === 0) return text;
  return (value * (1 - Number.EPSILON)).toFixed(digits);
}

function fourDigits(value: number): string {
  const size = Math.abs(value);
  return fixed(value, size >= 999.95 ? 0 : size >= 99.995 ? 1 : size >= 9.9995 ? 2 : 3);
}

export function textOfNs(ns: number): string {
  const size = Math.abs(ns);
  if (size < 1e3) return `${Math.round(ns)} ns`;
  if (size < 999.95e3) return `${fourDigits(ns / 1e3)} us`;
  if (size < 999.95e6) return `${fourDigits(ns / 1e6)} ms`;
  if (size < 600e9) return `${fourDigits(ns / 1e9)} s`;
  const sign = ns < 0 ? "-" : "";
  if (size < 3600e9) return `${sign}${fixed(size / 60e9, 1)} min`;
  if (size < 86400e9 * 2) {
    const minutes = Math.round(size / 60e9);
    return `${sign}${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
  }
  return `${sign}${fixed(size / 86400e9, 1)} days`;
}

const BYTE_UNITS = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

export function textOfBytes(bytes: number): string {
  if (Math.abs(bytes) < 1024) return `${Math.round(bytes)} B`;
  let value = bytes / 1024;
  let unit = 0;
  while (Math.abs(value) >= 1023.995 && unit + 1 < BYTE_UNITS.length) {
    value /= 1024;
    ++unit;
  }
  const size = Math.abs(value);
  return `${fixed(value, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2)} ${BYTE_UNITS[unit]}`;
}

export function textOfCount(count: number): string {
  return count.toLocaleString("en-US", { maximumFractionDigits: 0 });
}

export function textOfFraction(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (value === 0) return "0%";
  if (Math.abs(value) < 0.0005) return value < 0 ? ">-0.1%" : "<0.1%";
  return `${fixed(value * 100, 1)}%`;
}

export function textOfNumber(value: number): string {
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e5) return String(value);
  if (size >= 1e5 && size < 1e15) return textOfCount(value);
  return String(Number(value.toPrecision(4)));
}

export type Unit = "" | "ns" | "bytes" | "fraction" | "count";
export type Cell = string | number | boolean | null;

export function textOfValue(value: Cell | undefined, unit: string): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return value;
  switch (unit) {
    case "ns":
      return textOfNs(value);
    case "bytes":
      return textOfBytes(value);
    case "fraction":
      return textOfFraction(value);
    case "count":
      return Number.isInteger(value) ? textOfCount(value) : textOfNumber(value);
    default:
      return Number.isInteger(value) ? String(value) : textOfNumber(value);
  }
}

// "self_host_ns" is headed "self host": the unit stands in every cell.
export function titleOfColumn(name: string, unit: string): string {
  if (name === "fraction") return "share";
  let title = name;
  if (unit !== "") title = title.replace(/(.)_(ns|bytes|fraction|count)$/, "$1");
  if (title === "dur") return "duration";
  if (unit === "fraction" && title !== name) title += " %";
  return title.replaceAll("_", " ");
}
