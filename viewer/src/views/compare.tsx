// Two runs: what got faster and what slower per step, and both stacks in one picture.
import { useMemo } from "preact/hooks";
import { runs, source, useAnswer } from "../answer";
import { Note, Waiting } from "../banner";
import { Choice, FlamePanel } from "../flame/flame_panel";
import { buildTree } from "../flame/tree";
import { textOfFraction, textOfNs, type Cell } from "../format";
import type { RunInfo, TableAnswer } from "../source";
import { hrefOf, run, setState, stateOf } from "../state";
import { cellOf, DataTable } from "../table";
import { patternOf } from "./links";
import "./views.css";

export function Compare() {
  const known = (runs.value?.runs ?? []).filter((info) => !info.error);
  if (!runs.value?.can.diff) {
    return <Note>Comparing needs the server: stepscope view BEFORE AFTER</Note>;
  }
  if (known.length < 2) {
    return <Note>There is one run here. Open two: stepscope view BEFORE AFTER</Note>;
  }
  return <CompareOf known={known} />;
}

function CompareOf({ known }: { known: RunInfo[] }) {
  const first = known[0]!;
  const other = known.find((info) => info.id === run.value && info.id !== first.id) ?? known[1]!;
  const chosen = (name: string, fallback: RunInfo) =>
    (known.find((info) => String(info.id) === stateOf(name).value) ?? fallback).id;
  const before = chosen("compare.a", first);
  const after = chosen("compare.b", other);
  const answer = useAnswer(
    (signal) => source.diff(before, after, undefined, signal),
    [before, after],
  );
  const choices = known.map((info): [string, string] => [String(info.id), info.name]);
  return (
    <section class="view">
      <div class="view-tools">
        <Choice
          title="Before"
          value={String(before)}
          options={choices}
          onChange={(value) => setState({ "compare.a": value, "compare.zoom": null })}
        />
        <Choice
          title="After"
          value={String(after)}
          options={choices}
          onChange={(value) => setState({ "compare.b": value, "compare.zoom": null })}
        />
        <button
          type="button"
          onClick={() =>
            setState({ "compare.a": after, "compare.b": before, "compare.zoom": null })
          }
        >
          Swap
        </button>
      </div>
      {answer.data?.verdict?.map((line) => (
        <p class="verdict" key={line}>
          {line}
        </p>
      ))}
      <Stacks before={before} after={after} />
      {answer.data ? <Changes table={answer.data} after={after} /> : <Waiting answer={answer} />}
    </section>
  );
}

interface Pair {
  before: number;
  after: number;
}

function Changes({ table, after }: { table: TableAnswer; after: number }) {
  const cell = (row: Cell[], column: string) => {
    if (column === "name") {
      const name = String(cellOf(table, row, "name"));
      const section = cellOf(table, row, "section");
      const isSlice = section === "operators" || section === "functions";
      return isSlice ? (
        <a href={hrefOf({ view: "timeline", run: after, q: searchOf(name, String(section)) })}>
          {name}
        </a>
      ) : (
        name
      );
    }
    const value = cellOf(table, row, column);
    if ((column !== "change_ns" && column !== "change_fraction") || typeof value !== "number") {
      return undefined;
    }
    const text = column === "change_ns" ? textOfNs(value) : textOfFraction(value);
    const isCertain = cellOf(table, row, "certain") !== false;
    const look = value === 0 || !isCertain ? "quiet" : value > 0 ? "worse" : "better";
    return <span class={look}>{value > 0 ? `+${text}` : text}</span>;
  };
  return (
    <div class="table-place">
      <DataTable id="compare" label="Changes" table={table} cell={cell} />
    </div>
  );
}

// Functions of a comparison have their file in front; slices have the line in between.
function searchOf(name: string, section: string): string {
  return section === "operators" ? patternOf(name) : name.split(/[\s:]+/).pop()!;
}

function Stacks({ before, after }: Pair) {
  const answer = useAnswer(
    (signal) => source.diffFlame(before, after, 0.0005, signal),
    [before, after],
  );
  const tree = useMemo(() => answer.data && buildTree(answer.data), [answer.data]);
  if (!tree) return <Waiting answer={answer} />;
  if (tree.size < 2) return <Note>Neither run has stacks.</Note>;
  return (
    <>
      <h2>
        Stacks of both: <span class="worse">red</span> has more of the time than before,{" "}
        <span class="better">blue</span> less
      </h2>
      <FlamePanel name="compare" title="Stacks of both runs" tree={tree} />
    </>
  );
}
