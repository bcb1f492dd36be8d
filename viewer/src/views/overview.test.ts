import { expect, test } from "vitest";
import type { Finding } from "../source";
import type { CounterTile } from "../timeline/tile";
import { valueOf, withoutFindings } from "./overview";
import { barsOf, scaleOf } from "./step_bars";
import { deviceCurves, meansOf, sampleCounter } from "./utilisation";

const phases = {
  view: "phases",
  columns: ["step", "start_ns", "dur_ns", "input_ns", "forward_ns", "copy_ns"].map((name) => ({
    name,
    unit: name === "step" ? "" : "ns",
  })),
  rows: [
    [0, 0, 100, 80, 20, 0],
    [1, 100, 50, 20, 30, 0],
    [2, 150, 70, 30, 40, 0],
  ],
};

test("a bar is a step, with the phases that any step has", () => {
  const { phases: names, bars, totals } = barsOf(phases, 100);
  expect(names).toEqual(["input", "forward"]);
  expect(bars.map((bar) => bar.parts)).toEqual([
    [80, 20],
    [20, 30],
    [30, 40],
  ]);
  expect(totals).toEqual([130, 90]);
  expect(bars[1]).toMatchObject({ first: "1", steps: 1, begin_ns: 100, end_ns: 150, dur_ns: 50 });
});

test("where steps are too many, a bar is the mean of neighbours", () => {
  const { bars } = barsOf(phases, 2);
  expect(bars.length).toBe(2);
  expect(bars[0]).toMatchObject({
    first: "0",
    last: "1",
    steps: 2,
    dur_ns: 75,
    begin_ns: 0,
    end_ns: 150,
    parts: [50, 25],
  });
});

test("one very long step does not flatten the others", () => {
  const bar = (dur_ns: number) => ({
    first: "",
    last: "",
    steps: 1,
    begin_ns: 0,
    end_ns: 0,
    dur_ns,
    parts: [],
  });
  const usual = Array.from({ length: 50 }, () => bar(10));
  expect(scaleOf([...usual, bar(12)])).toBe(12);
  expect(scaleOf([bar(1000), ...usual])).toBe(16);
});

test("the mean of a value that holds counts how long it held", () => {
  expect(meansOf([0, 5, 10], [0, 1, 0], 20, 2)).toEqual([0.5, 0]);
  expect(meansOf([10], [3], 20, 2)).toEqual([null, 3]);
  expect(meansOf([], [], 20, 2)).toEqual([null, null]);
});

test("each device and metric is a curve", () => {
  const table = {
    view: "devices",
    columns: ["device", "metric", "time_ns", "value"].map((name) => ({ name, unit: "" })),
    rows: [
      [0, "busy_fraction", 0, 1],
      [1, "busy_fraction", 0, 0.5],
      [0, "sm_efficiency", 0, 0.25],
    ],
  };
  const { names, data } = deviceCurves(table, 1000);
  expect(names).toEqual(["device 0 busy", "device 1 busy", "device 0 sm efficiency"]);
  expect(data.slice(1).map((series) => series[7])).toEqual([1, 0.5, 0.25]);
});

test("a counter is sampled as it holds, over the border of tiles", () => {
  const tile = (index: number, at: number[], last: number[]): CounterTile => {
    const values = new Float32Array(last);
    return {
      kind: "counter",
      track: 0,
      level: 1,
      index,
      count: at.length,
      at: new Float32Array(at),
      least: values,
      most: values,
      last: values,
      bytes: 0,
    };
  };
  // A run of 1,024 ns: two tiles of 512 buckets of 1 ns.
  const tiles = [tile(1, [-1, 100], [7, 9]), tile(0, [10], [7])];
  expect(sampleCounter(tiles, 1024, [0, 10, 511, 600, 612, 1000])).toEqual([null, 7, 7, 7, 9, 9]);
});

test("lines of the verdict that findings repeat are left to them", () => {
  const finding = { id: "host-sync", fix: "Do not ask." } as Finding;
  expect(
    withoutFindings(
      ["A step takes 5 ms.", "1. It waits. [host-sync]", "Do not ask. x.item()", "Apart from it."],
      [finding],
    ),
  ).toEqual(["A step takes 5 ms.", "Apart from it."]);
});

test("a fact of the overview is shown in its unit", () => {
  const table = {
    view: "overview",
    columns: [
      { name: "name", unit: "" },
      { name: "value_ns", unit: "ns" },
      { name: "value_count", unit: "count" },
    ],
    rows: [],
  };
  expect(valueOf(table, ["a", 1500, null])).toBe("1.500 us");
  expect(valueOf(table, ["a", null, 1500])).toBe("1,500");
});
