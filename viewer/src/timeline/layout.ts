// Where tracks stand: processes, their tracks, their lanes. A pure function of the tracks and of what the reader chose; heights are in CSS pixels.
import { textOfValue } from "../format";
import type { ProcessInfo, TrackInfo, Tracks } from "../source";

export const LANE_HEIGHT = 18;
export const COUNTER_HEIGHT = 34;
export const PROCESS_HEIGHT = 24;
export const TRACK_GAP = 5;
// Tracks deeper than this begin with so many lanes; a click opens the rest.
export const FIRST_LANES = 24;

export interface Choices {
  // Tracks that stand on top, in this order.
  pinned: readonly number[];
  // Tracks that are one lane, and processes ("p3") that are one line.
  collapsed: ReadonlySet<string>;
  // Tracks that show all of their many lanes.
  opened: ReadonlySet<string>;
  // Tracks in the order that was chosen; others follow as they came.
  order: readonly number[];
  filter: string;
}

export interface ProcessRow {
  kind: "process";
  key: string;
  process: ProcessInfo;
  isCollapsed: boolean;
  y: number;
  height: number;
}

export interface TrackRow {
  kind: "track";
  key: string;
  track: TrackInfo;
  isPinned: boolean;
  isCollapsed: boolean;
  // Lanes that are shown, and how many more there are.
  lanes: number;
  hiddenLanes: number;
  // It shows more than tracks do at first.
  isOpened: boolean;
  y: number;
  height: number;
}

export type Row = ProcessRow | TrackRow;

export interface Layout {
  rows: Row[];
  byTrack: Map<number, TrackRow>;
  height: number;
  hiddenTracks: number;
}

export function titleOfTrack(track: TrackInfo): string {
  return track.series ? `${track.name} ${track.series}` : track.name;
}

export function titleOfProcess(process: ProcessInfo): string {
  const name = process.name.split("/").pop() ?? "";
  return [name === "" ? "process" : name, process.pid, process.labels]
    .filter((part) => part !== "" && part !== null)
    .join(" · ");
}

// A counter's value with its unit: "1.5 cores", "12.3 MiB/s".
export function textOfCounter(value: number, unit: string | null): string {
  const [kind = "", per] = (unit ?? "").split("/");
  const text = textOfValue(value, kind);
  const named =
    kind !== "" && !["ns", "bytes", "fraction", "count"].includes(kind) ? `${text} ${kind}` : text;
  return per ? `${named}/${per}` : named;
}

export function layOut(tracks: Tracks, choices: Choices): Layout {
  const layout: Layout = { rows: [], byTrack: new Map(), height: 0, hiddenTracks: 0 };
  const filter = choices.filter.trim().toLowerCase();
  const isWanted = (track: TrackInfo) =>
    filter === "" || titleOfTrack(track).toLowerCase().includes(filter);
  const byId = new Map(tracks.tracks.map((track) => [track.id, track]));
  const pinned = choices.pinned.filter((id) => byId.has(id));
  for (const id of pinned) addTrack(layout, byId.get(id)!, choices, true);

  const ordered = inOrder(tracks.tracks, choices.order).filter(
    (track) => !pinned.includes(track.id),
  );
  const known = new Set(tracks.processes.map((process) => process.id));
  for (const process of tracks.processes) {
    const all = ordered.filter((track) => track.process === process.id);
    const wanted = all.filter(isWanted);
    layout.hiddenTracks += all.length - wanted.length;
    if (wanted.length === 0) continue;
    const key = `p${process.id}`;
    const isCollapsed = choices.collapsed.has(key);
    add(layout, { kind: "process", key, process, isCollapsed, y: 0, height: PROCESS_HEIGHT });
    if (!isCollapsed) for (const track of wanted) addTrack(layout, track, choices, false);
  }
  for (const track of ordered)
    if (!known.has(track.process) && isWanted(track)) addTrack(layout, track, choices, false);
  return layout;
}

function add(layout: Layout, row: Row): void {
  row.y = layout.height;
  layout.rows.push(row);
  if (row.kind === "track") layout.byTrack.set(row.track.id, row);
  layout.height += row.height;
}

function addTrack(layout: Layout, track: TrackInfo, choices: Choices, isPinned: boolean): void {
  const key = String(track.id);
  const isCollapsed = choices.collapsed.has(key);
  const isCounter = track.kind === "counter";
  const depth = Math.max(1, track.depth);
  const open = choices.opened.has(key) ? depth : Math.min(depth, FIRST_LANES);
  const lanes = isCounter || isCollapsed ? 1 : open;
  const height = isCounter ? (isCollapsed ? LANE_HEIGHT : COUNTER_HEIGHT) : lanes * LANE_HEIGHT;
  const isOpened = !isCounter && !isCollapsed && lanes > FIRST_LANES;
  const hiddenLanes = isCounter || isCollapsed ? 0 : depth - lanes;
  add(layout, {
    kind: "track",
    key,
    track,
    isPinned,
    isCollapsed,
    lanes,
    hiddenLanes,
    isOpened,
    y: 0,
    height: height + TRACK_GAP,
  });
}

function inOrder(tracks: readonly TrackInfo[], order: readonly number[]): TrackInfo[] {
  if (order.length === 0) return [...tracks];
  const rank = new Map(order.map((id, index) => [id, index]));
  const placed = tracks
    .filter((track) => rank.has(track.id))
    .sort((a, b) => rank.get(a.id)! - rank.get(b.id)!);
  // Those that were moved take the places that they had among themselves.
  let next = 0;
  return tracks.map((track) => (rank.has(track.id) ? placed[next++]! : track));
}

// The order after a track was moved before or after another of its process.
export function moved(layout: Layout, id: number, by: number): number[] {
  const row = layout.byTrack.get(id);
  const ids = tracksOf(layout);
  if (!row) return ids;
  const siblings = layout.rows
    .filter(
      (item): item is TrackRow =>
        item.kind === "track" &&
        item.isPinned === row.isPinned &&
        item.track.process === row.track.process,
    )
    .map((item) => item.track.id);
  const from = siblings.indexOf(id);
  const to = Math.min(Math.max(from + by, 0), siblings.length - 1);
  const next = [...siblings];
  next.splice(from, 1);
  next.splice(to, 0, id);
  return next;
}

export function tracksOf(layout: Layout): number[] {
  return layout.rows.flatMap((row) => (row.kind === "track" ? [row.track.id] : []));
}

// The first row that ends below y; rows are in order.
export function rowAt(layout: Layout, y: number): number {
  let low = 0;
  let high = layout.rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const row = layout.rows[middle]!;
    if (row.y + row.height <= y) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function rowOfTrack(layout: Layout, id: number): TrackRow | undefined {
  return layout.byTrack.get(id);
}

// Tracks that have something between two heights: an area that was drawn.
export function tracksBetween(layout: Layout, top: number, bottom: number): number[] {
  return layout.rows.flatMap((row) =>
    row.kind === "track" &&
    row.track.kind !== "counter" &&
    row.y < bottom &&
    row.y + row.height > top
      ? [row.track.id]
      : [],
  );
}
