// The outline of the whole run for the minimap: how deep the calls are at each moment, over the busiest tracks.
import type { Tracks } from "../source";
import { bucketNs, tileNs, type Grid } from "./grid";
import type { TileCache } from "./tile_cache";

const TRACKS = 8;
const LEVEL = 2;

export class Skyline {
  private readonly tracks: number[];
  private readonly level: number;
  private line = new Float32Array(0);
  private ofTrack = new Float32Array(0);
  private tilesInLine = -1;

  constructor(
    private readonly grid: Grid,
    private readonly cache: TileCache,
    tracks: Tracks,
  ) {
    this.level = Math.min(LEVEL, grid.lastLevel);
    this.tracks = tracks.tracks
      .filter((track) => track.kind !== "counter" && track.slices > 0)
      .sort((a, b) => b.slices - a.slices)
      .slice(0, TRACKS)
      .map((track) => track.id);
  }

  want(): void {
    for (const track of this.tracks) {
      for (let index = 0; index < 2 ** this.level; ++index)
        this.cache.want(track, this.level, index);
    }
  }

  // The height of each pixel. Made again only when more tiles are there.
  heights(width: number, span_ns: number): Float32Array {
    const there = this.countTiles();
    if (this.line.length === width && this.tilesInLine === there) return this.line;
    this.tilesInLine = there;
    this.line = new Float32Array(width);
    this.ofTrack = new Float32Array(width);
    for (const track of this.tracks) {
      this.ofTrack.fill(0);
      for (let index = 0; index < 2 ** this.level; ++index)
        this.addTile(track, index, width / span_ns);
      for (let x = 0; x < width; ++x) this.line[x]! += this.ofTrack[x]!;
    }
    return this.line;
  }

  private countTiles(): number {
    let there = 0;
    for (const track of this.tracks) {
      for (let index = 0; index < 2 ** this.level; ++index)
        there += (this.cache.findCovering(track, this.level, index)?.level ?? -1) + 1;
    }
    return there;
  }

  // A coarser tile may stand for it: only what is within this one is added.
  private addTile(track: number, index: number, pixelsPerNs: number): void {
    const tile = this.cache.findCovering(track, this.level, index);
    if (tile?.kind !== "slices") return;
    const covered = tileNs(this.grid, this.level) * pixelsPerNs;
    const from = Math.max(0, Math.floor(index * covered));
    const to = Math.min(this.ofTrack.length, Math.ceil((index + 1) * covered));
    const origin = tile.index * tileNs(this.grid, tile.level) * pixelsPerNs;
    const scale = bucketNs(this.grid, tile.level) * pixelsPerNs;
    // By depth: deeper items overwrite the ones that they are in.
    for (let i = 0; i < tile.count; ++i) {
      const begin = Math.floor(origin + tile.begins[i]! * scale);
      const end = Math.max(begin + 1, Math.ceil(origin + tile.ends[i]! * scale));
      const depth = tile.depths[i]! + 1;
      for (let x = Math.max(from, begin); x < Math.min(to, end); ++x)
        if (this.ofTrack[x]! < depth) this.ofTrack[x] = depth;
    }
  }
}
