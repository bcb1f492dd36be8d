// How busy the CPU and the devices were over the run: curves of the recorder's counters, and of the view devices by time.
import { useMemo } from "preact/hooks";
import type uPlot from "uplot";
import { currentRun, source, useAnswer, version } from "../answer";
import { SERIES_COLORS } from "../color";
import { textOfFraction, textOfNs, textOfNumber } from "../format";
import type { TableAnswer, TrackInfo } from "../source";
import { run } from "../state";
import { cellOf } from "../table";
import { bucketNs, gridOf, rulerText, tileNs } from "../timeline/grid";
import { titleOfTrack } from "../timeline/layout";
import { decodeTiles, type CounterTile } from "../timeline/tile";
import { Curve } from "./curve";

const LEVEL = 1;
const POINTS = 600;

// Counters that say how busy something was.
export function isUtilisation(track: TrackInfo): boolean {
  if (track.kind !== "counter") return false;
  return /^(CPU|machine CPU)$/.test(track.name) || /utili[sz]ation|SM efficiency/i.test(track.name);
}

// The value that a counter holds at each of the moments, from its tiles; null before its first.
export function sampleCounter(
  tiles: readonly CounterTile[],
  span_ns: number,
  moments: readonly number[],
): (number | null)[] {
  const grid = gridOf(span_ns);
  const times: number[] = [];
  const values: number[] = [];
  for (const tile of [...tiles].sort((a, b) => a.index - b.index)) {
    const begin = tile.index * tileNs(grid, tile.level);
    for (let i = 0; i < tile.count; ++i) {
      if (tile.at[i]! < 0 && times.length > 0) continue;
      times.push(begin + tile.at[i]! * bucketNs(grid, tile.level));
      values.push(tile.last[i]!);
    }
  }
  let next = 0;
  return moments.map((moment) => {
    while (next < times.length && times[next]! <= moment) ++next;
    return next === 0 ? null : values[next - 1]!;
  });
}

function moments(span_ns: number): number[] {
  return Array.from({ length: POINTS }, (_, i) => (i / (POINTS - 1)) * span_ns);
}

// The mean of a value that holds until the next one, over equal parts of the time; null before the first.
export function meansOf(
  times: readonly number[],
  values: readonly number[],
  span_ns: number,
  parts: number,
): (number | null)[] {
  const means: (number | null)[] = [];
  let at = 0;
  for (let part = 0; part < parts; ++part) {
    const begin = (part / parts) * span_ns;
    const end = ((part + 1) / parts) * span_ns;
    while (at + 1 < times.length && times[at + 1]! <= begin) ++at;
    let sum = 0;
    let covered = 0;
    for (let i = at; i < times.length && times[i]! < end; ++i) {
      const from = Math.max(times[i]!, begin);
      const to = Math.min(times[i + 1] ?? end, end);
      if (to <= from) continue;
      sum += values[i]! * (to - from);
      covered += to - from;
    }
    means.push(covered > 0 ? sum / covered : null);
  }
  return means;
}

const DEVICE_PARTS = 400;

// Rows of `devices --by time` as curves: one per device and metric.
export function deviceCurves(
  table: TableAnswer,
  span_ns: number,
): { names: string[]; data: uPlot.AlignedData } {
  const byName = new Map<string, [time: number, value: number][]>();
  for (const row of table.rows) {
    const metric = String(cellOf(table, row, "metric"))
      .replaceAll("_", " ")
      .replace(" fraction", "");
    const name = `device ${String(cellOf(table, row, "device"))} ${metric}`;
    let points = byName.get(name);
    if (!points) byName.set(name, (points = []));
    points.push([Number(cellOf(table, row, "time_ns")), Number(cellOf(table, row, "value"))]);
  }
  const parts = Array.from(
    { length: DEVICE_PARTS },
    (_, part) => ((part + 0.5) / DEVICE_PARTS) * span_ns,
  );
  const series = [...byName.values()].map((points) => {
    points.sort((a, b) => a[0] - b[0]);
    return meansOf(
      points.map((point) => point[0]),
      points.map((point) => point[1]),
      span_ns,
      DEVICE_PARTS,
    );
  });
  return { names: [...byName.keys()], data: [parts, ...series] };
}

export function Utilisation() {
  const span = currentRun()?.span_ns ?? 1;
  const cpu = useAnswer((signal) => askCounters(span, signal), [run.value, version(), span]);
  const devices = useAnswer(
    (signal) => source.table(run.value, "devices", { by: "time", limit: 0 }, signal),
    [run.value, version()],
  );
  const curves = useMemo(
    () => (devices.data ? deviceCurves(devices.data, span) : null),
    [devices.data, span],
  );
  return (
    <>
      {cpu.data && cpu.data.names.length > 0 && (
        <section>
          <h2>CPU</h2>
          <Lines
            names={cpu.data.names}
            data={cpu.data.data}
            text={cpu.data.isFraction ? textOfFraction : (value) => `${textOfNumber(value)} cores`}
          />
        </section>
      )}
      {curves && curves.names.length > 0 && (
        <section>
          <h2>Devices</h2>
          <Lines names={curves.names} data={curves.data} text={textOfFraction} />
        </section>
      )}
    </>
  );
}

async function askCounters(span_ns: number, signal: AbortSignal) {
  const { tracks } = await source.tracks(run.value, signal);
  const wanted = tracks
    .filter((track) => isUtilisation(track) && (track.max ?? 0) > 0)
    .slice(0, SERIES_COLORS.length);
  const level = Math.min(LEVEL, gridOf(span_ns).lastLevel);
  const want = wanted.flatMap((track) =>
    Array.from({ length: 2 ** level }, (_, index) => `${track.id}.${index}`),
  );
  const tiles =
    want.length === 0 ? [] : decodeTiles(await source.tiles(run.value, level, want.join(), signal));
  const at = moments(span_ns);
  const series = wanted.map((track) =>
    sampleCounter(
      tiles.filter(
        (tile): tile is CounterTile => tile.kind === "counter" && tile.track === track.id,
      ),
      span_ns,
      at,
    ),
  );
  return {
    names: wanted.map(titleOfTrack),
    data: [at, ...series] as uPlot.AlignedData,
    isFraction: wanted.every((track) => track.unit === "fraction"),
  };
}

function Lines({
  names,
  data,
  text,
}: {
  names: string[];
  data: uPlot.AlignedData;
  text: (value: number) => string;
}) {
  const options = useMemo<Omit<uPlot.Options, "width" | "height">>(
    () => ({
      scales: {
        x: { time: false },
        y: { range: (_, __, most) => [0, most > 0 ? most * 1.05 : 1] },
      },
      axes: [
        {
          values: (_, splits, __, ___, step) => splits.map((ns) => rulerText(ns, step)),
          space: 90,
          size: 26,
        },
        { values: (_, splits) => splits.map(text), size: 76 },
      ],
      series: [
        { label: "at", value: (_, ns) => (ns === null ? "" : textOfNs(ns)) },
        ...names.map((name, index) => ({
          label: name,
          stroke: SERIES_COLORS[index % SERIES_COLORS.length]!,
          width: 1.25,
          points: { show: false },
          value: (_: uPlot, value: number | null) => (value === null ? "" : text(value)),
        })),
      ],
    }),
    [names.join("\n")],
  );
  return (
    <Curve
      data={data}
      options={options}
      heightPx={150}
      label={`${names.join(", ")} over the run`}
    />
  );
}
