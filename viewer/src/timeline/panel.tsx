// Below the timeline: all of the selected slice, or the tables and the flame graph of the selected range.
import { useMemo, useRef, useState } from "preact/hooks";
import type { TargetedPointerEvent } from "preact";
import { source, useAnswer, version } from "../answer";
import { Waiting } from "../banner";
import { FlamePanel } from "../flame/flame_panel";
import { shortName } from "../flame/layout";
import { buildTree } from "../flame/tree";
import { textOfNs, type Cell } from "../format";
import type { SliceDetails } from "../source";
import { area, hrefOf, run, setState, stateOf, type TimeRange } from "../state";
import { DataTable } from "../table";
import { titleOfTrack } from "./layout";
import type { Timeline } from "./timeline";

const LEAST_HEIGHT = 90;

export function Panel({ timeline }: { timeline: Timeline }) {
  const slice = timeline.selected.value;
  const range = area.value;
  const [height, setHeight] = useState(260);
  if (!slice && !range) return null;
  return (
    <aside class="timeline-panel" style={{ height: `${height}px` }} aria-label="What is selected">
      <Handle height={height} onHeight={setHeight} />
      {range ? (
        <Area range={range} />
      ) : slice ? (
        <Details slice={slice} timeline={timeline} />
      ) : null}
    </aside>
  );
}

function Handle({ height, onHeight }: { height: number; onHeight: (height: number) => void }) {
  const from = useRef<{ y: number; height: number } | null>(null);
  const clamp = (value: number) =>
    Math.min(Math.max(value, LEAST_HEIGHT), window.innerHeight - 220);
  return (
    <div
      class="panel-handle"
      role="separator"
      aria-orientation="horizontal"
      aria-label="Height of the panel"
      aria-valuenow={height}
      tabIndex={0}
      onKeyDown={(event) => {
        const by = event.key === "ArrowUp" ? 20 : event.key === "ArrowDown" ? -20 : 0;
        if (by === 0) return;
        onHeight(clamp(height + by));
        event.preventDefault();
      }}
      onPointerDown={(event: TargetedPointerEvent<HTMLDivElement>) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        from.current = { y: event.clientY, height };
      }}
      onPointerMove={(event) =>
        from.current && onHeight(clamp(from.current.height + from.current.y - event.clientY))
      }
      onPointerUp={() => (from.current = null)}
    />
  );
}

// The view that has a slice of this kind as a row.
const TABLES: Record<string, string> = {
  operator: "operators",
  annotation: "operators",
  kernel: "kernels",
  memcpy: "kernels",
  memset: "kernels",
};

export function tableOf(slice: { kind: string; category: string }): string {
  if (slice.category === "nn_module") return "modules";
  return TABLES[slice.kind] ?? "functions";
}

// Tables have a Python function's file and line in columns of their own.
export function rowNameOf(name: string): string {
  return /^.*\(\d+\): (.+)$/s.exec(name)?.[1] ?? name;
}

function Details({ slice, timeline }: { slice: SliceDetails; timeline: Timeline }) {
  const track = timeline.tracks.tracks.find((item) => item.id === slice.track);
  const table = tableOf(slice);
  const place =
    slice.file === "" ? "" : slice.line === null ? slice.file : `${slice.file}:${slice.line}`;
  const facts: [string, string][] = [
    ["Duration", textOfNs(slice.dur_ns)],
    ...(slice.self_ns === null ? [] : [["Own time", textOfNs(slice.self_ns)] as [string, string]]),
    ["Start", `${textOfNs(slice.start_ns)} (${slice.start_ns.toLocaleString("en-US")} ns)`],
    ["Track", track ? titleOfTrack(track) : String(slice.track)],
    [
      "Kind",
      slice.category === "" || slice.category === slice.kind
        ? slice.kind
        : `${slice.kind}, ${slice.category}`,
    ],
    ["Depth", String(slice.depth)],
  ];
  if (place !== "") facts.push(["Source", place]);
  return (
    <div class="details">
      <div class="details-head">
        <strong>{slice.name}</strong>
        <a href={hrefOf({ view: table, [`${table}.filter`]: rowNameOf(slice.name) })}>in {table}</a>
        <a href={hrefOf({ q: `/^${slice.name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")}$/` })}>
          all of this name
        </a>
        <button
          type="button"
          onClick={() => timeline.fitSelection()}
          title="Fit it into the window (F)"
        >
          Fit
        </button>
        <button
          type="button"
          class="close"
          onClick={() => setState({ slice: null })}
          aria-label="Close the details"
        >
          ×
        </button>
      </div>
      {slice.remark !== undefined && <p class="quiet">{slice.remark}</p>}
      <div class="details-columns">
        <dl>
          {facts.map(([name, text]) => (
            <Fact key={name} name={name} text={text} />
          ))}
        </dl>
        {slice.args.length > 0 && (
          <section>
            <h2>Arguments</h2>
            <dl>
              {slice.args.map((argument) => (
                <Fact
                  key={argument.key}
                  name={argument.key}
                  text={textOfArgument(argument.value)}
                />
              ))}
            </dl>
          </section>
        )}
        <Links slice={slice} timeline={timeline} />
        {slice.stack.length > 0 && slice.kind !== "python" && (
          <section>
            <h2>Python stack</h2>
            <ol class="stack">
              {slice.stack.map((frame, index) => (
                <li key={index}>{frame}</li>
              ))}
            </ol>
          </section>
        )}
      </div>
    </div>
  );
}

