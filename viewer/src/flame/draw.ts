// Draws boxes on a canvas as rows (icicle, flame) or as rings (sunburst), and finds what is under a
// pointer. Boxes below half a pixel are not drawn: the box under them shows there.

import type { Boxes, FlameStyle } from "./layout";
import { boxAt } from "./layout";
import type { FlameTree } from "./tree";

export const ROW_PX = 19;
const LEAST_PX = 0.5;
const FONT = "11.5px system-ui, sans-serif";
const TEXT_LEAST_PX = 28;

export interface Paint {
  fill: (node: number) => string;
  text: (node: number) => string;
  label: (node: number) => string;
  background: string;
  outline: string;
  // Labels that a search found; null where none is going on. Others are drawn pale.
  found: Set<number> | null;
  focused: number;
}

export interface Size {
  widthPx: number;
  heightPx: number;
}

export function heightOf(style: FlameStyle, levels: number, widthPx: number): number {
  return style === "sunburst" ? Math.min(widthPx, 640) : Math.max(levels, 3) * ROW_PX;
}

export function draw(
  context: CanvasRenderingContext2D,
  style: FlameStyle,
  tree: FlameTree,
  boxes: Boxes,
  size: Size,
  paint: Paint,
): void {
  context.clearRect(0, 0, size.widthPx, size.heightPx);
  context.font = FONT;
  context.textBaseline = "middle";
  if (style === "sunburst") {
    drawRings(context, tree, boxes, size, paint);
  } else {
    drawRows(context, style, tree, boxes, size, paint);
  }
  context.globalAlpha = 1;
}

export function nodeUnder(
  style: FlameStyle,
  boxes: Boxes,
  size: Size,
  x: number,
  y: number,
): number {
  const place = style === "sunburst" ? ringPlace(boxes, size, x, y) : rowPlace(style, size, x, y);
  const box = boxAt(boxes, place.across, place.level);
  return box < 0 ? -1 : boxes.node[box]!;
}

function rowPlace(style: FlameStyle, size: Size, x: number, y: number) {
  const fromTop = style === "flame" ? size.heightPx - y : y;
  return { across: x / size.widthPx, level: Math.floor(fromTop / ROW_PX) };
}

function drawRows(
  context: CanvasRenderingContext2D,
  style: FlameStyle,
  tree: FlameTree,
  boxes: Boxes,
  size: Size,
  paint: Paint,
): void {
  for (let box = 0; box < boxes.count; ++box) {
    const x = boxes.begin[box]! * size.widthPx;
    const width = (boxes.end[box]! - boxes.begin[box]!) * size.widthPx;
    if (width < LEAST_PX) {
      continue;
    }
    const node = boxes.node[box]!;
    const level = boxes.level[box]!;
    const y = style === "flame" ? size.heightPx - (level + 1) * ROW_PX : level * ROW_PX;
    context.globalAlpha = isPale(tree, node, paint) ? 0.25 : 1;
    context.fillStyle = paint.fill(node);
    // Half a pixel of the page's colour between neighbours, where there is room for it.
    const gap = width > 3 ? 0.5 : 0;
    context.fillRect(x + gap, y + 0.5, width - 2 * gap, ROW_PX - 1);
    if (width > TEXT_LEAST_PX) {
      context.fillStyle = paint.text(node);
      const text = fitted(context, paint.label(node), width - 8);
      context.fillText(text, x + 4, y + ROW_PX / 2 + 0.5);
    }
    if (node === paint.focused) {
      context.strokeStyle = paint.outline;
      context.lineWidth = 2;
      context.strokeRect(x + 1, y + 1.5, Math.max(width - 2, 1), ROW_PX - 3);
    }
  }
}

function isPale(tree: FlameTree, node: number, paint: Paint): boolean {
  return paint.found !== null && !paint.found.has(tree.label[node]!);
}

// The longest beginning of a text that fits, with an ellipsis where it was cut.
export function fitted(
  context: { measureText: (text: string) => { width: number } },
  text: string,
  widthPx: number,
): string {
  // Nobody can read more than this in a box, and measuring long names takes long.
  const readable = text.length > 300 ? text.slice(0, 300) : text;
  if (context.measureText(readable).width <= widthPx) {
    return readable;
  }
  let fits = 0;
  let over = readable.length;
  while (over - fits > 1) {
    const middle = (fits + over) >> 1;
    if (context.measureText(`${readable.slice(0, middle)}…`).width <= widthPx) {
      fits = middle;
    } else {
      over = middle;
    }
  }
  return fits === 0 ? "" : `${readable.slice(0, fits)}…`;
}

interface Rings {
  x: number;
  y: number;
  innerPx: number;
  ringPx: number;
}

// The root is the disc in the middle, a ring and a half wide.
function ringsOf(boxes: Boxes, size: Size): Rings {
  const radius = Math.min(size.widthPx, size.heightPx) / 2 - 2;
  const ringPx = radius / (boxes.levels + 0.5);
  return { x: size.widthPx / 2, y: size.heightPx / 2, innerPx: ringPx * 1.5, ringPx };
}

