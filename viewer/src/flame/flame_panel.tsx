// A picture of merged stacks with its controls and the list of the zoomed stack. What is chosen is in
// the URL under the panel's name: `functions.style`, `functions.zoom`, …

import { useMemo } from "preact/hooks";
import { textOfFraction } from "../format";
import { hrefOfSearch, setState, stateOf } from "../state";
import { patternOf } from "../views/links";
import { Flame } from "./flame";
import { findMatches, shortName, type FlameStyle } from "./layout";
import {
  nameOf,
  nodeAt,
  orderedByName,
  pathText,
  pathTo,
  withWidths,
  type FlameTree,
  type Width,
} from "./tree";

export interface FlamePanelProps {
  // Of the state in the URL.
  name: string;
  title: string;
  tree: FlameTree;
  style?: FlameStyle;
  // Offered for the zoomed node, such as to look at its callers.
  action?: { title: string; run: (tree: FlameTree, node: number) => void };
}

const DEPTHS = ["3", "5", "10", "15", "20", "30", "50", "0"];
const CUTOFFS: [string, string][] = [
  ["0.01", "1/100"],
  ["0.001", "1/1000"],
  ["0", "none"],
];

export function FlamePanel(props: FlamePanelProps) {
  const { name } = props;
  const style = stateOf(`${name}.style`, props.style ?? "icicle").value as FlameStyle;
  const depth = stateOf(`${name}.depth`, style === "sunburst" ? "10" : "20").value;
  const cutoff = stateOf(`${name}.cutoff`, "0.001").value;
  const order = stateOf(`${name}.order`, "weight").value;
  const width = stateOf(`${name}.width`, "both").value as Width;
  const search = stateOf(`${name}.find`).value;
  const zoom = stateOf(`${name}.zoom`).value;
  const tree = useMemo(() => {
    const sized = withWidths(props.tree, width);
    return order === "name" ? orderedByName(sized).tree : sized;
  }, [props.tree, width, order]);
  const root = nodeAt(tree, zoom);
  const set = (key: string, value: string) => setState({ [`${name}.${key}`]: value });

  return (
    <section class="flame-panel" aria-label={props.title}>
      <div class="flame-controls">
        <Choice
          title="Style"
          value={style}
          options={[
            ["icicle", "icicle"],
            ["flame", "flame"],
            ["sunburst", "sunburst"],
          ]}
          onChange={(value) => set("style", value)}
        />
        <Choice
          title="Order"
          value={order}
          options={[
            ["weight", "heaviest first"],
            ["name", "by name"],
          ]}
          onChange={(value) => set("order", value)}
        />
        <Choice
          title="Depth"
          value={depth}
          options={DEPTHS.map((levels) => [levels, levels === "0" ? "all" : levels])}
          onChange={(value) => set("depth", value)}
        />
        <Choice
          title="Cutoff"
          value={cutoff}
          options={CUTOFFS}
          onChange={(value) => set("cutoff", value)}
        />
        {tree.otherNs && (
          <Choice
            title="Width"
            value={width}
            options={[
              ["both", "both runs"],
              ["before", "before"],
              ["after", "after"],
            ]}
            onChange={(value) => set("width", value)}
          />
        )}
        <label>
          Find
          <input
            type="search"
            value={search}
            placeholder="name or /pattern/"
            onInput={(event) =>
              setState({ [`${name}.find`]: event.currentTarget.value }, "replace")
            }
          />
        </label>
        <output>{search === "" ? "" : matchText(tree, root, search)}</output>
        <button type="button" disabled={root === 0} onClick={() => set("zoom", "")}>
          Reset zoom
        </button>
        {props.action && (
          <button type="button" disabled={root === 0} onClick={() => props.action!.run(tree, root)}>
            {props.action.title}
          </button>
        )}
        {root !== 0 && tree.hasSlices && (
          <a href={hrefOfSearch(patternOf(nameOf(tree, root)))}>On the timeline</a>
        )}
      </div>
      {root !== 0 && <CallStack tree={tree} root={root} onZoom={(path) => set("zoom", path)} />}
      <Flame
        tree={tree}
        style={style}
        depth={Number(depth)}
        cutoff={Number(cutoff)}
        search={search}
        zoom={zoom}
        onZoom={(path) => set("zoom", path)}
        title={props.title}
      />
    </section>
  );
}

function matchText(tree: FlameTree, root: number, search: string): string {
  const { nodes, share } = findMatches(tree, root, search);
  return nodes === 0
    ? "no match"
    : `${nodes.toLocaleString("en-US")} found, ${textOfFraction(share)} of the time`;
}

export function Choice(props: {
  title: string;
  value: string;
  options: [string, string][];
  onChange: (value: string) => void;
}) {
  return (
    <label>
      {props.title}
      <select value={props.value} onChange={(event) => props.onChange(event.currentTarget.value)}>
        {props.options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

function CallStack(props: { tree: FlameTree; root: number; onZoom: (path: string) => void }) {
  const { tree, root } = props;
  return (
    <ol class="flame-path" aria-label="Call stack of the zoomed function">
      {pathTo(tree, root).map((node) => (
        <li key={node}>
          <button
            type="button"
            title={nameOf(tree, node)}
            aria-current={node === root ? "true" : undefined}
            onClick={() => props.onZoom(pathText(tree, node))}
          >
            {shortName(nameOf(tree, node))}
          </button>
        </li>
      ))}
    </ol>
  );
}
