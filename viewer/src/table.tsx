// Every table of the page: sorts, filters, shows figures with their units as the command line does. Only rows in sight are elements. Sort and filter
// are in the URL under the table's id.
//
//   <DataTable id="operators" table={answer} onRow={(row) => …} cell={(row, column) => …} />
import { useMemo, useRef, useState, useLayoutEffect } from "preact/hooks";
import type { ComponentChildren, TargetedKeyboardEvent } from "preact";
import { textOfCount, textOfValue, titleOfColumn, type Cell } from "./format";
import { showError } from "./banner";
import { setState, stateOf } from "./state";
import type { ColumnInfo, TableAnswer } from "./source";

export interface DataTableProps {
  id: string;
  table: TableAnswer;
  // A short name for screen readers.
  label?: string;
  // Columns to show, in this order; all that have a value where it is left out.
  columns?: string[];
  titles?: Record<string, string>;
  // Something else than the text of a cell; undefined for the text.
  cell?: (row: Cell[], column: string) => ComponentChildren | undefined;
  // Called for a click on a row, or Enter on it.
  onRow?: (row: Cell[], index: number) => void;
  isSelected?: (row: Cell[]) => boolean;
  // Columns whose cells get a bar: their share of the largest.
  bars?: string[];
  // "-self_ns": what it is sorted by until someone chooses.
  sort?: string;
  // Keeps the order of the rows: trees.
  isOrdered?: boolean;
  hasFilter?: boolean;
  // Rows in sight at most; the table is as high as it can be where it is left out.
  visibleRows?: number;
}

const ROW_HEIGHT = 24;
const OVERSCAN = 8;

export function parseSort(text: string): { column: string; isDescending: boolean } {
  const isDescending = text.startsWith("-");
  return { column: text.replace(/^[-+]/, ""), isDescending };
}

export function compareCells(a: Cell | undefined, b: Cell | undefined): number {
  if (a === b) return 0;
  if (a === null || a === undefined) return -1;
  if (b === null || b === undefined) return 1;
  if (typeof a === "string" && typeof b === "string") return a < b ? -1 : 1;
  return Number(a) - Number(b);
}

// Words that must all be there, cases ignored; or a pattern between slashes.
export function matcherOf(filter: string): (text: string) => boolean {
  const pattern = /^\/(.+)\/$/.exec(filter);
  if (pattern) {
    try {
      const compiled = new RegExp(pattern[1] ?? "", "i");
      return (text) => compiled.test(text);
    } catch {
      return () => false;
    }
  }
  const words = filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  return (text) => {
    const lower = text.toLowerCase();
    return words.every((word) => lower.includes(word));
  };
}

// Indices of the rows that pass the filter, in the order to show.
export function orderRows(table: TableAnswer, sort: string, filter: string): number[] {
  const order: number[] = [];
  const texts = table.columns
    .map((_, index) => index)
    .filter((index) => table.rows.some((row) => typeof row[index] === "string"));
  const matches = matcherOf(filter);
  table.rows.forEach((row, index) => {
    if (filter === "" || matches(texts.map((column) => row[column] ?? "").join("\n")))
      order.push(index);
  });
  const { column, isDescending } = parseSort(sort);
  const key = table.columns.findIndex((info) => info.name === column);
  if (key < 0) return order;
  const sign = isDescending ? -1 : 1;
  return order.sort(
    (a, b) => sign * compareCells(table.rows[a]?.[key], table.rows[b]?.[key]) || a - b,
  );
}

function isNumeric(column: ColumnInfo, rows: Cell[][], index: number): boolean {
  if (column.unit !== "") return true;
  return typeof rows.find((row) => row[index] !== null)?.[index] === "number";
}

const CHARACTER_PX = 7.4;
const DIGIT_PX = 8.4;
const PADDING_PX = 18;

// Widths in pixels, from the heads and a sample of rows. The head and every row are grids of their own: only fixed widths line them up.
function widthOf(
  title: string,
  column: ColumnInfo,
  rows: Cell[][],
  index: number,
  isNumber: boolean,
  cell: DataTableProps["cell"],
): number {
  let length = title.length + 2;
  const stride = Math.max(1, Math.floor(rows.length / 2000));
  for (let row = 0; row < rows.length; row += stride) {
    const cells = rows[row] as Cell[];
    const own = cell?.(cells, column.name);
    const text = typeof own === "string" ? own : textOfValue(cells[index], column.unit);
    length = Math.max(length, text.length);
  }
  return Math.ceil(Math.min(length, 80) * (isNumber ? DIGIT_PX : CHARACTER_PX) + PADDING_PX);
}

