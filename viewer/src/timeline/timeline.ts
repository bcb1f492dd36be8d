// The timeline at work: holds the window of time, asks for tiles, and draws when something has changed, at most once per frame. What the page around it shows
// (heads of tracks, details, counts) are signals; where things are is in scene.ts, what they look like in pixels.ts and overlay.ts.
import { effect, signal, untracked } from "@preact/signals";
import { source } from "../answer";
import { showError } from "../banner";
import { palette } from "../color";
import { textOfNs } from "../format";
import { isAbort, type SliceDetails, type Tracks } from "../source";
import {
  area,
  parseRange,
  searchText,
  selectedSlice,
  setState,
  shownRange,
  stateOf,
  textOfRange,
  type TimeRange,
} from "../state";
import { theme } from "../theme";
import { choices, expand } from "./choices";
import { around, clampViewport, gridOf, zoomed, type Viewport } from "./grid";
import { fitCanvas, readInks, setFont } from "./canvas";
import { Labels } from "./labels";
import {
  FIRST_LANES,
  LANE_HEIGHT,
  layOut,
  rowOfTrack,
  textOfCounter,
  titleOfTrack,
  type Layout,
} from "./layout";
import {
  drawMinimap,
  drawOverlay,
  drawRuler,
  type OverlayInks,
  type OverlayState,
  type Step,
} from "./overlay";
import type { Inks } from "./pixels";
import {
  counterAt,
  hitAt,
  isCut,
  neighbour,
  nsOf,
  paintNames,
  paintScene,
  pixelOf,
  Scratch,
  wantTiles,
  type Hit,
  type Scene,
} from "./scene";
import { nameMatcher, Search } from "./search";
import { Skyline } from "./skyline";
import { TileCache } from "./tile_cache";

export const HEAD_WIDTH = 210;
const RANGE_PAUSE_MS = 250;
const HEADS_STEP = 400;

export interface Elements {
  scroller: HTMLElement;
  slices: HTMLCanvasElement;
  overlay: HTMLCanvasElement;
  ruler: HTMLCanvasElement;
  minimap: HTMLCanvasElement;
}

// What is under the pointer: a slice, or the value of a counter.
export interface Hover {
  hit: Hit | null;
  value: string;
  name: string;
  category: string;
  x: number;
  y: number;
}

const markState = stateOf("mark");
const areaTracksState = stateOf("area.tracks");

export class Timeline {
  readonly layout = signal<Layout>({ rows: [], byTrack: new Map(), height: 0, hiddenTracks: 0 });
  readonly selected = signal<SliceDetails | null>(null);
  readonly hover = signal<Hover | null>(null);
  // What a screen reader says.
  readonly said = signal("");
  // An exported page has no tiles as fine as the window asks for.
  readonly isCut = signal(false);
  // The part of the layout whose heads are elements.
  readonly headsFrom = signal(0);
  readonly search: Search;
  readonly scene: Scene;

  private readonly scratch = new Scratch();
  private readonly skyline: Skyline;
  private readonly cleanups: (() => void)[] = [];
  private image: ImageData | null = null;
  private pixels = new Uint32Array(0);
  private inks: Inks;
  private overlayInks: OverlayInks;
  private silhouette = "";
  private steps: Step[] = [];
  private pointer_ns: number | null = null;
  private pointerAt: { offsetX: number; offsetY: number } | null = null;
  private draftArea: TimeRange | null = null;
  private draftTracks: number[] | null = null;
  private frame = 0;
  private isSceneOld = true;
  private rangeTimer: ReturnType<typeof setTimeout> | undefined;
  private detailsAbort: AbortController | null = null;
  private reveals: "fit" | "show" | "no" = "no";
  private animation: ((now: number) => boolean) | null = null;

