// One picture of merged stacks on a canvas: icicle, flame or sunburst. A click zooms, a double click
// or Escape goes back, arrows walk the tree, Enter zooms. The zoom is a path of labels that the owner
// keeps, so that it can stand in the URL.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { textOfCount } from "../format";
import { theme } from "../theme";
import { factsOf, sentenceOf } from "./describe";
import { draw, heightOf, nodeUnder, type Size } from "./draw";
import "./flame.css";
import { findMatches, layOut, type Boxes, type FlameStyle } from "./layout";
import { paintOf } from "./paint";
import { nameOf, nodeAt, pathText, type FlameTree } from "./tree";
import { shownNodes, walk } from "./walk";

export interface FlameProps {
  tree: FlameTree;
  style: FlameStyle;
  // Levels to show; 0 is all.
  depth: number;
  // The least share of the zoomed node that is shown.
  cutoff: number;
  // What is highlighted; "" is nothing.
  search: string;
  // The labels from the top to the zoomed node, with points between; "" is all.
  zoom: string;
  onZoom: (zoom: string) => void;
  // What the picture shows, for screen readers.
  title: string;
}

interface Hover {
  node: number;
  x: number;
  y: number;
}

export function Flame(props: FlameProps) {
  const { tree, style } = props;
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const widthPx = useWidth(frame);
  const root = useMemo(() => nodeAt(tree, props.zoom), [tree, props.zoom]);
  const boxes = useMemo(
    () => layOut(tree, { root, depth: props.depth, cutoff: props.cutoff }),
    [tree, root, props.depth, props.cutoff],
  );
  const found = useMemo(
    () => (props.search === "" ? null : findMatches(tree, root, props.search).labels),
    [tree, root, props.search],
  );
  const [hover, setHover] = useState<Hover | null>(null);
  const [focused, setFocused] = useState(-1);
  const [isFocused, setIsFocused] = useState(false);
  const rootBeforeClick = useRef(root);
  const at = focused >= root && focused < tree.end[root]! ? focused : root;
  const size: Size = { widthPx, heightPx: heightOf(style, boxes.levels, widthPx) };
  const zoomTo = (node: number) => {
    setHover(null);
    setFocused(node);
    props.onZoom(pathText(tree, node));
  };
  const isDark = theme.value === "dark";

  useLayoutEffect(() => {
    const marked = hover ? hover.node : isFocused ? at : -1;
    paintCanvas(canvas.current, style, tree, boxes, size, paintOf(tree, root, found, marked));
  }, [tree, boxes, found, style, size.widthPx, size.heightPx, hover?.node, at, isFocused, isDark]);

  const nodeOf = (event: MouseEvent) => nodeUnder(style, boxes, size, event.offsetX, event.offsetY);
  const click = (event: MouseEvent) => {
    const node = nodeOf(event);
    if (event.detail > 1) {
      zoomTo(Math.max(0, tree.parent[rootBeforeClick.current]!));
    } else if (node >= 0) {
      rootBeforeClick.current = root;
      zoomTo(node === root ? Math.max(0, tree.parent[root]!) : node);
    }
  };
  const press = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    if (event.key.startsWith("Arrow")) {
      setHover(null);
      setFocused(walk(tree, style, shownNodes(boxes), root, at, event.key));
    } else if (event.key === "Enter" || event.key === " ") {
      zoomTo(at);
    } else if (event.key === "Escape" || event.key === "Backspace") {
      zoomTo(Math.max(0, tree.parent[root]!));
    } else if (event.key === "Home") {
      zoomTo(0);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div class="flame" ref={frame}>
      <canvas
        ref={canvas}
        class="flame-canvas"
        tabIndex={0}
        role="application"
        aria-label={`${props.title}. Arrows walk the tree, Enter zooms, Escape goes back.`}
        onClick={click}
        onKeyDown={press}
        onFocus={() => setIsFocused(true)}
        onBlur={() => setIsFocused(false)}
        onMouseMove={(event) => {
          const node = nodeOf(event);
          setHover(node < 0 ? null : { node, x: event.clientX, y: event.clientY });
        }}
        onMouseLeave={() => setHover(null)}
      />
      <div class="hidden-text" aria-live="polite">
        {isFocused ? sentenceOf(tree, at, root) : ""}
      </div>
      {hover && <Tooltip tree={tree} root={root} hover={hover} />}
      <p class="flame-note">{noteOf(tree, boxes)}</p>
    </div>
  );
}

// The width of an element in pixels, as it changes.
export function useWidth(element: { current: HTMLElement | null }): number {
  const [widthPx, setWidthPx] = useState(0);
  useLayoutEffect(() => {
    const watched = element.current!;
    const read = () => setWidthPx(Math.floor(watched.clientWidth));
    const observer = new ResizeObserver(read);
    observer.observe(watched);
    read();
    return () => observer.disconnect();
  }, []);
  return widthPx;
}

function paintCanvas(
  canvas: HTMLCanvasElement | null,
  style: FlameStyle,
  tree: FlameTree,
  boxes: Boxes,
  size: Size,
  paint: ReturnType<typeof paintOf>,
): void {
  const context = prepareCanvas(canvas, size);
  if (context) {
    draw(context, style, tree, boxes, size, paint);
  }
}

// A canvas of so many CSS pixels, sharp on every screen.
export function prepareCanvas(
  canvas: HTMLCanvasElement | null,
  size: Size,
): CanvasRenderingContext2D | null {
  const context = canvas?.getContext("2d");
  if (!canvas || !context || size.widthPx === 0) {
    return null;
  }
  // Browsers refuse canvases higher than this; the picture is coarser then, not missing.
  const ratio = Math.min(window.devicePixelRatio || 1, 16_000 / size.heightPx);
  const width = Math.round(size.widthPx * ratio);
  const height = Math.round(size.heightPx * ratio);
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
    canvas.style.width = `${size.widthPx}px`;
    canvas.style.height = `${size.heightPx}px`;
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

function Tooltip({ tree, root, hover }: { tree: FlameTree; root: number; hover: Hover }) {
  return (
    <FloatingBox x={hover.x} y={hover.y}>
      <strong>{nameOf(tree, hover.node)}</strong>
      <dl>
        {factsOf(tree, hover.node, root).map(({ name, value }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </FloatingBox>
  );
}

// A box beside the pointer that stays on the screen.
export function FloatingBox(props: { x: number; y: number; children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = box.current!;
    const { width, height } = element.getBoundingClientRect();
    const left = Math.max(4, Math.min(props.x + 14, window.innerWidth - width - 8));
    const isBelow = props.y + 18 + height < window.innerHeight;
    const top = isBelow ? props.y + 18 : Math.max(4, props.y - height - 10);
    element.style.left = `${left}px`;
    element.style.top = `${top}px`;
  });
  return (
    <div class="floating-box" ref={box} aria-hidden="true">
      {props.children}
    </div>
  );
}

function noteOf(tree: FlameTree, boxes: Boxes): string {
  const notes = [...tree.notes];
  if (boxes.hidden > 0) {
    const nodes = boxes.hidden === 1 ? "1 node is" : `${textOfCount(boxes.hidden)} nodes are`;
    notes.push(`${nodes} below the cutoff or the depth.`);
  }
  if (tree.leftOut > 0) {
    notes.push(`${textOfCount(tree.leftOut)} more were too small to be sent.`);
  }
  return notes.join(" ");
}
