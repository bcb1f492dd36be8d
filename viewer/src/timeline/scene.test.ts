import { beforeEach, expect, test } from "vitest";
import type { Tracks } from "../source";
import { gridOf } from "./grid";
import { Labels } from "./labels";
import { LANE_HEIGHT, layOut, PROCESS_HEIGHT } from "./layout";
import {
  counterAt,
  eachTile,
  hitAt,
  levelOf,
  neighbour,
  paintScene,
  pixelOf,
  Scratch,
  wantTiles,
  type Scene,
} from "./scene";
import { TileCache } from "./tile_cache";

// A run of 2,048 ns on one thread, whose slices every level's tiles are cut from, and a counter.
const SLICES = [
  { id: 0, begin: 0, end: 2048, depth: 0 },
  { id: 1, begin: 100, end: 300, depth: 1 },
  { id: 2, begin: 300, end: 900, depth: 1 },
  { id: 3, begin: 1500, end: 1501, depth: 1 },
];
const SPAN = 2048;
const tracks: Tracks = {
  processes: [{ id: 0, pid: 1, name: "p", labels: "" }],
  tracks: [
    {
      id: 5,
      process: 0,
      kind: "thread",
      name: "t",
      series: null,
      unit: null,
      slices: 4,
      depth: 2,
      device: null,
      min: null,
      max: null,
    },
    {
      id: 6,
      process: 0,
      kind: "counter",
      name: "c",
      series: null,
      unit: null,
      slices: 0,
      depth: 0,
      device: null,
      min: 0,
      max: 4,
    },
  ],
};

function sliceTile(level: number, index: number): Uint8Array {
  const width = SPAN / 2 ** level;
  const bucket = width / 512;
  const items = SLICES.filter(
    (slice) => slice.begin < (index + 1) * width && slice.end > index * width,
  );
  const n = items.length;
  const bytes = 32 + 20 * n + 2 * n + (n % 2) * 2;
  const view = new DataView(new ArrayBuffer(bytes));
  [0x4c495453, 5, level, index, 0, n, bytes, 0].forEach((word, i) =>
    view.setUint32(i * 4, word, true),
  );
  items.forEach((item, i) => {
    view.setUint32(32 + i * 4, item.id, true);
    view.setUint32(32 + (n + i) * 4, item.id, true);
    view.setUint32(32 + (2 * n + i) * 4, 1, true);
    view.setFloat32(32 + (3 * n + i) * 4, (item.begin - index * width) / bucket, true);
    view.setFloat32(32 + (4 * n + i) * 4, (item.end - index * width) / bucket, true);
    view.setUint16(32 + 20 * n + 2 * i, item.depth, true);
  });
  return new Uint8Array(view.buffer);
}

// 1 from the run's begin, 3 from its middle on.
function counterTile(level: number, index: number): Uint8Array {
  const width = SPAN / 2 ** level;
  const middle = ((SPAN / 2 - index * width) / width) * 512;
  const values: [number, number][] =
    middle <= 0
      ? [[-1, 3]]
      : middle >= 512
        ? [[-1, 1]]
        : [
            [-1, 1],
            [middle, 3],
          ];
  const n = values.length;
  const view = new DataView(new ArrayBuffer(32 + 16 * n));
  [0x4c495453, 6, level, index, 1, n, 32 + 16 * n, 0].forEach((word, i) =>
    view.setUint32(i * 4, word, true),
  );
  values.forEach(([at, value], i) => {
    view.setFloat32(32 + i * 4, at, true);
    for (const column of [1, 2, 3]) view.setFloat32(32 + (column * n + i) * 4, value, true);
  });
  return new Uint8Array(view.buffer);
}

let scene: Scene;
let asked: string[];
let refused: number;

beforeEach(() => {
  asked = [];
  refused = -1;
  const grid = gridOf(SPAN, 7);
  const answer = async (level: number, want: string) => {
    asked.push(`${level}: ${want}`);
    if (level === refused) return new Promise<ArrayBuffer>(() => {});
    const parts = want.split(",").map((part) => part.split(".").map(Number) as [number, number]);
    const tiles = parts.map(([track, index]) =>
      track === 5 ? sliceTile(level, index) : counterTile(level, index),
    );
    return new Blob(tiles as BlobPart[]).arrayBuffer();
  };
  const cache = new TileCache(
    grid.lastLevel,
    answer,
    () => {},
    (error) => {
      throw error;
    },
  );
  const labels = new Labels(
    async () => [],
    () => {},
    () => {},
  );
  for (const slice of SLICES)
    labels.add({ id: slice.id, name: `slice ${"abcd"[slice.id]}`, category: "", kind: "" });
  const layout = layOut(tracks, {
    pinned: [],
    collapsed: new Set(),
    opened: new Set(),
    order: [],
    filter: "",
  });
  scene = {
    grid,
    cache,
    labels,
    layout,
    viewport: { begin_ns: 0, end_ns: SPAN },
    scrollTop: 0,
    width: 1024,
    height: 200,
    ratio: 1,
  };
});