  constructor(
    readonly run: number,
    readonly span_ns: number,
    readonly tracks: Tracks,
    private readonly elements: Elements,
  ) {
    const redraw = () => this.invalidate();
    const highest = tracks.tracks.reduce((most, track) => Math.max(most, track.id), 0);
    const grid = gridOf(span_ns, highest + 1);
    const cache = new TileCache(
      grid.lastLevel,
      (level, want, abort) => source.tiles(run, level, want, abort),
      redraw,
      showError,
    );
    const labels = new Labels((ids) => source.labels(run, ids), redraw, showError);
    const whole = clampViewport({ begin_ns: 0, end_ns: span_ns }, span_ns);
    this.scene = {
      grid,
      cache,
      labels,
      layout: this.layout.value,
      viewport: whole,
      scrollTop: elements.scroller.scrollTop,
      width: 1,
      height: 1,
      ratio: 1,
    };
    this.skyline = new Skyline(grid, cache, tracks);
    this.search = new Search(source, run, (isJump) => this.onFound(isJump), showError);
    const inks = readInks(elements.scroller);
    this.inks = inks.inks;
    this.overlayInks = inks.overlay;
    this.silhouette = inks.silhouette;
    this.listen();
  }

  destroy(): void {
    for (const cleanup of this.cleanups) cleanup();
    cancelAnimationFrame(this.frame);
    clearTimeout(this.rangeTimer);
    this.detailsAbort?.abort();
    this.search.stop();
    this.scene.cache.clear();
  }

  setSteps(steps: Step[]): void {
    this.steps = steps;
    this.invalidate();
  }

  // Everything is drawn again at the next frame; `drawOver` only what lies over the slices.
  invalidate(): void {
    this.isSceneOld = true;
    this.drawOver();
  }

  drawOver(): void {
    if (this.frame === 0) this.frame = requestAnimationFrame((now) => this.draw(now));
  }

  // The window of time.

  get viewport(): Viewport {
    return this.scene.viewport;
  }

  show(viewport: Viewport): void {
    this.scene.viewport = clampViewport(viewport, this.span_ns);
    clearTimeout(this.rangeTimer);
    this.rangeTimer = setTimeout(() => this.writeRange("replace"), RANGE_PAUSE_MS);
    this.invalidate();
  }

  showAll(): void {
    this.show({ begin_ns: 0, end_ns: this.span_ns });
  }

  zoom(factor: number, at_ns = (this.viewport.begin_ns + this.viewport.end_ns) / 2): void {
    this.show(zoomed(this.viewport, at_ns, factor));
  }

  // By a fraction of the window.
  pan(fraction: number): void {
    const by = fraction * (this.viewport.end_ns - this.viewport.begin_ns);
    this.show({ begin_ns: this.viewport.begin_ns + by, end_ns: this.viewport.end_ns + by });
  }

  // Calls `move` once a frame with the time of the frame, until it says that it is done.
  animate(move: ((now: number) => boolean) | null): void {
    this.animation = move;
    if (move) this.drawOver();
  }

  fitSelection(): void {
    const slice = this.selected.value;
    const range = area.value ?? parseRange(markState.value);
    if (slice) this.show(around(slice.start_ns, slice.dur_ns));
    else if (range) this.show(around(range.begin_ns, range.end_ns - range.begin_ns));
  }

  // M: the range of what is selected stays marked, with its length, until M is pressed again.
  toggleMark(): void {
    const slice = this.selected.value;
    const range =
      area.value ??
      (slice
        ? { begin_ns: slice.start_ns, end_ns: slice.start_ns + Math.max(slice.dur_ns, 1) }
        : null);
    const text = range ? textOfRange(range) : "";
    setState({ mark: text === markState.value ? null : text });
    if (range && text === markState.value)
      this.said.value = `Marked ${textOfNs(range.end_ns - range.begin_ns)}`;
  }

  // What is selected.

  select(slice: number | null, reveals: "fit" | "show" | "no" = "no"): void {
    this.reveals = reveals;
    if (slice === selectedSlice.value) {
      if (this.selected.value) this.reveal(this.selected.value);
      return;
    }
    setState({ slice, area: null, "area.tracks": null });
  }

  selectArea(range: TimeRange | null, tracks: number[] | null): void {
    this.draftArea = null;
    this.draftTracks = null;
    setState({
      area: range ? textOfRange(range) : null,
      "area.tracks": range && tracks ? tracks.join() : null,
      slice: null,
    });
  }