function ringPlace(boxes: Boxes, size: Size, x: number, y: number) {
  const rings = ringsOf(boxes, size);
  const distance = Math.hypot(x - rings.x, y - rings.y);
  const angle = Math.atan2(x - rings.x, rings.y - y);
  const level =
    distance < rings.innerPx ? 0 : 1 + Math.floor((distance - rings.innerPx) / rings.ringPx);
  const across = angle / (2 * Math.PI);
  return { across: level === 0 ? 0 : across < 0 ? across + 1 : across, level };
}

function drawRings(
  context: CanvasRenderingContext2D,
  tree: FlameTree,
  boxes: Boxes,
  size: Size,
  paint: Paint,
): void {
  const rings = ringsOf(boxes, size);
  for (let box = 0; box < boxes.count; ++box) {
    const node = boxes.node[box]!;
    const level = boxes.level[box]!;
    const inner = level === 0 ? 0 : rings.innerPx + (level - 1) * rings.ringPx;
    const outer = rings.innerPx + level * rings.ringPx;
    const begin = boxes.begin[box]! * 2 * Math.PI - Math.PI / 2;
    const end = boxes.end[box]! * 2 * Math.PI - Math.PI / 2;
    if ((end - begin) * outer < LEAST_PX) {
      continue;
    }
    context.globalAlpha = isPale(tree, node, paint) ? 0.25 : 1;
    context.beginPath();
    context.arc(rings.x, rings.y, outer, begin, end);
    if (inner > 0) {
      context.arc(rings.x, rings.y, inner, end, begin, true);
    }
    context.closePath();
    context.fillStyle = paint.fill(node);
    context.fill();
    context.strokeStyle = node === paint.focused ? paint.outline : paint.background;
    context.lineWidth = node === paint.focused ? 2 : (end - begin) * outer > 3 ? 0.75 : 0;
    if (context.lineWidth > 0 && (node === paint.focused || (end - begin) * outer > 3)) {
      context.stroke();
    }
    context.fillStyle = paint.text(node);
    drawRingLabel(context, rings, paint.label(node), { inner, outer, begin, end });
  }
}

interface Arc {
  inner: number;
  outer: number;
  begin: number;
  end: number;
}

function drawRingLabel(
  context: CanvasRenderingContext2D,
  rings: Rings,
  label: string,
  arc: Arc,
): void {
  if (arc.inner === 0) {
    context.textAlign = "center";
    context.fillText(fitted(context, label, arc.outer * 1.8), rings.x, rings.y);
    context.textAlign = "left";
    return;
  }
  const middlePx = (arc.inner + arc.outer) / 2;
  const lengthPx = (arc.end - arc.begin) * middlePx;
  const thicknessPx = arc.outer - arc.inner;
  if (lengthPx > 44 && thicknessPx >= 12) {
    drawAlongArc(context, rings, fitted(context, label, lengthPx - 10), arc, middlePx);
  } else if (lengthPx > 13 && thicknessPx > 36) {
    drawAcrossRing(context, rings, fitted(context, label, thicknessPx - 6), arc, middlePx);
  }
}

// Letter by letter around; in the lower half the other way, so that it is not upside down.
function drawAlongArc(
  context: CanvasRenderingContext2D,
  rings: Rings,
  text: string,
  arc: Arc,
  radiusPx: number,
): void {
  const letters = [...text];
  const middle = (arc.begin + arc.end) / 2;
  const isLower = Math.sin(middle) > 0;
  const widthPx = context.measureText(text).width;
  const direction = isLower ? -1 : 1;
  let angle = middle - (direction * widthPx) / 2 / radiusPx;
  context.textAlign = "center";
  for (const letter of letters) {
    const letterPx = context.measureText(letter).width;
    angle += (direction * letterPx) / 2 / radiusPx;
    context.save();
    context.translate(rings.x + radiusPx * Math.cos(angle), rings.y + radiusPx * Math.sin(angle));
    context.rotate(angle + (isLower ? -Math.PI / 2 : Math.PI / 2));
    context.fillText(letter, 0, 0);
    context.restore();
    angle += (direction * letterPx) / 2 / radiusPx;
  }
  context.textAlign = "left";
}

function drawAcrossRing(
  context: CanvasRenderingContext2D,
  rings: Rings,
  text: string,
  arc: Arc,
  radiusPx: number,
): void {
  const middle = (arc.begin + arc.end) / 2;
  const isLeft = Math.cos(middle) < 0;
  context.save();
  context.textAlign = "center";
  context.translate(rings.x + radiusPx * Math.cos(middle), rings.y + radiusPx * Math.sin(middle));
  context.rotate(isLeft ? middle + Math.PI : middle);
  context.fillText(text, 0, 0);
  context.restore();
}
