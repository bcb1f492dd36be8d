// The ranks of a job: the runs that were opened together, or the processes in the folder of one. Who is slow and why, where each rank's step goes, what
// collectives cost.
import { useMemo } from "preact/hooks";
import { currentRun, runs, source, useAnswer, version } from "../answer";
import { Note, Waiting } from "../banner";
import { Choice } from "../flame/flame_panel";
import { textOfCount, type Cell } from "../format";
import type { JobView, RunInfo, TableAnswer } from "../source";
import { hrefOf, run, setState, stateOf } from "../state";
import { cellOf, DataTable, Notes, orderRows } from "../table";
import { Findings } from "./findings";
import "./overview.css";
import { PartBars } from "./part_bars";
import { partsOfRanks } from "./part_rows";
import { processTable, rankColumns, runOfRank, withJobNotesFirst } from "./rank_tables";
import "./views.css";

const SORT = "+rank";

function useJobView(view: JobView, by = "") {
  const members = membersOf();
  const waiting = stateOf("ranks.waiting").value === "1";
  const depends = [run.value, view, by, waiting, members.map((info) => info.version).join()];
  return useAnswer(
    (signal) =>
      source.job(
        view,
        { run: run.value, limit: 0, ...(by && { by }), ...(waiting && { waiting }) },
        signal,
      ),
    depends,
  );
}

// The runs of the job that is shown.
function membersOf(): RunInfo[] {
  const job = currentRun()?.job;
  return (runs.value?.runs ?? []).filter((info) => info.job === job);
}

export function Ranks() {
  const ranks = useJobView("ranks");
  const collectives = useJobView("collectives");
  if (!ranks.data) return <Waiting answer={ranks} />;
  if (!collectives.data) return <Waiting answer={collectives} />;
  const isAlone = ranks.data.rows.length < 2;
  const hasTable = !isAlone || collectives.data.rows.length > 0;
  return (
    <div class="job">
      <Verdict table={ranks.data} />
      {isAlone && (
        <Note>
          {ranks.data.rows.length === 1 ? "One rank is here." : "No rank of a training is here."} To
          see who waits for whom, open the traces of all ranks together: stepscope view FOLDER
        </Note>
      )}
      <ReadWaiting />
      {!isAlone && <JobFindings />}
      {hasTable ? (
        <RankTable table={ranks.data} />
      ) : (
        membersOf().length > 1 && <Notes table={ranks.data} />
      )}
      {collectives.data.rows.length > 0 && <Collectives />}
      {!isAlone && <Groups />}
      <Processes />
    </div>
  );
}

function Verdict({ table }: { table: TableAnswer }) {
  const [first, ...others] = table.verdict ?? [];
  if (first === undefined) return null;
  return (
    <section class="verdict" aria-label="Verdict">
      <h2>{first}</h2>
      {others.map((line) => (
        <p key={line}>{line}</p>
      ))}
    </section>
  );
}

// A folder may hold hundreds of ranks: those that nobody opened are read when someone says so.
function ReadWaiting() {
  const waiting = membersOf().filter((info) => info.is_waiting).length;
  const isRead = stateOf("ranks.waiting").value === "1";
  if (waiting === 0 || isRead || !runs.value?.can.job) return null;
  return (
    <div class="view-tools">
      <button type="button" onClick={() => setState({ "ranks.waiting": "1" })}>
        Read the other {textOfCount(waiting)} {waiting === 1 ? "run" : "runs"} of this folder too
      </button>
    </div>
  );
}

function JobFindings() {
  const answer = useJobView("findings");
  return (
    <section aria-label="Findings about the ranks">
      <h2>Findings about the ranks</h2>
      {answer.data?.findings ? (
        <Findings findings={answer.data.findings} />
      ) : (
        <Waiting answer={answer} />
      )}
    </section>
  );
}

function RankTable({ table }: { table: TableAnswer }) {
  const sort = stateOf("ranks.sort", SORT).value;
  const filter = stateOf("ranks.filter").value;
  const data = useMemo(() => partsOfRanks(table), [table]);
  const shown = useMemo(() => withJobNotesFirst(table), [table]);
  const order = useMemo(() => orderRows(table, sort, filter), [table, sort, filter]);
  const members = membersOf();
  const hrefOfRank = (row: Cell[]) => {
    const found = runOfRank(members, String(cellOf(table, row, "source")));
    return found && hrefOf({ view: "timeline", run: found.id, range: null, slice: null });
  };
  const cell = (row: Cell[], column: string) => {
    const value = cellOf(table, row, column);
    if (column === "rank") {
      const href = hrefOfRank(row);
      return href ? <a href={href}>{String(value)}</a> : undefined;
    }
    if (column === "straggler") {
      return value === true ? <strong class="worse">yes</strong> : <span class="quiet">no</span>;
    }
    return undefined;
  };
  return (
    <section aria-label="Ranks">
      <h2>What a step of each rank goes into</h2>
      {order.length > 0 && (
        <PartBars
          title="Steps of ranks by what they go into; the table below has the figures"
          summary={`${textOfCount(table.rows.length)} ranks, mean`}
          data={data}
          order={order}
          onOpen={(index) => {
            const href = hrefOfRank(table.rows[index]!);
            if (href) location.hash = href;
          }}
        />
      )}
      <DataTable
        id="ranks"
        label="Ranks"
        table={shown}
        columns={rankColumns(table)}
        bars={["own_ns", "wait_ns"]}
        sort={SORT}
        visibleRows={16}
        cell={cell}
      />
    </section>
  );
}

function Collectives() {
  const by = stateOf("collectives.by").value === "rank" ? "rank" : "";
  const answer = useJobView("collectives", by);
  return (
    <section aria-label="Collectives">
      <h2>Collectives</h2>
      <div class="view-tools">
        <Choice
          title="By"
          value={by}
          options={[
            ["", "type, group and size"],
            ["rank", "rank too"],
          ]}
          onChange={(value) => setState({ "collectives.by": value })}
        />
      </div>
      {answer.data ? (
        <DataTable
          id="collectives"
          label="Collectives"
          table={withoutNotes(answer.data)}
          bars={["total_ns", "wait_ns"]}
          sort="-total_ns"
          visibleRows={14}
        />
      ) : (
        <Waiting answer={answer} />
      )}
    </section>
  );
}

function Groups() {
  const answer = useJobView("groups");
  if (!answer.data) return <Waiting answer={answer} />;
  if (answer.data.rows.length === 0) return null;
  return (
    <section aria-label="Process groups">
      <h2>Process groups</h2>
      <DataTable
        id="groups"
        label="Process groups"
        table={withoutNotes(answer.data)}
        hasFilter={answer.data.rows.length > 10}
        visibleRows={10}
      />
    </section>
  );
}

// Every view of a job has the job's notes: under the ranks is enough.
function withoutNotes(table: TableAnswer): TableAnswer {
  return { ...table, stats: { ...table.stats, notes: [] } };
}

function Processes() {
  const tracks = useAnswer((signal) => source.tracks(run.value, signal), [run.value, version()]);
  const table = tracks.data && processTable(tracks.data);
  if (!table || table.rows.length < 2) return null;
  return (
    <section aria-label="Processes of this run">
      <h2>Processes of this run</h2>
      <DataTable id="processes" table={table} visibleRows={16} hasFilter={false} />
    </section>
  );
}
