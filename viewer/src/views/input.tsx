// Where batches come from: the stages of PyTorch's DataLoader or of tf.data, what each takes, and which
// one steps wait for.
import { source, useAnswer, version } from "../answer";
import { Note, Waiting } from "../banner";
import { textOfFraction, textOfNs } from "../format";
import type { Finding, TableAnswer } from "../source";
import { hrefOfSearch, run } from "../state";
import { cellOf, DataTable } from "../table";
import { pipelineOf, type InputFigures, type InputPipeline, type Stage } from "./input_stages";
import { FindingLink } from "./links";
import { TfData } from "./tf_data";
import "./views.css";

async function askFigures(signal: AbortSignal): Promise<InputFigures> {
  const at = run.value;
  const [scopes, findings, phases, workers, queue] = await Promise.all([
    source.flame(at, { kind: "annotation", least: 0 }, signal),
    source.table(at, "findings", {}, signal),
    source.table(at, "phases", { limit: 0 }, signal),
    source.table(at, "functions", { filter: "^_worker_loop$", limit: 0 }, signal),
    source.table(at, "functions", { filter: "DataLoaderIter\\._get_data$", limit: 0 }, signal),
  ]);
  const total = (table: TableAnswer, column: string) =>
    table.rows.reduce((sum, row) => sum + Number(cellOf(table, row, column) ?? 0), 0);
  const steps = phases.rows.length;
  return {
    scopes,
    findings: findings.findings ?? [],
    workers: total(workers, "calls"),
    queue:
      queue.rows.length > 0
        ? { calls: total(queue, "calls"), total_ns: total(queue, "total_ns") }
        : null,
    step_ns: steps > 0 ? total(phases, "dur_ns") / steps : null,
    input_ns: steps > 0 ? total(phases, "input_ns") / steps : null,
  };
}

export function Input() {
  const iterators = useAnswer(
    (signal) => source.table(run.value, "input", { limit: 0 }, signal),
    [run.value, version()],
  );
  const answer = useAnswer(askFigures, [run.value, version()]);
  if (!iterators.data) return <Waiting answer={iterators} />;
  if (!answer.data) return <Waiting answer={answer} />;
  const figures = answer.data;
  const pipeline = pipelineOf(figures);
  const hasIterators = iterators.data.rows.length > 0;
  const about = figures.findings.filter(({ id }) => /^(dataloader|dataset|input|tfdata)-/.test(id));
  return (
    <section class="view">
      {hasIterators && <TfData table={iterators.data} />}
      {pipeline && <Pipeline pipeline={pipeline} figures={figures} />}
      {!hasIterators && !pipeline && (
        <Note>Neither a DataLoader nor tf.data was recorded in this run.</Note>
      )}
      <Findings findings={about} hasPipeline={hasIterators || pipeline !== null} />
      {pipeline && <DatasetFunctions />}
    </section>
  );
}

function Pipeline({ pipeline, figures }: { pipeline: InputPipeline; figures: InputFigures }) {
  return (
    <>
      <p class="verdict">
        {pipeline.isInProcess
          ? "The training thread makes its batches itself: a step waits for all of it."
          : "Workers make batches while steps compute: a step waits only for what they are late."}
        {figures.step_ns !== null && figures.input_ns !== null && (
          <>
            {" "}
            A step takes {textOfNs(figures.step_ns)} on average, {textOfNs(figures.input_ns)} (
            {textOfFraction(figures.input_ns / figures.step_ns)}) of it for input.
          </>
        )}
      </p>
      <ol class="stages" aria-label="Stages of the input">
        {pipeline.stages.map((stage) => (
          <li key={stage.id}>
            <StageBox stage={stage} />
          </li>
        ))}
      </ol>
      <p class="quiet">Figures are means per batch, in the process that does the work.</p>
    </>
  );
}

const SCOPE_OF: Partial<Record<Stage["id"], string>> = {
  fetch: "/^fetch$/",
  collate: "/^collate$/",
  wait: "enumerate(DataLoader)#",
};

function StageBox({ stage }: { stage: Stage }) {
  const isBottleneck = stage.findings.length > 0;
  const scope = SCOPE_OF[stage.id];
  return (
    <div class={isBottleneck ? "stage bottleneck" : "stage"}>
      <strong>{stage.title}</strong>
      <span class="stage-figure">
        {stage.batch_ns === null ? "not recorded" : textOfNs(stage.batch_ns)}
      </span>
      {stage.notes.map((note) => (
        <span class="quiet" key={note}>
          {note}
        </span>
      ))}
      {isBottleneck && <span class="mark">bottleneck</span>}
      {stage.findings.map((id) => (
        <span key={id}>
          <FindingLink id={id} />
        </span>
      ))}
      {scope && stage.batch_ns !== null && <a href={hrefOfSearch(scope)}>on the timeline</a>}
    </div>
  );
}

function Findings({ findings, hasPipeline }: { findings: Finding[]; hasPipeline: boolean }) {
  if (findings.length === 0) {
    return hasPipeline ? <p>Nothing stands out: no finding is about input.</p> : null;
  }
  return (
    <ul>
      {findings.map((finding) => (
        <li key={finding.id}>
          {finding.title} ({finding.where}) <FindingLink id={finding.id} />
          <br />
          <span class="quiet">{finding.fix}</span>
        </li>
      ))}
    </ul>
  );
}

// Whom the loader called to make items and batches.
function DatasetFunctions() {
  const answer = useAnswer(
    (signal) =>
      source.table(
        run.value,
        "callees",
        { filter: "DatasetFetcher\\.fetch|^default_collate$|^collate$", limit: 0 },
        signal,
      ),
    [run.value, version()],
  );
  const table = answer.data;
  if (!table) return <Waiting answer={answer} />;
  if (table.rows.length === 0) return null;
  return (
    <>
      <h2>What making a batch calls</h2>
      <DataTable
        id="input"
        label="What making a batch calls"
        table={table}
        columns={["name", "callee", "callee_file", "callee_line", "calls", "self_ns", "total_ns"]}
        titles={{ name: "in", callee: "calls of", callee_file: "file", callee_line: "line" }}
        bars={["total_ns"]}
        sort="-total_ns"
        visibleRows={14}
      />
    </>
  );
}
