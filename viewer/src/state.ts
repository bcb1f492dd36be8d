// What the page shows, all of it in the URL's fragment: `#token=…&view=timeline&run=0&range=0-1000`. A link shows the same, and the back button works.
//
//   const sort = stateOf("operators.sort", "-self_host_ns");   // a signal, to read
//   setState({ "operators.sort": "name" });                    // a step that the back button takes back
//   setState({ range: "5-10" }, "replace");                    // no step of its own: panning, typing
//   <a href={hrefOf({ view: "timeline", slice: "17" })}>       // a link
import { computed, signal, type ReadonlySignal } from "@preact/signals";

export type Changes = Record<string, string | number | null>;

export function parseFragment(fragment: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(fragment.replace(/^#/, "")))
    values.set(name, value);
  return values;
}

export function fragmentOf(values: ReadonlyMap<string, string>): string {
  const parts: string[] = [];
  for (const [name, value] of values) parts.push(`${encodePart(name)}=${encodePart(value)}`);
  return `#${parts.join("&")}`;
}

// Readable: what a fragment may hold as it is stays.
function encodePart(text: string): string {
  return encodeURIComponent(text).replace(/%(2C|3A|2F|24|40)/g, (code) => decodeURIComponent(code));
}

function currentFragment(): string {
  return typeof location === "undefined" ? "" : location.hash;
}

const values = signal<ReadonlyMap<string, string>>(parseFragment(currentFragment()));
const signals = new Map<string, ReadonlySignal<string>>();

export function stateOf(name: string, fallback = ""): ReadonlySignal<string> {
  const key = `${name}=${fallback}`;
  let found = signals.get(key);
  if (!found) {
    found = computed(() => values.value.get(name) ?? fallback);
    signals.set(key, found);
  }
  return found;
}

function changed(changes: Changes): Map<string, string> {
  const next = new Map(values.peek());
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") next.delete(name);
    else next.set(name, String(value));
  }
  return next;
}

// Grows when the address is written: links, which hold all of the state, are then made anew.
const writes = signal(0);

let replaceTimer: ReturnType<typeof setTimeout> | undefined;

// Browsers allow some 200 changes of the address in 30 s: those without a step of their own are gathered.
function writeLater(): void {
  if (replaceTimer !== undefined) return;
  replaceTimer = setTimeout(() => {
    replaceTimer = undefined;
    history.replaceState(null, "", fragmentOf(values.peek()));
    writes.value++;
  }, 250);
}

function writeNow(): void {
  if (replaceTimer === undefined) return;
  clearTimeout(replaceTimer);
  replaceTimer = undefined;
  history.replaceState(null, "", fragmentOf(values.peek()));
}

export function setState(changes: Changes, how: "push" | "replace" = "push"): void {
  const next = changed(changes);
  const fragment = fragmentOf(next);
  if (fragment === fragmentOf(values.peek())) return;
  if (how === "push") {
    writeNow();
    history.pushState(null, "", fragment);
    values.value = next;
    writes.value++;
  } else {
    values.value = next;
    writeLater();
  }
}

export function hrefOf(changes: Changes): string {
  void writes.value;
  return fragmentOf(changed(changes));
}

if (typeof window !== "undefined") {
  const read = () => {
    if (replaceTimer !== undefined) {
      clearTimeout(replaceTimer);
      replaceTimer = undefined;
    }
    values.value = parseFragment(location.hash);
    writes.value++;
  };
  window.addEventListener("popstate", read);
  window.addEventListener("hashchange", read);
  window.addEventListener("pagehide", writeNow);
}

// What all views share.
export const token = stateOf("token");
export const view = stateOf("view", "overview");
export const run = computed(() => Math.max(0, Number.parseInt(stateOf("run", "0").value, 10) || 0));

// A range of time, "begin-end" in ns: the timeline's window ("range") or an area that was selected ("area").
export interface TimeRange {
  begin_ns: number;
  end_ns: number;
}

export function parseRange(text: string): TimeRange | null {
  const match = /^(-?\d+)-(-?\d+)$/.exec(text);
  if (!match) return null;
  const begin_ns = Number(match[1]);
  const end_ns = Number(match[2]);
  return begin_ns < end_ns ? { begin_ns, end_ns } : null;
}

export function textOfRange(range: TimeRange): string {
  return `${Math.round(range.begin_ns)}-${Math.round(range.end_ns)}`;
}

export const shownRange = computed(() => parseRange(stateOf("range").value));
export const area = computed(() => parseRange(stateOf("area").value));
export const selectedSlice = computed(() => {
  const text = stateOf("slice").value;
  return /^\d+$/.test(text) ? Number(text) : null;
});
export const searchText = stateOf("q");

// Where a slice, or a range of time, is seen: for links from other views.
export function hrefOfSlice(slice: number): string {
  return hrefOf({ view: "timeline", slice, range: null });
}

export function hrefOfSearch(text: string): string {
  return hrefOf({ view: "timeline", q: text, range: null, slice: null });
}
