// The way of a batch through PyTorch's DataLoader as stages with figures, from what was recorded: the
// scopes "fetch" and "collate", the calls of the iterator, and the findings about input.
import type { FlameAnswer, Finding } from "../source";

export interface Stage {
  id: "fetch" | "collate" | "queue" | "wait";
  title: string;
  // Per batch; null where it was not recorded.
  batch_ns: number | null;
  // What else is known, a line each.
  notes: string[];
  // The findings that say that this stage is what steps wait for.
  findings: string[];
}

export interface InputFigures {
  // Merged stacks of scopes (kind annotation).
  scopes: FlameAnswer;
  findings: readonly Finding[];
  // Calls of _worker_loop: one in each worker.
  workers: number;
  // In which the training thread waits for a worker's batch.
  queue: { calls: number; total_ns: number } | null;
  // Means over the steps; null where there are none.
  step_ns: number | null;
  input_ns: number | null;
}

const FINDINGS_OF: Record<Stage["id"], readonly string[]> = {
  fetch: ["dataloader-in-process", "dataloader-too-few-workers", "dataset-slow-item"],
  collate: ["dataloader-slow-collate"],
  queue: ["dataloader-worker-restart"],
  wait: ["input-copy"],
};

export interface InputPipeline {
  isInProcess: boolean;
  stages: Stage[];
}

// Null where nothing of a DataLoader was recorded.
export function pipelineOf(figures: InputFigures): InputPipeline | null {
  const next = sumOf(figures.scopes, (name) => name.startsWith("enumerate(DataLoader)#"));
  const fetch = sumOf(figures.scopes, (name) => name === "fetch");
  const collate = sumOf(figures.scopes, (name) => name === "collate");
  if (next.calls === 0 && fetch.calls === 0) return null;
  const isInProcess =
    figures.workers === 0 &&
    !figures.scopes.labels.some(({ name }) => name.includes("_MultiProcessingDataLoaderIter"));
  const itemsNs = fetch.total_ns - collate.total_ns;
  const stages: Stage[] = [
    stage(
      "fetch",
      isInProcess ? "Fetch, in process" : "Fetch, by workers",
      fetch.calls ? itemsNs / fetch.calls : null,
    ),
    stage("collate", "Collate", collate.calls ? collate.total_ns / collate.calls : null),
  ];
  if (!isInProcess) {
    const { queue } = figures;
    stages.push(stage("queue", "Queue", queue?.calls ? queue.total_ns / queue.calls : null));
    stages.at(-1)!.notes.push("until a finished batch is there");
    if (figures.workers > 0)
      stages[0]!.notes.push(figures.workers === 1 ? "1 worker" : `${figures.workers} workers`);
  }
  stages.push(stage("wait", "Wait in the step", next.calls ? next.total_ns / next.calls : null));
  stages.at(-1)!.notes.push(`${next.calls.toLocaleString("en-US")} batches`);
  for (const one of stages) {
    one.findings = figures.findings
      .map(({ id }) => id)
      .filter((id) => FINDINGS_OF[one.id].includes(id));
  }
  return { isInProcess, stages };

  function stage(id: Stage["id"], title: string, batch_ns: number | null): Stage {
    return { id, title, batch_ns, notes: [], findings: [] };
  }
}

// Calls and time of all nodes whose label is wanted, those inside others of them not counted again.
export function sumOf(
  answer: FlameAnswer,
  isWanted: (name: string) => boolean,
): { calls: number; total_ns: number } {
  const wanted = new Set(answer.labels.filter(({ name }) => isWanted(name)).map(({ id }) => id));
  const isInside: boolean[] = [];
  const sum = { calls: 0, total_ns: 0 };
  answer.nodes.parent.forEach((parent, node) => {
    const isBelow = parent >= 0 && parent < node && isInside[parent]!;
    const isOne = wanted.has(answer.nodes.label[node]!);
    isInside.push(isBelow || isOne);
    if (isOne && !isBelow) {
      sum.calls += answer.nodes.calls[node]!;
      sum.total_ns += answer.nodes.total_ns[node]!;
    }
  });
  return sum;
}
