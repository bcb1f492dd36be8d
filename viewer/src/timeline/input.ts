// Mouse, wheel and keys of the timeline. Returns a function that takes all of it back.
import { areKeysShown, isTyping } from "../keys";
import { area, searchText, selectedSlice, setState } from "../state";
import { setOrder, toggleCollapsed, togglePinned } from "./choices";
import { moved, tracksBetween } from "./layout";
import type { Elements, Timeline } from "./timeline";

const CLICK_PIXELS = 4;
const ZOOM_STEP = 0.8;
const PAN_STEP = 0.1;
// While a key is held, per second: the window is zoomed to a fifth, or moved by its own width.
const ZOOM_RATE = Math.log(5);
const PAN_RATE = 1;
const HOLD_AFTER_MS = 180;

export function listenToInput(
  timeline: Timeline,
  elements: Elements,
  focusSearch: () => void,
): () => void {
  const abort = new AbortController();
  listenToPointer(timeline, elements, abort.signal);
  listenToRuler(timeline, elements.ruler, abort.signal);
  listenToMinimap(timeline, elements.minimap, abort.signal);
  listenToWheel(timeline, elements, abort.signal);
  listenToKeys(timeline, focusSearch, abort.signal);
  return () => abort.abort();
}

function listenToPointer(
  timeline: Timeline,
  { overlay, scroller }: Elements,
  signal: AbortSignal,
): void {
  let start: {
    x: number;
    y: number;
    ns: number;
    begin_ns: number;
    top: number;
    isArea: boolean;
  } | null = null;
  let hasMoved = false;

  const topAt = (event: PointerEvent) => scroller.scrollTop + event.offsetY;
  const areaTo = (event: PointerEvent) => {
    const ns = timeline.nsAt(event.offsetX);
    const range = { begin_ns: Math.min(start!.ns, ns), end_ns: Math.max(start!.ns, ns) };
    const top = Math.min(start!.top, topAt(event));
    const bottom = Math.max(start!.top, topAt(event));
    const tracks = tracksBetween(timeline.layout.value, top, Math.max(bottom, top + 1));
    return { range, tracks: tracks.length > 0 ? tracks : null };
  };

  overlay.addEventListener(
    "pointerdown",
    (event) => {
      if (event.button !== 0) return;
      overlay.setPointerCapture(event.pointerId);
      hasMoved = false;
      start = {
        x: event.offsetX,
        y: event.offsetY,
        ns: timeline.nsAt(event.offsetX),
        begin_ns: timeline.viewport.begin_ns,
        top: topAt(event),
        isArea: event.shiftKey,
      };
    },
    { signal },
  );
  overlay.addEventListener(
    "pointermove",
    (event) => {
      if (!start) {
        timeline.point(event);
        return;
      }
      if (Math.hypot(event.offsetX - start.x, event.offsetY - start.y) > CLICK_PIXELS)
        hasMoved = true;
      if (!hasMoved) return;
      timeline.point(null);
      if (start.isArea) {
        const { range, tracks } = areaTo(event);
        timeline.draftSelection(range, tracks);
        return;
      }
      const { begin_ns, end_ns } = timeline.viewport;
      const nsPerPixel = (end_ns - begin_ns) / overlay.clientWidth;
      const begin = start.begin_ns - (event.offsetX - start.x) * nsPerPixel;
      timeline.show({ begin_ns: begin, end_ns: begin + (end_ns - begin_ns) });
      scroller.scrollTop = start.top - event.offsetY;
    },
    { signal },
  );
  overlay.addEventListener(
    "pointerup",
    (event) => {
      if (!start) return;
      if (!hasMoved) {
        const hit = timeline.hitUnder(event);
        timeline.select(hit ? hit.slice : null);
      } else if (start.isArea) {
        const { range, tracks } = areaTo(event);
        timeline.selectArea(
          { begin_ns: Math.round(range.begin_ns), end_ns: Math.round(range.end_ns) + 1 },
          tracks,
        );
      }
      start = null;
    },
    { signal },
  );
  overlay.addEventListener("pointercancel", () => (start = null), { signal });
  overlay.addEventListener("pointerleave", () => timeline.point(null), { signal });
  overlay.addEventListener("dblclick", () => timeline.fitSelection(), { signal });
}

