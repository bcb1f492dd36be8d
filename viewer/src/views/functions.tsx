// Where the time of functions goes: a picture of the stacks, the table that pstats and snakeviz have,
// and the sandwich of a function: who calls it above, what it calls below.
import { useMemo } from "preact/hooks";
import { source, useAnswer, version } from "../answer";
import { Note, Waiting } from "../banner";
import { Flame } from "../flame/flame";
import { Choice, FlamePanel } from "../flame/flame_panel";
import { shortName } from "../flame/layout";
import { buildTree, childrenOf, heaviestOf, nameOf, pathText, type FlameTree } from "../flame/tree";
import type { Cell } from "../format";
import type { FlameOptions, TableAnswer } from "../source";
import { run, setState, stateOf } from "../state";
import { cellOf, DataTable } from "../table";
import { callsText, FUNCTION_COLUMNS, FUNCTION_TITLES, functionRows } from "./function_rows";
import { LineTable } from "./lines";
import { ToTimeline } from "./links";
import "./views.css";

const LEAST = 0.0001;
const FUNCTION_KINDS = "python,call";

function useTree(options: FlameOptions | null, depends: readonly unknown[]) {
  const answer = useAnswer(options && ((signal) => source.flame(run.value, options, signal)), [
    run.value,
    version(),
    ...depends,
  ]);
  const tree = useMemo(() => answer.data && buildTree(answer.data), [answer.data]);
  return { answer, tree };
}

// The stacks of some kinds; of all where those have none and nobody chose them.
function useStacks(kind: string, isChosen: boolean) {
  const ask = async (signal: AbortSignal) => {
    const stacks = await source.flame(run.value, { kind, least: LEAST }, signal);
    if (isChosen || kind === "" || stacks.nodes.parent.length > 0) return { stacks, kind };
    return { stacks: await source.flame(run.value, { least: LEAST }, signal), kind: "" };
  };
  const answer = useAnswer(ask, [run.value, version(), kind, isChosen]);
  const tree = useMemo(() => answer.data && buildTree(answer.data.stacks), [answer.data]);
  return { answer, tree, kind: answer.data?.kind ?? kind };
}

// The sandwich of a function, or none; what was zoomed in another one's does not hold for it.
function focusOn(name: string): void {
  setState({
    "functions.focus": name,
    "functions.callers.zoom": null,
    "functions.callees.zoom": null,
  });
}

export function Functions() {
  const table = useAnswer(
    (signal) => source.table(run.value, "functions", { limit: 0 }, signal),
    [run.value, version()],
  );
  const rows = useMemo(() => table.data && functionRows(table.data), [table.data]);
  if (!rows) return <Waiting answer={table} />;
  return <FunctionsOf rows={rows} />;
}

function FunctionsOf({ rows }: { rows: TableAnswer }) {
  const hasFunctions = rows.rows.length > 0;
  const chosen = stateOf("functions.show").value;
  const focus = stateOf("functions.focus").value;
  const wanted = chosen === "" ? FUNCTION_KINDS : chosen === "all" ? "" : chosen;
  const { answer, tree, kind } = useStacks(wanted, chosen !== "");
  const lines = useAnswer(
    (signal) => source.table(run.value, "lines", { limit: 0 }, signal),
    [run.value, version()],
  ).data;
  const hasLines = lines !== undefined && lines.rows.length > 0;
  const showsLines = hasLines && stateOf("functions.table").value === "lines";
  return (
    <section class="view">
      <div class="view-tools">
        <Choice
          title="Stacks of"
          value={kind === "" ? "all" : kind}
          options={[
            [FUNCTION_KINDS, "functions"],
            ["python,call,operator", "functions and operators"],
            ["operator", "operators"],
            ["all", "everything recorded"],
          ]}
          onChange={(value) => setState({ "functions.show": value, "functions.zoom": null })}
        />
        {hasLines && (
          <Choice
            title="Table of"
            value={showsLines ? "lines" : "functions"}
            options={[
              ["functions", "functions"],
              ["lines", "lines"],
            ]}
            onChange={(value) => setState({ "functions.table": value })}
          />
        )}
        {focus !== "" && (
          <button type="button" onClick={() => focusOn("")}>
            Back to all stacks
          </button>
        )}
      </div>
      {!tree ? (
        <Waiting answer={answer} />
      ) : focus !== "" ? (
        <Sandwich tree={tree} name={focus} kind={kind} />
      ) : tree.size > 1 ? (
        <FlamePanel
          name="functions"
          title="Stacks of functions"
          tree={tree}
          action={{
            title: "Callers and callees",
            run: (from, node) => focusOn(nameOf(from, node)),
          }}
        />
      ) : (
        <Note>No stacks were recorded: see the table.</Note>
      )}
      {showsLines ? (
        <LineTable table={lines} />
      ) : hasFunctions ? (
        <FunctionTable rows={rows} tree={tree} isSandwich={focus !== ""} focus={focus} />
      ) : (
        <Note>{rows.stats?.notes?.join(" ") ?? "No functions were recorded."}</Note>
      )}
    </section>
  );
}