  // While it is being drawn.
  draftSelection(range: TimeRange, tracks: number[] | null): void {
    this.draftArea = range;
    this.draftTracks = tracks;
    this.drawOver();
  }

  async selectNeighbour(key: string): Promise<void> {
    const slice = this.selected.value;
    if (!slice) {
      const first = this.firstInSight();
      if (first) this.select(first.slice, "show");
      return;
    }
    if (key === "ArrowUp") {
      const parent = slice.parents[0];
      if (parent) this.select(parent.id, "show");
    } else if (key === "ArrowDown") {
      await this.selectChild(slice);
    } else {
      const isAfter = key === "ArrowRight";
      const from = isAfter ? slice.start_ns + slice.dur_ns : slice.start_ns;
      const next = neighbour(this.scene, slice.track, slice.depth, from, isAfter, slice.id);
      if (next) this.select(next.slice, "show");
    }
  }

  // Slices of a track are numbered in pre-order: the first child follows its parent.
  private async selectChild(slice: SliceDetails): Promise<void> {
    try {
      const child = await source.slice(this.run, slice.id + 1);
      if (child.parents[0]?.id === slice.id) this.select(child.id, "show");
      else this.said.value = "Nothing inside";
    } catch {
      this.said.value = "Nothing inside";
    }
  }

  private firstInSight(): Hit | null {
    for (const row of this.layout.value.rows) {
      if (row.kind !== "track" || row.track.kind === "counter") continue;
      const hit = neighbour(this.scene, row.track.id, 0, -Infinity, true, -1);
      if (hit) return hit;
    }
    return null;
  }

  // Typing does not move the window; a link that searches does.
  typeSearch(text: string): void {
    this.search.start(text, false);
    setState({ q: text }, "replace");
  }

  // The next match of the search, or the one before.
  stepMatch(by: number): void {
    const match = this.search.step(by, this.viewport.begin_ns);
    if (match) this.select(match.slice, "fit");
  }

  hitUnder(event: { offsetX: number; offsetY: number }): Hit | null {
    return hitAt(this.scene, event.offsetX * this.scene.ratio, event.offsetY * this.scene.ratio);
  }

  nsAt(offsetX: number): number {
    return nsOf(this.scene, offsetX * this.scene.ratio);
  }

  // The moment under the pointer, if it is on the timeline.
  get pointer(): number | null {
    return this.pointer_ns;
  }

  // The pointer is here, or has left.
  point(event: { offsetX: number; offsetY: number } | null): void {
    this.pointerAt = event ? { offsetX: event.offsetX, offsetY: event.offsetY } : null;
    this.updateHover();
    this.drawOver();
  }

  // What is under the pointer changes also when the tracks move below it.
  private updateHover(): void {
    const at = this.pointerAt;
    this.pointer_ns = at ? this.nsAt(at.offsetX) : null;
    if (at) this.hover.value = this.hoverAt(at, this.hitUnder(at));
    else if (this.hover.peek()) this.hover.value = null;
  }

  private hoverAt(event: { offsetX: number; offsetY: number }, hit: Hit | null): Hover | null {
    const { offsetX: x, offsetY: y } = event;
    if (hit) {
      const info = this.scene.labels.infoOf(hit.label);
      return { hit, value: "", name: info?.name ?? "…", category: info?.category ?? "", x, y };
    }
    const found = counterAt(this.scene, x * this.scene.ratio, y * this.scene.ratio);
    if (!found) return null;
    const value = textOfCounter(found.value, found.track.unit);
    return { hit: null, value, name: titleOfTrack(found.track), category: "", x, y };
  }

