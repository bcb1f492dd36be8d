// A page that carries its answers (docs/viewer.md, "One file"): blocks of base64 and gzip in <script> elements that no browser runs, and an index of what is in
// each. A tile that is not there is answered with the next coarser one; what can not be answered says so.
import { RequestError, Source } from "./source";
import { focused } from "./flame/focus";
import type {
  FlameAnswer,
  LabelInfo,
  Parameters,
  RunInfo,
  Runs,
  SearchAnswer,
  SliceDetails,
  SliceMatch,
} from "./source";
import { bucketNs, gridOf, tileNs } from "./timeline/grid";
import { nameMatcher } from "./timeline/search";
import { decodeTiles, type SliceTile } from "./timeline/tile";

type Entry =
  | { kind: "answer"; path: string; parameters: Record<string, string>; body?: string }
  | { kind: "tiles"; run: number; level: number; tiles: (number | number[])[] }
  | { kind: "labels"; run: number }
  | { kind: "slices"; run: number; first: number; last: number };

export interface Index {
  left_out: string[];
  blocks: Entry[];
}

const PREFIX = "stepscope-";
const NOT_HERE = "This is not in the file: open the run with `stepscope view`.";
const NEEDS_SERVER: Record<string, string> = {
  sql: "SQL needs `stepscope view`.",
  "what-if": "What-if needs `stepscope view`.",
  diff: "Comparing needs `stepscope view`.",
  "diff-flame": "Comparing needs `stepscope view`.",
};
// Of unpacked blocks with tiles.
const LIMIT_BYTES = 64 << 20;
const HEAD_BYTES = 32;
// As the view of functions asks for whole stacks.
const WHOLE_LEAST = 0.0001;

export function isExportedPage(): boolean {
  return typeof document !== "undefined" && document.getElementById(`${PREFIX}index`) !== null;
}

// Questions are the same whatever the order of their parameters; those without a value do not count.
export function keyOf(path: string, parameters: Parameters, body = ""): string {
  const given = Object.entries(parameters)
    .filter(([, value]) => value !== undefined && value !== "")
    .map(([name, value]) => [name, value === true ? "1" : value === false ? "0" : String(value)])
    .sort(([a], [b]) => (a! < b! ? -1 : 1));
  return JSON.stringify([path, given, body]);
}

// The runs of a file are one job, and all of them are in it.
function ofWholeFile(parameters: Parameters): Parameters {
  const { run, waiting, ...others } = parameters;
  return others;
}

