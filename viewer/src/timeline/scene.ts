// What is drawn: the tracks in sight, tile by tile. One walk (`eachTile`) serves painting, names, hits and keys, so that they can not disagree.
import type { Labels } from "./labels";
import { bucketNs, levelFor, tileAt, tileNs, type Grid, type Viewport } from "./grid";
import { LANE_HEIGHT, rowAt, TRACK_GAP, type Layout, type TrackRow } from "./layout";
import { gatherCurve, paintCurve, paintLane, spread, type Inks } from "./pixels";
import type { TrackInfo } from "../source";
import { isMerged, type Tile } from "./tile";
import type { TileCache } from "./tile_cache";

export interface Scene {
  grid: Grid;
  cache: TileCache;
  labels: Labels;
  layout: Layout;
  viewport: Viewport;
  // The first line of the layout in sight, in CSS pixels.
  scrollTop: number;
  // Of the canvas, in device pixels; `ratio` device pixels are a CSS pixel.
  width: number;
  height: number;
  ratio: number;
}

// Room that is made once and used by every frame.
export class Scratch {
  line = new Uint32Array(0);
  lows = new Float32Array(0);
  highs = new Float32Array(0);

  fit(width: number): void {
    if (this.line.length === width) return;
    this.line = new Uint32Array(width);
    this.lows = new Float32Array(width);
    this.highs = new Float32Array(width);
  }
}

export function pixelOf(scene: Scene, ns: number): number {
  const { begin_ns, end_ns } = scene.viewport;
  return ((ns - begin_ns) / (end_ns - begin_ns)) * scene.width;
}

export function nsOf(scene: Scene, pixel: number): number {
  const { begin_ns, end_ns } = scene.viewport;
  return begin_ns + (pixel / scene.width) * (end_ns - begin_ns);
}

export function levelOf(scene: Scene): number {
  return levelFor(scene.grid, (scene.viewport.end_ns - scene.viewport.begin_ns) / scene.width);
}

// Calls `use` with each tile that the track shows now, left to right: the tile, the pixel of its begin, pixels per bucket, and the pixels that it is to fill.
export function eachTile(
  scene: Scene,
  track: number,
  use: (tile: Tile, origin: number, scale: number, clipBegin: number, clipEnd: number) => void,
): void {
  const level = levelOf(scene);
  const { grid, cache, viewport } = scene;
  const last = tileAt(grid, level, viewport.end_ns);
  const covered = tileNs(grid, level);
  const nsPerPixel = (viewport.end_ns - viewport.begin_ns) / scene.width;
  for (let index = tileAt(grid, level, viewport.begin_ns); index <= last; ++index) {
    const tile = cache.findCovering(track, level, index);
    if (!tile) continue;
    const clipBegin = Math.max(0, Math.round(pixelOf(scene, index * covered)));
    const clipEnd = Math.min(scene.width, Math.round(pixelOf(scene, (index + 1) * covered)));
    if (clipBegin >= clipEnd) continue;
    const origin = pixelOf(scene, tile.index * tileNs(grid, tile.level));
    use(tile, origin, bucketNs(grid, tile.level) / nsPerPixel, clipBegin, clipEnd);
  }
}

// Whether something in sight is merged that tiles of the window's own level would show apart. Those tiles were asked for and are not there.
export function isCut(scene: Scene): boolean {
  const level = levelOf(scene);
  let found = false;
  eachTrackInSight(scene, (row) => {
    if (found) return;
    eachTile(scene, row.track.id, (tile) => {
      found ||= tile.level < level && isMerged(tile);
    });
  });
  return found;
}

// Tells the cache what is in sight: the whole run of each track first, which stands in until finer tiles come, then the level that is shown and a tile beside it.
export function wantTiles(scene: Scene): void {
  const level = levelOf(scene);
  const first = tileAt(scene.grid, level, scene.viewport.begin_ns);
  const last = tileAt(scene.grid, level, scene.viewport.end_ns);
  const most = 2 ** level - 1;
  eachTrackInSight(scene, (row) => {
    scene.cache.want(row.track.id, 0, 0);
    for (let index = Math.max(0, first - 1); index <= Math.min(last + 1, most); ++index)
      scene.cache.want(row.track.id, level, index);
  });
}

export function eachTrackInSight(scene: Scene, use: (row: TrackRow) => void): void {
  const bottom = scene.scrollTop + scene.height / scene.ratio;
  const rows = scene.layout.rows;
  for (let i = rowAt(scene.layout, scene.scrollTop); i < rows.length; ++i) {
    const row = rows[i]!;
    if (row.y >= bottom) break;
    if (row.kind === "track") use(row);
  }
}