  private listen(): void {
    const { scroller } = this.elements;
    const observer = new ResizeObserver(() => this.resize());
    observer.observe(scroller);
    // The browser's zoom changes the size of a pixel, and perhaps nothing else.
    const onResize = () => this.resize();
    window.addEventListener("resize", onResize);
    const onScroll = () => {
      this.scene.scrollTop = scroller.scrollTop;
      this.headsFrom.value = Math.floor(scroller.scrollTop / HEADS_STEP) * HEADS_STEP;
      this.invalidate();
    };
    scroller.addEventListener("scroll", onScroll, { passive: true });
    this.cleanups.push(
      () => observer.disconnect(),
      () => window.removeEventListener("resize", onResize),
      () => scroller.removeEventListener("scroll", onScroll),
      effect(() => {
        this.layout.value = layOut(this.tracks, choices());
        this.scene.layout = this.layout.value;
        this.invalidate();
      }),
      effect(() => {
        void theme.value;
        const read = readInks(scroller);
        this.inks = read.inks;
        this.overlayInks = read.overlay;
        this.silhouette = read.silhouette;
        this.invalidate();
      }),
      effect(() => this.followRange(shownRange.value)),
      effect(() => this.followSelection(selectedSlice.value)),
      effect(() => {
        const text = searchText.value;
        untracked(() => {
          this.scene.labels.highlight(nameMatcher(text));
          this.search.start(text, shownRange.value === null && selectedSlice.value === null);
        });
        this.invalidate();
      }),
      effect(() => {
        void area.value;
        void markState.value;
        void areaTracksState.value;
        this.drawOver();
      }),
    );
    this.resize();
  }

  private onFound(isJump: boolean): void {
    const { total, matches } = this.search.found.value;
    this.said.value = this.search.found.value.text === "" ? "" : `${total} found`;
    if (isJump && matches[0]) this.stepMatch(1);
    this.invalidate();
  }

  private writeRange(how: "push" | "replace"): void {
    const text = textOfRange(this.viewport);
    const whole = textOfRange(clampViewport({ begin_ns: 0, end_ns: this.span_ns }, this.span_ns));
    setState({ range: text === whole ? null : text }, how);
  }

  // The address was changed by a link or the back button.
  private followRange(range: TimeRange | null): void {
    if (!range) {
      // All is shown; or the slice of a link, once its times are known.
      if (untracked(() => selectedSlice.value) !== null && !this.selected.peek())
        this.reveals = "fit";
      return;
    }
    if (textOfRange(range) === textOfRange(this.viewport)) return;
    this.scene.viewport = clampViewport(range, this.span_ns);
    this.invalidate();
  }

  private followSelection(slice: number | null): void {
    this.detailsAbort?.abort();
    if (slice === null) {
      if (this.selected.peek()) this.selected.value = null;
      this.drawOver();
      return;
    }
    if (
      untracked(() => shownRange.value) === null &&
      this.reveals === "no" &&
      !this.selected.peek()
    )
      this.reveals = "fit";
    this.detailsAbort = new AbortController();
    source.slice(this.run, slice, this.detailsAbort.signal).then(
      (details) => {
        details.id = slice;
        this.selected.value = details;
        this.said.value = this.describe(details);
        this.reveal(details);
        this.drawOver();
      },
      (error: unknown) => {
        if (isAbort(error)) return;
        this.selected.value = null;
        showError(error);
      },
    );
  }

  private describe(slice: SliceDetails): string {
    const track = this.tracks.tracks.find((item) => item.id === slice.track);
    const where = track ? `, on ${titleOfTrack(track)}` : "";
    return `${slice.name}, ${textOfNs(slice.dur_ns)}, at ${textOfNs(slice.start_ns)}, depth ${slice.depth}${where}`;
  }

  // Brings a slice into sight, as far as that was asked for.
  private reveal(slice: SliceDetails): void {
    const { reveals } = this;
    this.reveals = "no";
    if (reveals === "no") return;
    const track = this.tracks.tracks.find((item) => item.id === slice.track);
    const row = rowOfTrack(this.layout.value, slice.track);
    if (track && (!row || slice.depth >= row.lanes))
      expand(String(track.id), `p${track.process}`, slice.depth >= FIRST_LANES);
    this.revealTime(slice, reveals === "fit");
    this.revealLane(slice);
  }

