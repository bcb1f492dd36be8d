// Memory: what it was held for over time, who took it, and where it lay.
import { useMemo } from "preact/hooks";
import uPlot from "uplot";
import { source, useAnswer, version } from "../answer";
import { Note, Waiting } from "../banner";
import { Choice } from "../flame/flame_panel";
import { textOfBytes, textOfCount, textOfNs, type Cell } from "../format";
import type { TableAnswer } from "../source";
import { run, setState, stateOf } from "../state";
import { cellOf, DataTable, Notes } from "../table";
import { Curve } from "./curve";
import { hrefOfRange, ToTimeline } from "./links";
import {
  colorOfCategory,
  curveOf,
  devicesOf,
  stacked,
  titleOfCategory,
  type MemoryCurve,
} from "./memory_curve";
import { MemoryFlow } from "./memory_flow";
import "./views.css";

const ROWS = 200_000;
const POINTS = 4_000;
const BYTE_STEPS = Array.from({ length: 60 }, (_, power) => 2 ** power);

export function Memory() {
  const categories = useAnswer(
    (signal) => source.table(run.value, "memory", { by: "category", limit: ROWS }, signal),
    [run.value, version()],
  );
  const table = categories.data;
  if (!table) return <Waiting answer={categories} />;
  if (table.rows.length === 0) {
    return <Note>{table.stats?.notes?.join(" ") ?? "No memory was recorded in this run"}.</Note>;
  }
  return <MemoryOf table={table} />;
}

function MemoryOf({ table }: { table: TableAnswer }) {
  const devices = useMemo(() => devicesOf(table), [table]);
  // A link's device may be of another run.
  const chosen = stateOf("memory.device").value;
  const device = devices.includes(chosen) ? chosen : (devices[0] ?? "");
  const curve = useMemo(() => curveOf(table, device, POINTS), [table, device]);
  const total = table.stats?.rows_total ?? table.rows.length;
  return (
    <section class="view memory-view">
      <div class="view-tools">
        {devices.length > 1 && (
          <Choice
            title="Device"
            value={device}
            options={devices.map((name) => [name, name])}
            onChange={(value) => setState({ "memory.device": value })}
          />
        )}
        <PeakText curve={curve} />
      </div>
      <h2>Held memory by category</h2>
      <CategoryCurve curve={curve} />
      {total > table.rows.length && (
        <p class="quiet">
          The first {textOfCount(table.rows.length)} of {textOfCount(total)} changes are shown.
        </p>
      )}
      <Notes table={table} />
      <h2>Allocations over time and address</h2>
      <MemoryFlow />
      <h2>Allocations by operator</h2>
      <Allocations />
    </section>
  );
}

function PeakText({ curve }: { curve: MemoryCurve }) {
  const { peak, bytes, times_ns } = curve;
  const time = times_ns[peak] ?? 0;
  const sum = bytes.reduce((total, series) => total + (series[peak] ?? 0), 0);
  return (
    <span>
      Peak {textOfBytes(sum)} at {textOfNs(time)}{" "}
      <a href={hrefOfRange(time - 5e6, time + 5e6)}>on the timeline</a>
    </span>
  );
}

function CategoryCurve({ curve }: { curve: MemoryCurve }) {
  const data = useMemo(() => dataOf(curve), [curve]);
  const options = useMemo(() => optionsOf(curve), [curve]);
  return <Curve data={data} options={options} heightPx={240} label="Held memory by category" />;
}

function dataOf(curve: MemoryCurve): uPlot.AlignedData {
  return [Array.from(curve.times_ns), ...stacked(curve.bytes).map((top) => Array.from(top))];
}

// Series are drawn from the highest sum down, so that each covers all but its own part.
function optionsOf(curve: MemoryCurve): Omit<uPlot.Options, "width" | "height"> {
  const steps = uPlot.paths.stepped!({ align: 1 });
  const series: uPlot.Series[] = curve.categories.map((category, index) => ({
    label: titleOfCategory(category),
    stroke: colorOfCategory(category),
    fill: colorOfCategory(category),
    width: 0.5,
    paths: steps,
    points: { show: false },
    value: (_plot, _value, _series, point) =>
      point === null || point === undefined ? "" : textOfBytes(curve.bytes[index]![point]!),
  }));
  return {
    series: [
      { label: "time", value: (_plot, value) => (value === null ? "" : textOfNs(value)) },
      ...series,
    ],
    bands: curve.categories
      .slice(1)
      .map((_, index) => ({ series: [index + 2, index + 1] as [number, number] })),
    scales: { x: { time: false }, y: { range: (_plot, _least, most) => [0, most * 1.05] } },
    axes: [
      { values: (_plot, ticks) => ticks.map(textOfNs) },
      { values: (_plot, ticks) => ticks.map(textOfBytes), size: 80, incrs: BYTE_STEPS },
    ],
    cursor: { drag: { x: true, y: false } },
    hooks: { draw: [(plot) => drawPeakMark(plot, curve)] },
  };
}

function drawPeakMark(plot: uPlot, curve: MemoryCurve): void {
  const x = plot.valToPos(curve.times_ns[curve.peak] ?? 0, "x", true);
  const { left, top, width, height } = plot.bbox;
  if (x < left || x > left + width) return;
  plot.ctx.save();
  plot.ctx.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--text");
  plot.ctx.setLineDash([4, 4]);
  plot.ctx.beginPath();
  plot.ctx.moveTo(x, top);
  plot.ctx.lineTo(x, top + height);
  plot.ctx.stroke();
  plot.ctx.restore();
}

function Allocations() {
  const answer = useAnswer(
    (signal) => source.table(run.value, "memory", { by: "operator", limit: 0 }, signal),
    [run.value, version()],
  );
  const table = answer.data;
  if (!table) return <Waiting answer={answer} />;
  if (table.rows.length === 0) return <Note>It is not known which operators took memory.</Note>;
  return (
    <div class="table-place">
      <DataTable
        id="allocations"
        label="Allocations by operator"
        table={table}
        bars={["self_allocated_bytes"]}
        sort="-self_allocated_bytes"
        cell={(row: Cell[], column: string) => {
          if (column !== "name") return undefined;
          const name = String(cellOf(table, row, "name") ?? "");
          return (
            <>
              {name !== "" && <ToTimeline name={name} />} {name}
            </>
          );
        }}
      />
    </div>
  );
}
