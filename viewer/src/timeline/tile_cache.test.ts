import { expect, test, vi } from "vitest";
import { TileCache } from "./tile_cache";

function emptyTile(track: number, level: number, index: number): Uint8Array {
  return new Uint8Array(new Uint32Array([0x4c495453, track, level, index, 0, 0, 32, 0]).buffer);
}

// Answers as the server does: each tile that is wanted, one after the other.
function answerTo(level: number, want: string): ArrayBuffer {
  const parts = want.split(",").map((part) => part.split(".").map(Number) as [number, number]);
  const bytes = new Uint8Array(parts.length * 32);
  parts.forEach(([track, index], i) => bytes.set(emptyTile(track, level, index), i * 32));
  return bytes.buffer;
}

interface Asked {
  level: number;
  want: string;
  signal: AbortSignal;
  answer: () => void;
  fail: () => void;
}

function cacheWith(limitBytes?: number) {
  const asked: Asked[] = [];
  const errors: unknown[] = [];
  const onArrive = vi.fn();
  const cache = new TileCache(
    40,
    (level, want, signal) =>
      new Promise((resolve, reject) => {
        asked.push({
          level,
          want,
          signal,
          answer: () => resolve(answerTo(level, want)),
          fail: () => reject(new Error("no")),
        });
      }),
    onArrive,
    (error) => errors.push(error),
    limitBytes,
  );
  return { cache, asked, errors, onArrive };
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

test("what a frame wants is one request per level, and is not asked for twice", async () => {
  const { cache, asked, onArrive } = cacheWith();
  const want = () => {
    cache.want(7, 0, 0);
    cache.want(7, 3, 5);
    cache.want(8, 3, 2 ** 3 - 1);
    cache.flush();
  };
  want();
  want();
  expect(asked.map(({ level, want }) => `${level}: ${want}`)).toEqual(["0: 7.0", "3: 7.5,8.7"]);
  for (const request of asked) request.answer();
  await settled();
  expect(onArrive).toHaveBeenCalledTimes(2);
  expect(cache.find(8, 3, 7)).toMatchObject({ track: 8, level: 3, index: 7 });
  want();
  expect(asked.length).toBe(2);
});

test("a tile stands in for finer ones that it covers", async () => {
  const { cache, asked } = cacheWith();
  cache.want(1, 2, 1);
  cache.flush();
  asked[0]!.answer();
  await settled();
  expect(cache.findCovering(1, 5, 0b01_110)).toMatchObject({ level: 2, index: 1 });
  expect(cache.findCovering(1, 5, 0b10_000)).toBeNull();
});

test("requests of which nothing is in sight any more are aborted, and their tiles can be asked for again", () => {
  const { cache, asked } = cacheWith();
  cache.want(1, 4, 3);
  cache.flush();
  cache.want(1, 4, 9);
  cache.flush();
  expect(asked[0]!.signal.aborted).toBe(true);
  cache.want(1, 4, 3);
  cache.want(1, 4, 9);
  cache.flush();
  expect(asked.map(({ want }) => want)).toEqual(["1.3", "1.9", "1.3"]);
});

test("a request that fails is told, and tried again a few times only", async () => {
  const { cache, asked, errors } = cacheWith();
  for (let i = 0; i < 6; ++i) {
    cache.want(1, 0, 0);
    cache.flush();
    asked[i]?.fail();
    await settled();
  }
  expect(asked.length).toBe(3);
  expect(errors.length).toBe(3);
});

test("the cache is bounded, and keeps what was seen last", async () => {
  const { cache, asked } = cacheWith(20 * 632);
  for (let index = 0; index < 100; ++index) {
    cache.want(1, 10, index);
    cache.flush();
    asked[index]!.answer();
    await settled();
  }
  cache.flush();
  expect(cache.size).toBeLessThanOrEqual(20 * 632);
  expect(cache.find(1, 10, 99)).not.toBeNull();
  expect(cache.find(1, 10, 0)).toBeNull();
});

test("levels and indices of long runs keep their numbers", () => {
  const { cache, asked } = cacheWith();
  cache.want(3000, 40, 2 ** 40 - 1);
  cache.flush();
  expect([asked[0]!.level, asked[0]!.want]).toEqual([40, `3000.${2 ** 40 - 1}`]);
});

test("a request that is too much is asked for in smaller parts", async () => {
  const { cache, asked, errors } = cacheWith();
  const want = () => {
    for (let index = 0; index < 64; ++index) cache.want(1, 6, index);
    cache.flush();
  };
  want();
  asked[0]!.fail();
  await settled();
  want();
  expect(asked.map((request) => request.want.split(",").length)).toEqual([64, 16]);
  expect(errors).toEqual([]);
});
