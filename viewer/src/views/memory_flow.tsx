// Every allocation as a rectangle, time × address, gaps in the address space cut out. Drag selects a
// range of time to look at, a double click shows all again.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { source, useAnswer, version } from "../answer";
import { Note, Waiting } from "../banner";
import { Choice } from "../flame/flame_panel";
import { FloatingBox, prepareCanvas, useWidth } from "../flame/flame";
import { textOfBytes, textOfCount, textOfNs } from "../format";
import type { MemoryFlowAnswer } from "../source";
import { hrefOfSlice, parseRange, run, setState, stateOf, textOfRange } from "../state";
import { theme } from "../theme";
import { hrefOfRange } from "./links";
import { colorOfCategory, titleOfCategory } from "./memory_curve";
import { boxOf, cutsOf, lengthOf, rectangleAt, type MapView } from "./memory_map";

const HEIGHT_PX = 360;
const LIMIT = 20_000;

export function MemoryFlow() {
  const device = stateOf("memory.place").value;
  const ask = async (signal: AbortSignal) => {
    const flow = await source.memoryFlow(run.value, device, LIMIT, signal);
    // A link's device may be of another run.
    const isKnown = device === "" || flow.devices.some(({ name }) => name === device);
    return isKnown ? flow : source.memoryFlow(run.value, undefined, LIMIT, signal);
  };
  const answer = useAnswer(ask, [run.value, version(), device]);
  if (!answer.data) return <Waiting answer={answer} />;
  const { devices, columns } = answer.data;
  return (
    <>
      {devices.length > 1 && (
        <div class="view-tools">
          <Choice
            title="Of"
            value={answer.data.device}
            options={devices.map(({ name }) => [name, name])}
            onChange={(value) => setState({ "memory.place": value, "memory.range": null })}
          />
        </div>
      )}
      {columns.address.length > 0 ? (
        <FlowPicture answer={answer.data} />
      ) : (
        <Note>No allocation has an address: there is no picture of them.</Note>
      )}
    </>
  );
}

interface Hover {
  row: number;
  x: number;
  y: number;
}

function FlowPicture({ answer }: { answer: MemoryFlowAnswer }) {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const widthPx = useWidth(frame);
  const rectangles = answer.columns;
  const whole = useMemo(() => wholeRange(answer), [answer]);
  const chosen = parseRange(stateOf("memory.range").value);
  // A link's range may be of another run.
  const isInside = chosen && chosen.begin_ns < whole.end_ns && chosen.end_ns > whole.begin_ns;
  const range = isInside ? chosen : whole;
  const [hover, setHover] = useState<Hover | null>(null);
  const [drag, setDrag] = useState<{ from: number; to: number } | null>(null);
  const isDark = theme.value === "dark";
  const length = useMemo(() => lengthOf(answer.ranges), [answer]);
  const view: MapView = { widthPx, heightPx: HEIGHT_PX, length, ...range };

  useLayoutEffect(() => {
    const context = prepareCanvas(canvas.current, { widthPx, heightPx: HEIGHT_PX });
    if (context) {
      drawFlow(context, answer, view, isDark ? "#e3e6ea" : "#1b1f24");
      drawSelection(context, drag, isDark);
    }
  }, [answer, widthPx, range.begin_ns, range.end_ns, isDark, drag]);

  const timeAt = (x: number) =>
    Math.round(range.begin_ns + (x / widthPx) * (range.end_ns - range.begin_ns));
  const release = (event: MouseEvent) => {
    const isDrag = drag !== null && Math.abs(drag.to - drag.from) > 4;
    const row = rectangleAt(rectangles, view, event.offsetX, event.offsetY);
    if (!isDrag && (event.ctrlKey || event.metaKey) && (rectangles.slice[row] ?? -1) >= 0) {
      location.hash = hrefOfSlice(rectangles.slice[row]!);
    }
    if (drag && isDrag) {
      const [from, to] = [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)];
      const zoomed = { begin_ns: timeAt(from), end_ns: timeAt(to) };
      setState({ "memory.range": textOfRange(zoomed) });
    }
    setDrag(null);
  };
  return (
    <div class="memory-flow" ref={frame}>
      <canvas
        ref={canvas}
        role="img"
        aria-label={`Allocations over time and address: ${textOfCount(rectangles.address.length)} rectangles`}
        onMouseDown={(event) => setDrag({ from: event.offsetX, to: event.offsetX })}
        onMouseMove={(event) => {
          if (drag) setDrag({ from: drag.from, to: event.offsetX });
          const row = rectangleAt(rectangles, view, event.offsetX, event.offsetY);
          setHover(row < 0 ? null : { row, x: event.clientX, y: event.clientY });
        }}
        onMouseUp={release}
        onMouseLeave={() => {
          setHover(null);
          setDrag(null);
        }}
        onDblClick={() => setState({ "memory.range": null })}
      />
      <div class="axis quiet">
        <span>{textOfNs(range.begin_ns)}</span>
        <span>
          time → · address ↑ ({textOfBytes(length)} of used addresses
          {answer.ranges.length > 1
            ? `, ${textOfCount(answer.ranges.length - 1)} gaps cut out`
            : ""}
          )
        </span>
        <span>{textOfNs(range.end_ns)}</span>
      </div>
      <Legend categories={[...new Set(rectangles.category)]} />
      <p class="quiet">
        {answer.left_out > 0
          ? `The ${textOfCount(rectangles.address.length)} largest allocations are shown; ${textOfCount(answer.left_out)} smaller ones are left out. `
          : ""}
        {answer.without_address > 0
          ? `${textOfCount(answer.without_address)} allocations have no address. `
          : ""}
        Drag to look at a range of time, double click to see all; Ctrl+click shows on the timeline
        who took it.{" "}
        <a href={hrefOfRange(range.begin_ns, range.end_ns)}>This range on the timeline</a>
      </p>
      {hover && !drag && <FlowTooltip answer={answer} hover={hover} />}
    </div>
  );
}

