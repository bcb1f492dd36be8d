// Slices and counters as pixels. A canvas call per slice is too slow where there is no GPU: a lane is painted once as one line of pixels, which is then
// copied down the lane's height. So a frame costs what its pixels cost, however many slices there are, and makes no objects.
import type { CounterTile, SliceTile } from "./tile";
import type { Labels } from "./labels";

export interface Inks {
  ground: number;
  // Names that are not known yet, or that a search leaves out.
  dim: number;
  curve: number;
  curveFill: number;
  fills: Uint32Array;
}

// Half of both, channel by channel.
export function mixHalf(a: number, b: number): number {
  return ((((a ^ b) & 0xfefefefe) >>> 1) + (a & b)) >>> 0;
}

// `part` of 256 of `over`, the rest of `under`.
export function mix(under: number, over: number, part: number): number {
  const rest = 256 - part;
  const even = (((under & 0xff00ff) * rest + (over & 0xff00ff) * part) >>> 8) & 0xff00ff;
  const odd = (((under >>> 8) & 0xff) * rest + ((over >>> 8) & 0xff) * part) & 0xff00;
  return (0xff000000 | even | odd) >>> 0;
}

// What is narrower than a pixel is seen as a share of it, but never as nothing.
const LEAST_PART = 110;
// From this width on, in pixels, a slice has an edge.
const EDGE_WIDTH = 3;

// Paints the items of one lane of a tile into `line`, from pixel `clipBegin` to `clipEnd`. `origin` is the pixel of the tile's begin, `scale` pixels per bucket.
export function paintLane(
  line: Uint32Array,
  tile: SliceTile,
  lane: number,
  origin: number,
  scale: number,
  clipBegin: number,
  clipEnd: number,
  labels: Labels,
  inks: Inks,
): void {
  if (lane + 1 >= tile.laneStarts.length) return;
  const end = tile.laneStarts[lane + 1]!;
  for (
    let i = firstEndingAfter(tile, tile.laneStarts[lane]!, end, (clipBegin - origin) / scale);
    i < end;
    ++i
  ) {
    const from = origin + tile.begins[i]! * scale;
    if (from >= clipEnd) break;
    const to = origin + tile.ends[i]! * scale;
    if (to < clipBegin) continue;
    const label = tile.labels[i]!;
    const color = labels.colorOf(label);
    const ink = color < 0 || labels.isDimmed[label] === 1 ? inks.dim : inks.fills[color]!;
    const first = Math.max(Math.floor(from), clipBegin);
    if (to - from < 1) {
      if (first >= clipBegin && first < clipEnd) {
        line[first] = mix(line[first]!, ink, Math.max(LEAST_PART, Math.floor((to - from) * 256)));
      }
      continue;
    }
    const last = Math.min(Math.round(to), clipEnd);
    line.fill(ink, first, Math.max(last, Math.min(first + 1, clipEnd)));
    if (to - from >= EDGE_WIDTH && Math.round(to) <= clipEnd && last > first) {
      line[last - 1] = mixHalf(ink, inks.ground);
    }
  }
}

// The first item of a lane that may reach beyond a bucket. Ends are in order but for overlaps, and those are looked at one by one.
function firstEndingAfter(tile: SliceTile, begin: number, end: number, bucket: number): number {
  let low = begin;
  let high = end;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (tile.begins[middle]! < bucket) low = middle + 1;
    else high = middle;
  }
  return Math.max(begin, low - 1);
}

// Copies a line of pixels into rows top..bottom of the picture.
export function spread(
  pixels: Uint32Array,
  width: number,
  line: Uint32Array,
  top: number,
  bottom: number,
): void {
  for (let y = top; y < bottom; ++y) pixels.set(line, y * width);
}

// Gathers least and most of a counter per pixel; columns where nothing is known stay as they are.
export function gatherCurve(
  lows: Float32Array,
  highs: Float32Array,
  tile: CounterTile,
  origin: number,
  scale: number,
  clipBegin: number,
  clipEnd: number,
): void {
  for (let i = 0; i < tile.count; ++i) {
    const from = origin + tile.at[i]! * scale;
    const next = i + 1 < tile.count ? origin + tile.at[i + 1]! * scale : clipEnd;
    if (next < clipBegin) continue;
    if (from >= clipEnd) break;
    const first = Math.max(Math.floor(from), clipBegin);
    const last = Math.min(Math.max(Math.ceil(next), first + 1), clipEnd);
    const held = tile.last[i]!;
    for (let x = first; x < last; ++x) {
      const isFirst = x === first && tile.at[i]! >= 0;
      const low = isFirst ? tile.least[i]! : held;
      const high = isFirst ? tile.most[i]! : held;
      // Several values in one pixel: all of them. A value that only reaches into a pixel does not widen it.
      if (Number.isNaN(highs[x]!) || !isFirst) {
        lows[x] = low;
        highs[x] = high;
      } else {
        lows[x] = Math.min(lows[x]!, low);
        highs[x] = Math.max(highs[x]!, high);
      }
    }
  }
}

// Paints a gathered curve: filled from the zero line, with a line on top that joins neighbours.
export function paintCurve(
  pixels: Uint32Array,
  width: number,
  height: number,
  lows: Float32Array,
  highs: Float32Array,
  least: number,
  most: number,
  top: number,
  bottom: number,
  inks: Inks,
): void {
  const range = most - least || 1;
  const room = bottom - top - 1;
  const zero = Math.round(
    bottom - 1 - ((Math.min(Math.max(0, least), most) - least) / range) * room,
  );
  let before = -1;
  for (let x = 0; x < width; ++x) {
    const high = highs[x]!;
    if (Number.isNaN(high)) {
      before = -1;
      continue;
    }
    const yHigh = Math.round(bottom - 1 - ((high - least) / range) * room);
    const yLow = Math.round(bottom - 1 - ((lows[x]! - least) / range) * room);
    const fillTop = Math.max(Math.min(yLow, zero), 0, top);
    const fillBottom = Math.min(Math.max(yLow, zero), height - 1, bottom - 1);
    for (let y = fillTop; y <= fillBottom; ++y) pixels[y * width + x] = inks.curveFill;
    const lineTop = Math.max(before >= 0 ? Math.min(yHigh, before) : yHigh, 0, top);
    const lineBottom = Math.min(
      before >= 0 ? Math.max(yLow, before) : yLow,
      height - 1,
      bottom - 1,
    );
    for (let y = lineTop; y <= lineBottom; ++y) pixels[y * width + x] = inks.curve;
    before = yLow;
  }
}
