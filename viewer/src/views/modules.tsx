// Calls of nn.Module as a tree that opens and closes.
import { useMemo } from "preact/hooks";
import { source, useAnswer, version } from "../answer";
import { Note, Waiting } from "../banner";
import type { Cell } from "../format";
import type { TableAnswer } from "../source";
import { hrefOfSearch, run, setState, stateOf } from "../state";
import { cellOf, DataTable } from "../table";
import { moduleTree, openRows, type TreeRow } from "./module_tree";
import "./views.css";

export function Modules() {
  const answer = useAnswer(
    (signal) => source.table(run.value, "modules", { limit: 0 }, signal),
    [run.value, version()],
  );
  if (!answer.data) return <Waiting answer={answer} />;
  if (answer.data.rows.length === 0) {
    return <Note>{answer.data.stats?.notes?.join(" ") ?? "No calls of modules in this run"}.</Note>;
  }
  return <ModuleTable table={answer.data} />;
}

function ModuleTable({ table }: { table: TableAnswer }) {
  const tree = useMemo(() => moduleTree(table), [table]);
  const closedText = stateOf("modules.closed").value;
  const closed = useMemo(
    () => new Set(closedText === "" ? [] : closedText.split(",")),
    [closedText],
  );
  const shown = useMemo(() => openRows(table, tree, closed), [table, tree, closed]);
  const rowOf = useMemo(
    () => new Map(shown.rows.map((row): [string, TreeRow] => [row.path, row])),
    [shown],
  );
  const keep = (paths: Iterable<string>) => setState({ "modules.closed": [...paths].join(",") });
  const toggle = (path: string) => {
    const next = new Set(closed);
    if (!next.delete(path)) next.add(path);
    keep(next);
  };
  const cell = (cells: Cell[], column: string) => {
    const row = rowOf.get(String(cellOf(shown.table, cells, "name")));
    if (column !== "name" || !row) return undefined;
    return <ModuleName row={row} isOpen={!closed.has(row.path)} onToggle={toggle} />;
  };
  return (
    <section class="view">
      <div class="view-tools">
        <button type="button" onClick={() => keep([])}>
          Open all
        </button>
        <button
          type="button"
          onClick={() => keep(tree.filter((row) => row.hasChildren).map((row) => row.path))}
        >
          Close all
        </button>
      </div>
      <DataTable
        id="modules"
        label="Modules"
        table={shown.table}
        cell={cell}
        bars={["self_host_ns", "total_host_ns"]}
        isOrdered
        onRow={(cells) => {
          const row = rowOf.get(String(cellOf(shown.table, cells, "name")));
          if (row?.hasChildren) toggle(row.path);
        }}
      />
    </section>
  );
}

interface ModuleNameProps {
  row: TreeRow;
  isOpen: boolean;
  onToggle: (path: string) => void;
}

function ModuleName({ row, isOpen, onToggle }: ModuleNameProps) {
  return (
    <span class="tree-name" style={{ paddingLeft: `${row.depth * 16}px` }}>
      {row.hasChildren ? (
        <button
          type="button"
          class="tree-toggle"
          aria-expanded={isOpen}
          aria-label={`${isOpen ? "Close" : "Open"} ${row.path}`}
          onClick={(event) => {
            event.stopPropagation();
            onToggle(row.path);
          }}
        >
          {isOpen ? "▾" : "▸"}
        </button>
      ) : (
        <span class="tree-toggle" />
      )}
      <a
        class="to-timeline"
        href={hrefOfSearch(`nn.Module: ${row.path}`)}
        title="Find on the timeline"
        aria-label={`Find ${row.path} on the timeline`}
        onClick={(event) => event.stopPropagation()}
      >
        ↗
      </a>{" "}
      {row.name}
    </span>
  );
}
