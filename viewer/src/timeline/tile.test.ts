import { expect, test } from "vitest";
import { decodeTiles, startsOfLanes } from "./tile";

interface Item {
  slice: number;
  label: number;
  number: number;
  begin: number;
  end: number;
  depth: number;
}

// Written by the layout in docs/viewer.md, column by column.
export function sliceTile(track: number, level: number, index: number, items: Item[]): Uint8Array {
  const n = items.length;
  const bytes = 32 + n * 20 + n * 2 + (n % 2) * 2;
  const view = new DataView(new ArrayBuffer(bytes));
  [0x4c495453, track, level, index, 0, n, bytes, 0].forEach((word, i) =>
    view.setUint32(i * 4, word, true),
  );
  items.forEach((item, i) => {
    view.setUint32(32 + i * 4, item.slice, true);
    view.setUint32(32 + (n + i) * 4, item.label, true);
    view.setUint32(32 + (2 * n + i) * 4, item.number, true);
    view.setFloat32(32 + (3 * n + i) * 4, item.begin, true);
    view.setFloat32(32 + (4 * n + i) * 4, item.end, true);
    view.setUint16(32 + 20 * n + i * 2, item.depth, true);
  });
  return new Uint8Array(view.buffer);
}

function counterTile(track: number, values: [number, number, number, number][]): Uint8Array {
  const n = values.length;
  const bytes = 32 + n * 16;
  const view = new DataView(new ArrayBuffer(bytes));
  [0x4c495453, track, 0, 0, 1, n, bytes, 0].forEach((word, i) => view.setUint32(i * 4, word, true));
  values.forEach((value, i) =>
    value.forEach((part, column) => view.setFloat32(32 + (column * n + i) * 4, part, true)),
  );
  return new Uint8Array(view.buffer);
}

function joined(...parts: Uint8Array[]): ArrayBuffer {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes.buffer;
}

const items: Item[] = [
  { slice: 7, label: 1, number: 1, begin: -3, end: 600, depth: 0 },
  { slice: 9, label: 2, number: 40, begin: 1.5, end: 2, depth: 2 },
  { slice: 8, label: 3, number: 1, begin: 4, end: 9, depth: 2 },
];

test("tiles of slices and of counters come one after the other", () => {
  const [slices, counter] = decodeTiles(
    joined(sliceTile(3, 5, 17, items), counterTile(4, [[-1, 1, 2, 1.5]])),
  );
  if (slices?.kind !== "slices" || counter?.kind !== "counter") throw new Error("kinds are wrong");
  expect([slices.track, slices.level, slices.index]).toEqual([3, 5, 17]);
  expect([...slices.slices]).toEqual([7, 9, 8]);
  expect([...slices.labels]).toEqual([1, 2, 3]);
  expect([...slices.numbers]).toEqual([1, 40, 1]);
  expect([...slices.begins]).toEqual([-3, 1.5, 4]);
  expect([...slices.ends]).toEqual([600, 2, 9]);
  expect([...slices.depths]).toEqual([0, 2, 2]);
  expect([...slices.laneStarts]).toEqual([0, 1, 1, 3]);
  expect([...counter.at, ...counter.least, ...counter.most, ...counter.last]).toEqual([
    -1, 1, 2, 1.5,
  ]);
});

test("a track with nothing has an empty tile", () => {
  const [tile] = decodeTiles(joined(sliceTile(1, 0, 0, [])));
  expect(tile?.count).toBe(0);
  expect([...startsOfLanes(new Uint16Array(0))]).toEqual([0]);
});

test("what is cut off, or no tile, is refused", () => {
  const whole = joined(sliceTile(3, 5, 17, items));
  for (let bytes = 1; bytes < whole.byteLength; ++bytes)
    expect(() => decodeTiles(whole.slice(0, bytes))).toThrow();
  const wrongMagic = whole.slice(0);
  new DataView(wrongMagic).setUint32(0, 1, true);
  expect(() => decodeTiles(wrongMagic)).toThrow("no tile");
  const tooMany = whole.slice(0);
  new DataView(tooMany).setUint32(20, 0xffffffff, true);
  expect(() => decodeTiles(tooMany)).toThrow("less than it says");
});
