// What lies over the slices: the selection and what it is bound to, marked and selected ranges, the pointer; and the ruler and the minimap above them.
import { textOfNs } from "../format";
import type { SliceDetails, SliceMatch } from "../source";
import type { TimeRange } from "../state";
import { rulerStep, rulerText, type Viewport } from "./grid";
import { LANE_HEIGHT, rowOfTrack } from "./layout";
import { eachTrackInSight, pixelOf, yOfLane, type Hit, type Scene } from "./scene";

export interface OverlayInks {
  text: string;
  quiet: string;
  line: string;
  accent: string;
  accentGround: string;
  ground: string;
  raised: string;
  warning: string;
}

export interface Step {
  name: string;
  start_ns: number;
  dur_ns: number;
}

export interface OverlayState {
  selected: SliceDetails | null;
  hover: Hit | null;
  area: TimeRange | null;
  areaTracks: readonly number[] | null;
  mark: TimeRange | null;
  steps: readonly Step[];
  matches: readonly SliceMatch[];
  pointer_ns: number | null;
}

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

// Where a slice is, also where it is out of sight; null where its track is not shown. A collapsed track stands for all of its lanes.
function boxOf(
  scene: Scene,
  track: number,
  depth: number,
  start_ns: number,
  dur_ns: number,
): Box | null {
  const row = rowOfTrack(scene.layout, track);
  if (!row) return null;
  const lane = Math.min(depth, row.lanes - 1);
  const x = pixelOf(scene, start_ns);
  const y = yOfLane(scene, row, lane);
  return {
    x,
    y,
    width: Math.max(pixelOf(scene, start_ns + dur_ns) - x, scene.ratio),
    height: (LANE_HEIGHT - 1) * scene.ratio,
  };
}

function outline(
  context: CanvasRenderingContext2D,
  scene: Scene,
  box: Box,
  ink: string,
  thickness: number,
): void {
  const left = Math.max(box.x, -10);
  const right = Math.min(box.x + box.width, scene.width + 10);
  if (right < 0 || left > scene.width) return;
  context.strokeStyle = ink;
  context.lineWidth = thickness;
  context.strokeRect(
    Math.round(left) + thickness / 2,
    box.y + thickness / 2,
    Math.max(Math.round(right - left) - thickness, 1),
    box.height - thickness,
  );
}

export function drawOverlay(
  context: CanvasRenderingContext2D,
  scene: Scene,
  state: OverlayState,
  inks: OverlayInks,
): void {
  const { width, height, ratio } = scene;
  context.clearRect(0, 0, width, height);
  drawSteps(context, scene, state.steps, inks);
  if (state.area) drawArea(context, scene, state.area, state.areaTracks, inks);
  if (state.mark) drawBand(context, scene, state.mark, inks.warning, height);
  drawMatches(context, scene, state.matches, inks);
  if (state.pointer_ns !== null) {
    context.fillStyle = inks.quiet;
    context.globalAlpha = 0.45;
    context.fillRect(
      Math.round(pixelOf(scene, state.pointer_ns)),
      0,
      Math.max(1, Math.floor(ratio)),
      height,
    );
    context.globalAlpha = 1;
  }
  if (state.hover) {
    const box = boxOf(
      scene,
      state.hover.track,
      state.hover.depth,
      state.hover.begin_ns,
      state.hover.end_ns - state.hover.begin_ns,
    );
    if (box) outline(context, scene, box, inks.quiet, ratio);
  }
  if (state.selected) drawSelected(context, scene, state.selected, inks);
}

function drawSelected(
  context: CanvasRenderingContext2D,
  scene: Scene,
  slice: SliceDetails,
  inks: OverlayInks,
): void {
  const box = boxOf(scene, slice.track, slice.depth, slice.start_ns, slice.dur_ns);
  if (!box) return;
  outline(context, scene, box, inks.accent, 2 * scene.ratio);
  for (const flow of slice.flows) {
    const other = boxOf(scene, flow.track, flow.depth, flow.start_ns, flow.dur_ns);
    if (!other) continue;
    outline(context, scene, other, inks.accent, scene.ratio);
    if (flow.is_out) drawArrow(context, box, other, inks.accent, scene.ratio);
    else drawArrow(context, other, box, inks.accent, scene.ratio);
  }
}

// From the end of one to the begin of the other; within it where they overlap, as a launch does with what it starts.
function drawArrow(
  context: CanvasRenderingContext2D,
  from: Box,
  to: Box,
  ink: string,
  ratio: number,
): void {
  const startX =
    to.x >= from.x + from.width
      ? from.x + from.width
      : Math.max(from.x, Math.min(to.x, from.x + from.width));
  const startY = from.y + from.height / 2;
  const endX = to.x;
  const endY = to.y + to.height / 2;
  const bend = Math.max(20 * ratio, Math.abs(endX - startX) / 2);
  context.strokeStyle = ink;
  context.fillStyle = ink;
  context.lineWidth = 1.5 * ratio;
  context.beginPath();
  context.moveTo(startX, startY);
  context.bezierCurveTo(startX + bend, startY, endX - bend, endY, endX - 5 * ratio, endY);
  context.stroke();
  context.beginPath();
  context.moveTo(endX, endY);
  context.lineTo(endX - 7 * ratio, endY - 4 * ratio);
  context.lineTo(endX - 7 * ratio, endY + 4 * ratio);
  context.fill();
}

