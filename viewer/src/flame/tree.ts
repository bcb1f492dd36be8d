// A tree of merged stacks as columns, made from the answer to `flame` or `diff-flame`. Rows are in
// pre-order, so a subtree is the range [node, end[node]) and nothing here recurses. Row 0 is a node
// for the whole, which the answer does not have; the answer's row i is row i + 1.

import type { FlameAnswer } from "../source";

export interface FlameTree {
  size: number;
  parent: Int32Array;
  end: Int32Array;
  depth: Int32Array;
  // The label's number, -1 for the whole.
  label: Int32Array;
  totalNs: Float64Array;
  selfNs: Float64Array;
  calls: Float64Array;
  // Times of the other run, of a differential tree only.
  otherNs: Float64Array | null;
  // What widths go by: totalNs but in a differential tree.
  weight: Float64Array;
  names: Map<number, string>;
  // Labels by their name, and of functions also by `file(line): function`.
  ids: Map<string, number>;
  leftOut: number;
  // What a reader must know about the figures, a sentence each.
  notes: string[];
  // Its names are those of slices, which a search on the timeline finds.
  hasSlices: boolean;
  maxDepth: number;
}

export type Width = "before" | "after" | "both";

export const WHOLE = "all";

export function nameOf(tree: FlameTree, node: number): string {
  return node === 0 ? WHOLE : (tree.names.get(tree.label[node]!) ?? "?");
}

// Broken answers (a parent that does not come before its child) become a flat tree, never a loop.
export function buildTree(answer: FlameAnswer): FlameTree {
  const { nodes } = answer;
  const size = nodes.parent.length + 1;
  const tree = emptyTree(size, nodes.other_ns !== undefined);
  for (const label of answer.labels) {
    // "~" is what a .prof has for functions that are built in.
    const hasPlace = label.file !== undefined && label.file !== "" && label.file !== "~";
    const place = hasPlace ? `${label.file}(${label.line ?? 0}): ${label.function}` : "";
    // Names of slices have the place in them already; those of samples and call edges do not.
    const isBare = place !== "" && label.name === label.function;
    tree.names.set(label.id, isBare ? place : label.name);
    tree.ids.set(isBare ? place : label.name, label.id);
    if (place !== "") {
      tree.ids.set(place, label.id);
    }
  }
  tree.leftOut = answer.left_out;
  tree.notes = notesOf(answer);
  tree.hasSlices = answer.source === "slices" && !nodes.other_ns;
  tree.label[0] = -1;
  tree.parent[0] = -1;
  let topsNs = 0;
  let otherTopsNs = 0;
  for (let node = 1; node < size; ++node) {
    const above = nodes.parent[node - 1]! + 1;
    const parent = above >= 0 && above < node ? above : 0;
    tree.parent[node] = parent;
    tree.depth[node] = tree.depth[parent]! + 1;
    tree.label[node] = nodes.label[node - 1]!;
    tree.totalNs[node] = nodes.total_ns[node - 1]!;
    tree.selfNs[node] = nodes.self_ns[node - 1]!;
    tree.calls[node] = nodes.calls[node - 1]!;
    if (tree.otherNs) {
      tree.otherNs[node] = nodes.other_ns![node - 1]!;
    }
    if (parent === 0) {
      topsNs += tree.totalNs[node]!;
      otherTopsNs += tree.otherNs?.[node] ?? 0;
    }
    tree.maxDepth = Math.max(tree.maxDepth, tree.depth[node]!);
  }
  tree.totalNs[0] = Math.max(answer.total_ns, topsNs);
  if (tree.otherNs) {
    tree.otherNs[0] = Math.max(answer.other_ns ?? 0, otherTopsNs);
  }
  fillEnds(tree);
  return tree;
}

function notesOf(answer: FlameAnswer): string[] {
  const notes: string[] = [];
  if (answer.is_estimate) {
    notes.push(
      "This profile has no stacks: a function's time is drawn as if it were spent the same way whoever called it.",
    );
  }
  if (answer.source === "samples") {
    notes.push("From samples: times are estimates, calls are samples.");
  }
  if (answer.left_out_streams) {
    notes.push("Streams of devices are not in it.");
  }
  if (answer.cut_at_level) {
    notes.push(`Stacks are cut at level ${answer.cut_at_level}.`);
  }
  return notes;
}

function emptyTree(size: number, isDifferential: boolean): FlameTree {
  const totalNs = new Float64Array(size);
  return {
    size,
    parent: new Int32Array(size),
    end: new Int32Array(size),
    depth: new Int32Array(size),
    label: new Int32Array(size),
    totalNs,
    selfNs: new Float64Array(size),
    calls: new Float64Array(size),
    otherNs: isDifferential ? new Float64Array(size) : null,
    weight: totalNs,
    names: new Map(),
    ids: new Map(),
    leftOut: 0,
    notes: [],
    hasSlices: false,
    maxDepth: 0,
  };
}