  private revealTime(slice: SliceDetails, isFit: boolean): void {
    const { begin_ns, end_ns } = this.viewport;
    const width = end_ns - begin_ns;
    const end = slice.start_ns + slice.dur_ns;
    const isInSight = slice.start_ns >= begin_ns && end <= end_ns;
    const isWideEnough =
      pixelOf(this.scene, end) - pixelOf(this.scene, slice.start_ns) >= 3 * this.scene.ratio;
    if (isInSight && isWideEnough) return;
    if (isFit || !isWideEnough || slice.dur_ns > width) {
      // Some of what is around it, to know where one is.
      const around_ns = Math.max(slice.dur_ns * 2, 100);
      this.show({ begin_ns: slice.start_ns - around_ns, end_ns: end + around_ns });
    } else {
      const begin =
        slice.start_ns < begin_ns ? slice.start_ns - width * 0.1 : end + width * 0.1 - width;
      this.show({ begin_ns: begin, end_ns: begin + width });
    }
  }

  private revealLane(slice: SliceDetails): void {
    const row = rowOfTrack(this.layout.value, slice.track);
    if (!row) return;
    const { scroller } = this.elements;
    const y = row.y + Math.min(slice.depth, row.lanes - 1) * LANE_HEIGHT;
    if (y < scroller.scrollTop || y + LANE_HEIGHT > scroller.scrollTop + scroller.clientHeight) {
      scroller.scrollTop = Math.max(0, y - scroller.clientHeight / 3);
    }
  }

  private resize(): void {
    const { scroller, slices, overlay, ruler, minimap } = this.elements;
    const ratio = window.devicePixelRatio || 1;
    const width = Math.max(50, scroller.clientWidth - HEAD_WIDTH);
    const height = Math.max(20, scroller.clientHeight);
    this.scene.ratio = ratio;
    this.scene.width = Math.round(width * ratio);
    this.scene.height = Math.round(height * ratio);
    for (const canvas of [slices, overlay]) fitCanvas(canvas, width, height, ratio);
    for (const canvas of [ruler, minimap]) fitCanvas(canvas, width, canvas.clientHeight, ratio);
    this.image = new ImageData(this.scene.width, this.scene.height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.scene.labels.forgetWidths();
    // A canvas that was resized is empty: it is drawn before it is seen.
    this.isSceneOld = true;
    cancelAnimationFrame(this.frame);
    this.draw(performance.now());
  }

  private draw(now: number): void {
    this.frame = 0;
    if (this.animation && !this.animation(now)) this.animation = null;
    if (this.isSceneOld) {
      this.drawScene();
      this.updateHover();
    }
    this.drawLayers();
    if (this.animation) this.drawOver();
  }

  private drawScene(): void {
    this.isSceneOld = false;
    const context = this.elements.slices.getContext("2d", { alpha: false });
    if (!context || !this.image) return;
    this.skyline.want();
    wantTiles(this.scene);
    paintScene(this.scene, this.pixels, this.scratch, this.inks);
    context.putImageData(this.image, 0, 0);
    setFont(context, this.scene.ratio);
    paintNames(this.scene, context, palette().text);
    this.scene.cache.flush();
    this.scene.labels.flush();
    if (source.isExported && !this.scene.cache.isWaiting) this.isCut.value = isCut(this.scene);
  }

  private drawLayers(): void {
    const { overlay, ruler, minimap } = this.elements;
    const state: OverlayState = {
      selected: this.selected.peek(),
      hover: this.hover.peek()?.hit ?? null,
      area: this.draftArea ?? area.peek(),
      areaTracks: this.draftArea ? this.draftTracks : this.areaTracks(),
      mark: parseRange(markState.peek()),
      steps: this.steps,
      matches: this.search.found.peek().matches,
      pointer_ns: this.pointer_ns,
    };
    const over = overlay.getContext("2d");
    if (over) drawOverlay(over, this.scene, state, this.overlayInks);
    const rule = ruler.getContext("2d");
    if (rule) {
      setFont(rule, this.scene.ratio);
      drawRuler(rule, this.scene, ruler.height, state, this.overlayInks);
    }
    const map = minimap.getContext("2d");
    if (map) {
      const line = this.skyline.heights(minimap.width, this.span_ns);
      drawMinimap(
        map,
        line,
        this.span_ns,
        this.viewport,
        state,
        this.scene.ratio,
        this.overlayInks,
        this.silhouette,
      );
    }
  }

  private areaTracks(): number[] | null {
    const text = areaTracksState.peek();
    return text === "" ? null : text.split(",").map(Number);
  }
}
