// The tiles of docs/viewer.md, decoded in place: the columns are views of the answer's bytes. Throws where an answer is not what it must be.

const MAGIC = 0x4c495453;
const HEAD_BYTES = 32;
export const BUCKETS = 512;

export interface SliceTile {
  kind: "slices";
  track: number;
  level: number;
  index: number;
  count: number;
  slices: Uint32Array;
  labels: Uint32Array;
  numbers: Uint32Array;
  begins: Float32Array;
  ends: Float32Array;
  depths: Uint16Array;
  // Items of depth d are those from laneStarts[d] to laneStarts[d + 1].
  laneStarts: Uint32Array;
  bytes: number;
}

export interface CounterTile {
  kind: "counter";
  track: number;
  level: number;
  index: number;
  count: number;
  at: Float32Array;
  least: Float32Array;
  most: Float32Array;
  last: Float32Array;
  bytes: number;
}

export type Tile = SliceTile | CounterTile;

export function decodeTiles(buffer: ArrayBuffer): Tile[] {
  const view = new DataView(buffer);
  const tiles: Tile[] = [];
  let offset = 0;
  while (offset < buffer.byteLength) {
    if (buffer.byteLength - offset < HEAD_BYTES) throw new Error("a tile's head is cut off");
    if (view.getUint32(offset, true) !== MAGIC) throw new Error("this is no tile");
    const bytes = view.getUint32(offset + 24, true);
    if (bytes < HEAD_BYTES || bytes % 4 !== 0 || bytes > buffer.byteLength - offset) {
      throw new Error("a tile is cut off");
    }
    tiles.push(decodeTile(buffer, view, offset, bytes));
    offset += bytes;
  }
  return tiles;
}

function decodeTile(buffer: ArrayBuffer, view: DataView, offset: number, bytes: number): Tile {
  const track = view.getUint32(offset + 4, true);
  const level = view.getUint32(offset + 8, true);
  const index = view.getUint32(offset + 12, true);
  const isCounter = view.getUint32(offset + 16, true) === 1;
  const count = view.getUint32(offset + 20, true);
  const needed = isCounter ? count * 16 : count * 22;
  if (needed > bytes - HEAD_BYTES) throw new Error("a tile has less than it says");
  let at = offset + HEAD_BYTES;
  const words = () => {
    const column = new Uint32Array(buffer, at, count);
    at += count * 4;
    return column;
  };
  const floats = () => {
    const column = new Float32Array(buffer, at, count);
    at += count * 4;
    return column;
  };
  if (isCounter) {
    return {
      kind: "counter",
      track,
      level,
      index,
      count,
      at: floats(),
      least: floats(),
      most: floats(),
      last: floats(),
      bytes,
    };
  }
  const slices = words();
  const labels = words();
  const numbers = words();
  const begins = floats();
  const ends = floats();
  const depths = new Uint16Array(buffer, at, count);
  const laneStarts = startsOfLanes(depths);
  return {
    kind: "slices",
    track,
    level,
    index,
    count,
    slices,
    labels,
    numbers,
    begins,
    ends,
    depths,
    laneStarts,
    bytes,
  };
}

const merged = new WeakMap<Tile, boolean>();

// Whether finer tiles would show more. Looked up once per tile.
export function isMerged(tile: Tile): boolean {
  let known = merged.get(tile);
  if (known === undefined) {
    known =
      tile.kind === "slices"
        ? tile.numbers.some((number) => number > 1)
        : tile.least.some((least, i) => least !== tile.most[i]);
    merged.set(tile, known);
  }
  return known;
}

export function startsOfLanes(depths: Uint16Array): Uint32Array {
  const lanes = depths.length === 0 ? 0 : depths[depths.length - 1]! + 1;
  const starts = new Uint32Array(lanes + 1);
  let lane = 0;
  for (let i = 0; i < depths.length; ++i) {
    const depth = depths[i]!;
    if (depth < lane && i > 0 && depth < depths[i - 1]!)
      throw new Error("a tile's items are not by depth");
    while (lane < depth) starts[++lane] = i;
  }
  if (lanes > 0) starts[lanes] = depths.length;
  return starts;
}
