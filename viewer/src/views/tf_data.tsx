// tf.data's pipelines: the four questions with their answers, the iterators as a graph with the
// bottleneck marked, and their figures.
import { textOfCount, textOfNs, type Cell } from "../format";
import type { TableAnswer } from "../source";
import { hrefOfSearch } from "../state";
import { cellOf, DataTable } from "../table";

export function TfData({ table }: { table: TableAnswer }) {
  const pipelines = [...new Set(table.rows.map((row) => String(cellOf(table, row, "pipeline"))))];
  return (
    <>
      <ul class="answers" aria-label="Questions about the input">
        {(table.verdict ?? []).map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
      {pipelines.map((pipeline) => (
        <Graph
          key={pipeline}
          table={table}
          title={`Pipeline ${pipeline}`}
          rows={table.rows.filter((row) => cellOf(table, row, "pipeline") === pipeline)}
        />
      ))}
      <h2>Iterators</h2>
      <DataTable
        id="iterators"
        label="Iterators"
        table={table}
        columns={[
          "pipeline",
          "name",
          "calls",
          "total_ns",
          "self_ns",
          "mean_ns",
          "p95_ns",
          "wait_ns",
          "blocking_fraction",
          "batch_work_ns",
          "is_async",
          "parameters",
          "dataset",
        ]}
        bars={["wait_ns", "batch_work_ns"]}
        visibleRows={14}
      />
    </>
  );
}

// From the source, at the left, to the program that asks: as batches go. Inputs of a zip are side by
// side in the order of the table.
function Graph(props: { table: TableAnswer; title: string; rows: Cell[][] }) {
  const { table, rows } = props;
  return (
    <>
      <h2>{props.title}</h2>
      <ol class="stages" aria-label={props.title}>
        {[...rows].reverse().map((row) => (
          <li key={String(cellOf(table, row, "long_name"))}>
            <Box table={table} row={row} />
          </li>
        ))}
      </ol>
    </>
  );
}

function Box({ table, row }: { table: TableAnswer; row: Cell[] }) {
  const isBottleneck = Boolean(cellOf(table, row, "is_bottleneck"));
  const name = String(cellOf(table, row, "name"));
  const longName = String(cellOf(table, row, "long_name"));
  return (
    <div class={isBottleneck ? "stage bottleneck" : "stage"}>
      <strong>{name}</strong>
      <span class="stage-figure">{textOfNs(Number(cellOf(table, row, "batch_work_ns")))}</span>
      <span class="quiet">{textOfCount(Number(cellOf(table, row, "calls")))} calls</span>
      {Boolean(cellOf(table, row, "is_async")) && <span class="quiet">works ahead</span>}
      {String(cellOf(table, row, "parameters"))
        .split(" ")
        .filter((text) => text !== "")
        .map((text) => (
          <span class="quiet" key={text}>
            {text}
          </span>
        ))}
      {isBottleneck && <span class="mark">bottleneck</span>}
      <a href={hrefOfSearch(patternOf(longName))}>on the timeline</a>
    </div>
  );
}

// All instances of a stage: Interleave[3]::TFRecord for Interleave::TFRecord.
export function patternOf(longName: string): string {
  const parts = longName.split("::").map((part) => part.replace(/[[\]\\^$.*+?(){}|]/g, "\\$&"));
  return `/^${parts.join("(\\[\\d+\\])?::")}$/`;
}
