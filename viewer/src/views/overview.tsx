// The run at a glance: the verdict, what is wrong and what to change, its steps, how busy the machine was, and what it ran on.
import { runs, source, useAnswer, version } from "../answer";
import { Note, Waiting } from "../banner";
import { textOfFraction, textOfValue, type Cell } from "../format";
import type { Finding, TableAnswer } from "../source";
import { hrefOf, run } from "../state";
import { cellOf, Notes } from "../table";
import { Findings } from "./findings";
import { StepBars } from "./step_bars";
import { Utilisation } from "./utilisation";
import "./overview.css";

export function Overview() {
  const depends = [run.value, version()];
  const overview = useAnswer((signal) => source.table(run.value, "overview", {}, signal), depends);
  const findings = useAnswer((signal) => source.table(run.value, "findings", {}, signal), depends);
  const phases = useAnswer(
    (signal) => source.table(run.value, "phases", { limit: 0 }, signal),
    depends,
  );
  if (!overview.data) return <Waiting answer={overview} />;
  const [first, ...others] = withoutFindings(
    overview.data.verdict ?? [],
    findings.data?.findings ?? [],
  );
  return (
    <div class="overview">
      <section class="verdict" aria-label="Verdict">
        {first !== undefined && <h1>{first}</h1>}
        {others.map((line) => (
          <p key={line}>{line}</p>
        ))}
      </section>
      <div class="overview-columns">
        <div class="overview-main">
          <section>
            <h2>Findings</h2>
            {findings.data?.findings ? (
              <Findings findings={findings.data.findings} />
            ) : (
              <Waiting answer={findings} />
            )}
          </section>
          <section>
            <h2>
              Steps <a href={hrefOf({ view: "steps" })}>as a table</a>
            </h2>
            {!phases.data ? (
              <Waiting answer={phases} />
            ) : phases.data.rows.length === 0 ? (
              <Note>{phases.data.stats?.notes?.join("; ") ?? "no steps in this run"}.</Note>
            ) : (
              <StepBars table={phases.data} />
            )}
          </section>
          <Utilisation />
        </div>
        <div class="overview-side">
          <Sections table={overview.data} />
          <Environment />
          <Notes table={overview.data} />
        </div>
      </div>
    </div>
  );
}

// The verdict names the first findings and their fixes too; here they are cards below it.
export function withoutFindings(lines: readonly string[], findings: readonly Finding[]): string[] {
  return lines.filter(
    (line) =>
      !findings.some(
        (finding) =>
          line.endsWith(`[${finding.id}]`) ||
          (finding.fix !== "" && line.trim().startsWith(finding.fix)),
      ),
  );
}

export function valueOf(table: TableAnswer, row: Cell[]): string {
  for (const column of table.columns) {
    if (!column.name.startsWith("value_")) continue;
    const value = cellOf(table, row, column.name);
    if (value !== null) return textOfValue(value, column.unit);
  }
  return "";
}

// Where more of a section is.
const MORE: Record<string, string> = {
  "top operators": "operators",
  "top functions": "functions",
  "top kernels": "kernels",
  memory: "memory",
  steps: "steps",
};

function Sections({ table }: { table: TableAnswer }) {
  const names = [...new Set(table.rows.map((row) => String(cellOf(table, row, "section"))))];
  return (
    <>
      {names.map((name) => (
        <section key={name} aria-label={name}>
          <h2>
            {name} {MORE[name] && <a href={hrefOf({ view: MORE[name] })}>more</a>}
          </h2>
          <dl class="facts">
            {table.rows
              .filter((row) => cellOf(table, row, "section") === name)
              .map((row) => (
                <Fact key={String(cellOf(table, row, "name"))} table={table} row={row} />
              ))}
          </dl>
        </section>
      ))}
    </>
  );
}

function Fact({ table, row }: { table: TableAnswer; row: Cell[] }) {
  const name = String(cellOf(table, row, "name"));
  const share = cellOf(table, row, "fraction");
  return (
    <div>
      <dt title={name}>{name}</dt>
      <dd>
        {valueOf(table, row)}
        {typeof share === "number" && (
          <span class="share-place">
            <span class="share" style={{ width: `${Math.min(Math.max(share, 0), 1) * 100}%` }} />
            {textOfFraction(share)}
          </span>
        )}
      </dd>
    </div>
  );
}

// What the recording itself tells of where it was made. Times and paths that the section "trace" has are left out.
const KNOWN = new Set(["source", "format", "begin_ns", "end_ns", "clock_base_ns", "traceEvents"]);
const LONGEST = 200;

function Environment() {
  const canAsk = runs.value?.can.sql === true || source.isExported;
  const answer = useAnswer(
    canAsk
      ? (signal) => source.sql(run.value, "SELECT key, value FROM metadata", 200, signal)
      : null,
    [run.value, version(), canAsk],
  );
  const rows = (answer.data?.rows ?? []).filter((row) => !KNOWN.has(String(row[0])));
  if (answer.error !== undefined) return <Note isError>{answer.error}</Note>;
  if (rows.length === 0) return null;
  return (
    <section aria-label="environment">
      <h2>environment</h2>
      <dl class="facts texts">
        {rows.map((row) => (
          <div key={String(row[0])}>
            <dt title={String(row[0])}>{String(row[0]).replaceAll("_", " ")}</dt>
            <dd title={String(row[1])}>{String(row[1]).slice(0, LONGEST)}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
