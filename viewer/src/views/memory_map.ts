// The picture of memory over time × address: where a rectangle stands, and which one is at a pixel.
// The server has cut the unused ranges of addresses out: `offset` goes from 0 to `length`.
import type { MemoryFlowAnswer } from "../source";

export type MemoryRectangles = Pick<
  MemoryFlowAnswer["columns"],
  "offset" | "bytes" | "begin_ns" | "end_ns"
>;

export interface MapView {
  widthPx: number;
  heightPx: number;
  begin_ns: number;
  end_ns: number;
  // Bytes from the bottom to the top.
  length: number;
}

export function lengthOf(ranges: MemoryFlowAnswer["ranges"]): number {
  return ranges.reduce((length, { offset, bytes }) => Math.max(length, offset + bytes), 1);
}

// Where addresses were cut out, in pixels from the top; those close to another are left out.
export function cutsOf(ranges: MemoryFlowAnswer["ranges"], view: MapView, leastPx = 6): number[] {
  const cuts: number[] = [];
  for (const { offset } of ranges.slice(1)) {
    const y = view.heightPx * (1 - offset / view.length);
    if (cuts.length === 0 || cuts.at(-1)! - y >= leastPx) cuts.push(y);
  }
  return cuts;
}

export interface PixelBox {
  x: number;
  y: number;
  width: number;
  height: number;
}

export function boxOf(rectangles: MemoryRectangles, view: MapView, row: number): PixelBox {
  const perNs = view.widthPx / Math.max(1, view.end_ns - view.begin_ns);
  const perByte = view.heightPx / view.length;
  const height = rectangles.bytes[row]! * perByte;
  return {
    x: (rectangles.begin_ns[row]! - view.begin_ns) * perNs,
    y: view.heightPx - rectangles.offset[row]! * perByte - height,
    width: (rectangles.end_ns[row]! - rectangles.begin_ns[row]!) * perNs,
    height,
  };
}

// The rectangle at a pixel, the smallest where several touch; -1 for none.
export function rectangleAt(
  rectangles: MemoryRectangles,
  view: MapView,
  x: number,
  y: number,
): number {
  let best = -1;
  for (let row = 0; row < rectangles.offset.length; ++row) {
    const box = boxOf(rectangles, view, row);
    const isAcross = x >= box.x && x <= box.x + Math.max(1, box.width);
    const isIn = isAcross && y >= box.y && y <= box.y + Math.max(1, box.height);
    if (isIn && (best < 0 || rectangles.bytes[row]! < rectangles.bytes[best]!)) best = row;
  }
  return best;
}