interface FunctionTableProps {
  rows: TableAnswer;
  tree: FlameTree | undefined;
  isSandwich: boolean;
  focus: string;
}

function FunctionTable({ rows, tree, isSandwich, focus }: FunctionTableProps) {
  const labelOfRow = (row: Cell[]) => String(cellOf(rows, row, "label"));
  const zoom = (row: Cell[]) => {
    const label = labelOfRow(row);
    if (isSandwich) {
      focusOn(label);
      return;
    }
    const node = tree ? heaviestOf(tree, tree.ids.get(label)) : -1;
    if (node >= 0 && tree) setState({ "functions.zoom": pathText(tree, node) });
    else focusOn(label);
  };
  const cell = (row: Cell[], column: string) => {
    if (column === "calls") {
      return callsText(cellOf(rows, row, "calls"), cellOf(rows, row, "primitive_calls"));
    }
    if (column === "place") {
      return (
        <>
          <ToTimeline name={labelOfRow(row)} /> {String(cellOf(rows, row, "place"))}
        </>
      );
    }
    return undefined;
  };
  return (
    <div class="table-place">
      <DataTable
        id="functions"
        label="Functions"
        table={rows}
        columns={FUNCTION_COLUMNS}
        titles={FUNCTION_TITLES}
        cell={cell}
        onRow={zoom}
        isSelected={(row) => focus !== "" && labelOfRow(row) === focus}
        bars={["self_ns", "total_ns"]}
        sort="-self_ns"
      />
    </div>
  );
}

interface SandwichProps {
  tree: FlameTree;
  name: string;
  kind: string;
}

function Sandwich({ tree, name, kind }: SandwichProps) {
  const label = tree.ids.get(name);
  const isKnown = label !== undefined;
  const options = { kind, label, least: 0.001 };
  const callers = useTree(isKnown ? { ...options, inverted: true } : null, [kind, label]);
  const callees = useTree(isKnown ? options : null, [kind, label]);
  if (!isKnown) {
    return <Note>{shortName(name)} has too little time to be in the picture.</Note>;
  }
  return (
    <div class="sandwich">
      <h2>Who calls {shortName(name)}</h2>
      <Half part={callers} style="flame" name="functions.callers" />
      <h2>What {shortName(name)} calls</h2>
      <Half part={callees} style="icicle" name="functions.callees" />
    </div>
  );
}

function Half(props: {
  part: ReturnType<typeof useTree>;
  style: "flame" | "icicle";
  name: string;
}) {
  const { answer, tree } = props.part;
  const zoom = stateOf(`${props.name}.zoom`).value;
  const find = stateOf("functions.find").value;
  const depth = stateOf("functions.depth", "20").value;
  if (!tree) return <Waiting answer={answer} />;
  // The function is the only one at the top: no need for a row above it.
  const isOneTop = childrenOf(tree, 0).length === 1;
  return (
    <Flame
      tree={tree}
      style={props.style}
      depth={Number(depth)}
      cutoff={0.001}
      search={find}
      zoom={zoom === "" && isOneTop ? pathText(tree, 1) : zoom}
      onZoom={(path) => setState({ [`${props.name}.zoom`]: path })}
      title={props.style === "flame" ? "Callers" : "Callees"}
    />
  );
}