function Fact({ name, text }: { name: string; text: string }) {
  return (
    <div class="fact">
      <dt>{name}</dt>
      <dd>{text}</dd>
    </div>
  );
}

export function textOfArgument(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return value.toLocaleString("en-US", { maximumFractionDigits: 6 });
  return JSON.stringify(value) ?? "";
}

function Links({ slice, timeline }: { slice: SliceDetails; timeline: Timeline }) {
  return (
    <>
      {slice.flows.length > 0 && (
        <section>
          <h2>Bound to</h2>
          <ul class="stack">
            {slice.flows.map((flow) => (
              <li key={`${flow.slice} ${flow.is_out}`}>
                <span class="quiet">{flow.is_out ? "→ " : "← "}</span>
                <SliceButton id={flow.slice} name={flow.name} timeline={timeline} />
                <span class="quiet">
                  {" "}
                  {flow.what ?? ""} {textOfNs(flow.dur_ns)}
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
      {slice.parents.length > 0 && (
        <section>
          <h2>Inside</h2>
          <ol class="stack">
            {slice.parents.map((parent) => (
              <li key={parent.id}>
                <SliceButton id={parent.id} name={parent.name} timeline={timeline} />
              </li>
            ))}
          </ol>
        </section>
      )}
    </>
  );
}

function SliceButton({ id, name, timeline }: { id: number; name: string; timeline: Timeline }) {
  return (
    <button
      type="button"
      class="plain link"
      title={name}
      onClick={() => timeline.select(id, "show")}
    >
      {shortName(name)}
    </button>
  );
}

const AREA_TABS = ["flame graph", "operators", "functions", "kernels", "modules"];
const areaTab = stateOf("area.tab", "flame graph");
const areaTracks = stateOf("area.tracks");

function Area({ range }: { range: TimeRange }) {
  const tab = areaTab.value;
  // The tables know tracks by name only: they are of all tracks.
  const isOfAll = areaTracks.value === "" || tab !== "flame graph";
  const tracks = isOfAll ? 0 : areaTracks.value.split(",").length;
  return (
    <div class="details">
      <div class="details-head">
        <strong>{textOfNs(range.end_ns - range.begin_ns)}</strong>
        <span class="quiet">
          from {textOfNs(range.begin_ns)} to {textOfNs(range.end_ns)},{" "}
          {tracks === 0 ? "all tracks" : tracks === 1 ? "1 track" : `${tracks} tracks`}
        </span>
        <span class="group">
          {AREA_TABS.map((name) => (
            <button
              type="button"
              key={name}
              aria-pressed={name === tab}
              onClick={() => setState({ "area.tab": name })}
            >
              {name}
            </button>
          ))}
        </span>
        <button
          type="button"
          class="close"
          onClick={() => setState({ area: null, "area.tracks": null })}
          aria-label="Close the selection"
        >
          ×
        </button>
      </div>
      {tab === "flame graph" ? <AreaFlame range={range} /> : <AreaTable range={range} view={tab} />}
    </div>
  );
}

function AreaFlame({ range }: { range: TimeRange }) {
  const tracks = areaTracks.value;
  const answer = useAnswer(
    (signal) => source.flame(run.value, { ...range, ...(tracks === "" ? {} : { tracks }) }, signal),
    [run.value, version(), range.begin_ns, range.end_ns, tracks],
  );
  const tree = useMemo(() => (answer.data ? buildTree(answer.data) : null), [answer.data]);
  if (!tree) return <Waiting answer={answer} />;
  return (
    <div class="area-flame">
      <FlamePanel name="area.flame" title="Flame graph of the range" tree={tree} style="icicle" />
    </div>
  );
}

function AreaTable({ range, view }: { range: TimeRange; view: string }) {
  const answer = useAnswer(
    (signal) => source.table(run.value, view, { ...range, limit: 0 }, signal),
    [run.value, version(), range.begin_ns, range.end_ns, view],
  );
  if (!answer.data) return <Waiting answer={answer} />;
  const name = answer.data.columns.findIndex((column) => column.name === "name");
  const onRow = (row: Cell[]) => setState({ q: String(row[name] ?? "") });
  return (
    <DataTable
      id={`area.${view}`}
      table={answer.data}
      label={`${view} of the range, all tracks`}
      onRow={onRow}
    />
  );
}