function fillEnds(tree: FlameTree): void {
  for (let node = 0; node < tree.size; ++node) {
    tree.end[node] = node + 1;
  }
  for (let node = tree.size - 1; node > 0; --node) {
    const parent = tree.parent[node]!;
    tree.end[parent] = Math.max(tree.end[parent]!, tree.end[node]!);
  }
}

// The same tree with other widths. `both` shows also what only one of the runs has: the mean of both
// shares, so that a run that is twice as long does not count twice.
export function withWidths(tree: FlameTree, width: Width): FlameTree {
  if (!tree.otherNs || width === "before") {
    return { ...tree, weight: tree.totalNs };
  }
  if (width === "after") {
    return { ...tree, weight: tree.otherNs };
  }
  const weight = new Float64Array(tree.size);
  for (let node = 0; node < tree.size; ++node) {
    weight[node] = shareOf(tree.totalNs, node) + shareOf(tree.otherNs, node);
  }
  return { ...tree, weight };
}

function shareOf(column: Float64Array, node: number): number {
  return column[0]! > 0 ? column[node]! / column[0]! : 0;
}

// How much more of the other run's time a node has: -1 .. 1.
export function changeOfShare(tree: FlameTree, node: number): number {
  return tree.otherNs ? shareOf(tree.otherNs, node) - shareOf(tree.totalNs, node) : 0;
}

export function childrenOf(tree: FlameTree, node: number): number[] {
  const children: number[] = [];
  for (let child = node + 1; child < tree.end[node]!; child = tree.end[child]!) {
    children.push(child);
  }
  return children;
}

// From the whole down to the node.
export function pathTo(tree: FlameTree, node: number): number[] {
  const path: number[] = [];
  for (let at = node; at >= 0; at = tree.parent[at]!) {
    path.push(at);
  }
  return path.reverse();
}

// A node as text for the URL: the labels on the way to it.
export function pathText(tree: FlameTree, node: number): string {
  return pathTo(tree, node)
    .slice(1)
    .map((step) => tree.label[step])
    .join(".");
}

// The node that a path leads to; where the tree has it no more, the last one on the way.
export function nodeAt(tree: FlameTree, path: string): number {
  let node = 0;
  for (const part of path.split(".")) {
    const label = Number(part);
    const next = childrenOf(tree, node).find((child) => tree.label[child] === label);
    if (part === "" || next === undefined) {
      return node;
    }
    node = next;
  }
  return node;
}

// The node of a label that holds most time, -1 for none: where a click on a table's row leads.
export function heaviestOf(tree: FlameTree, label: number | undefined): number {
  let best = -1;
  for (let node = 1; node < tree.size; ++node) {
    if (tree.label[node] === label && (best < 0 || tree.weight[node]! > tree.weight[best]!)) {
      best = node;
    }
  }
  return best;
}

// The same tree with siblings in another order: by name, as classic flame graphs have them. The
// second result says which row of the given tree each row was.
export function orderedByName(tree: FlameTree): { tree: FlameTree; from: Int32Array } {
  const rank = ranksOfNames(tree);
  const from = new Int32Array(tree.size);
  const stack = [0];
  for (let row = 0; stack.length > 0; ++row) {
    const node = stack.pop()!;
    from[row] = node;
    const children = childrenOf(tree, node);
    children.sort((a, b) => rank.get(tree.label[b]!)! - rank.get(tree.label[a]!)!);
    for (const child of children) {
      stack.push(child);
    }
  }
  return { tree: permuted(tree, from), from };
}

function ranksOfNames(tree: FlameTree): Map<number, number> {
  const labels = [...new Set(tree.label)];
  const text = (label: number) => tree.names.get(label) ?? "";
  labels.sort((a, b) => (text(a) < text(b) ? -1 : text(a) > text(b) ? 1 : a - b));
  return new Map(labels.map((label, rank) => [label, rank]));
}

function permuted(tree: FlameTree, from: Int32Array): FlameTree {
  const to = new Int32Array(tree.size);
  from.forEach((node, row) => (to[node] = row));
  const result = emptyTree(tree.size, tree.otherNs !== null);
  const pairs: [Float64Array | Int32Array | null, Float64Array | Int32Array | null][] = [
    [tree.depth, result.depth],
    [tree.label, result.label],
    [tree.totalNs, result.totalNs],
    [tree.selfNs, result.selfNs],
    [tree.calls, result.calls],
    [tree.otherNs, result.otherNs],
  ];
  for (const [source, target] of pairs) {
    from.forEach((node, row) => source && (target![row] = source[node]!));
  }
  from.forEach((node, row) => (result.parent[row] = node === 0 ? -1 : to[tree.parent[node]!]!));
  fillEnds(result);
  if (tree.weight !== tree.totalNs) {
    result.weight = Float64Array.from(from, (node) => tree.weight[node]!);
  }
  const { names, ids, leftOut, notes, hasSlices, maxDepth } = tree;
  return { ...result, names, ids, leftOut, notes, hasSlices, maxDepth };
}