export async function unpack(base64: string): Promise<ArrayBuffer> {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

function readBlock(name: string): Promise<ArrayBuffer> {
  const element = document.getElementById(PREFIX + name);
  if (!element) throw new RequestError("The file is cut off: a part of it is missing.", 0);
  return unpack(element.textContent ?? "");
}

interface TilePlace {
  offset: number;
  bytes: number;
}

interface TileBlock {
  buffer: ArrayBuffer;
  // By "track.index".
  places: Map<string, TilePlace>;
}

interface RunBlocks {
  // By level, then "track.index": the block.
  tiles: Map<string, number>[];
  tileBlocks: number[];
  labels: number[];
  slices: { block: number; first: number; last: number }[];
}

export class EmbeddedSource extends Source {
  private index: Promise<Index> | null = null;
  private answers = new Map<string, number>();
  private runBlocks = new Map<number, RunBlocks>();
  private unpacked = new Map<number, Promise<TileBlock>>();
  private unpackedBytes = 0;
  private labelsOfRuns = new Map<number, Promise<Map<number, LabelInfo>>>();
  private known: Promise<RunInfo[]> | null = null;

  constructor(private readonly read: (name: string) => Promise<ArrayBuffer> = readBlock) {
    super();
  }

  override get isExported(): boolean {
    return true;
  }

  override async leftOut(): Promise<string[]> {
    return (await this.open()).left_out;
  }

  // What was in the file's run stays as it was; nothing is worked out anew.
  override async runs(): Promise<Runs> {
    const answer = (await this.stored("runs", {})) as Runs;
    return { ...answer, can: {} };
  }

  override async askJson(
    path: string,
    parameters: Parameters,
    _signal?: AbortSignal,
    body?: string,
  ): Promise<unknown> {
    await this.open();
    if (path === "labels") return { labels: await this.findLabels(parameters) };
    if (path === "slice")
      return this.findSlice(Number(parameters["run"]), Number(parameters["id"]));
    if (path === "search") return this.findSlices(parameters);
    if (path === "job") return this.stored(path, ofWholeFile(parameters));
    if (path === "flame" && parameters["label"] !== undefined) return this.findStacks(parameters);
    return this.stored(path, parameters, body);
  }

  override async askBytes(path: string, parameters: Parameters): Promise<ArrayBuffer> {
    await this.open();
    if (path !== "tiles") throw new RequestError(NOT_HERE, 404);
    return this.findTiles(
      Number(parameters["run"]),
      Number(parameters["level"]),
      String(parameters["want"]),
    );
  }

  private open(): Promise<Index> {
    this.index ??= this.read("index").then((bytes) => {
      const index = JSON.parse(new TextDecoder().decode(bytes)) as Index;
      index.blocks.forEach((entry, block) => this.place(entry, block));
      return index;
    });
    return this.index;
  }

  private blocksOf(run: number): RunBlocks {
    let blocks = this.runBlocks.get(run);
    if (!blocks) {
      blocks = { tiles: [], tileBlocks: [], labels: [], slices: [] };
      this.runBlocks.set(run, blocks);
    }
    return blocks;
  }

  private place(entry: Entry, block: number): void {
    if (entry.kind === "answer") {
      this.answers.set(keyOf(entry.path, entry.parameters, entry.body), block);
      return;
    }
    const blocks = this.blocksOf(entry.run);
    if (entry.kind === "labels") blocks.labels.push(block);
    else if (entry.kind === "slices")
      blocks.slices.push({ block, first: entry.first, last: entry.last });
    else {
      blocks.tileBlocks.push(block);
      const level = (blocks.tiles[entry.level] ??= new Map());
      for (let i = 0; i + 1 < entry.tiles.length; i += 2) {
        for (const index of entry.tiles[i + 1] as number[])
          level.set(`${String(entry.tiles[i])}.${index}`, block);
      }
    }
  }

  private async json(block: number): Promise<unknown> {
    return JSON.parse(new TextDecoder().decode(await this.read(String(block))));
  }

  private async stored(path: string, parameters: Parameters, body?: string): Promise<unknown> {
    await this.open();
    const block = this.answers.get(keyOf(path, parameters, body));
    if (block === undefined) throw new RequestError(NEEDS_SERVER[path] ?? NOT_HERE, 404);
    return this.json(block);
  }

  // Callers and callees, of the whole stacks of the same kinds.
  private async findStacks(parameters: Parameters): Promise<FlameAnswer> {
    const { label, inverted, least, ...others } = parameters;
    const whole = (await this.stored("flame", { ...others, least: WHOLE_LEAST })) as FlameAnswer;
    // Call edges have two exact levels that an estimate does not have.
    if (whole.is_estimate) throw new RequestError(NOT_HERE, 404);
    return focused(whole, Number(label), inverted === true, Number(least ?? 0));
  }

  // Labels.

  private labelsOf(run: number): Promise<Map<number, LabelInfo>> {
    let labels = this.labelsOfRuns.get(run);
    if (!labels) {
      labels = this.readLabels(run);
      this.labelsOfRuns.set(run, labels);
    }
    return labels;
  }

  private async readLabels(run: number): Promise<Map<number, LabelInfo>> {
    const labels = new Map<number, LabelInfo>();
    for (const block of this.blocksOf(run).labels) {
      const answer = (await this.json(block)) as { labels: LabelInfo[] };
      for (const label of answer.labels) labels.set(label.id, label);
    }
    return labels;
  }

  private async findLabels(parameters: Parameters): Promise<LabelInfo[]> {
    const labels = await this.labelsOf(Number(parameters["run"]));
    return String(parameters["ids"])
      .split(",")
      .map((id) => labels.get(Number(id)))
      .filter((label) => label !== undefined);
  }

  // Tiles.

  private tileBlock(block: number): Promise<TileBlock> {
    let found = this.unpacked.get(block);
    if (found) {
      // The last used ones are at the end.
      this.unpacked.delete(block);
    } else {
      found = this.read(String(block)).then((buffer) => {
        this.unpackedBytes += buffer.byteLength;
        this.evict();
        return { buffer, places: placesOf(buffer) };
      });
    }
    this.unpacked.set(block, found);
    return found;
  }

  private evict(): void {
    for (const [block, found] of this.unpacked) {
      if (this.unpackedBytes <= LIMIT_BYTES) break;
      this.unpacked.delete(block);
      void found.then(({ buffer }) => (this.unpackedBytes -= buffer.byteLength));
    }
  }

  private async findTiles(run: number, level: number, want: string): Promise<ArrayBuffer> {
    const parts = new Map<string, ArrayBuffer>();
    for (const wanted of want.split(",")) {
      const found = this.finest(run, level, wanted);
      if (!found || parts.has(found.key)) continue;
      const { buffer, places } = await this.tileBlock(found.block);
      const place = places.get(found.tile);
      if (place) parts.set(found.key, buffer.slice(place.offset, place.offset + place.bytes));
    }
    return joined([...parts.values()]);
  }

  // The tile itself, or the finest one that covers it.
  private finest(run: number, level: number, wanted: string) {
    const [track, index] = wanted.split(".");
    const levels = this.blocksOf(run).tiles;
    let at = Number(index);
    for (let up = level; up >= 0; --up) {
      const tile = `${track}.${at}`;
      const block = levels[up]?.get(tile);
      if (block !== undefined) return { key: `${up} ${tile}`, tile, block };
      at = Math.floor(at / 2);
    }
    return null;
  }

  // Slices.

  private async findSlice(run: number, id: number): Promise<SliceDetails> {
    for (const { block, first, last } of this.blocksOf(run).slices) {
      if (id < first || id > last) continue;
      const slices = (await this.json(block)) as SliceDetails[];
      const found = slices.find((slice) => slice.id === id);
      if (found) return found;
    }
    return this.sliceOfTiles(run, id);
  }

  // What the timeline knows of a slice whose details were left out.
  private async sliceOfTiles(run: number, id: number): Promise<SliceDetails> {
    const labels = await this.labelsOf(run);
    for (const { tile, i, match } of await this.itemsOf(run)) {
      if (tile.slices[i] !== id || tile.numbers[i] !== 1) continue;
      const label = labels.get(tile.labels[i]!);
      return {
        ...match(labels),
        id,
        category: label?.category ?? "",
        kind: label?.kind ?? "",
        self_ns: null,
        parents: [],
        args: [],
        stack: [],
        file: "",
        line: null,
        flows: [],
        remark:
          "Its arguments, stack and flows are not in the file: open the run with `stepscope view`.",
      };
    }
    throw new RequestError(NOT_HERE, 404);
  }

  private async findSlices(parameters: Parameters): Promise<SearchAnswer> {
    const run = Number(parameters["run"]);
    const matches = nameMatcher(String(parameters["q"] ?? ""));
    if (!matches) throw new RequestError("This search is no pattern.", 400);
    const labels = await this.labelsOf(run);
    const ids = new Set<number>();
    for (const label of labels.values()) if (matches(label.name)) ids.add(label.id);
    const found = new Map<number, SliceMatch>();
    for (const { tile, i, match } of await this.itemsOf(run)) {
      const slice = tile.slices[i]!;
      if (ids.has(tile.labels[i]!) && !found.has(slice)) found.set(slice, match(labels));
    }
    const sorted = [...found.values()].sort((a, b) => a.start_ns - b.start_ns);
    return {
      total: sorted.length,
      is_partial: (await this.open()).left_out.length > 0,
      matches: sorted.slice(0, Number(parameters["limit"])),
    };
  }

  // Every item of the tiles of a run, the finest first, in which a slice's times are nearest to its own.
  private async itemsOf(run: number) {
    this.known ??= this.runs().then((answer) => answer.runs);
    const span_ns = (await this.known).find((info) => info.id === run)?.span_ns ?? 1;
    const grid = gridOf(Math.max(span_ns, 1));
    const tiles: SliceTile[] = [];
    for (const block of [...this.blocksOf(run).tileBlocks].reverse()) {
      const { buffer } = await this.tileBlock(block);
      for (const tile of decodeTiles(buffer)) if (tile.kind === "slices") tiles.push(tile);
    }
    return (function* () {
      for (const tile of tiles) {
        const begin = tile.index * tileNs(grid, tile.level);
        const bucket = bucketNs(grid, tile.level);
        for (let i = 0; i < tile.count; ++i) {
          const match = (labels: Map<number, LabelInfo>): SliceMatch => ({
            slice: tile.slices[i]!,
            track: tile.track,
            start_ns: Math.round(begin + tile.begins[i]! * bucket),
            dur_ns: Math.round((tile.ends[i]! - tile.begins[i]!) * bucket),
            depth: tile.depths[i]!,
            name: labels.get(tile.labels[i]!)?.name ?? "",
          });
          yield { tile, i, match };
        }
      }
    })();
  }
}

export function placesOf(buffer: ArrayBuffer): Map<string, TilePlace> {
  const view = new DataView(buffer);
  const places = new Map<string, TilePlace>();
  for (let offset = 0; offset + HEAD_BYTES <= buffer.byteLength;) {
    const bytes = view.getUint32(offset + 24, true);
    if (bytes < HEAD_BYTES) break;
    const index = view.getUint32(offset + 12, true) + 2 ** 32 * view.getUint32(offset + 28, true);
    places.set(`${view.getUint32(offset + 4, true)}.${index}`, { offset, bytes });
    offset += bytes;
  }
  return places;
}

function joined(parts: ArrayBuffer[]): ArrayBuffer {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0));
  let at = 0;
  for (const part of parts) {
    all.set(new Uint8Array(part), at);
    at += part.byteLength;
  }
  return all.buffer;
}
