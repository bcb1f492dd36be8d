import { expect, test } from "vitest";
import { packHex, packRgb } from "../color";
import { Labels } from "./labels";
import { gatherCurve, mix, mixHalf, paintCurve, paintLane, type Inks } from "./pixels";
import { startsOfLanes, type CounterTile, type SliceTile } from "./tile";

const inks: Inks = {
  ground: packHex("#ffffff"),
  dim: packHex("#cccccc"),
  curve: packHex("#0000ff"),
  curveFill: packHex("#aaaaff"),
  fills: new Uint32Array(72).fill(packHex("#336699")),
};
const FILL = packHex("#336699");

function labels(): Labels {
  const made = new Labels(
    async () => [],
    () => {},
    () => {},
  );
  made.add({ id: 1, name: "aten::add", category: "", kind: "operator" });
  return made;
}

function tileOf(items: [begin: number, end: number, depth: number, label?: number][]): SliceTile {
  const depths = new Uint16Array(items.map((item) => item[2]));
  return {
    kind: "slices",
    track: 0,
    level: 0,
    index: 0,
    count: items.length,
    slices: new Uint32Array(items.map((_, i) => i)),
    labels: new Uint32Array(items.map((item) => item[3] ?? 1)),
    numbers: new Uint32Array(items.length).fill(1),
    begins: new Float32Array(items.map((item) => item[0])),
    ends: new Float32Array(items.map((item) => item[1])),
    depths,
    laneStarts: startsOfLanes(depths),
    bytes: 0,
  };
}

function painted(tile: SliceTile, lane: number, clipBegin = 0, clipEnd = 20): number[] {
  const line = new Uint32Array(20).fill(inks.ground);
  paintLane(line, tile, lane, 0, 1, clipBegin, clipEnd, labels(), inks);
  return [...line];
}

test("colours mix channel by channel", () => {
  expect(mixHalf(packRgb(0, 100, 200), packRgb(100, 200, 0))).toBe(packRgb(50, 150, 100));
  expect(mix(packRgb(0, 0, 0), packRgb(200, 100, 40), 128)).toBe(packRgb(100, 50, 20));
  expect(mix(packRgb(9, 8, 7), packRgb(200, 100, 40), 0)).toBe(packRgb(9, 8, 7));
});

test("a slice fills its pixels, with an edge at its end", () => {
  const line = painted(tileOf([[2, 8, 0]]), 0);
  expect(line.slice(0, 2)).toEqual([inks.ground, inks.ground]);
  expect(line.slice(2, 7)).toEqual(Array(5).fill(FILL));
  expect(line[7]).toBe(mixHalf(FILL, inks.ground));
  expect(line[8]).toBe(inks.ground);
});

test("a slice narrower than a pixel is still seen", () => {
  const line = painted(tileOf([[5.2, 5.21, 0]]), 0);
  expect(line[5]).not.toBe(inks.ground);
  expect(line.filter((pixel) => pixel !== inks.ground).length).toBe(1);
});

test("only the lane and the pixels that are asked for are painted", () => {
  const tile = tileOf([
    [-100, 600, 0],
    [3, 4, 1],
  ]);
  const line = painted(tile, 0, 5, 10);
  expect(line.map((pixel) => pixel === FILL)).toEqual(
    Array.from({ length: 20 }, (_, x) => x >= 5 && x < 10),
  );
  expect(painted(tile, 1)[3]).not.toBe(inks.ground);
  expect(painted(tile, 2).every((pixel) => pixel === inks.ground)).toBe(true);
});

test("a slice whose name is not known yet has no colour, and its name is asked for", async () => {
  const asked: number[][] = [];
  const made = new Labels(
    async (ids) => {
      asked.push(ids);
      return ids.map((id) => ({ id, name: `n${id}`, category: "", kind: "" }));
    },
    () => {},
    () => {},
  );
  const line = new Uint32Array(4).fill(inks.ground);
  const paint = () => paintLane(line, tileOf([[0, 4, 0, 5000]]), 0, 0, 1, 0, 4, made, inks);
  paint();
  expect(line[0]).toBe(inks.dim);
  made.flush();
  await Promise.resolve();
  await Promise.resolve();
  paint();
  made.flush();
  expect(line[0]).toBe(FILL);
  expect(asked).toEqual([[5000]]);
});

test("what a search leaves out loses its colour", () => {
  const made = labels();
  const line = new Uint32Array(4);
  made.highlight((name) => name === "other");
  paintLane(line, tileOf([[0, 4, 0]]), 0, 0, 1, 0, 4, made, inks);
  expect(line[0]).toBe(inks.dim);
});

function counterTile(
  values: [at: number, least: number, most: number, last: number][],
): CounterTile {
  const column = (index: number) => new Float32Array(values.map((value) => value[index]!));
  return {
    kind: "counter",
    track: 0,
    level: 0,
    index: 0,
    count: values.length,
    at: column(0),
    least: column(1),
    most: column(2),
    last: column(3),
    bytes: 0,
  };
}

test("a counter holds its value until the next, and shows all values of a pixel", () => {
  const lows = new Float32Array(10).fill(Number.NaN);
  const highs = new Float32Array(10).fill(Number.NaN);
  gatherCurve(
    lows,
    highs,
    counterTile([
      [-1, 2, 2, 2],
      [4, 1, 9, 5],
    ]),
    0,
    1,
    0,
    10,
  );
  expect([...highs]).toEqual([2, 2, 2, 2, 9, 5, 5, 5, 5, 5]);
  expect([...lows]).toEqual([2, 2, 2, 2, 1, 5, 5, 5, 5, 5]);
});

test("a curve is drawn at its height and nowhere outside its rows", () => {
  const width = 2;
  const height = 30;
  const pixels = new Uint32Array(width * height).fill(inks.ground);
  const lows = new Float32Array([5, Number.NaN]);
  const highs = new Float32Array([5, Number.NaN]);
  paintCurve(pixels, width, height, lows, highs, 0, 10, 10, 21, inks);
  const column = Array.from({ length: height }, (_, y) => pixels[y * width]!);
  expect(column.indexOf(inks.curve)).toBe(15);
  expect(column[20]).toBe(inks.curveFill);
  expect(column[21]).toBe(inks.ground);
  expect(column[9]).toBe(inks.ground);
  expect(pixels[15 * width + 1]).toBe(inks.ground);
});