// The first step that ends after a moment; steps follow each other.
function firstStepFrom(steps: readonly Step[], ns: number): number {
  let low = 0;
  let high = steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle]!.start_ns + steps[middle]!.dur_ns < ns) low = middle + 1;
    else high = middle;
  }
  return low;
}

const LEAST_STEP_PIXELS = 4;

function drawSteps(
  context: CanvasRenderingContext2D,
  scene: Scene,
  steps: readonly Step[],
  inks: OverlayInks,
): void {
  context.fillStyle = inks.quiet;
  context.globalAlpha = 0.35;
  let last = -Infinity;
  for (let i = firstStepFrom(steps, scene.viewport.begin_ns); i < steps.length; ++i) {
    const step = steps[i]!;
    if (step.start_ns > scene.viewport.end_ns) break;
    const x = Math.round(pixelOf(scene, step.start_ns));
    if (x < 0 || x > scene.width || x - last < LEAST_STEP_PIXELS * scene.ratio) continue;
    last = x;
    context.fillRect(x, 0, Math.max(1, Math.floor(scene.ratio)), scene.height);
  }
  context.globalAlpha = 1;
}

function drawArea(
  context: CanvasRenderingContext2D,
  scene: Scene,
  area: TimeRange,
  tracks: readonly number[] | null,
  inks: OverlayInks,
): void {
  if (!tracks) {
    drawBand(context, scene, area, inks.accent, scene.height);
    return;
  }
  const left = Math.max(0, Math.round(pixelOf(scene, area.begin_ns)));
  const right = Math.min(scene.width, Math.round(pixelOf(scene, area.end_ns)));
  context.fillStyle = inks.accent;
  eachTrackInSight(scene, (row) => {
    if (!tracks.includes(row.track.id)) return;
    context.globalAlpha = 0.14;
    context.fillRect(left, yOfLane(scene, row, 0), right - left, row.height * scene.ratio);
  });
  context.globalAlpha = 0.8;
  for (const x of [left, right])
    context.fillRect(x, 0, Math.max(1, Math.floor(scene.ratio)), scene.height);
  context.globalAlpha = 1;
}

function drawBand(
  context: CanvasRenderingContext2D,
  scene: Scene,
  range: TimeRange,
  ink: string,
  height: number,
): void {
  const left = Math.round(pixelOf(scene, range.begin_ns));
  const right = Math.round(pixelOf(scene, range.end_ns));
  if (right < 0 || left > scene.width) return;
  context.fillStyle = ink;
  context.globalAlpha = 0.1;
  context.fillRect(Math.max(left, 0), 0, Math.min(right, scene.width) - Math.max(left, 0), height);
  context.globalAlpha = 0.8;
  for (const x of [left, right])
    context.fillRect(x, 0, Math.max(1, Math.floor(scene.ratio)), height);
  context.globalAlpha = 1;
}

const LIMIT_MATCHES = 400;

function drawMatches(
  context: CanvasRenderingContext2D,
  scene: Scene,
  matches: readonly SliceMatch[],
  inks: OverlayInks,
): void {
  let drawn = 0;
  for (const match of matches) {
    if (match.start_ns > scene.viewport.end_ns || drawn > LIMIT_MATCHES) break;
    if (match.start_ns + match.dur_ns < scene.viewport.begin_ns) continue;
    const box = boxOf(scene, match.track, match.depth, match.start_ns, match.dur_ns);
    if (!box || box.y > scene.height || box.y + box.height < 0) continue;
    outline(context, scene, box, inks.warning, scene.ratio);
    ++drawn;
  }
}

// A slim ruler: moments above, names of steps below.
export function drawRuler(
  context: CanvasRenderingContext2D,
  scene: Scene,
  height: number,
  state: OverlayState,
  inks: OverlayInks,
): void {
  const { width, ratio, viewport } = scene;
  context.clearRect(0, 0, width, height);
  const step = rulerStep((viewport.end_ns - viewport.begin_ns) / width, 110 * ratio);
  context.textBaseline = "middle";
  context.fillStyle = inks.quiet;
  const first = Math.ceil(viewport.begin_ns / step) * step;
  for (let ns = first; ns <= viewport.end_ns; ns += step) {
    const x = Math.round(pixelOf(scene, ns));
    context.fillRect(x, 0, Math.max(1, Math.floor(ratio)), 6 * ratio);
    context.fillText(rulerText(ns, step), x + 4 * ratio, 8 * ratio);
  }
  drawStepNames(context, scene, state.steps, 25 * ratio, inks);
  for (const [range, ink] of [
    [state.area, inks.accent],
    [state.mark, inks.warning],
  ] as const) {
    if (range) drawLength(context, scene, range, height, ink, inks);
  }
}