export function DataTable(props: DataTableProps) {
  const { id, table } = props;
  const sort = stateOf(`${id}.sort`, props.sort ?? "").value;
  const filter = stateOf(`${id}.filter`).value;
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(480);
  const [focused, setFocused] = useState(0);
  const body = useRef<HTMLDivElement>(null);

  const shown = useMemo(() => {
    const names =
      props.columns ??
      table.columns.filter((_, i) => table.rows.some((row) => row[i] !== null)).map((c) => c.name);
    return names
      .map((name) => table.columns.findIndex((column) => column.name === name))
      .filter((index) => index >= 0)
      .map((index) => {
        const column = table.columns[index] as ColumnInfo;
        const title = props.titles?.[column.name] ?? titleOfColumn(column.name, column.unit);
        const isNumber = isNumeric(column, table.rows, index);
        return {
          index,
          column,
          title,
          isNumber,
          width: widthOf(title, column, table.rows, index, isNumber, props.cell),
          most: props.bars?.includes(column.name) ? largestOf(table.rows, index) : 0,
        };
      });
  }, [table, props.columns?.join()]);
  const order = useMemo(
    () => orderRows(table, props.isOrdered ? "" : sort, filter),
    [table, sort, filter],
  );

  useLayoutEffect(() => {
    const element = body.current;
    if (!element) return;
    const measure = () => setHeight(element.clientHeight || 480);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const first = Math.max(0, Math.floor(top / ROW_HEIGHT) - OVERSCAN);
  const last = Math.min(order.length, Math.ceil((top + height) / ROW_HEIGHT) + OVERSCAN);
  const leastOf = (s: (typeof shown)[number]) =>
    s.isNumber ? s.width : Math.min(s.width, s.column.name === "name" ? 220 : 140);
  const template = shown
    .map((s) => (s.isNumber ? `${s.width}px` : `minmax(${leastOf(s)}px, ${s.width}fr)`))
    .join(" ");
  const grid = { gridTemplateColumns: template };
  const minWidth = `${shown.reduce((sum, s) => sum + leastOf(s), 0)}px`;

  const sortBy = (name: string, isNumber: boolean) => {
    const now = parseSort(sort);
    const down = now.column === name ? !now.isDescending : isNumber;
    setState({ [`${id}.sort`]: (down ? "-" : "+") + name });
  };
  const moveTo = (index: number) => {
    const next = Math.min(Math.max(index, 0), order.length - 1);
    setFocused(next);
    const element = body.current;
    if (!element) return;
    const y = next * ROW_HEIGHT;
    if (y < element.scrollTop) element.scrollTop = y;
    else if (y + 2 * ROW_HEIGHT > element.scrollTop + element.clientHeight)
      element.scrollTop = y + 2 * ROW_HEIGHT - element.clientHeight;
  };
  const onKey = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    const page = Math.max(1, Math.floor(height / ROW_HEIGHT) - 2);
    const moves: Record<string, number> = {
      ArrowDown: focused + 1,
      ArrowUp: focused - 1,
      PageDown: focused + page,
      PageUp: focused - page,
      Home: 0,
      End: order.length - 1,
    };
    const row = table.rows[order[focused] ?? -1];
    if (event.key in moves) moveTo(moves[event.key] ?? 0);
    else if (event.key === "Enter" && row && event.target === event.currentTarget)
      props.onRow?.(row, order[focused] ?? 0);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div class="table-frame">
      {props.hasFilter !== false && (
        <div class="table-tools">
          <input
            type="search"
            value={filter}
            placeholder="Filter: words or /pattern/"
            aria-label={`Filter ${props.label ?? table.view}`}
            onInput={(event) =>
              setState({ [`${id}.filter`]: event.currentTarget.value }, "replace")
            }
          />
          <span class="quiet">{countText(order.length, table)}</span>
          <button
            type="button"
            class="copy"
            title="Copy the rows that are shown, as CSV with plain figures"
            onClick={() =>
              void copyText(
                csvOf(
                  table,
                  order,
                  shown.map((s) => s.index),
                ),
              )
            }
          >
            Copy
          </button>
        </div>
      )}
      <div
        class="table-body"
        ref={body}
        role="grid"
        aria-label={props.label ?? table.view}
        aria-rowcount={order.length + 1}
        aria-colcount={shown.length}
        tabIndex={0}
        style={
          props.visibleRows
            ? {
                maxHeight: `${(Math.min(props.visibleRows, order.length) + 1) * ROW_HEIGHT + 12}px`,
              }
            : {}
        }
        aria-activedescendant={`${id}-row-${focused}`}
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
        onKeyDown={onKey}
      >
        <div class="table-head" role="row" aria-rowindex={1} style={{ ...grid, minWidth }}>
          {shown.map((s) => {
            const state =
              parseSort(sort).column === s.column.name
                ? parseSort(sort).isDescending
                  ? "descending"
                  : "ascending"
                : "none";
            return (
              <div
                role="columnheader"
                aria-sort={props.isOrdered ? undefined : state}
                class={s.isNumber ? "number" : ""}
                key={s.column.name}
              >
                {props.isOrdered ? (
                  s.title
                ) : (
                  <button
                    type="button"
                    onClick={() => sortBy(s.column.name, s.isNumber)}
                    title={s.column.name}
                  >
                    {s.title}
                    <span class="sort-mark" aria-hidden="true">
                      {state === "none" ? "" : state === "descending" ? "▾" : "▴"}
                    </span>
                  </button>
                )}
              </div>
            );
          })}
        </div>
        <div
          role="rowgroup"
          class="table-rows"
          style={{ height: `${order.length * ROW_HEIGHT}px`, minWidth }}
        >
          {order.slice(first, last).map((rowIndex, offset) => {
            const row = table.rows[rowIndex] as Cell[];
            const at = first + offset;
            const names = ["table-row"];
            if (at === focused) names.push("focused");
            if (props.isSelected?.(row)) names.push("selected");
            if (props.onRow) names.push("clickable");
            return (
              <div
                key={rowIndex}
                id={`${id}-row-${at}`}
                role="row"
                aria-rowindex={at + 2}
                class={names.join(" ")}
                style={{ ...grid, top: `${at * ROW_HEIGHT}px` }}
                onClick={() => {
                  setFocused(at);
                  props.onRow?.(row, rowIndex);
                }}
              >
                {shown.map((s) => {
                  const text = textOfValue(row[s.index], s.column.unit);
                  const value = row[s.index];
                  return (
                    <div
                      role="gridcell"
                      class={s.isNumber ? "number" : "text"}
                      title={s.isNumber ? undefined : text}
                      key={s.column.name}
                    >
                      {s.most > 0 && typeof value === "number" && value > 0 && (
                        <span
                          class="cell-bar"
                          style={{ width: `${Math.min(100, (100 * value) / s.most)}%` }}
                        />
                      )}
                      {props.cell?.(row, s.column.name) ?? text}
                    </div>
                  );
                })}
              </div>
            );
          })}
        </div>
      </div>
      <Notes table={table} />
    </div>
  );
}

function quoted(value: Cell | undefined): string {
  const text = value === null || value === undefined ? "" : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// The figures as they are, in ns and bytes, as `stepscope report --format csv` has them.
export function csvOf(
  table: TableAnswer,
  rows: readonly number[],
  columns: readonly number[],
): string {
  const lines = [columns.map((column) => quoted(table.columns[column]?.name)).join(",")];
  for (const row of rows)
    lines.push(columns.map((column) => quoted(table.rows[row]?.[column])).join(","));
  return `${lines.join("\n")}\n`;
}

async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    showError("The browser does not let the page copy here.");
  }
}

