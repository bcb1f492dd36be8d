// Keys that walk a tree of boxes: to the heaviest child, the parent, the neighbours.

import type { Boxes, FlameStyle } from "./layout";
import type { FlameTree } from "./tree";
import { childrenOf } from "./tree";

export function shownNodes(boxes: Boxes): Set<number> {
  return new Set(boxes.node.subarray(0, boxes.count));
}

// The node that a key leads to from `node`, which stays where there is none. `root` is the top.
export function walk(
  tree: FlameTree,
  style: FlameStyle,
  shown: ReadonlySet<number>,
  root: number,
  node: number,
  key: string,
): number {
  const inward = style === "flame" ? "ArrowDown" : "ArrowUp";
  const outward = style === "flame" ? "ArrowUp" : "ArrowDown";
  if (key === inward) {
    return node === root ? root : tree.parent[node]!;
  }
  if (key === outward) {
    const children = childrenOf(tree, node).filter((child) => shown.has(child));
    return children.reduce(
      (a, b) => (tree.weight[b]! > tree.weight[a]! ? b : a),
      children[0] ?? node,
    );
  }
  if ((key === "ArrowLeft" || key === "ArrowRight") && node !== root) {
    const siblings = childrenOf(tree, tree.parent[node]!).filter((sibling) => shown.has(sibling));
    const at = siblings.indexOf(node) + (key === "ArrowLeft" ? -1 : 1);
    return siblings[at] ?? node;
  }
  return node;
}
