// What the devices did and why they did not do more: their time, how the host feeds them, copies, waits, the critical path, and how near they come to what
// they can do. One of these at a time: some take long to work out.
import { useMemo } from "preact/hooks";
import { source, useAnswer, version } from "../answer";
import { Note, Waiting } from "../banner";
import { Choice } from "../flame/flame_panel";
import type { Cell } from "../format";
import type { TableAnswer } from "../source";
import { run, setState, stateOf } from "../state";
import { cellOf, DataTable, Notes } from "../table";
import { findGrouping, findSection, GPU_SECTIONS, type GpuSection } from "./gpu_sections";
import { ToTimeline } from "./links";
import { PartBars } from "./part_bars";
import { partsOfDevices } from "./part_rows";
import "./views.css";

// So many take no more room than they need.
const FEW_ROWS = 12;

export function Gpu() {
  const devices = useAnswer(
    (signal) => source.table(run.value, "gpu", { limit: 0 }, signal),
    [run.value, version()],
  );
  const section = findSection(stateOf("gpu.show").value);
  if (!devices.data) return <Waiting answer={devices} />;
  if (devices.data.rows.length === 0) {
    return (
      <Note>
        {devices.data.stats?.notes?.join(" ") ?? "No work of a device in this run"}. This tab is
        about what ran on a GPU, and how the host kept it busy.
      </Note>
    );
  }
  return (
    <section class="view">
      <div class="view-tools">
        <div class="group" role="group" aria-label="What of the devices">
          {GPU_SECTIONS.map(({ view, title }) => (
            <button
              type="button"
              key={view}
              aria-pressed={view === section.view}
              onClick={() => setState({ "gpu.show": view, "gpu.by": null })}
            >
              {title}
            </button>
          ))}
        </div>
      </div>
      {section.view === "gpu" && <Devices table={devices.data} />}
      <Section key={section.view} section={section} />
    </section>
  );
}

function Devices({ table }: { table: TableAnswer }) {
  const data = useMemo(() => partsOfDevices(table), [table]);
  const order = useMemo(() => table.rows.map((_, index) => index), [table]);
  const devices = table.rows.length;
  return (
    <PartBars
      title="The time of each device, from its first piece of work to its last"
      summary={devices === 1 ? data.rows[0]!.name : `${devices} devices, mean`}
      data={data}
      order={order}
    />
  );
}

function Section({ section }: { section: GpuSection }) {
  const by = findGrouping(section, stateOf("gpu.by").value);
  const answer = useAnswer(
    (signal) => source.table(run.value, section.view, { limit: 0, ...(by && { by }) }, signal),
    [run.value, version(), section.view, by],
  );
  const table = answer.data;
  return (
    <>
      <div class="view-tools">
        <h2>{section.question}</h2>
        {section.groupings.length > 1 && (
          <Choice
            title="By"
            value={by}
            options={section.groupings}
            onChange={(value) => setState({ "gpu.by": value })}
          />
        )}
      </div>
      {table?.verdict?.map((line) => (
        <p class="verdict" key={line}>
          {line}
        </p>
      ))}
      {!table ? (
        <Waiting answer={answer} />
      ) : table.rows.length === 0 ? (
        <div>
          <p class="quiet">Nothing of this in the run.</p>
          <Notes table={table} />
        </div>
      ) : (
        <DataTable
          key={by}
          id={section.view}
          label={section.title}
          table={table}
          bars={section.bars}
          {...(table.rows.length <= FEW_ROWS && { visibleRows: FEW_ROWS })}
          cell={(row, column) => nameWithLink(table, row, column, section.links)}
        />
      )}
    </>
  );
}

function nameWithLink(table: TableAnswer, row: Cell[], column: string, links: string[]) {
  const name = cellOf(table, row, column);
  if (!links.includes(column) || typeof name !== "string") return undefined;
  return (
    <>
      <ToTimeline name={name} /> {name}
    </>
  );
}