// A range of time over all tracks is drawn on the ruler.
function listenToRuler(timeline: Timeline, ruler: HTMLCanvasElement, signal: AbortSignal): void {
  let from: number | null = null;
  const rangeTo = (event: PointerEvent) => {
    const ns = timeline.nsAt(event.offsetX);
    return {
      begin_ns: Math.round(Math.min(from ?? ns, ns)),
      end_ns: Math.round(Math.max(from ?? ns, ns)) + 1,
    };
  };
  ruler.addEventListener(
    "pointerdown",
    (event) => {
      ruler.setPointerCapture(event.pointerId);
      from = timeline.nsAt(event.offsetX);
    },
    { signal },
  );
  ruler.addEventListener(
    "pointermove",
    (event) => from !== null && timeline.draftSelection(rangeTo(event), null),
    { signal },
  );
  ruler.addEventListener(
    "pointerup",
    (event) => {
      if (from === null) return;
      const range = rangeTo(event);
      const pixels =
        ((range.end_ns - range.begin_ns) /
          (timeline.viewport.end_ns - timeline.viewport.begin_ns)) *
        ruler.clientWidth;
      timeline.selectArea(pixels > CLICK_PIXELS ? range : null, null);
      from = null;
    },
    { signal },
  );
}

// The window follows the pointer; with Shift a new window is drawn.
function listenToMinimap(
  timeline: Timeline,
  minimap: HTMLCanvasElement,
  signal: AbortSignal,
): void {
  let from: number | null = null;
  let isNew = false;
  let grip = 0;
  const nsAt = (event: PointerEvent) => (event.offsetX / minimap.clientWidth) * timeline.span_ns;
  const move = (event: PointerEvent) => {
    if (from === null) return;
    const ns = nsAt(event);
    if (isNew) {
      if (ns !== from) timeline.show({ begin_ns: Math.min(from, ns), end_ns: Math.max(from, ns) });
      return;
    }
    const width = timeline.viewport.end_ns - timeline.viewport.begin_ns;
    timeline.show({ begin_ns: ns - grip, end_ns: ns - grip + width });
  };
  minimap.addEventListener(
    "pointerdown",
    (event) => {
      minimap.setPointerCapture(event.pointerId);
      from = nsAt(event);
      isNew = event.shiftKey;
      const { begin_ns, end_ns } = timeline.viewport;
      const isInside = from >= begin_ns && from <= end_ns;
      grip = isInside ? from - begin_ns : (end_ns - begin_ns) / 2;
      move(event);
    },
    { signal },
  );
  minimap.addEventListener("pointermove", move, { signal });
  minimap.addEventListener("pointerup", () => (from = null), { signal });
}

// Ctrl zooms at the pointer, Shift moves in time, the plain wheel scrolls the tracks.
function listenToWheel(
  timeline: Timeline,
  { overlay, ruler, minimap, scroller }: Elements,
  signal: AbortSignal,
): void {
  const onWheel = (event: WheelEvent) => {
    const lines =
      event.deltaMode === WheelEvent.DOM_DELTA_LINE
        ? 18
        : event.deltaMode === WheelEvent.DOM_DELTA_PAGE
          ? 400
          : 1;
    const dx = event.deltaX * lines;
    const dy = event.deltaY * lines;
    const isOnAxis = event.currentTarget !== overlay;
    if (event.ctrlKey || event.metaKey || (isOnAxis && !event.shiftKey)) {
      const at = event.currentTarget === minimap ? undefined : timeline.nsAt(event.offsetX);
      timeline.zoom(Math.exp(Math.min(Math.max(dy, -200), 200) * 0.0025), at);
    } else if (event.shiftKey || Math.abs(dx) > Math.abs(dy)) {
      timeline.pan((Math.abs(dx) > Math.abs(dy) ? dx : dy) / overlay.clientWidth);
    } else {
      // The canvas lies over what scrolls.
      scroller.scrollTop += dy;
    }
    event.preventDefault();
  };
  for (const element of [overlay, ruler, minimap])
    element.addEventListener("wheel", onWheel, { signal, passive: false });
}

