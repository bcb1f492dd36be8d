// What the reader chose about tracks, in the URL: pinned, collapsed, opened, ordered, filtered.
import { setState, stateOf } from "../state";
import type { Choices } from "./layout";

const pinned = stateOf("tracks.pinned");
const collapsed = stateOf("tracks.collapsed");
const opened = stateOf("tracks.opened");
const order = stateOf("tracks.order");
export const trackFilter = stateOf("tracks.filter");

function numbers(text: string): number[] {
  return text
    .split(",")
    .filter((part) => /^\d+$/.test(part))
    .map(Number);
}

function words(text: string): string[] {
  return text.split(",").filter((part) => part !== "");
}

export function choices(): Choices {
  return {
    pinned: numbers(pinned.value),
    collapsed: new Set(words(collapsed.value)),
    opened: new Set(words(opened.value)),
    order: numbers(order.value),
    filter: trackFilter.value,
  };
}

export function togglePinned(track: number): void {
  const now = numbers(pinned.value);
  const next = now.includes(track) ? now.filter((id) => id !== track) : [...now, track];
  setState({ "tracks.pinned": next.join() });
}

// `key` is a track's number or a process's ("p3").
export function toggleCollapsed(key: string): void {
  const now = words(collapsed.value);
  const next = now.includes(key) ? now.filter((item) => item !== key) : [...now, key];
  setState({ "tracks.collapsed": next.join() });
}

export function toggleOpened(key: string): void {
  const now = words(opened.value);
  const next = now.includes(key) ? now.filter((item) => item !== key) : [...now, key];
  setState({ "tracks.opened": next.join() });
}

// Undoes what hides a slice.
export function expand(trackKey: string, processKey: string, isDeep: boolean): void {
  const closed = words(collapsed.value).filter((key) => key !== trackKey && key !== processKey);
  const open = words(opened.value);
  if (isDeep && !open.includes(trackKey)) open.push(trackKey);
  setState({ "tracks.collapsed": closed.join(), "tracks.opened": open.join() }, "replace");
}

// `ids` are the tracks of a process, or the pinned ones, in their new order.
export function setOrder(ids: number[]): void {
  const now = numbers(pinned.value);
  if (ids.length > 0 && ids.every((id) => now.includes(id))) {
    let next = 0;
    setState({ "tracks.pinned": now.map((id) => (ids.includes(id) ? ids[next++] : id)).join() });
    return;
  }
  const others = numbers(order.value).filter((id) => !ids.includes(id));
  setState({ "tracks.order": [...others, ...ids].join() });
}

export function filterTracks(text: string): void {
  setState({ "tracks.filter": text }, "replace");
}
