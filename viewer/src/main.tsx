// The frame of the page: which run, which view, light or dark; everything else is in views/.
import { effect, signal } from "@preact/signals";
import { render } from "preact";
import { useEffect } from "preact/hooks";
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { currentRun, runs, source } from "./answer";
import { Banner, clearError, Note, showError } from "./banner";
import { textOfCount, textOfNs } from "./format";
import { areKeysShown, isTyping, Keys } from "./keys";
import { LeftOut } from "./left_out";
import { RequestError, type RunInfo } from "./source";
import { hrefOf, run, setState, view } from "./state";
import { chooseTheme, theme } from "./theme";
import { views, type View } from "./views/registry";

const LIVE_PERIOD_MS = 2000;
const isRefused = signal(false);

async function loadRuns(wanted?: number): Promise<void> {
  try {
    runs.value = await source.runs(wanted);
    if (runs.value.runs.some((info) => info.is_live))
      setTimeout(() => void loadRuns(), LIVE_PERIOD_MS);
  } catch (error) {
    showError(error);
    // A server that refuses will go on doing so; one that does not answer may come back.
    isRefused.value = error instanceof RequestError && error.status === 403;
    if (runs.value === null && !isRefused.value)
      setTimeout(() => void loadRuns().then(clearWhenThere), LIVE_PERIOD_MS);
  }
}

// A server of many runs loads each when it is shown.
effect(() => {
  if (currentRun()?.is_waiting) void loadRuns(run.value);
});

function clearWhenThere(): void {
  if (runs.value !== null) clearError();
}

function shownViews(): View[] {
  const known = runs.value;
  return views.filter((item) => known === null || !item.isShown || item.isShown(known));
}

function onKey(event: KeyboardEvent): void {
  if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "?") {
    areKeysShown.value = !areKeysShown.value;
  } else if (/^[1-9]$/.test(event.key)) {
    const item = shownViews()[Number(event.key) - 1];
    if (item) setState({ view: item.id });
  } else {
    return;
  }
  event.preventDefault();
}

// Runs by the folder in their names, in which there is one for each worker.
function foldersOf(known: RunInfo[]): [string, RunInfo[]][] {
  const folders = new Map<string, RunInfo[]>();
  for (const info of known) {
    const folder = info.name.slice(0, Math.max(0, info.name.lastIndexOf("/")));
    folders.set(folder, [...(folders.get(folder) ?? []), info]);
  }
  return [...folders];
}

function optionOf(info: RunInfo) {
  return (
    <option key={info.id} value={String(info.id)}>
      {info.name.slice(info.name.lastIndexOf("/") + 1)}
    </option>
  );
}

function RunChoice() {
  const known = runs.value?.runs ?? [];
  const current = currentRun();
  return (
    <div class="run">
      {known.length > 1 ? (
        <select
          aria-label="Run"
          value={String(run.value)}
          onChange={(event) =>
            setState({ run: event.currentTarget.value, range: null, area: null, slice: null })
          }
        >
          {foldersOf(known).map(([folder, inside]) =>
            folder === "" ? (
              inside.map(optionOf)
            ) : (
              <optgroup label={folder}>{inside.map(optionOf)}</optgroup>
            ),
          )}
        </select>
      ) : (
        <span class="run-name" title={current?.path}>
          {current?.name}
        </span>
      )}
      {current && !current.error && (
        <span class="quiet run-figures">
          {textOfNs(current.span_ns)}, {textOfCount(current.slices)} slices
        </span>
      )}
      {current?.is_live && <span class="live">live</span>}
    </div>
  );
}

function Tabs() {
  return (
    <nav aria-label="Views">
      {shownViews().map((item) => (
        <a
          key={item.id}
          href={hrefOf({ view: item.id })}
          aria-current={item.id === view.value ? "page" : undefined}
        >
          {item.title}
        </a>
      ))}
    </nav>
  );
}

function Shown() {
  const known = runs.value;
  if (known === null) return isRefused.value ? null : <Note>Loading…</Note>;
  const current = currentRun();
  if (!current) return <Note isError>There is no run {run.value} here.</Note>;
  if (current.error) {
    return (
      <Note isError>
        {current.path}: {current.error}
      </Note>
    );
  }
  if (current.is_waiting) return <Note>Loading {current.name}…</Note>;
  const item = shownViews().find((candidate) => candidate.id === view.value);
  if (!item) return <Note isError>There is no view “{view.value}”.</Note>;
  const Component = item.component;
  return <Component key={`${item.id} ${run.value}`} />;
}

function Page() {
  useEffect(() => {
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
  const title = shownViews().find((item) => item.id === view.value)?.title ?? "";
  const name = currentRun()?.name ?? "";
  useEffect(() => {
    document.title = name === "" ? "Stepscope" : `${name}: ${title} – Stepscope`;
  }, [name, title]);
  const other = theme.value === "dark" ? "light" : "dark";
  return (
    <>
      <header>
        <span class="brand">Stepscope</span>
        {view.value !== "overview" && <h1 class="hidden">{title}</h1>}
        <RunChoice />
        <Tabs />
        <div class="switches">
          <button
            type="button"
            onClick={() => chooseTheme(other)}
            aria-label={`Switch to ${other} colours`}
            title={`Switch to ${other} colours`}
          >
            {other === "dark" ? "☾" : "☀"}
          </button>
          <button
            type="button"
            onClick={() => (areKeysShown.value = true)}
            aria-label="Keys"
            title="Keys (?)"
          >
            ?
          </button>
        </div>
      </header>
      <Banner />
      {source.isExported && <LeftOut />}
      <main>
        <Shown />
      </main>
      <Keys />
    </>
  );
}

const root = document.getElementById("page");
if (root) render(<Page />, root);
void loadRuns();
