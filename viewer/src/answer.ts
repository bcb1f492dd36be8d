// Asking from a component: the answer, the error or neither yet; what is no longer wanted is aborted.
//
//   const operators = useAnswer((signal) => source.table(run.value, "operators", {}, signal), [run.value, version.value]);
import { useEffect, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import { EmbeddedSource, isExportedPage } from "./embedded_source";
import { HttpSource, isAbort, type RunInfo, type Runs, type Source } from "./source";
import { run, token } from "./state";

export const source: Source = isExportedPage()
  ? new EmbeddedSource()
  : new HttpSource("api/", () => token.value);

// The runs that the server has. A live run's version grows when it was read again.
export const runs = signal<Runs | null>(null);

export function currentRun(): RunInfo | undefined {
  return runs.value?.runs.find((info) => info.id === run.value);
}

export function version(): number {
  return currentRun()?.version ?? 0;
}

export interface Answer<T> {
  data: T | undefined;
  error: string | undefined;
  isLoading: boolean;
}

export function textOfError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

// Keeps the last answer while a new one is on its way, so that nothing flickers.
export function useAnswer<T>(
  ask: ((signal: AbortSignal) => Promise<T>) | null,
  depends: readonly unknown[],
): Answer<T> {
  const [answer, setAnswer] = useState<Answer<T>>({
    data: undefined,
    error: undefined,
    isLoading: true,
  });
  useEffect(() => {
    if (!ask) {
      setAnswer({ data: undefined, error: undefined, isLoading: false });
      return;
    }
    const abort = new AbortController();
    setAnswer((last) => ({ ...last, isLoading: true }));
    ask(abort.signal).then(
      (data) => {
        if (!abort.signal.aborted) setAnswer({ data, error: undefined, isLoading: false });
      },
      (error: unknown) => {
        if (abort.signal.aborted || isAbort(error)) return;
        setAnswer({ data: undefined, error: textOfError(error), isLoading: false });
      },
    );
    return () => abort.abort();
  }, depends);
  return answer;
}
