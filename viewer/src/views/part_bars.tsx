// Horizontal bars of parts, one per rank or device, on one canvas: eight are rows with labels, hundreds a strip each. The pointer, or the arrow keys,
// choose one, whose figures the legend has; a click or Enter opens it.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { phaseColor } from "../color";
import { prepareCanvas, useWidth } from "../flame/flame";
import { textOfFraction, textOfNs } from "../format";
import { theme } from "../theme";
import { PartLegend } from "./part_legend";
import { LABEL_PX, labelledRows, meanOf, pitchOf, type PartRow, type PartRows } from "./part_rows";

export interface PartBarsProps {
  // What the picture shows, for screen readers.
  title: string;
  // "8 ranks, mean of a step"
  summary: string;
  data: PartRows;
  // Indices of rows, in the order to show them.
  order: readonly number[];
  onOpen?: (index: number) => void;
}

const PADDING_PX = 8;
const MARK_PX = 4;

export function PartBars({ title, summary, data, order, onOpen }: PartBarsProps) {
  const place = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(place);
  const [hovered, setHovered] = useState<number | null>(null);
  const [focused, setFocused] = useState(0);
  const [isFocused, setIsFocused] = useState(false);
  const rows = useMemo(() => order.map((index) => data.rows[index]!), [data, order]);
  const mean = useMemo(() => meanOf(data), [data]);
  const pitch = pitchOf(rows.length);
  const scale = rows.reduce((most, row) => Math.max(most, row.total_ns), 0) || 1;
  const at = Math.min(focused, rows.length - 1);
  const marked = hovered ?? (isFocused ? at : null);
  const isDark = theme.value === "dark";

  useLayoutEffect(() => {
    const context = prepareCanvas(canvas.current, {
      widthPx: width,
      heightPx: rows.length * pitch,
    });
    if (context) draw(context, rows, data.parts, { width, pitch, scale, marked });
  }, [rows, data, width, pitch, scale, marked, isDark]);

  const rowAt = (y: number) => Math.min(Math.max(Math.floor(y / pitch), 0), rows.length - 1);
  const open = (row: number) => onOpen?.(order[row]!);
  const press = (event: KeyboardEvent) => {
    const moves: Record<string, number> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + 10,
      PageUp: at - 10,
      Home: 0,
      End: rows.length - 1,
    };
    const to = moves[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (to !== undefined) {
      setHovered(null);
      setFocused(Math.min(Math.max(to, 0), rows.length - 1));
    } else if (event.key === "Enter") open(at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const shown = marked === null ? null : (rows[marked] ?? null);
  return (
    <div class="part-bars" ref={place}>
      <canvas
        ref={canvas}
        class={onOpen ? "clickable" : ""}
        tabIndex={0}
        role="application"
        aria-label={`${title}. Arrows choose one${onOpen ? ", Enter opens it" : ""}.`}
        onPointerMove={(event) => setHovered(rowAt(event.offsetY))}
        onPointerLeave={() => setHovered(null)}
        onClick={(event) => open(rowAt(event.offsetY))}
        onKeyDown={press}
        onFocus={() => setIsFocused(true)}
        onBlur={() => setIsFocused(false)}
      />
      <div class="axis quiet">{textOfNs(Math.round(scale))}</div>
      <div class="hidden" aria-live="polite">
        {isFocused && rows[at] ? sentenceOf(rows[at], data.parts) : ""}
      </div>
      <PartLegend
        title={shown ? shown.name : summary}
        total_ns={shown ? shown.total_ns : mean.total_ns}
        parts={data.parts}
        values={shown ? shown.parts : mean.parts}
        remark={shown?.remark ?? ""}
      />
    </div>
  );
}

export function sentenceOf(row: PartRow, parts: readonly string[]): string {
  const figures = parts.map((part, index) => {
    const value = row.parts[index] ?? 0;
    return `${part.replaceAll("_", " ")} ${textOfFraction(value / (row.total_ns || 1))}`;
  });
  const total = textOfNs(Math.round(row.total_ns));
  return [`${row.name}: ${total}`, ...figures, row.remark].filter((text) => text !== "").join(", ");
}

interface Look {
  width: number;
  pitch: number;
  scale: number;
  marked: number | null;
}

function draw(
  context: CanvasRenderingContext2D,
  rows: readonly PartRow[],
  parts: readonly string[],
  { width, pitch, scale, marked }: Look,
): void {
  const style = getComputedStyle(context.canvas);
  const ink = (name: string) => style.getPropertyValue(`--${name}`);
  context.clearRect(0, 0, width, rows.length * pitch);
  context.font = `11px ${style.fontFamily}`;
  const gutter = rows.reduce(
    (wide, row) => Math.max(wide, context.measureText(row.label).width),
    0,
  );
  const left = Math.ceil(gutter) + PADDING_PX + MARK_PX;
  const perNs = Math.max(width - left, 1) / scale;
  const gap = pitch >= 12 ? 3 : pitch >= 5 ? 1 : 0;
  rows.forEach((row, index) => {
    const y = index * pitch;
    const tall = pitch - gap;
    let x = left;
    context.globalAlpha = marked === null || marked === index ? 1 : 0.6;
    row.parts.forEach((part, i) => {
      const end = x + Math.max(part, 0) * perNs;
      context.fillStyle = phaseColor(parts[i]!);
      // Parts meet at whole pixels, so that no ground shines through between them.
      context.fillRect(Math.round(x), y, Math.round(end) - Math.round(x), tall);
      x = end;
    });
    context.globalAlpha = 1;
    if (row.remark === "") return;
    context.fillStyle = ink("critical");
    context.fillRect(left - MARK_PX - 1, y, MARK_PX - 1, tall);
  });
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const index of labelledRows(
    rows.map((row) => row.remark !== ""),
    pitch,
  )) {
    const row = rows[index]!;
    context.fillStyle = ink(row.remark === "" ? "quiet" : "critical");
    const y = Math.max(index * pitch + (pitch - gap) / 2, LABEL_PX / 2);
    context.fillText(row.label, left - PADDING_PX, y);
  }
}
