// SQL over the run: an editor, the result as a table and as a plot of two columns, the tables that
// there are, and the statements from before.
import { useMemo, useState } from "preact/hooks";
import uPlot from "uplot";
import { runs, source, useAnswer } from "../answer";
import { Note, Waiting } from "../banner";
import { SERIES_COLORS } from "../color";
import { Choice } from "../flame/flame_panel";
import { textOfValue, titleOfColumn, type Cell } from "../format";
import type { TableAnswer } from "../source";
import { hrefOfSlice, run, setState, stateOf } from "../state";
import { cellOf, DataTable } from "../table";
import { Curve } from "./curve";
import {
  choosePlot,
  columnsOfSchema,
  numericColumns,
  pointsOf,
  remembered,
  unitOf,
} from "./sql_plot";
import "./views.css";

const LIMIT = 10_000;
const KEY = "stepscope.sql";
const EXAMPLE = `SELECT name, count(*) AS calls, sum(dur_ns) AS total_ns
FROM slices GROUP BY name ORDER BY total_ns DESC LIMIT 20`;

function readHistory(): string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(stored) ? stored.filter((item) => typeof item === "string") : [];
  } catch {
    // No storage, or not ours: an empty list.
    return [];
  }
}

function writeHistory(history: string[]): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(history));
  } catch {
    // It holds until the page is closed.
  }
}

export function Sql() {
  if (!runs.value?.can.sql) return <Note>SQL needs the server: stepscope view PATH</Note>;
  return <SqlEditor />;
}

function SqlEditor() {
  const statement = stateOf("sql.q").value;
  const [text, setText] = useState(statement === "" ? EXAMPLE : statement);
  const [history, setHistory] = useState(readHistory);
  // The same statement may be asked again.
  const [asked, setAsked] = useState(0);
  const answer = useAnswer(
    statement === "" ? null : (signal) => source.sql(run.value, statement, LIMIT, signal),
    [run.value, statement, asked],
  );
  const ask = (wanted: string) => {
    setText(wanted);
    const next = remembered(history, wanted);
    setHistory(next);
    writeHistory(next);
    setState({ "sql.q": wanted.trim() });
    setAsked(asked + 1);
  };
  return (
    <section class="view sql-view">
      <div class="sql-main">
        <textarea
          aria-label="SQL"
          spellcheck={false}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
              event.preventDefault();
              ask(event.currentTarget.value);
            }
          }}
        />
        <div class="view-tools">
          <button type="button" onClick={() => ask(text)}>
            Run (Ctrl+Enter)
          </button>
          {answer.isLoading && <span class="quiet">Asking…</span>}
        </div>
        {answer.error !== undefined && <Note isError>{answer.error}</Note>}
        {answer.data && <SqlResult table={answer.data} />}
      </div>
      <aside class="sql-side">
        <Schema onPick={(name) => setText(`SELECT * FROM ${name} LIMIT 100`)} />
        {history.length > 0 && (
          <>
            <h2>Before</h2>
            <ul class="history">
              {history.map((old) => (
                <li key={old}>
                  <button type="button" title={old} onClick={() => setText(old)}>
                    {old}
                  </button>
                </li>
              ))}
            </ul>
          </>
        )}
      </aside>
    </section>
  );
}

function SqlResult({ table }: { table: TableAnswer }) {
  // An `id` beside these columns is a slice's.
  const hasSlices = ["track_id", "start_ns", "dur_ns"].every((name) =>
    table.columns.some((column) => column.name === name),
  );
  const cell = (row: Cell[], column: string) => {
    const value = cellOf(table, row, column);
    const isSlice =
      column === "slice_id" || column.endsWith("_slice") || (column === "id" && hasSlices);
    return isSlice && typeof value === "number" ? (
      <a href={hrefOfSlice(value)}>{value}</a>
    ) : undefined;
  };
  return (
    <>
      <Plot table={table} />
      <DataTable id="sql" label="Result" table={table} cell={cell} />
    </>
  );
}

