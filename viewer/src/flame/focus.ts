// The stacks around one function, of whole stacks that are there: what is at and below its outermost calls, or turned around who called it. As the server does
// it (docs/viewer.md, "Merged stacks"), for pages that have no server.
import type { FlameAnswer } from "../source";

interface Merged {
  parent: number[];
  label: number[];
  total_ns: number[];
  self_ns: number[];
  calls: number[];
}

// Adds to a tree of paths; a node's children are found by their label.
class Paths {
  readonly nodes: Merged = { parent: [], label: [], total_ns: [], self_ns: [], calls: [] };
  private children = new Map<string, number>();

  add(parent: number, label: number, total_ns: number, self_ns: number, calls: number): number {
    const key = `${parent} ${label}`;
    let node = this.children.get(key);
    if (node === undefined) {
      node = this.nodes.label.length;
      this.children.set(key, node);
      this.nodes.parent.push(parent);
      this.nodes.label.push(label);
      this.nodes.total_ns.push(0);
      this.nodes.self_ns.push(0);
      this.nodes.calls.push(0);
    }
    this.nodes.total_ns[node]! += total_ns;
    this.nodes.self_ns[node]! += self_ns;
    this.nodes.calls[node]! += calls;
    return node;
  }
}

export function focused(
  answer: FlameAnswer,
  label: number,
  inverted: boolean,
  least: number,
): FlameAnswer {
  const { nodes } = answer;
  const paths = new Paths();
  // By node: its place in the new tree; OUTSIDE where no call of the function is above it.
  const OUTSIDE = -2;
  const moved = new Int32Array(nodes.parent.length).fill(OUTSIDE);
  let total_ns = 0;
  for (let node = 0; node < moved.length; ++node) {
    const above = nodes.parent[node]! < 0 ? OUTSIDE : moved[nodes.parent[node]!]!;
    const isOutermost = above === OUTSIDE && nodes.label[node] === label;
    if (above === OUTSIDE && !isOutermost) continue;
    const [ns, calls] = [nodes.total_ns[node]!, nodes.calls[node]!];
    if (isOutermost) total_ns += ns;
    if (!inverted) {
      const parent = isOutermost ? -1 : above;
      moved[node] = paths.add(parent, nodes.label[node]!, ns, nodes.self_ns[node]!, calls);
      continue;
    }
    moved[node] = 0;
    if (!isOutermost) continue;
    let at = -1;
    for (let from = node; from >= 0; from = nodes.parent[from]!)
      at = paths.add(at, nodes.label[from]!, ns, nodes.parent[from]! < 0 ? ns : 0, calls);
  }
  const { columns, leftOut } = inPreOrder(paths.nodes, least * total_ns);
  const used = new Set(columns.label);
  return {
    ...answer,
    total_ns,
    left_out: leftOut,
    nodes: columns,
    labels: answer.labels.filter(({ id }) => used.has(id)),
  };
}

// Heavier siblings first; nodes below `least_ns` are left out with all that is in them.
function inPreOrder(nodes: Merged, least_ns: number) {
  const children = new Map<number, number[]>();
  nodes.parent.forEach((parent, node) => {
    const siblings = children.get(parent);
    if (siblings) siblings.push(node);
    else children.set(parent, [node]);
  });
  const heavierLast = (parent: number) =>
    (children.get(parent) ?? []).sort((a, b) => nodes.total_ns[a]! - nodes.total_ns[b]!);
  const columns: Merged = { parent: [], label: [], total_ns: [], self_ns: [], calls: [] };
  const rows = new Map<number, number>([[-1, -1]]);
  const open = [...heavierLast(-1)];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (nodes.total_ns[node]! < least_ns) continue;
    rows.set(node, columns.label.length);
    columns.parent.push(rows.get(nodes.parent[node]!)!);
    columns.label.push(nodes.label[node]!);
    columns.total_ns.push(nodes.total_ns[node]!);
    columns.self_ns.push(nodes.self_ns[node]!);
    columns.calls.push(nodes.calls[node]!);
    open.push(...heavierLast(node));
  }
  return { columns, leftOut: nodes.label.length - columns.label.length };
}
