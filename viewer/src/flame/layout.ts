// Where the nodes of a tree stand: from 0 to 1 across, and levels below the root that is shown. The
// same boxes are an icicle (levels down), a flame (levels up) and a sunburst (across is around).

import type { FlameTree } from "./tree";
import { changeOfShare } from "./tree";

export type FlameStyle = "icicle" | "flame" | "sunburst";

export interface Boxes {
  count: number;
  node: Int32Array;
  level: Int32Array;
  begin: Float64Array;
  end: Float64Array;
  levels: number;
  // Nodes that are below the cutoff or the depth, with those under them.
  hidden: number;
}

export interface LayoutOptions {
  root: number;
  // Levels to show, the root's among them; 0 is all.
  depth: number;
  // The least share of the root that is shown.
  cutoff: number;
}

// Children begin where their elder sibling ends; what a node did itself stays free at its right. The
// boxes come in the tree's order. Children that have more time together than their parent, as in the
// estimates from a .prof, are drawn narrower, so that no box overlaps another. Cost: the nodes shown
// and their siblings.
export function layOut(tree: FlameTree, { root, depth, cutoff }: LayoutOptions): Boxes {
  const boxes = emptyBoxes(tree.end[root]! - root);
  const whole = tree.weight[root]!;
  const boxOf = new Map<number, number>();
  // By box: where the next child begins, and how wide a child is for its weight.
  const filled = new Float64Array(boxes.node.length);
  const perWeight = new Float64Array(boxes.node.length);
  const add = (node: number, begin: number, end: number) => {
    const box = boxes.count++;
    boxOf.set(node, box);
    filled[box] = begin;
    perWeight[box] = widthPerWeight(tree, node, end - begin);
    boxes.node[box] = node;
    boxes.level[box] = tree.depth[node]! - tree.depth[root]!;
    boxes.begin[box] = begin;
    boxes.end[box] = end;
    boxes.levels = Math.max(boxes.levels, boxes.level[box]! + 1);
  };
  add(root, 0, 1);
  for (let node = root + 1; node < tree.end[root]!;) {
    const level = tree.depth[node]! - tree.depth[root]!;
    const share = whole > 0 ? tree.weight[node]! / whole : 0;
    if (share <= 0 || share < cutoff || (depth > 0 && level >= depth)) {
      boxes.hidden += tree.end[node]! - node;
      node = tree.end[node]!;
      continue;
    }
    const parentBox = boxOf.get(tree.parent[node]!)!;
    const begin = filled[parentBox]!;
    const end = begin + tree.weight[node]! * perWeight[parentBox]!;
    filled[parentBox] = end;
    add(node, begin, end);
    ++node;
  }
  return boxes;
}

function widthPerWeight(tree: FlameTree, node: number, width: number): number {
  let children = 0;
  for (let child = node + 1; child < tree.end[node]!; child = tree.end[child]!) {
    children += tree.weight[child]!;
  }
  const most = Math.max(children, tree.weight[node]!);
  return most > 0 ? width / most : 0;
}

function emptyBoxes(size: number): Boxes {
  return {
    count: 0,
    node: new Int32Array(size),
    level: new Int32Array(size),
    begin: new Float64Array(size),
    end: new Float64Array(size),
    levels: 1,
    hidden: 0,
  };
}

// The box at a place, -1 for none.
export function boxAt(boxes: Boxes, across: number, level: number): number {
  for (let box = 0; box < boxes.count; ++box) {
    if (boxes.level[box] === level && across >= boxes.begin[box]! && across < boxes.end[box]!) {
      return box;
    }
  }
  return -1;
}

export interface Matches {
  labels: Set<number>;
  nodes: number;
  // Of the root's time, what is in nodes that match or below them: counted once.
  share: number;
}

export function findMatches(tree: FlameTree, root: number, text: string): Matches {
  const labels = matchingLabels(tree, text);
  let nodes = 0;
  let weight = 0;
  let coveredUntil = root;
  for (let node = root; node < tree.end[root]!; ++node) {
    if (!labels.has(tree.label[node]!)) {
      continue;
    }
    ++nodes;
    if (node >= coveredUntil) {
      weight += tree.weight[node]!;
      coveredUntil = tree.end[node]!;
    }
  }
  return { labels, nodes, share: tree.weight[root]! > 0 ? weight / tree.weight[root]! : 0 };
}

// Cases are ignored; /…/ is a regular expression, and matches nothing while it is not a valid one.
function matchingLabels(tree: FlameTree, text: string): Set<number> {
  const labels = new Set<number>();
  const isMatch = matcher(text);
  for (const [label, name] of tree.names) {
    if (isMatch(name)) {
      labels.add(label);
    }
  }
  return labels;
}

export function matcher(text: string): (name: string) => boolean {
  if (text === "") {
    return () => false;
  }
  if (text.length > 2 && text.startsWith("/") && text.endsWith("/")) {
    try {
      const pattern = new RegExp(text.slice(1, -1), "i");
      return (name) => pattern.test(name);
    } catch {
      return () => false;
    }
  }
  const lower = text.toLowerCase();
  return (name) => name.toLowerCase().includes(lower);
}

// The largest change of share below the root: what full red and full blue stand for.
export function largestChange(tree: FlameTree, root: number): number {
  let largest = 0;
  for (let node = root; node < tree.end[root]!; ++node) {
    largest = Math.max(largest, Math.abs(changeOfShare(tree, node)));
  }
  return largest;
}

// Names of Python functions are `file(line): function`. In a box, the function comes first.
export function shortName(name: string): string {
  const found = /^(.*)\((\d+)\): (.+)$/s.exec(name);
  if (!found) {
    return name;
  }
  const file = found[1]!.split("/").pop()!;
  return `${found[3]!} ${file}:${found[2]!}`;
}
