// Tiles that are there, and those on their way. A frame says what it wants (`want`); `flush` asks for what is missing in one request per level, and
// aborts requests of which nothing is wanted any more. Bounded: what was not seen for the longest time goes first.
import { decodeTiles, type Tile } from "./tile";

const LIMIT_BYTES = 64 << 20;
const LIMIT_PER_REQUEST = 256;
// An answer is to be about so large: dense tiles are asked for in smaller numbers.
const ANSWER_BYTES = 8 << 20;
const LEAST_PER_REQUEST = 8;
const LIMIT_REQUESTS = 4;
// Beside the columns themselves.
const OBJECT_BYTES = 600;

export type AskTiles = (level: number, want: string, signal: AbortSignal) => Promise<ArrayBuffer>;

interface Entry {
  tile: Tile | null;
  usedAt: number;
}

interface Request {
  keys: number[];
  abort: AbortController;
}

export class TileCache {
  private entries = new Map<number, Entry>();
  private wanted = new Set<number>();
  private pending = new Map<number, Request>();
  private requests = new Set<Request>();
  private failed = new Map<number, number>();
  private bytes = 0;
  private clock = 0;
  private perRequest = LIMIT_PER_REQUEST;
  private readonly nodes: number;

  constructor(
    // Numbers of tiles are unique up to this level.
    lastLevel: number,
    private readonly ask: AskTiles,
    private readonly onArrive: () => void,
    private readonly onError: (error: unknown) => void,
    private readonly limitBytes = LIMIT_BYTES,
  ) {
    this.nodes = 2 ** (lastLevel + 1);
  }

  // A tile as one number: those of a track are numbered as the nodes of a binary tree are, 2^level + index.
  private keyOf(track: number, level: number, index: number): number {
    return track * this.nodes + (2 ** level + index);
  }

  private levelOfKey(key: number): number {
    return Math.floor(Math.log2(key % this.nodes));
  }

  private textOfKey(key: number): string {
    const index = (key % this.nodes) - 2 ** this.levelOfKey(key);
    return `${Math.floor(key / this.nodes)}.${index}`;
  }

  // The tile if it is there. Whoever draws it keeps it.
  find(track: number, level: number, index: number): Tile | null {
    const entry = this.entries.get(this.keyOf(track, level, index));
    if (!entry) return null;
    entry.usedAt = this.clock;
    return entry.tile;
  }

  // The tile, or what can stand for it: the nearest coarser one that covers it.
  findCovering(track: number, level: number, index: number): Tile | null {
    let at = index;
    for (let up = level; up >= 0; --up) {
      const tile = this.find(track, up, at);
      if (tile) return tile;
      at = Math.floor(at / 2);
    }
    return null;
  }

  want(track: number, level: number, index: number): void {
    this.wanted.add(this.keyOf(track, level, index));
  }

  get isWaiting(): boolean {
    return this.pending.size > 0;
  }

  get size(): number {
    return this.bytes;
  }

  // The end of a frame: what was wanted since the last one is what is in sight.
  flush(): void {
    ++this.clock;
    for (const request of this.requests) {
      if (!request.keys.some((key) => this.wanted.has(key))) this.cancel(request);
    }
    const byLevel = new Map<number, number[]>();
    for (const key of this.wanted) {
      const entry = this.entries.get(key);
      if (entry) entry.usedAt = this.clock;
      if (this.entries.has(key) || this.pending.has(key) || (this.failed.get(key) ?? 0) > 2)
        continue;
      const level = this.levelOfKey(key);
      const keys = byLevel.get(level);
      if (keys) keys.push(key);
      else byLevel.set(level, [key]);
    }
    for (const level of [...byLevel.keys()].sort((a, b) => a - b)) {
      if (this.requests.size >= LIMIT_REQUESTS) break;
      this.send(level, byLevel.get(level)!.slice(0, this.perRequest));
    }
    this.wanted.clear();
    this.evict();
  }

  clear(): void {
    for (const request of this.requests) this.cancel(request);
    this.entries.clear();
    this.failed.clear();
    this.bytes = 0;
  }

  private cancel(request: Request): void {
    request.abort.abort();
    this.finish(request);
  }

  private finish(request: Request): void {
    this.requests.delete(request);
    for (const key of request.keys) if (this.pending.get(key) === request) this.pending.delete(key);
  }

  private send(level: number, keys: number[]): void {
    const request: Request = { keys, abort: new AbortController() };
    this.requests.add(request);
    for (const key of keys) this.pending.set(key, request);
    const want = keys.map((key) => this.textOfKey(key)).join(",");
    this.ask(level, want, request.abort.signal).then(
      (answer) => {
        if (request.abort.signal.aborted) return;
        this.finish(request);
        try {
          this.take(answer, keys);
        } catch (error) {
          this.fail(keys, error);
        }
        this.onArrive();
      },
      (error: unknown) => {
        if (request.abort.signal.aborted) return;
        this.finish(request);
        this.fail(keys, error);
        // Tried again when it is next in sight, but not at once.
        setTimeout(this.onArrive, 1000);
      },
    );
  }

  private fail(keys: number[], error: unknown): void {
    // Perhaps it was too much at once.
    if (keys.length > LEAST_PER_REQUEST) {
      this.perRequest = Math.max(LEAST_PER_REQUEST, Math.floor(keys.length / 4));
      return;
    }
    for (const key of keys) this.failed.set(key, (this.failed.get(key) ?? 0) + 1);
    this.onError(error);
  }

  private take(answer: ArrayBuffer, asked: number[]): void {
    const fitting = Math.floor((ANSWER_BYTES * asked.length) / Math.max(answer.byteLength, 1));
    this.perRequest = Math.min(Math.max(fitting, LEAST_PER_REQUEST), LIMIT_PER_REQUEST);
    for (const tile of decodeTiles(answer)) {
      const key = this.keyOf(tile.track, tile.level, tile.index);
      if (this.entries.has(key)) continue;
      this.entries.set(key, { tile, usedAt: this.clock });
      this.bytes += tile.bytes + OBJECT_BYTES;
    }
    // A tile that was not answered is empty: it is not asked for again.
    for (const key of asked) {
      if (!this.entries.has(key)) {
        this.entries.set(key, { tile: null, usedAt: this.clock });
        this.bytes += OBJECT_BYTES;
      }
    }
  }

  private evict(): void {
    if (this.bytes <= this.limitBytes) return;
    const old = [...this.entries].sort((a, b) => a[1].usedAt - b[1].usedAt);
    for (const [key, entry] of old) {
      if (this.bytes <= this.limitBytes * 0.8 || entry.usedAt >= this.clock - 1) break;
      this.entries.delete(key);
      this.bytes -= (entry.tile?.bytes ?? 0) + OBJECT_BYTES;
    }
  }
}
