import { expect, test } from "vitest";
import type { TrackInfo, Tracks } from "../source";
import {
  COUNTER_HEIGHT,
  LANE_HEIGHT,
  layOut,
  moved,
  PROCESS_HEIGHT,
  rowAt,
  rowOfTrack,
  TRACK_GAP,
  tracksBetween,
  tracksOf,
  type Choices,
} from "./layout";
import { placesMoved } from "./heads";

function track(
  id: number,
  process: number,
  name: string,
  depth: number,
  kind: TrackInfo["kind"] = "thread",
): TrackInfo {
  return {
    id,
    process,
    kind,
    name,
    series: null,
    unit: null,
    slices: 1,
    depth,
    device: null,
    min: null,
    max: null,
  };
}

const tracks: Tracks = {
  processes: [
    { id: 0, pid: 10, name: "train.py", labels: "" },
    { id: 1, pid: 11, name: "worker", labels: "" },
  ],
  tracks: [
    track(4, 0, "main", 3),
    track(2, 0, "autograd", 2),
    track(9, 0, "CPU", 0, "counter"),
    track(5, 1, "loader", 100),
  ],
};
const none: Choices = {
  pinned: [],
  collapsed: new Set(),
  opened: new Set(),
  order: [],
  filter: "",
};

test("tracks stand under their process, a lane for each level", () => {
  const layout = layOut(tracks, none);
  expect(layout.rows.map((row) => row.key)).toEqual(["p0", "4", "2", "9", "p1", "5"]);
  expect(rowOfTrack(layout, 4)).toMatchObject({
    y: PROCESS_HEIGHT,
    lanes: 3,
    height: 3 * LANE_HEIGHT + TRACK_GAP,
  });
  expect(rowOfTrack(layout, 9)?.height).toBe(COUNTER_HEIGHT + TRACK_GAP);
  const last = layout.rows[layout.rows.length - 1]!;
  expect(layout.height).toBe(last.y + last.height);
});

test("very deep tracks show their first levels until they are opened", () => {
  expect(rowOfTrack(layOut(tracks, none), 5)).toMatchObject({
    lanes: 24,
    hiddenLanes: 76,
    isOpened: false,
  });
  expect(rowOfTrack(layOut(tracks, { ...none, opened: new Set(["5"]) }), 5)).toMatchObject({
    lanes: 100,
    hiddenLanes: 0,
    isOpened: true,
  });
});

test("collapsed tracks are one lane, collapsed processes one line", () => {
  const layout = layOut(tracks, { ...none, collapsed: new Set(["4", "p1"]) });
  expect(rowOfTrack(layout, 4)?.lanes).toBe(1);
  expect(rowOfTrack(layout, 5)).toBeUndefined();
});

test("pinned tracks stand on top, once", () => {
  const layout = layOut(tracks, { ...none, pinned: [5, 2, 777] });
  expect(layout.rows.map((row) => row.key)).toEqual(["5", "2", "p0", "4", "9"]);
});

test("a filter leaves out tracks and processes with none left, and counts them", () => {
  const layout = layOut(tracks, { ...none, filter: "AUTO" });
  expect(layout.rows.map((row) => row.key)).toEqual(["p0", "2"]);
  expect(layout.hiddenTracks).toBe(3);
});

test("a track is moved among those of its process only", () => {
  const layout = layOut(tracks, none);
  expect(moved(layout, 2, -1)).toEqual([2, 4, 9]);
  expect(moved(layout, 2, 99)).toEqual([4, 9, 2]);
  const after = layOut(tracks, { ...none, order: moved(layout, 2, -1) });
  expect(tracksOf(after)).toEqual([2, 4, 9, 5]);
});

test("a head that is dragged over its neighbour's middle takes its place", () => {
  const layout = layOut(tracks, none);
  const autograd = rowOfTrack(layout, 2)!;
  expect(placesMoved(layout, autograd, -50)).toBe(-1);
  expect(placesMoved(layout, autograd, 3)).toBe(0);
  expect(placesMoved(layout, autograd, 45)).toBe(1);
});

test("a height finds its row", () => {
  const layout = layOut(tracks, none);
  layout.rows.forEach((row, index) => {
    expect(rowAt(layout, row.y)).toBe(index);
    expect(rowAt(layout, row.y + row.height - 0.5)).toBe(index);
  });
  expect(rowAt(layout, layout.height + 1)).toBe(layout.rows.length);
});

test("an area holds the tracks that it touches, but no counters", () => {
  const layout = layOut(tracks, none);
  expect(tracksBetween(layout, PROCESS_HEIGHT + 1, rowOfTrack(layout, 9)!.y + 5)).toEqual([4, 2]);
});
