// The search on the timeline: what was found, and which of it is current.
import { signal } from "@preact/signals";
import { isAbort, type SliceMatch, type Source } from "../source";

const LIMIT = 2000;
const PAUSE_MS = 180;

export interface Found {
  text: string;
  total: number;
  is_partial?: boolean;
  matches: SliceMatch[];
  current: number;
  isLoading: boolean;
}

const NOTHING: Found = { text: "", total: 0, matches: [], current: -1, isLoading: false };

// How names are compared on the page, as the server does it; null where the question is not about names.
export function nameMatcher(text: string): ((name: string) => boolean) | null {
  if (text === "") return null;
  const pattern = /^\/(.*)\/$/.exec(text);
  if (pattern) {
    try {
      const compiled = new RegExp(pattern[1] ?? "", "i");
      return (name) => compiled.test(name);
    } catch {
      return null;
    }
  }
  const lower = text.toLowerCase();
  return (name) => name.toLowerCase().includes(lower);
}

export class Search {
  readonly found = signal<Found>(NOTHING);
  private abort: AbortController | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly source: Source,
    private readonly run: number,
    private readonly onFound: (isFirst: boolean) => void,
    private readonly onError: (error: unknown) => void,
  ) {}

  // `isJump`: the first match is to be shown.
  start(text: string, isJump: boolean): void {
    if (text === this.found.value.text) return;
    this.stop();
    if (text === "") {
      this.found.value = NOTHING;
      this.onFound(false);
      return;
    }
    this.found.value = { ...NOTHING, text, isLoading: true };
    this.timer = setTimeout(() => void this.ask(text, isJump), isJump ? 0 : PAUSE_MS);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.abort?.abort();
  }

  private async ask(text: string, isJump: boolean): Promise<void> {
    this.abort = new AbortController();
    try {
      const answer = await this.source.search(this.run, text, LIMIT, this.abort.signal);
      if (text !== this.found.value.text) return;
      this.found.value = { ...answer, text, current: -1, isLoading: false };
      this.onFound(isJump);
    } catch (error) {
      if (isAbort(error)) return;
      this.found.value = { ...NOTHING, text };
      this.onError(error);
    }
  }

  // The match after the current one, or before it; the first one in the window where there is none yet.
  step(by: number, window_begin_ns: number): SliceMatch | null {
    const { matches, current } = this.found.value;
    if (matches.length === 0) return null;
    const next =
      current >= 0
        ? (current + by + matches.length) % matches.length
        : firstFrom(matches, window_begin_ns, by);
    this.found.value = { ...this.found.value, current: next };
    return matches[next] ?? null;
  }
}

function firstFrom(matches: readonly SliceMatch[], ns: number, by: number): number {
  const at = matches.findIndex((match) => match.start_ns >= ns);
  if (at < 0) return by > 0 ? 0 : matches.length - 1;
  return by > 0 ? at : (at - 1 + matches.length) % matches.length;
}