function largestOf(rows: Cell[][], index: number): number {
  let most = 0;
  for (const row of rows) {
    const value = row[index];
    if (typeof value === "number" && value > most) most = value;
  }
  return most;
}

function countText(shown: number, table: TableAnswer): string {
  const total = table.stats?.rows_total ?? table.rows.length;
  if (shown === total) return `${textOfCount(total)} rows`;
  return `${textOfCount(shown)} of ${textOfCount(total)} rows`;
}

const NOTES_IN_SIGHT = 6;

// What was skipped, mended or cut is said under every table. Of many notes the first are in sight.
export function Notes({ table }: { table: TableAnswer }) {
  const notes = table.stats?.notes ?? [];
  if (notes.length === 0) return null;
  const hidden = notes.slice(NOTES_IN_SIGHT);
  const list = (shown: string[]) => (
    <ul class="notes">
      {shown.map((note) => (
        <li key={note}>{note}</li>
      ))}
    </ul>
  );
  return (
    <>
      {list(notes.slice(0, NOTES_IN_SIGHT))}
      {hidden.length > 0 && (
        <details class="more-notes">
          <summary>{textOfCount(hidden.length)} more notes</summary>
          {list(hidden)}
        </details>
      )}
    </>
  );
}

// The value of a named column in a row.
export function cellOf(table: TableAnswer, row: Cell[] | undefined, column: string): Cell {
  const index = table.columns.findIndex((info) => info.name === column);
  return row?.[index] ?? null;
}
