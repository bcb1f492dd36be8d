// Steps side by side, each a bar of its phases. A click on a bar shows the step on the timeline.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { phaseColor } from "../color";
import { useWidth } from "../flame/flame";
import { textOfCount, textOfNs } from "../format";
import type { TableAnswer } from "../source";
import { cellOf } from "../table";
import { theme } from "../theme";
import { hrefOfRange } from "./links";
import { PartLegend } from "./part_legend";

export interface Bar {
  // The steps that it stands for: one, or as many as fit into a bar's width.
  first: string;
  last: string;
  steps: number;
  begin_ns: number;
  end_ns: number;
  // Means over its steps.
  dur_ns: number;
  parts: number[];
}

export interface Bars {
  phases: string[];
  // Of all steps, by phase.
  totals: number[];
  bars: Bar[];
}

const NOT_PHASES = new Set(["start_ns", "dur_ns", "scope_ns"]);

// At most `most` bars: where there are more steps, neighbours share one.
export function barsOf(table: TableAnswer, most: number): Bars {
  const columns = table.columns
    .filter((column) => column.unit === "ns" && !NOT_PHASES.has(column.name))
    .map((column) => column.name)
    .filter((name) => table.rows.some((row) => Number(cellOf(table, row, name)) > 0));
  const perBar = Math.max(1, Math.ceil(table.rows.length / Math.max(most, 1)));
  const bars: Bar[] = [];
  const totals = columns.map(() => 0);
  for (let from = 0; from < table.rows.length; from += perBar) {
    const rows = table.rows.slice(from, from + perBar);
    const last = rows[rows.length - 1];
    const sum = (name: string) =>
      rows.reduce((total, row) => total + Number(cellOf(table, row, name) ?? 0), 0);
    const parts = columns.map((name, index) => {
      const total = sum(name);
      totals[index]! += total;
      return total / rows.length;
    });
    bars.push({
      first: String(cellOf(table, rows[0], "step") ?? ""),
      last: String(cellOf(table, last, "step") ?? ""),
      steps: rows.length,
      begin_ns: Number(cellOf(table, rows[0], "start_ns")),
      end_ns: Number(cellOf(table, last, "start_ns")) + Number(cellOf(table, last, "dur_ns")),
      dur_ns: sum("dur_ns") / rows.length,
      parts,
    });
  }
  return { phases: columns.map((name) => name.replace(/_ns$/, "")), totals, bars };
}

// The top of the scale: a first step that is far longer than the others must not flatten them.
export function scaleOf(bars: readonly Bar[]): number {
  const sorted = bars.map((bar) => bar.dur_ns).sort((a, b) => a - b);
  const most = sorted[sorted.length - 1] ?? 1;
  const usual = sorted[Math.floor(sorted.length * 0.95)] ?? most;
  return most > usual * 3 ? usual * 1.6 : most;
}

const HEIGHT = 150;
const LEAST_BAR = 3;
const WIDEST_BAR = 28;

export function StepBars({ table }: { table: TableAnswer }) {
  const place = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(place);
  const bars = useMemo(
    () => barsOf(table, Math.floor(Math.max(width, 100) / LEAST_BAR)),
    [table, width],
  );
  const scale = useMemo(() => scaleOf(bars.bars), [bars]);
  const [hovered, setHovered] = useState<number | null>(null);
  const pitch = Math.min(width / Math.max(bars.bars.length, 1), WIDEST_BAR);
  const isDark = theme.value === "dark";

  useLayoutEffect(() => {
    const element = canvas.current;
    if (element && width > 0) draw(element, bars, scale, width, pitch, hovered);
  }, [bars, scale, width, pitch, hovered, isDark]);

  const barAt = (x: number) => {
    const index = Math.floor(x / pitch);
    return index >= 0 && index < bars.bars.length ? index : null;
  };
  const shown = hovered === null ? null : (bars.bars[hovered] ?? null);
  const sum = bars.totals.reduce((total, part) => total + part, 0) || 1;
  const perStep = bars.bars.reduce((total, bar) => total + bar.steps, 0) || 1;
  return (
    <div ref={place} class="step-bars">
      <canvas
        ref={canvas}
        role="img"
        aria-label={`Durations of ${table.rows.length} steps by phase; the tab Steps has them as a table`}
        onPointerMove={(event) => setHovered(barAt(event.offsetX))}
        onPointerLeave={() => setHovered(null)}
        onClick={(event) => {
          const bar = bars.bars[barAt(event.offsetX) ?? -1];
          if (bar) location.hash = hrefOfRange(bar.begin_ns, bar.end_ns);
        }}
      />
      <PartLegend
        title={shown ? titleOf(shown) : `${textOfCount(table.rows.length)} steps`}
        total_ns={shown ? shown.dur_ns : sum / perStep}
        parts={bars.phases}
        values={shown ? shown.parts : bars.totals.map((total) => total / perStep)}
      />
    </div>
  );
}

function titleOf(bar: Bar): string {
  return bar.steps === 1 ? `step ${bar.first}` : `steps ${bar.first} to ${bar.last}, mean`;
}

function draw(
  element: HTMLCanvasElement,
  bars: Bars,
  scale: number,
  width: number,
  pitch: number,
  hovered: number | null,
): void {
  const ratio = window.devicePixelRatio || 1;
  element.width = Math.round(width * ratio);
  element.height = Math.round(HEIGHT * ratio);
  element.style.width = `${width}px`;
  element.style.height = `${HEIGHT}px`;
  const context = element.getContext("2d");
  if (!context) return;
  const style = getComputedStyle(element);
  const gap = pitch >= 6 ? 1 : 0;
  bars.bars.forEach((bar, index) => {
    const x = Math.round(index * pitch * ratio);
    const right = Math.round((index + 1) * pitch * ratio) - gap * ratio;
    let y = element.height;
    context.globalAlpha = hovered === null || hovered === index ? 1 : 0.55;
    bars.phases.forEach((phase, part) => {
      const tall = ((bar.parts[part] ?? 0) / scale) * element.height;
      context.fillStyle = phaseColor(phase);
      context.fillRect(
        x,
        Math.round(y - tall),
        Math.max(right - x, 1),
        Math.round(y) - Math.round(y - tall),
      );
      y -= tall;
    });
    // Longer than the scale: its top is cut, and says so.
    if (bar.dur_ns > scale * 1.001) {
      context.fillStyle = style.getPropertyValue("--ground");
      context.fillRect(x, 5 * ratio, Math.max(right - x, 1), 2 * ratio);
    }
  });
  context.globalAlpha = 1;
  drawScale(context, style, scale, ratio);
}

function drawScale(
  context: CanvasRenderingContext2D,
  style: CSSStyleDeclaration,
  scale: number,
  ratio: number,
): void {
  const text = textOfNs(Math.round(scale));
  context.font = `${11 * ratio}px ${style.fontFamily}`;
  const wide = context.measureText(text).width + 8 * ratio;
  const x = context.canvas.width - wide;
  context.fillStyle = style.getPropertyValue("--line");
  context.fillRect(0, 0, context.canvas.width, Math.max(1, Math.floor(ratio)));
  context.fillStyle = style.getPropertyValue("--ground");
  context.globalAlpha = 0.8;
  context.fillRect(x, 0, wide, 15 * ratio);
  context.globalAlpha = 1;
  context.fillStyle = style.getPropertyValue("--quiet");
  context.textBaseline = "top";
  context.fillText(text, x + 4 * ratio, 3 * ratio);
}