export function paintScene(scene: Scene, pixels: Uint32Array, scratch: Scratch, inks: Inks): void {
  pixels.fill(inks.ground);
  scratch.fit(scene.width);
  eachTrackInSight(scene, (row) => {
    if (row.track.kind === "counter") paintCounter(scene, row, pixels, scratch, inks);
    else paintLanes(scene, row, pixels, scratch, inks);
  });
}

// The lanes of a track that are in sight.
function lanesInSight(scene: Scene, row: TrackRow): [number, number] {
  const first = Math.floor((scene.scrollTop - row.y) / LANE_HEIGHT);
  const last = Math.floor((scene.scrollTop + scene.height / scene.ratio - row.y) / LANE_HEIGHT);
  return [Math.max(0, first), Math.min(row.lanes - 1, last)];
}

function paintLanes(
  scene: Scene,
  row: TrackRow,
  pixels: Uint32Array,
  scratch: Scratch,
  inks: Inks,
): void {
  const [first, last] = lanesInSight(scene, row);
  for (let lane = first; lane <= last; ++lane) {
    scratch.line.fill(inks.ground);
    eachTile(scene, row.track.id, (tile, origin, scale, clipBegin, clipEnd) => {
      if (tile.kind !== "slices") return;
      paintLane(scratch.line, tile, lane, origin, scale, clipBegin, clipEnd, scene.labels, inks);
    });
    const top = yOfLane(scene, row, lane);
    const bottom = yOfLane(scene, row, lane + 1) - Math.max(1, Math.floor(scene.ratio));
    spread(pixels, scene.width, scratch.line, Math.max(0, top), Math.min(scene.height, bottom));
  }
}

// The device pixel at which a lane begins.
export function yOfLane(scene: Scene, row: TrackRow, lane: number): number {
  return Math.round((row.y + lane * LANE_HEIGHT - scene.scrollTop) * scene.ratio);
}

function paintCounter(
  scene: Scene,
  row: TrackRow,
  pixels: Uint32Array,
  scratch: Scratch,
  inks: Inks,
): void {
  scratch.lows.fill(Number.NaN);
  scratch.highs.fill(Number.NaN);
  eachTile(scene, row.track.id, (tile, origin, scale, clipBegin, clipEnd) => {
    if (tile.kind === "counter")
      gatherCurve(scratch.lows, scratch.highs, tile, origin, scale, clipBegin, clipEnd);
  });
  const top = Math.round((row.y + 2 - scene.scrollTop) * scene.ratio);
  const bottom = Math.round((row.y + row.height - TRACK_GAP - scene.scrollTop) * scene.ratio);
  const least = Math.min(0, row.track.min ?? 0);
  const most = Math.max(row.track.max ?? 1, least);
  paintCurve(
    pixels,
    scene.width,
    scene.height,
    scratch.lows,
    scratch.highs,
    least,
    most,
    top,
    bottom,
    inks,
  );
}

const LEAST_NAME_WIDTH = 26;
const NAME_MARGIN = 4;

// Names on what is wide enough. A slice that began before the window has its name at the window's edge.
export function paintNames(scene: Scene, context: CanvasRenderingContext2D, ink: string): void {
  const { ratio, labels } = scene;
  context.fillStyle = ink;
  context.textBaseline = "middle";
  const measure = (text: string) => context.measureText(text).width;
  const margin = NAME_MARGIN * ratio;
  eachTrackInSight(scene, (row) => {
    if (row.track.kind === "counter") return;
    const [firstLane, lastLane] = lanesInSight(scene, row);
    eachTile(scene, row.track.id, (tile, origin, scale, clipBegin, clipEnd) => {
      if (tile.kind !== "slices") return;
      for (let lane = firstLane; lane <= lastLane && lane + 1 < tile.laneStarts.length; ++lane) {
        const y = yOfLane(scene, row, lane) + ((LANE_HEIGHT - 1) * ratio) / 2;
        const end = tile.laneStarts[lane + 1]!;
        for (let i = tile.laneStarts[lane]!; i < end; ++i) {
          const from = origin + tile.begins[i]! * scale;
          if (from >= clipEnd) break;
          // The tile in which a slice's visible part begins names it.
          const begin = Math.max(from, 0);
          if (begin < clipBegin || tile.numbers[i]! > 1) continue;
          const width = Math.min(origin + tile.ends[i]! * scale, scene.width) - begin;
          if (width < LEAST_NAME_WIDTH * ratio) continue;
          const text = labels.fittingName(tile.labels[i]!, width - 2 * margin, measure);
          if (text !== "") context.fillText(text, begin + margin, y);
        }
      }
    });
  });
}

