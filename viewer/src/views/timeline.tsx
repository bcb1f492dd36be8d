// The tab of the timeline: its tools, the canvases and the heads of the tracks, and the panel of what is selected.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { RefObject } from "preact";
import { currentRun, source, useAnswer, version } from "../answer";
import { Waiting } from "../banner";
import { textOfCount, textOfNs } from "../format";
import type { TableAnswer, Tracks } from "../source";
import { run, searchText } from "../state";
import { cellOf } from "../table";
import { filterTracks, trackFilter } from "../timeline/choices";
import { Heads } from "../timeline/heads";
import { listenToInput } from "../timeline/input";
import type { Step } from "../timeline/overlay";
import { Panel } from "../timeline/panel";
import { Timeline } from "../timeline/timeline";
import "../timeline/timeline.css";

export function TimelineView() {
  const tracks = useAnswer((signal) => source.tracks(run.value, signal), [run.value, version()]);
  const steps = useAnswer(
    (signal) => source.table(run.value, "steps", { limit: 0 }, signal),
    [run.value, version()],
  );
  const span = currentRun()?.span_ns ?? 0;
  if (!tracks.data) return <Waiting answer={tracks} />;
  if (tracks.data.tracks.length === 0)
    return <p class="note">This trace has no timeline: it holds sums only.</p>;
  return <Board tracks={tracks.data} span_ns={Math.max(span, 1)} steps={steps.data} />;
}

export function stepsOf(table: TableAnswer): Step[] {
  return table.rows.map((row) => ({
    name: `step ${String(cellOf(table, row, "step") ?? "")}`,
    start_ns: Number(cellOf(table, row, "start_ns")),
    dur_ns: Number(cellOf(table, row, "dur_ns")),
  }));
}

interface BoardProps {
  tracks: Tracks;
  span_ns: number;
  steps: TableAnswer | undefined;
}

function Board({ tracks, span_ns, steps }: BoardProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const slices = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const ruler = useRef<HTMLCanvasElement>(null);
  const minimap = useRef<HTMLCanvasElement>(null);
  const search = useRef<HTMLInputElement>(null);
  const [timeline, setTimeline] = useState<Timeline | null>(null);

  useLayoutEffect(() => {
    const elements = {
      scroller: scroller.current!,
      slices: slices.current!,
      overlay: overlay.current!,
      ruler: ruler.current!,
      minimap: minimap.current!,
    };
    const made = new Timeline(run.peek(), span_ns, tracks, elements);
    const stop = listenToInput(made, elements, () => search.current?.select());
    setTimeline(made);
    return () => {
      stop();
      made.destroy();
    };
  }, [tracks, span_ns]);
  useLayoutEffect(() => {
    if (steps) timeline?.setSteps(stepsOf(steps));
  }, [timeline, steps]);

  return (
    <section class="timeline" aria-label="Timeline">
      <Tools timeline={timeline} search={search} />
      <div class="timeline-axis">
        <canvas
          ref={minimap}
          class="minimap"
          role="img"
          aria-label="The whole run, with the window that is shown"
        />
        <canvas
          ref={ruler}
          class="ruler"
          role="img"
          aria-label="Ruler: drag to select a range of time"
        />
      </div>
      <div class="timeline-scroll" ref={scroller}>
        <div class="timeline-content" style={{ height: `${timeline?.layout.value.height ?? 0}px` }}>
          <div class="timeline-canvases">
            <canvas ref={slices} aria-hidden="true" />
            <canvas
              ref={overlay}
              tabIndex={0}
              role="application"
              aria-label="Tracks with their slices. Arrow keys go from slice to slice, W and S zoom, A and D move, ? lists all keys."
            />
            {timeline && <Tooltip timeline={timeline} />}
          </div>
          {timeline && <Heads timeline={timeline} />}
        </div>
      </div>
      <div class="hidden" role="status" aria-live="polite">
        {timeline?.said.value}
      </div>
      {timeline && <Panel timeline={timeline} />}
    </section>
  );
}