async function load(): Promise<void> {
  wantTiles(scene);
  scene.cache.flush();
  await new Promise((resolve) => setTimeout(resolve, 5));
}

const yOf = (depth: number) => PROCESS_HEIGHT + depth * LANE_HEIGHT + 5;

test("tracks in sight ask for the whole run and for the level that is shown", async () => {
  await load();
  expect(levelOf(scene)).toBe(1);
  expect(asked).toEqual(["0: 5.0,6.0", "1: 5.0,5.1,6.0,6.1"]);
});

test("what is out of sight is not asked for", async () => {
  scene.height = PROCESS_HEIGHT + 10;
  await load();
  expect(asked).toEqual(["0: 5.0", "1: 5.0,5.1"]);
});

test("the tiles of a view fill it from left to right without gaps", async () => {
  scene.viewport = { begin_ns: 333, end_ns: 1777 };
  await load();
  const edges: number[] = [];
  eachTile(scene, 5, (_, __, ___, begin, end) => edges.push(begin, end));
  expect(edges[0]).toBe(0);
  expect(edges[edges.length - 1]).toBe(1024);
  for (let i = 1; i + 1 < edges.length; i += 2) expect(edges[i]).toBe(edges[i + 1]);
});

test("the slice under a pixel is found, also when it is thin", async () => {
  await load();
  expect(hitAt(scene, 100, yOf(0))).toMatchObject({ slice: 0, depth: 0 });
  expect(hitAt(scene, 100, yOf(1))).toMatchObject({ slice: 1, begin_ns: 100, end_ns: 300 });
  expect(hitAt(scene, 151, yOf(1))).toMatchObject({ slice: 2 });
  expect(hitAt(scene, 752, yOf(1))).toMatchObject({ slice: 3 });
  expect(hitAt(scene, 700, yOf(1))).toBeNull();
  expect(hitAt(scene, 100, 5)).toBeNull();
});

test("until finer tiles come the coarser one is shown and hit", async () => {
  refused = 1;
  await load();
  const levels: number[] = [];
  eachTile(scene, 5, (tile) => levels.push(tile.level));
  expect(levels).toEqual([0, 0]);
  expect(hitAt(scene, 100, yOf(1))).toMatchObject({ slice: 1, begin_ns: 100, end_ns: 300 });
});

test("neighbours on a lane are found on both sides, and out of sight", async () => {
  await load();
  expect(neighbour(scene, 5, 1, 300, true, 1)?.slice).toBe(2);
  expect(neighbour(scene, 5, 1, 300, false, 2)?.slice).toBe(1);
  expect(neighbour(scene, 5, 1, 100, false, 1)).toBeNull();
  scene.viewport = { begin_ns: 310, end_ns: 320 };
  await load();
  expect(neighbour(scene, 5, 1, 900, true, 2)?.slice).toBe(3);
});

test("a counter's value under a pixel is the one that it holds there", async () => {
  await load();
  const y = scene.layout.byTrack.get(6)!.y + 5;
  expect(counterAt(scene, 100, y)?.value).toBe(1);
  expect(counterAt(scene, 900, y)?.value).toBe(3);
  expect(counterAt(scene, 100, yOf(0))).toBeNull();
});

test("pixels are coloured where slices are", async () => {
  await load();
  const fill = 0xff112233;
  const inks = {
    ground: 0xffffffff,
    dim: 0xffcccccc,
    curve: 1,
    curveFill: 2,
    fills: new Uint32Array(72).fill(fill),
  };
  const pixels = new Uint32Array(scene.width * scene.height);
  paintScene(scene, pixels, new Scratch(), inks);
  const at = (ns: number, depth: number) =>
    pixels[yOf(depth) * scene.width + Math.round(pixelOf(scene, ns))];
  expect(at(1000, 0)).toBe(fill);
  expect(at(200, 1)).toBe(fill);
  expect(at(1200, 1)).toBe(inks.ground);
  expect(at(1500, 1)).not.toBe(inks.ground);
});