function wholeRange(answer: MemoryFlowAnswer): { begin_ns: number; end_ns: number } {
  let begin_ns = Infinity;
  let end_ns = -Infinity;
  answer.columns.begin_ns.forEach((begin, row) => {
    begin_ns = Math.min(begin_ns, begin);
    end_ns = Math.max(end_ns, answer.columns.end_ns[row]!);
  });
  return { begin_ns, end_ns: Math.max(end_ns, begin_ns + 1) };
}

function drawFlow(
  context: CanvasRenderingContext2D,
  answer: MemoryFlowAnswer,
  view: MapView,
  ink: string,
): void {
  context.clearRect(0, 0, view.widthPx, view.heightPx);
  const { columns } = answer;
  for (let row = 0; row < columns.address.length; ++row) {
    const box = boxOf(columns, view, row);
    if (box.x > view.widthPx || box.x + box.width < 0) continue;
    context.fillStyle = colorOfCategory(columns.category[row]!);
    context.fillRect(box.x, box.y, Math.max(0.7, box.width), Math.max(0.7, box.height));
    if (box.width > 4 && box.height > 4) {
      context.strokeStyle = "rgb(0 0 0 / 35%)";
      context.lineWidth = 0.5;
      context.strokeRect(box.x, box.y, box.width, box.height);
    }
  }
  drawCuts(context, answer, view, ink);
  drawPeak(context, view, ink, answer.peak_ns);
}

function drawCuts(
  context: CanvasRenderingContext2D,
  answer: MemoryFlowAnswer,
  view: MapView,
  ink: string,
): void {
  context.strokeStyle = ink;
  context.globalAlpha = 0.35;
  context.lineWidth = 0.5;
  context.setLineDash([2, 4]);
  for (const y of cutsOf(answer.ranges, view)) {
    context.beginPath();
    context.moveTo(0, y);
    context.lineTo(view.widthPx, y);
    context.stroke();
  }
  context.setLineDash([]);
  context.globalAlpha = 1;
}

function drawPeak(
  context: CanvasRenderingContext2D,
  view: MapView,
  ink: string,
  peak_ns: number,
): void {
  const x = ((peak_ns - view.begin_ns) / (view.end_ns - view.begin_ns)) * view.widthPx;
  if (!(x >= 0 && x <= view.widthPx)) return;
  context.strokeStyle = ink;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(x, 0);
  context.lineTo(x, view.heightPx);
  context.stroke();
  context.fillStyle = ink;
  context.font = "11.5px system-ui, sans-serif";
  context.textAlign = x > view.widthPx - 60 ? "right" : "left";
  context.fillText("peak", x + (context.textAlign === "right" ? -4 : 4), 12);
  context.textAlign = "left";
}

function drawSelection(
  context: CanvasRenderingContext2D,
  drag: { from: number; to: number } | null,
  isDark: boolean,
): void {
  if (!drag) return;
  context.fillStyle = isDark ? "rgb(255 255 255 / 18%)" : "rgb(0 0 0 / 14%)";
  context.fillRect(Math.min(drag.from, drag.to), 0, Math.abs(drag.to - drag.from), HEIGHT_PX);
}

function FlowTooltip({ answer, hover }: { answer: MemoryFlowAnswer; hover: Hover }) {
  const { columns } = answer;
  const { row } = hover;
  const lasts = columns.end_ns[row]! - columns.begin_ns[row]!;
  const facts: [string, string][] = [
    ["size", textOfBytes(columns.bytes[row]!)],
    ["category", titleOfCategory(columns.category[row]!)],
    ["taken at", textOfNs(columns.begin_ns[row]!)],
    ["held for", columns.is_open[row] ? `${textOfNs(lasts)}, to the end` : textOfNs(lasts)],
    ["address", `0x${columns.address[row]!.toString(16)}`],
  ];
  return (
    <FloatingBox x={hover.x} y={hover.y}>
      <strong>{columns.label[row] === "" ? "no operator" : columns.label[row]}</strong>
      <dl>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </FloatingBox>
  );
}

function Legend({ categories }: { categories: string[] }) {
  return (
    <ul class="legend">
      {categories.map((category) => (
        <li key={category}>
          <span class="swatch" style={{ background: colorOfCategory(category) }} />
          {titleOfCategory(category)}
        </li>
      ))}
    </ul>
  );
}