function Tools({
  timeline,
  search,
}: {
  timeline: Timeline | null;
  search: RefObject<HTMLInputElement | null>;
}) {
  const found = timeline?.search.found.value;
  const hiddenTracks = timeline?.layout.value.hiddenTracks ?? 0;
  return (
    <div class="timeline-tools">
      <input
        ref={search}
        type="search"
        class="wide"
        value={searchText.value}
        placeholder="Search slices ( / ): text, /pattern/, key:value"
        aria-label="Search slices"
        onInput={(event) => timeline?.typeSearch(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") timeline?.stepMatch(event.shiftKey ? -1 : 1);
          else if (event.key === "Escape") {
            // Browsers would empty the field: the search stays, the keys work again.
            event.preventDefault();
            event.currentTarget.blur();
          }
        }}
      />
      <button
        type="button"
        disabled={!found?.matches.length}
        onClick={() => timeline?.stepMatch(-1)}
        aria-label="Previous match"
        title="Previous (Shift+N)"
      >
        ‹
      </button>
      <button
        type="button"
        disabled={!found?.matches.length}
        onClick={() => timeline?.stepMatch(1)}
        aria-label="Next match"
        title="Next (N)"
      >
        ›
      </button>
      <span class="quiet search-count">{found ? textOfFound(found) : ""}</span>
      {timeline?.isCut.value && (
        <span class="quiet cut-note" role="status">
          Finer details are not in this file
        </span>
      )}
      <span class="space" />
      <input
        type="search"
        value={trackFilter.value}
        placeholder="Filter tracks"
        aria-label="Filter tracks by name"
        onInput={(event) => filterTracks(event.currentTarget.value)}
      />
      {hiddenTracks > 0 && <span class="quiet">{textOfCount(hiddenTracks)} hidden</span>}
      <button
        type="button"
        onClick={() => timeline?.fitSelection()}
        title="Fit what is selected (F)"
      >
        Fit
      </button>
      <button type="button" onClick={() => timeline?.showAll()} title="Show the whole run (0)">
        All
      </button>
    </div>
  );
}

export function textOfFound(found: {
  text: string;
  total: number;
  is_partial?: boolean;
  matches: unknown[];
  current: number;
  isLoading: boolean;
}): string {
  if (found.text === "") return "";
  if (found.isLoading) return "…";
  const where = found.is_partial ? " in this file" : "";
  if (found.total === 0) return `nothing found${where}`;
  const of =
    found.total > found.matches.length
      ? `${textOfCount(found.total)}, first ${textOfCount(found.matches.length)} listed`
      : textOfCount(found.total);
  return found.current < 0
    ? `${of} found${where}`
    : `${textOfCount(found.current + 1)} of ${of}${where}`;
}

function Tooltip({ timeline }: { timeline: Timeline }) {
  const hover = timeline.hover.value;
  if (!hover) return null;
  const { hit } = hover;
  const isRight = hover.x > window.innerWidth * 0.55;
  const place = isRight
    ? { right: `calc(100% - ${hover.x - 10}px)` }
    : { left: `${hover.x + 14}px` };
  return (
    <div class="tooltip" style={{ top: `${hover.y + 16}px`, ...place }}>
      <div class="tooltip-name">{hover.name}</div>
      {!hit ? (
        <div>{hover.value}</div>
      ) : hit.number > 1 ? (
        <div class="quiet">
          the longest of {textOfCount(hit.number)} slices in {textOfNs(hit.end_ns - hit.begin_ns)}
        </div>
      ) : (
        <div>
          {textOfNs(hit.end_ns - hit.begin_ns)}{" "}
          <span class="quiet">at {textOfNs(hit.begin_ns)}</span>
        </div>
      )}
      {hover.category !== "" && <div class="quiet">{hover.category}</div>}
    </div>
  );
}
