// The run at a glance.
import { source, useAnswer, version } from "../answer";
import { Waiting } from "../banner";
import { run } from "../state";
import { DataTable } from "../table";

export function Overview() {
  const overview = useAnswer(
    (signal) => source.table(run.value, "overview", {}, signal),
    [run.value, version()],
  );
  if (!overview.data) return <Waiting answer={overview} />;
  return (
    <section class="view">
      {overview.data.verdict?.map((line) => (
        <p key={line}>{line}</p>
      ))}
      <DataTable id="overview" table={overview.data} hasFilter={false} isOrdered />
    </section>
  );
}
