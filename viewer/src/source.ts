// What the page asks, and what it is answered (docs/viewer.md). A Source knows how to ask; the typed requests are the same for all of them.
import type { Cell } from "./format";

export interface RunInfo {
  id: number;
  name: string;
  path: string;
  format: string;
  span_ns: number;
  clock_base_ns: number;
  slices: number;
  version: number;
  is_live: boolean;
  // It is loaded when `runs` is asked for it.
  is_waiting?: boolean;
  // Runs of the same number are ranks of one job.
  job: number;
  error: string | null;
}

export interface Runs {
  runs: RunInfo[];
  can: { sql?: boolean; diff?: boolean; what_if?: boolean; job?: boolean };
}

export interface ProcessInfo {
  id: number;
  pid: string | number;
  name: string;
  labels: string;
}

export type TrackKind = "thread" | "stream" | "async" | "counter";

export interface TrackInfo {
  id: number;
  process: number;
  kind: TrackKind;
  name: string;
  series: string | null;
  unit: string | null;
  slices: number;
  depth: number;
  device: number | null;
  min: number | null;
  max: number | null;
}

export interface Tracks {
  processes: ProcessInfo[];
  tracks: TrackInfo[];
}

export interface LabelInfo {
  id: number;
  name: string;
  category: string;
  kind: string;
}

export interface SliceMatch {
  slice: number;
  track: number;
  start_ns: number;
  dur_ns: number;
  depth: number;
  name: string;
}

export interface Flow extends SliceMatch {
  what?: string;
  is_out: boolean;
}

export interface SliceDetails {
  id: number;
  name: string;
  category: string;
  kind: string;
  track: number;
  start_ns: number;
  dur_ns: number;
  // Not known of a slice whose details an exported page lacks.
  self_ns: number | null;
  depth: number;
  parents: { id: number; name: string }[];
  args: { key: string; value: unknown }[];
  stack: string[];
  file: string;
  line: number | null;
  flows: Flow[];
  // What is missing, where something is.
  remark?: string;
}

export interface SearchAnswer {
  total: number;
  // An exported page does not have every slice by its name.
  is_partial?: boolean;
  matches: SliceMatch[];
}

// A function of merged stacks; `function`, `file` and `line` are its name taken apart.
export interface FlameLabel extends LabelInfo {
  function?: string;
  file?: string;
  line?: number;
}

// Merged stacks: columns in pre-order. Those of two runs have `other_ns`.
export interface FlameAnswer {
  source?: "slices" | "samples" | "call edges" | "nothing";
  total_ns: number;
  other_ns?: number;
  left_out: number;
  // The stacks of call edges are not known: a function's time goes the same way whoever called it.
  is_estimate?: boolean;
  left_out_streams?: boolean;
  // Inverted stacks were cut there; 0: none was.
  cut_at_level?: number;
  nodes: {
    parent: number[];
    label: number[];
    total_ns: number[];
    self_ns: number[];
    calls: number[];
    other_ns?: number[];
    other_self_ns?: number[];
    other_calls?: number[];
  };
  labels: FlameLabel[];
}

export interface FlameOptions {
  begin_ns?: number;
  end_ns?: number;
  tracks?: string;
  kind?: string;
  label?: number;
  inverted?: boolean;
  least?: number;
}

export interface ColumnInfo {
  name: string;
  unit: string;
}

export interface Finding {
  id: string;
  severity: "critical" | "warning" | "info";
  title: string;
  where: string;
  at_stake_fraction: number;
  evidence: { figures: { name: string; value: number; unit: string }[]; slices: number[] };
  fix: string;
  code: string;
  includes: string[];
}

export interface TableStats {
  rows_total?: number;
  notes?: string[];
  [name: string]: unknown;
}

export interface TableAnswer {
  view: string;
  columns: ColumnInfo[];
  rows: Cell[][];
  stats?: TableStats;
  verdict?: string[];
  findings?: Finding[];
}

export interface TableOptions {
  sort?: string;
  limit?: number;
  filter?: string;
  by?: string;
  depth?: number;
  track?: string;
  begin_ns?: number;
  end_ns?: number;
}

export type JobView = "ranks" | "collectives" | "groups" | "findings";

export interface JobOptions {
  // The job is that of this run.
  run?: number;
  // Reads runs too that are loaded when they are asked for.
  waiting?: boolean;
  sort?: string;
  limit?: number;
  filter?: string;
  by?: string;
}

// Allocations as rectangles. `offset` is the place of an address with unused ranges cut out.
export interface MemoryFlowAnswer {
  devices: { name: string; process: number; peak_bytes: number }[];
  device: string;
  total: number;
  left_out: number;
  left_out_bytes: number;
  without_address: number;
  peak_bytes: number;
  peak_ns: number;
  ranges: { address: number; bytes: number; offset: number }[];
  columns: {
    address: number[];
    offset: number[];
    bytes: number[];
    begin_ns: number[];
    end_ns: number[];
    is_open: boolean[];
    category: string[];
    label: string[];
    // -1 where none took it.
    slice: number[];
  };
}

export type Parameters = Record<string, string | number | boolean | undefined>;

