import { expect, test } from "vitest";
import type { FlameAnswer } from "../source";
import { focused } from "./focus";

// main -> f -> g -> f, and main -> h -> f. Labels: 0 main, 1 f, 2 g, 3 h.
const WHOLE: FlameAnswer = {
  source: "slices",
  total_ns: 100,
  left_out: 0,
  nodes: {
    parent: [-1, 0, 1, 2, 0, 4],
    label: [0, 1, 2, 1, 3, 1],
    total_ns: [100, 60, 40, 10, 30, 20],
    self_ns: [10, 20, 30, 10, 10, 20],
    calls: [1, 2, 3, 4, 5, 6],
  },
  labels: ["main", "f", "g", "h"].map((name, id) => ({ id, name, category: "", kind: "python" })),
};

test("callees are those of outermost calls, which are one", () => {
  const answer = focused(WHOLE, 1, false, 0);
  expect(answer.total_ns).toBe(80);
  expect(answer.nodes).toEqual({
    parent: [-1, 0, 1],
    label: [1, 2, 1],
    total_ns: [80, 40, 10],
    self_ns: [40, 30, 10],
    calls: [8, 3, 4],
  });
  expect(answer.labels.map((label) => label.name)).toEqual(["f", "g"]);
});

test("callers share the time of outermost calls, heavier ones first", () => {
  const answer = focused(WHOLE, 1, true, 0);
  expect(answer.nodes.label).toEqual([1, 0, 3, 0]);
  expect(answer.nodes.parent).toEqual([-1, 0, 0, 2]);
  expect(answer.nodes.total_ns).toEqual([80, 60, 20, 20]);
  expect(answer.nodes.self_ns).toEqual([0, 60, 0, 20]);
  expect(answer.nodes.calls).toEqual([8, 2, 6, 6]);
});

test("small ones are left out and counted", () => {
  const answer = focused(WHOLE, 1, false, 0.2);
  expect(answer.nodes.label).toEqual([1, 2]);
  expect(answer.left_out).toBe(1);
  expect(focused(WHOLE, 9, false, 0).nodes.label).toEqual([]);
});

test("a function's own time stays its own where what it calls was too small to be in the stacks", () => {
  const { label, total_ns, self_ns, calls } = WHOLE.nodes;
  const cut = (column: number[]) => column.filter((_, node) => node !== 3);
  const nodes = {
    parent: [-1, 0, 1, 0, 3],
    label: cut(label),
    total_ns: cut(total_ns),
    self_ns: cut(self_ns),
    calls: cut(calls),
  };
  expect(focused({ ...WHOLE, nodes }, 1, false, 0).nodes.self_ns).toEqual([40, 30]);
});