export interface Hit {
  track: number;
  slice: number;
  label: number;
  number: number;
  depth: number;
  begin_ns: number;
  end_ns: number;
}

// What is under a device pixel of the canvas: the item that covers it, or the nearest within two pixels.
export function hitAt(scene: Scene, x: number, y: number): Hit | null {
  const top = scene.scrollTop + y / scene.ratio;
  const row = scene.layout.rows[rowAt(scene.layout, top)];
  if (row?.kind !== "track" || row.track.kind === "counter") return null;
  const lane = Math.floor((top - row.y) / LANE_HEIGHT);
  if (lane < 0 || lane >= row.lanes) return null;
  let best: Hit | null = null;
  let distance = 2 * scene.ratio + 0.5;
  eachTile(scene, row.track.id, (tile, origin, scale, clipBegin, clipEnd) => {
    if (
      tile.kind !== "slices" ||
      lane + 1 >= tile.laneStarts.length ||
      x < clipBegin - 2 ||
      x > clipEnd + 2
    )
      return;
    for (let i = tile.laneStarts[lane]!; i < tile.laneStarts[lane + 1]!; ++i) {
      const from = origin + tile.begins[i]! * scale;
      if (from > x + 3 * scene.ratio) break;
      const to = origin + tile.ends[i]! * scale;
      const off = x < from ? from - x : x > to ? x - to : 0;
      if (off < distance || (off === 0 && distance === 0)) {
        distance = off;
        best = hitOf(scene, row.track.id, tile, i);
      }
    }
  });
  return best;
}

function hitOf(scene: Scene, track: number, tile: Tile, item: number): Hit {
  if (tile.kind !== "slices") throw new Error("not a tile of slices");
  const start = tile.index * tileNs(scene.grid, tile.level);
  const bucket = bucketNs(scene.grid, tile.level);
  return {
    track,
    slice: tile.slices[item]!,
    label: tile.labels[item]!,
    number: tile.numbers[item]!,
    depth: tile.depths[item]!,
    begin_ns: start + tile.begins[item]! * bucket,
    end_ns: start + tile.ends[item]! * bucket,
  };
}

// The value that a counter under a device pixel of the canvas holds there.
export function counterAt(
  scene: Scene,
  x: number,
  y: number,
): { track: TrackInfo; value: number } | null {
  const row = scene.layout.rows[rowAt(scene.layout, scene.scrollTop + y / scene.ratio)];
  if (row?.kind !== "track" || row.track.kind !== "counter") return null;
  let value: number | null = null;
  eachTile(scene, row.track.id, (tile, origin, scale, clipBegin, clipEnd) => {
    if (tile.kind !== "counter" || x < clipBegin || x >= clipEnd) return;
    for (let i = 0; i < tile.count && origin + tile.at[i]! * scale <= x + 1; ++i)
      value = tile.last[i]!;
  });
  return value === null ? null : { track: row.track, value };
}

// The next item of a lane after a moment, or the last one before it: of the tiles in sight, else of the whole run's tile.
export function neighbour(
  scene: Scene,
  track: number,
  depth: number,
  ns: number,
  isAfter: boolean,
  except: number,
): Hit | null {
  let best: Hit | null = null;
  const look = (tile: Tile) => {
    if (tile.kind !== "slices" || depth + 1 >= tile.laneStarts.length) return;
    for (let i = tile.laneStarts[depth]!; i < tile.laneStarts[depth + 1]!; ++i) {
      if (tile.slices[i] === except) continue;
      const hit = hitOf(scene, track, tile, i);
      // Times in tiles are rounded.
      const slack = bucketNs(scene.grid, tile.level) / 64;
      const isThere = isAfter ? hit.begin_ns >= ns - slack : hit.end_ns <= ns + slack;
      if (!isThere) continue;
      const isNearer =
        best === null || (isAfter ? hit.begin_ns < best.begin_ns : hit.end_ns > best.end_ns);
      if (isNearer) best = hit;
    }
  };
  eachTile(scene, track, look);
  if (best === null) {
    const whole = scene.cache.find(track, 0, 0);
    if (whole) look(whole);
  }
  return best;
}