function drawStepNames(
  context: CanvasRenderingContext2D,
  scene: Scene,
  steps: readonly Step[],
  y: number,
  inks: OverlayInks,
): void {
  context.fillStyle = inks.quiet;
  for (let i = firstStepFrom(steps, scene.viewport.begin_ns); i < steps.length; ++i) {
    const step = steps[i]!;
    const from = pixelOf(scene, step.start_ns);
    const to = pixelOf(scene, step.start_ns + step.dur_ns);
    if (to < 0) continue;
    if (from > scene.width) break;
    const begin = Math.max(from, 0);
    const text = step.name;
    if (Math.min(to, scene.width) - begin < context.measureText(text).width + 8 * scene.ratio)
      continue;
    context.fillText(text, begin + 4 * scene.ratio, y);
  }
}

function drawLength(
  context: CanvasRenderingContext2D,
  scene: Scene,
  range: TimeRange,
  height: number,
  ink: string,
  inks: OverlayInks,
): void {
  const left = Math.round(pixelOf(scene, range.begin_ns));
  const right = Math.round(pixelOf(scene, range.end_ns));
  if (right < 0 || left > scene.width) return;
  const text = textOfNs(range.end_ns - range.begin_ns);
  const width = context.measureText(text).width + 10 * scene.ratio;
  const middle = Math.min(
    Math.max((Math.max(left, 0) + Math.min(right, scene.width)) / 2, width / 2),
    scene.width - width / 2,
  );
  const top = height / 2 + scene.ratio;
  context.fillStyle = ink;
  context.fillRect(
    Math.max(left, 0),
    height - 3 * scene.ratio,
    Math.min(right, scene.width) - Math.max(left, 0),
    3 * scene.ratio,
  );
  context.fillStyle = inks.raised;
  context.fillRect(middle - width / 2, top, width, height / 2 - 4 * scene.ratio);
  context.fillStyle = ink;
  context.fillText(
    text,
    middle - width / 2 + 5 * scene.ratio,
    top + (height / 2 - 4 * scene.ratio) / 2,
  );
}

// The run as a whole: how deep the calls are, as a skyline, with the window in it.
export function drawMinimap(
  context: CanvasRenderingContext2D,
  skyline: Float32Array,
  span_ns: number,
  viewport: Viewport,
  state: OverlayState,
  ratio: number,
  inks: OverlayInks,
  silhouette: string,
): void {
  const { width, height } = context.canvas;
  context.clearRect(0, 0, width, height);
  let most = 1;
  for (let x = 0; x < skyline.length; ++x) most = Math.max(most, skyline[x]!);
  context.fillStyle = silhouette;
  for (let x = 0; x < skyline.length; ++x) {
    const tall = (skyline[x]! / most) * (height - 4 * ratio);
    if (tall > 0) context.fillRect(x, height - tall, 1, tall);
  }
  const at = (ns: number) => (ns / span_ns) * width;
  const band = (range: TimeRange, ink: string) => {
    context.fillStyle = ink;
    context.globalAlpha = 0.5;
    context.fillRect(
      at(range.begin_ns),
      0,
      Math.max(ratio, at(range.end_ns) - at(range.begin_ns)),
      height,
    );
    context.globalAlpha = 1;
  };
  if (state.area) band(state.area, inks.accent);
  if (state.mark) band(state.mark, inks.warning);
  context.fillStyle = inks.warning;
  let last = -Infinity;
  for (const match of state.matches) {
    const x = Math.round(at(match.start_ns));
    if (x === last) continue;
    last = x;
    context.fillRect(x, 0, ratio, 4 * ratio);
  }
  if (state.selected) {
    context.fillStyle = inks.accent;
    context.fillRect(
      Math.round(at(state.selected.start_ns)),
      0,
      Math.max(2 * ratio, at(state.selected.dur_ns)),
      4 * ratio,
    );
  }
  drawWindow(context, at(viewport.begin_ns), at(viewport.end_ns), ratio, inks);
}

function drawWindow(
  context: CanvasRenderingContext2D,
  begin: number,
  end: number,
  ratio: number,
  inks: OverlayInks,
): void {
  const { width, height } = context.canvas;
  const left = Math.max(0, Math.round(begin));
  const right = Math.min(width, Math.max(Math.round(end), left + 2 * ratio));
  context.fillStyle = inks.ground;
  context.globalAlpha = 0.65;
  context.fillRect(0, 0, left, height);
  context.fillRect(right, 0, width - right, height);
  context.globalAlpha = 1;
  context.strokeStyle = inks.accent;
  context.lineWidth = ratio;
  context.strokeRect(
    left + ratio / 2,
    ratio / 2,
    Math.max(right - left - ratio, ratio),
    height - ratio,
  );
}
