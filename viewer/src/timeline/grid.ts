// The grid of tiles over a run, and the window of time that is in sight.
import { BUCKETS } from "./tile";

const BUCKET_BITS = 9;

export interface Grid {
  // Level 0 covers 2^bits ns.
  bits: number;
  lastLevel: number;
}

// A tile's number, made of track, level and index, must fit into 53 bits: with very many tracks in a very long run the finest levels are not used.
export function gridOf(span_ns: number, tracks = 1): Grid {
  let bits = BUCKET_BITS;
  while (2 ** bits < span_ns) ++bits;
  const room = 52 - Math.ceil(Math.log2(tracks + 1));
  return { bits, lastLevel: Math.min(bits - BUCKET_BITS, room - 1) };
}

export function tileNs(grid: Grid, level: number): number {
  return 2 ** (grid.bits - level);
}

export function bucketNs(grid: Grid, level: number): number {
  return tileNs(grid, level) / BUCKETS;
}

// The level whose bucket is at most a pixel wide.
export function levelFor(grid: Grid, nsPerPixel: number): number {
  const level = Math.ceil(grid.bits - BUCKET_BITS - Math.log2(nsPerPixel));
  return Math.min(Math.max(level, 0), grid.lastLevel);
}

export function tileAt(grid: Grid, level: number, ns: number): number {
  const index = Math.floor(ns / tileNs(grid, level));
  return Math.min(Math.max(index, 0), 2 ** level - 1);
}

export interface Viewport {
  begin_ns: number;
  end_ns: number;
}

const LEAST_NS = 20;

// Keeps a window within the run, with a little room beside it, and neither wider than that nor too narrow to see anything.
export function clampViewport(view: Viewport, span_ns: number): Viewport {
  const room = span_ns * 0.02;
  const widest = span_ns + 2 * room;
  const width = Math.min(Math.max(view.end_ns - view.begin_ns, Math.min(LEAST_NS, widest)), widest);
  const middle = (view.begin_ns + view.end_ns) / 2;
  const begin = Math.min(Math.max(middle - width / 2, -room), span_ns + room - width);
  return { begin_ns: begin, end_ns: begin + width };
}

// Zooms so that the moment under the pointer stays there. `factor` below 1 shows less time.
export function zoomed(view: Viewport, at_ns: number, factor: number): Viewport {
  return {
    begin_ns: at_ns - (at_ns - view.begin_ns) * factor,
    end_ns: at_ns + (view.end_ns - at_ns) * factor,
  };
}

// A range with room around it, to be seen as a whole.
export function around(begin_ns: number, dur_ns: number): Viewport {
  const width = Math.max(dur_ns, LEAST_NS / 2);
  return { begin_ns: begin_ns - width * 0.25, end_ns: begin_ns + width * 1.25 };
}

// The distance of marks on a ruler: 1, 2 or 5 times a power of ten of ns; from a second on what clocks count in.
export function rulerStep(nsPerPixel: number, leastPixels: number): number {
  const least = nsPerPixel * leastPixels;
  if (least > 10e9) {
    for (const seconds of [15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400]) {
      if (seconds * 1e9 >= least) return seconds * 1e9;
    }
    return Math.ceil(least / 86400e9) * 86400e9;
  }
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  for (const factor of [1, 2, 5, 10]) {
    if (factor * power >= least) return Math.max(1, factor * power);
  }
  return 10 * power;
}

const UNIT_NS = { s: 1e9, ms: 1e6, us: 1e3, ns: 1 };

// The unit of the marks' distance; seconds also where milliseconds would be thousands.
function unitFor(ns: number, step_ns: number): keyof typeof UNIT_NS {
  if (step_ns >= 1e8 || (step_ns >= 1e6 && Math.abs(ns) >= 1e9)) return "s";
  return step_ns >= 1e5 ? "ms" : step_ns >= 100 ? "us" : "ns";
}

// A moment as the ruler writes it: as many digits as the distance of the marks needs.
export function rulerText(ns: number, step_ns: number): string {
  if (ns === 0) return "0";
  if (step_ns >= 60e9 || Math.abs(ns) >= 600e9) return clockText(ns, step_ns);
  const unit = unitFor(ns, step_ns);
  const size = UNIT_NS[unit];
  const digits = Math.max(0, Math.ceil(Math.log10(size / step_ns) - 1e-9));
  return `${group((ns / size).toFixed(digits))} ${unit}`;
}

function clockText(ns: number, step_ns: number): string {
  const digits = step_ns >= 1e9 ? 0 : Math.ceil(9 - Math.log10(step_ns) - 1e-9);
  const seconds = ns / 1e9;
  const minutes = Math.floor(seconds / 60);
  const rest = (seconds - minutes * 60).toFixed(digits).padStart(digits > 0 ? 3 + digits : 2, "0");
  return minutes >= 60
    ? `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${rest}`
    : `${minutes}:${rest}`;
}

function group(text: string): string {
  const [whole = "", part] = text.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return part === undefined ? grouped : `${grouped}.${part}`;
}
