// A node of a flame graph in words: for the tooltip and for screen readers.

import { textOfCount, textOfFraction, textOfNs } from "../format";
import type { FlameTree } from "./tree";
import { changeOfShare, nameOf } from "./tree";

export interface Fact {
  name: string;
  value: string;
}

export function factsOf(tree: FlameTree, node: number, root: number): Fact[] {
  const facts: Fact[] = [];
  const add = (name: string, value: string) => facts.push({ name, value });
  if (tree.otherNs) {
    add("before", withShare(tree.totalNs, node));
    add("after", withShare(tree.otherNs, node));
    add("change of share", signed(changeOfShare(tree, node)));
    return facts;
  }
  add("total", withShare(tree.totalNs, node));
  if (root !== 0 && tree.totalNs[root]! > 0) {
    add(`of ${nameOf(tree, root)}`, textOfFraction(tree.totalNs[node]! / tree.totalNs[root]!));
  }
  if (node !== 0) {
    add("self", withShareOf(tree.selfNs[node]!, tree.totalNs[0]!));
    add("calls", textOfCount(tree.calls[node]!));
    if (tree.calls[node]! > 1) {
      add("per call", textOfNs(tree.totalNs[node]! / tree.calls[node]!));
    }
  }
  return facts;
}

function withShare(column: Float64Array, node: number): string {
  return withShareOf(column[node]!, column[0]!);
}

function withShareOf(ns: number, wholeNs: number): string {
  return wholeNs > 0 ? `${textOfNs(ns)} (${textOfFraction(ns / wholeNs)})` : textOfNs(ns);
}

function signed(share: number): string {
  return `${share > 0 ? "+" : ""}${textOfFraction(share)}`;
}

export function sentenceOf(tree: FlameTree, node: number, root: number): string {
  const facts = factsOf(tree, node, root).map(({ name, value }) => `${name} ${value}`);
  return `${nameOf(tree, node)}: ${facts.join(", ")}`;
}
