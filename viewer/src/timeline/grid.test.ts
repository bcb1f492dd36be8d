import { expect, test } from "vitest";
import {
  bucketNs,
  clampViewport,
  gridOf,
  levelFor,
  rulerStep,
  rulerText,
  tileAt,
  tileNs,
  zoomed,
} from "./grid";

test("the first tile covers the run, rounded up to a power of two", () => {
  expect(gridOf(6_404_257_925)).toEqual({ bits: 33, lastLevel: 24 });
  expect(gridOf(1 << 20)).toEqual({ bits: 20, lastLevel: 11 });
  expect(gridOf(100)).toEqual({ bits: 9, lastLevel: 0 });
});

test("very many tracks in a very long run cost the finest levels, not the numbering", () => {
  const grid = gridOf(2 ** 50, 100_000);
  expect(100_000 * 2 ** (grid.lastLevel + 1)).toBeLessThan(Number.MAX_SAFE_INTEGER);
});

test("the level is the one whose bucket is at most a pixel", () => {
  const grid = gridOf(2 ** 30);
  for (const nsPerPixel of [1, 3, 64, 1000, 12345, 2 ** 21]) {
    const level = levelFor(grid, nsPerPixel);
    expect(bucketNs(grid, level)).toBeLessThanOrEqual(nsPerPixel);
    if (level > 0) expect(bucketNs(grid, level - 1)).toBeGreaterThan(nsPerPixel);
  }
  expect(levelFor(grid, 0.001)).toBe(grid.lastLevel);
  expect(levelFor(grid, 1e12)).toBe(0);
});

test("tiles stay within the run", () => {
  const grid = gridOf(1024);
  expect(tileNs(grid, 1)).toBe(512);
  expect(tileAt(grid, 1, 511.9)).toBe(0);
  expect(tileAt(grid, 1, 512)).toBe(1);
  expect(tileAt(grid, 1, -5)).toBe(0);
  expect(tileAt(grid, 1, 1e9)).toBe(1);
});

test("zooming keeps the moment under the pointer in its place", () => {
  const view = zoomed({ begin_ns: 100, end_ns: 300 }, 150, 0.5);
  expect(view).toEqual({ begin_ns: 125, end_ns: 225 });
});

test("a window does not leave the run, nor become nothing", () => {
  const inside = clampViewport({ begin_ns: -500, end_ns: 100 }, 1000);
  expect(inside.begin_ns).toBeCloseTo(-20);
  expect(inside.end_ns).toBeCloseTo(580);
  const all = clampViewport({ begin_ns: -1e9, end_ns: 1e9 }, 1000);
  expect(all.end_ns - all.begin_ns).toBeCloseTo(1040);
  const least = clampViewport({ begin_ns: 500, end_ns: 500 }, 1000);
  expect(least.end_ns - least.begin_ns).toBe(20);
});

test("a ruler counts in 1, 2 and 5, and in minutes where seconds are many", () => {
  expect(rulerStep(1000, 100)).toBe(100_000);
  expect(rulerStep(1100, 100)).toBe(200_000);
  expect(rulerStep(0.001, 100)).toBe(1);
  expect(rulerStep(2e8, 100)).toBe(30e9);
});

test("a ruler's figures have the digits that tell its marks apart", () => {
  expect(rulerText(0, 10)).toBe("0");
  expect(rulerText(1_500_000, 500_000)).toBe("1.5 ms");
  expect(rulerText(4_165_000_000, 5_000_000)).toBe("4.165 s");
  expect(rulerText(2_000_000_000, 500_000_000)).toBe("2.0 s");
  expect(rulerText(1_234_567, 10)).toBe("1,234,567 ns");
  expect(rulerText(90e9, 30e9)).toBe("90 s");
  expect(rulerText(3_723e9, 60e9)).toBe("1:02:03");
});
