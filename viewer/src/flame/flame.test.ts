import { describe, expect, test } from "vitest";
import { sentenceOf } from "./describe";
import { fitted, heightOf, nodeUnder, ROW_PX } from "./draw";
import { boxAt, findMatches, layOut, shortName } from "./layout";
import { changeColor } from "./paint";
import {
  buildTree,
  changeOfShare,
  childrenOf,
  heaviestOf,
  nameOf,
  nodeAt,
  orderedByName,
  pathText,
  withWidths,
  type FlameTree,
} from "./tree";
import { shownNodes, walk } from "./walk";

// main 100 -> train 60 (self 10) -> step 30, load 20; main -> save 30 -> step 5; other 20
const LABELS = ["main", "train", "step", "load", "save", "other"];

function answer() {
  return {
    total_ns: 120,
    left_out: 3,
    nodes: {
      parent: [-1, 0, 1, 1, 0, 4, -1],
      label: [10, 11, 12, 13, 14, 12, 15],
      total_ns: [100, 60, 30, 20, 30, 5, 20],
      self_ns: [10, 10, 30, 20, 25, 5, 20],
      calls: [1, 2, 40, 40, 1, 1, 7],
    },
    labels: LABELS.map((name, at) => ({ id: 10 + at, name, category: "", kind: "" })),
  };
}

function differential(): FlameTree {
  const one = answer();
  const nodes = { ...one.nodes, other_ns: [50, 10, 5, 5, 30, 0, 10] };
  return buildTree({ ...one, nodes, other_ns: 60 });
}

function everything(tree: FlameTree, root = 0) {
  return layOut(tree, { root, depth: 0, cutoff: 0 });
}

// A random tree in pre-order in which children never have more than their parent.
function largeTree(size: number): FlameTree {
  let seed = 7;
  const random = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
  const parent = [-1];
  const total = [1e9];
  const left = [1e9];
  let last = 0;
  while (parent.length < size) {
    while (last >= 0 && (left[last]! < 2 || random() < 0.45)) {
      last = parent[last]!;
    }
    const above = last < 0 ? 0 : last;
    const ns = Math.floor(left[above]! * random() * 0.5);
    left[above]! -= ns;
    parent.push(above);
    total.push(ns);
    left.push(ns);
    last = parent.length - 1;
  }
  const label = parent.map((_, row) => row % 500);
  const labels = label.slice(0, 500).map((id) => ({ id, name: `f${id}`, category: "", kind: "" }));
  const nodes = { parent, label, total_ns: total, self_ns: left, calls: parent.map(() => 1) };
  return buildTree({ total_ns: 1e9, left_out: 0, nodes, labels });
}