function Plot({ table }: { table: TableAnswer }) {
  const isShown = stateOf("sql.plot").value === "1";
  const xName = stateOf("sql.x").value;
  const yName = stateOf("sql.y").value;
  const look = stateOf("sql.look", "points").value;
  const choice = useMemo(() => choosePlot(table, xName, yName), [table, xName, yName]);
  const data = useMemo(() => choice && pointsOf(table, choice), [table, choice]);
  const options = useMemo(
    () => choice && plotOptions(table, choice.x, choice.y, look),
    [table, choice, look],
  );
  if (!choice || !data || !options) return null;
  const names = numericColumns(table).map((index): [string, string] => {
    const { name } = table.columns[index]!;
    return [name, name];
  });
  return (
    <div class="fixed-part">
      <div class="view-tools">
        <button
          type="button"
          aria-pressed={isShown}
          onClick={() => setState({ "sql.plot": isShown ? null : "1" })}
        >
          Plot
        </button>
        {isShown && (
          <>
            <Choice
              title="x"
              value={table.columns[choice.x]!.name}
              options={names}
              onChange={(value) => setState({ "sql.x": value })}
            />
            <Choice
              title="y"
              value={table.columns[choice.y]!.name}
              options={names}
              onChange={(value) => setState({ "sql.y": value })}
            />
            <Choice
              title="as"
              value={look}
              options={[
                ["points", "points"],
                ["line", "line"],
                ["bars", "bars"],
              ]}
              onChange={(value) => setState({ "sql.look": value })}
            />
          </>
        )}
      </div>
      {isShown && <Curve data={data} options={options} heightPx={240} label="Plot of the result" />}
    </div>
  );
}

function plotOptions(table: TableAnswer, x: number, y: number, look: string) {
  const column = (index: number) => table.columns[index]!;
  const values = (index: number) => (_plot: uPlot, ticks: number[]) =>
    ticks.map((tick) => textOfValue(tick, unitOf(column(index))));
  const value = (index: number) => (_plot: uPlot, at: number | null) =>
    textOfValue(at, unitOf(column(index)));
  const title = (index: number) => titleOfColumn(column(index).name, unitOf(column(index)));
  const color = SERIES_COLORS[0]!;
  const series: uPlot.Series = {
    label: title(y),
    stroke: color,
    value: value(y),
    points: { show: look === "points", size: 5, fill: color },
  };
  if (look === "points") series.paths = () => null;
  if (look === "bars") {
    series.paths = uPlot.paths.bars!({ size: [0.8, 60] });
    series.fill = color;
  }
  return {
    series: [{ label: title(x), value: value(x) }, series],
    scales: { x: { time: false } },
    axes: [{ values: values(x) }, { values: values(y), size: 80 }],
  } satisfies Omit<uPlot.Options, "width" | "height">;
}

function Schema({ onPick }: { onPick: (name: string) => void }) {
  const answer = useAnswer(
    (signal) =>
      source.sql(run.value, "SELECT name, sql FROM sqlite_schema ORDER BY name", 200, signal),
    [run.value],
  );
  if (!answer.data) return <Waiting answer={answer} />;
  const table = answer.data;
  return (
    <>
      <h2>Tables</h2>
      {table.rows.map((row) => {
        const name = String(cellOf(table, row, "name"));
        return (
          <div class="schema-table" key={name}>
            <details>
              <summary>{name}</summary>
              <ul>
                {columnsOfSchema(String(cellOf(table, row, "sql") ?? "")).map((column) => (
                  <li key={column}>
                    <code>{column}</code>
                  </li>
                ))}
              </ul>
            </details>
            <button type="button" onClick={() => onPick(name)} aria-label={`Select from ${name}`}>
              select
            </button>
          </div>
        );
      })}
    </>
  );
}