const HELD = new Set(["w", "a", "s", "d"]);

function listenToKeys(timeline: Timeline, focusSearch: () => void, signal: AbortSignal): void {
  const held = new Set<string>();
  let heldSince = 0;
  let last = 0;
  const stepOf = (key: string) => {
    if (key === "w") timeline.zoom(ZOOM_STEP, pointerOrMiddle(timeline));
    else if (key === "s") timeline.zoom(1 / ZOOM_STEP, pointerOrMiddle(timeline));
    else timeline.pan(key === "a" ? -PAN_STEP : PAN_STEP);
  };
  const move = (now: number) => {
    const seconds = Math.min(now - last, 100) / 1000;
    last = now;
    if (now - heldSince < HOLD_AFTER_MS) return held.size > 0;
    if (held.has("w")) timeline.zoom(Math.exp(-ZOOM_RATE * seconds), pointerOrMiddle(timeline));
    if (held.has("s")) timeline.zoom(Math.exp(ZOOM_RATE * seconds), pointerOrMiddle(timeline));
    if (held.has("a")) timeline.pan(-PAN_RATE * seconds);
    if (held.has("d")) timeline.pan(PAN_RATE * seconds);
    return held.size > 0;
  };
  const onDown = (event: KeyboardEvent) => {
    if (
      event.defaultPrevented ||
      isTyping(event) ||
      areKeysShown.value ||
      event.ctrlKey ||
      event.metaKey
    )
      return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (HELD.has(key) && !event.altKey) {
      if (!held.has(key)) {
        stepOf(key);
        held.add(key);
        heldSince = last = performance.now();
        timeline.animate(move);
      }
    } else if (!handleKey(timeline, key, event, focusSearch)) {
      return;
    }
    event.preventDefault();
  };
  window.addEventListener("keydown", onDown, { signal });
  window.addEventListener("keyup", (event) => held.delete(event.key.toLowerCase()), { signal });
  window.addEventListener("blur", () => held.clear(), { signal });
}

function pointerOrMiddle(timeline: Timeline): number | undefined {
  return timeline.pointer ?? undefined;
}

// Escape takes back one thing after the other: what is selected, what is searched, what is marked.
function leave(): void {
  if (selectedSlice.value !== null || area.value !== null)
    setState({ slice: null, area: null, "area.tracks": null });
  else if (searchText.value !== "") setState({ q: null });
  else setState({ mark: null });
}

function handleKey(
  timeline: Timeline,
  key: string,
  event: KeyboardEvent,
  focusSearch: () => void,
): boolean {
  const isInPanel =
    event.target instanceof Element && event.target.closest(".timeline-panel") !== null;
  const track = timeline.selected.value?.track;
  switch (key) {
    case "/":
      focusSearch();
      return true;
    case "n":
      timeline.stepMatch(event.shiftKey ? -1 : 1);
      return true;
    case "f":
      timeline.fitSelection();
      return true;
    case "0":
      timeline.showAll();
      return true;
    case "m":
      timeline.toggleMark();
      return true;
    case "p":
      if (track !== undefined) togglePinned(track);
      return true;
    case "c":
      if (track !== undefined) toggleCollapsed(String(track));
      return true;
    case "Escape":
      leave();
      return true;
    case "ArrowUp":
    case "ArrowDown":
    case "ArrowLeft":
    case "ArrowRight":
      if (isInPanel) return false;
      if (!event.altKey) void timeline.selectNeighbour(key);
      else if (track !== undefined && key === "ArrowUp")
        setOrder(moved(timeline.layout.value, track, -1));
      else if (track !== undefined && key === "ArrowDown")
        setOrder(moved(timeline.layout.value, track, 1));
      else return false;
      return true;
    default:
      return false;
  }
}