describe("tree", () => {
  test("has a node for the whole and subtrees as ranges", () => {
    const tree = buildTree(answer());
    expect(nameOf(tree, 0)).toBe("all");
    expect(tree.totalNs[0]).toBe(120);
    expect(childrenOf(tree, 0).map((node) => nameOf(tree, node))).toEqual(["main", "other"]);
    expect(childrenOf(tree, 1).map((node) => nameOf(tree, node))).toEqual(["train", "save"]);
    expect(tree.maxDepth).toBe(3);
  });

  test("survives parents that point forwards or at themselves", () => {
    const broken = answer();
    broken.nodes.parent = [0, 5, 99, -7, 4, 1, 6];
    const tree = buildTree(broken);
    expect(everything(tree).count).toBeGreaterThan(0);
    for (let node = 1; node < tree.size; ++node) {
      expect(tree.parent[node]).toBeLessThan(node);
    }
  });

  test("finds a node again by the labels on its path", () => {
    const tree = buildTree(answer());
    for (let node = 0; node < tree.size; ++node) {
      expect(nodeAt(tree, pathText(tree, node))).toBe(node);
    }
    expect(nodeAt(tree, "10.11.999")).toBe(nodeAt(tree, "10.11"));
    expect(nodeAt(tree, "nonsense")).toBe(0);
  });

  test("leads from a name to where it is heaviest", () => {
    const tree = buildTree(answer());
    expect(heaviestOf(tree, tree.ids.get("step"))).toBe(nodeAt(tree, "10.11.12"));
    expect(heaviestOf(tree, tree.ids.get("absent"))).toBe(-1);
  });

  test("knows functions of samples by their place", () => {
    const sampled = answer();
    const place = { function: "train", file: "a.py", line: 7 };
    const tree = buildTree({ ...sampled, labels: [{ ...sampled.labels[1]!, ...place }] });
    expect(tree.ids.get("a.py(7): train")).toBe(11);
    expect(nameOf(tree, nodeAt(tree, "10.11"))).toBe("a.py(7): train");
  });

  test("by name has the same nodes, siblings in the order of the alphabet", () => {
    const tree = buildTree(answer());
    const { tree: sorted, from } = orderedByName(tree);
    expect([...from].sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(childrenOf(sorted, nodeAt(sorted, "10.11")).map((node) => nameOf(sorted, node))).toEqual(
      ["load", "step"],
    );
    expect(sorted.totalNs[nodeAt(sorted, "10.14.12")]).toBe(5);
  });
});

describe("layout", () => {
  test("children stand side by side within their parent, as wide as their share", () => {
    const tree = buildTree(answer());
    const boxes = everything(tree);
    expect(boxes.count).toBe(8);
    const width = new Map<number, number>();
    for (let box = 0; box < boxes.count; ++box) {
      const node = boxes.node[box]!;
      width.set(node, boxes.end[box]! - boxes.begin[box]!);
      expect(width.get(node)).toBeCloseTo(tree.totalNs[node]! / 120, 12);
    }
    expect(width.get(1)! + width.get(7)!).toBeCloseTo(1, 12);
  });

  test("boxes of one level never overlap and stay within their parent, in 100,000 nodes", () => {
    const tree = largeTree(100_000);
    const boxes = everything(tree);
    expect(boxes.count + boxes.hidden).toBe(tree.size);
    const spans = new Map<number, [number, number]>();
    const reached = new Map<number, number>();
    for (let box = 0; box < boxes.count; ++box) {
      const [begin, end] = [boxes.begin[box]!, boxes.end[box]!];
      const level = boxes.level[box]!;
      expect(begin).toBeGreaterThanOrEqual((reached.get(level) ?? 0) - 1e-9);
      reached.set(level, end);
      const parent = spans.get(tree.parent[boxes.node[box]!]!);
      if (parent) {
        expect(begin).toBeGreaterThanOrEqual(parent[0] - 1e-9);
        expect(end).toBeLessThanOrEqual(parent[1] + 1e-9);
      }
      spans.set(boxes.node[box]!, [begin, end]);
    }
  });

  test("a zoomed node fills the picture", () => {
    const tree = buildTree(answer());
    const train = nodeAt(tree, "10.11");
    const boxes = everything(tree, train);
    expect(boxes.node[0]).toBe(train);
    expect([boxes.begin[0], boxes.end[0]]).toEqual([0, 1]);
    expect(boxes.end[1]).toBeCloseTo(0.5, 12);
  });

  test("what is below the cutoff or the depth is hidden with all that is under it, and counted", () => {
    const tree = buildTree(answer());
    const cut = layOut(tree, { root: 0, depth: 0, cutoff: 0.3 });
    expect(cut.count).toBe(3);
    expect(cut.hidden).toBe(5);
    const shallow = layOut(tree, { root: 0, depth: 2, cutoff: 0 });
    expect(shallow.count).toBe(3);
    expect(shallow.levels).toBe(2);
    expect(shallow.hidden).toBe(5);
  });

  test("children that have more than their parent are squeezed into it", () => {
    const estimate = answer();
    estimate.nodes.total_ns = [100, 60, 80, 40, 30, 5, 20];
    const tree = buildTree(estimate);
    const boxes = everything(tree);
    const at = (path: string) => boxes.node.indexOf(nodeAt(tree, path));
    expect(boxes.end[at("10.11.13")]).toBeCloseTo(boxes.end[at("10.11")]!, 12);
    const width = (box: number) => boxes.end[box]! - boxes.begin[box]!;
    expect(width(at("10.11.12"))).toBeCloseTo(2 * width(at("10.11.13")), 12);
  });

  test("a run of no time has a root and nothing else", () => {
    const empty = { parent: [-1], label: [10], total_ns: [0], self_ns: [0], calls: [1] };
    const tree = buildTree({ ...answer(), total_ns: 0, nodes: empty });
    expect(everything(tree).count).toBe(1);
  });
});

describe("search", () => {
  test("counts the time of nested matches once", () => {
    const tree = buildTree(answer());
    expect(findMatches(tree, 0, "STEP")).toMatchObject({ nodes: 2, share: 35 / 120 });
    expect(findMatches(tree, 0, "/main|step/")).toMatchObject({ nodes: 3, share: 100 / 120 });
    expect(findMatches(tree, 0, "/(/")).toMatchObject({ nodes: 0, share: 0 });
  });
});

describe("two runs", () => {
  test("change is the difference of the shares of each run's time", () => {
    const tree = differential();
    expect(changeOfShare(tree, nodeAt(tree, "10.11"))).toBeCloseTo(10 / 60 - 60 / 120, 12);
    expect(changeOfShare(tree, nodeAt(tree, "10.14"))).toBeCloseTo(30 / 60 - 30 / 120, 12);
  });

  test("widths go by the run that is chosen, or by both", () => {
    const tree = differential();
    expect(everything(withWidths(tree, "after")).end[1]).toBeCloseTo(50 / 60, 12);
    expect(everything(withWidths(tree, "before")).end[1]).toBeCloseTo(100 / 120, 12);
    expect(everything(withWidths(tree, "after")).count).toBe(7);
    expect(everything(withWidths(tree, "both")).count).toBe(8);
  });

  test("slower is red, faster is blue, the same is grey", () => {
    expect(changeColor(1, false)).toBe("hsl(4 80% 70%)");
    expect(changeColor(-1, false)).toBe("hsl(215 80% 70%)");
    expect(changeColor(0, false)).toMatch(/ 0% /);
  });
});

describe("pointer and keys", () => {
  const tree = buildTree(answer());
  const boxes = everything(tree);
  const size = { widthPx: 1200, heightPx: heightOf("icicle", boxes.levels, 1200) };

  test("the node under the pointer is the one drawn there, in every style", () => {
    const train = nodeAt(tree, "10.11");
    expect(nodeUnder("icicle", boxes, size, 300, ROW_PX * 2.5)).toBe(train);
    expect(nodeUnder("flame", boxes, size, 300, size.heightPx - ROW_PX * 2.5)).toBe(train);
    const round = { widthPx: 604, heightPx: 604 };
    expect(nodeUnder("sunburst", boxes, round, 302, 302)).toBe(0);
    // Just right of the top, in the first ring: the first child of the whole.
    expect(nodeUnder("sunburst", boxes, round, 310, 302 - 300 * (2 / 4.5))).toBe(1);
    expect(nodeUnder("sunburst", boxes, round, 0, 0)).toBe(-1);
    expect(boxAt(boxes, 0.99, 3)).toBe(-1);
  });

  test("arrows go to the heaviest child, the parent and the neighbours", () => {
    const shown = shownNodes(boxes);
    const go = (from: number, key: string) => walk(tree, "icicle", shown, 0, from, key);
    expect(nameOf(tree, go(0, "ArrowDown"))).toBe("main");
    expect(nameOf(tree, go(1, "ArrowDown"))).toBe("train");
    expect(nameOf(tree, go(2, "ArrowRight"))).toBe("save");
    expect(go(go(2, "ArrowRight"), "ArrowRight")).toBe(nodeAt(tree, "10.14"));
    expect(go(2, "ArrowUp")).toBe(1);
    expect(go(0, "ArrowUp")).toBe(0);
    expect(walk(tree, "flame", shown, 0, 0, "ArrowUp")).toBe(1);
  });

  test("a node is said in words", () => {
    expect(sentenceOf(tree, nodeAt(tree, "10.11.12"), 0)).toBe(
      "step: total 30 ns (25.0%), self 30 ns (25.0%), calls 40, per call 1 ns",
    );
  });
});

describe("names", () => {
  test("a Python function comes before its place", () => {
    expect(shortName("/home/me/train.py(42): Net.forward")).toBe("Net.forward train.py:42");
    expect(shortName("aten::mm")).toBe("aten::mm");
  });

  test("a name that does not fit is cut with an ellipsis", () => {
    const context = { measureText: (text: string) => ({ width: text.length * 10 }) };
    expect(fitted(context, "convolution", 110)).toBe("convolution");
    expect(fitted(context, "convolution", 60)).toBe("convo…");
    expect(fitted(context, "convolution", 5)).toBe("");
  });
});