// The server's own words about what went wrong.
export class RequestError extends Error {
  readonly status: number;
  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

export abstract class Source {
  abstract askJson(
    path: string,
    parameters: Parameters,
    signal?: AbortSignal,
    body?: string,
  ): Promise<unknown>;
  abstract askBytes(
    path: string,
    parameters: Parameters,
    signal?: AbortSignal,
  ): Promise<ArrayBuffer>;

  // A page that carries its answers has no server behind it, and may lack some.
  get isExported(): boolean {
    return false;
  }
  leftOut(): Promise<string[]> {
    return Promise.resolve([]);
  }

  runs(run?: number, signal?: AbortSignal): Promise<Runs> {
    return this.askJson("runs", { run }, signal) as Promise<Runs>;
  }
  tracks(run: number, signal?: AbortSignal): Promise<Tracks> {
    return this.askJson("tracks", { run }, signal) as Promise<Tracks>;
  }
  tiles(run: number, level: number, want: string, signal?: AbortSignal): Promise<ArrayBuffer> {
    return this.askBytes("tiles", { run, level, want }, signal);
  }
  async labels(run: number, ids: number[], signal?: AbortSignal): Promise<LabelInfo[]> {
    const answer = await this.askJson("labels", { run, ids: ids.join(",") }, signal);
    return (answer as { labels: LabelInfo[] }).labels;
  }
  slice(run: number, id: number, signal?: AbortSignal): Promise<SliceDetails> {
    return this.askJson("slice", { run, id }, signal) as Promise<SliceDetails>;
  }
  search(run: number, q: string, limit: number, signal?: AbortSignal): Promise<SearchAnswer> {
    return this.askJson("search", { run, q, limit }, signal) as Promise<SearchAnswer>;
  }
  flame(run: number, options: FlameOptions, signal?: AbortSignal): Promise<FlameAnswer> {
    return this.askJson("flame", { run, ...options }, signal) as Promise<FlameAnswer>;
  }
  table(
    run: number,
    view: string,
    options: TableOptions = {},
    signal?: AbortSignal,
  ): Promise<TableAnswer> {
    return this.askJson("table", { run, view, ...options }, signal) as Promise<TableAnswer>;
  }
  // All runs together: as `stepscope ranks`.
  job(view: JobView, options: JobOptions = {}, signal?: AbortSignal): Promise<TableAnswer> {
    return this.askJson("job", { view, ...options }, signal) as Promise<TableAnswer>;
  }
  memoryFlow(
    run: number,
    device?: string,
    limit?: number,
    signal?: AbortSignal,
  ): Promise<MemoryFlowAnswer> {
    return this.askJson("memory-flow", { run, device, limit }, signal) as Promise<MemoryFlowAnswer>;
  }
  diff(a: number, b: number, by?: string, signal?: AbortSignal): Promise<TableAnswer> {
    return this.askJson("diff", { a, b, by }, signal) as Promise<TableAnswer>;
  }
  diffFlame(a: number, b: number, least?: number, signal?: AbortSignal): Promise<FlameAnswer> {
    return this.askJson("diff-flame", { a, b, least }, signal) as Promise<FlameAnswer>;
  }
  whatIf(run: number, what: string, signal?: AbortSignal): Promise<TableAnswer> {
    return this.askJson("what-if", { run, what }, signal) as Promise<TableAnswer>;
  }
  sql(run: number, statement: string, limit?: number, signal?: AbortSignal): Promise<TableAnswer> {
    return this.askJson("sql", { run, limit }, signal, statement) as Promise<TableAnswer>;
  }
}

export class HttpSource extends Source {
  constructor(
    private readonly base: string,
    private readonly token: () => string,
  ) {
    super();
  }

  override async askJson(
    path: string,
    parameters: Parameters,
    signal?: AbortSignal,
    body?: string,
  ): Promise<unknown> {
    return (await this.request(path, parameters, signal, body)).json();
  }

  override async askBytes(
    path: string,
    parameters: Parameters,
    signal?: AbortSignal,
  ): Promise<ArrayBuffer> {
    return (await this.request(path, parameters, signal)).arrayBuffer();
  }

  private async request(
    path: string,
    parameters: Parameters,
    signal?: AbortSignal,
    body?: string,
  ): Promise<Response> {
    const headers: Record<string, string> = {};
    if (this.token() !== "") headers["X-Stepscope-Token"] = this.token();
    let response: Response;
    try {
      response = await fetch(`${this.base}${path}${queryOf(parameters)}`, {
        method: body === undefined ? "GET" : "POST",
        ...(body === undefined ? {} : { body }),
        ...(signal ? { signal } : {}),
        headers,
      });
    } catch (error) {
      if (isAbort(error)) throw error;
      throw new RequestError("The server does not answer. Is it still running?", 0);
    }
    if (!response.ok) throw new RequestError(await messageOf(response), response.status);
    return response;
  }
}

export function queryOf(parameters: Parameters): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== "")
      query.set(name, value === true ? "1" : value === false ? "0" : String(value));
  }
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}

async function messageOf(response: Response): Promise<string> {
  if (response.status === 403)
    return "The server refused the page's token. Open the address that `stepscope view` printed.";
  try {
    const answer = (await response.json()) as { error?: unknown };
    if (typeof answer.error === "string") return answer.error;
  } catch {
    // Not JSON: the status has to do.
  }
  return `The server answered ${response.status} ${response.statusText}.`;
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
