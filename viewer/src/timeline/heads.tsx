// The heads of the tracks, left of the canvas: names, and what can be done with a track. They scroll with the tracks; only those near the window are elements.
import { useRef } from "preact/hooks";
import type { TargetedPointerEvent } from "preact";
import { textOfCount } from "../format";
import { setOrder, toggleCollapsed, toggleOpened, togglePinned } from "./choices";
import {
  moved,
  textOfCounter,
  titleOfProcess,
  titleOfTrack,
  TRACK_GAP,
  type Layout,
  type ProcessRow,
  type TrackRow,
} from "./layout";
import type { Timeline } from "./timeline";

const MARGIN = 1200;

export function Heads({ timeline }: { timeline: Timeline }) {
  const layout = timeline.layout.value;
  const from = timeline.headsFrom.value - MARGIN;
  const to = timeline.headsFrom.value + window.innerHeight + MARGIN;
  const selected = timeline.selected.value?.track;
  return (
    <>
      {layout.rows
        .filter((row) => row.y < to && row.y + row.height > from)
        .map((row) =>
          row.kind === "process" ? (
            <ProcessHead key={row.key} row={row} />
          ) : (
            <TrackHead
              key={row.key}
              row={row}
              layout={layout}
              isSelected={row.track.id === selected}
            />
          ),
        )}
    </>
  );
}

function ProcessHead({ row }: { row: ProcessRow }) {
  return (
    <div
      class="process-head"
      style={{ top: `${row.y}px`, height: `${row.height}px` }}
      title={row.process.name}
    >
      <button
        type="button"
        class="plain"
        aria-expanded={!row.isCollapsed}
        onClick={() => toggleCollapsed(row.key)}
      >
        {row.isCollapsed ? "▸" : "▾"} {titleOfProcess(row.process)}
      </button>
    </div>
  );
}

function TrackHead({
  row,
  layout,
  isSelected,
}: {
  row: TrackRow;
  layout: Layout;
  isSelected: boolean;
}) {
  const { track } = row;
  const title = titleOfTrack(track);
  const drag = useDrag(row, layout);
  return (
    <div
      class={isSelected ? "track-head selected" : "track-head"}
      style={{ top: `${row.y}px`, height: `${row.height - TRACK_GAP}px` }}
      role="group"
      aria-label={title}
      title={`${title}${track.slices > 0 ? `: ${textOfCount(track.slices)} slices` : ""}\nDrag to move`}
    >
      <div class="track-line" {...drag}>
        <button
          type="button"
          class="plain"
          aria-expanded={!row.isCollapsed}
          aria-label={`Collapse ${title}`}
          onClick={() => toggleCollapsed(row.key)}
        >
          {row.isCollapsed ? "▸" : "▾"}
        </button>
        <span class="track-name">{title}</span>
        <button
          type="button"
          class="plain pin"
          aria-pressed={row.isPinned}
          aria-label={`Pin ${title}`}
          title="Pin to the top (P)"
          onClick={() => togglePinned(track.id)}
        >
          {row.isPinned ? "●" : "○"}
        </button>
      </div>
      {track.kind === "counter" && !row.isCollapsed && (
        <div class="track-figure">{counterRange(row)}</div>
      )}
      {(row.hiddenLanes > 0 || row.isOpened) && (
        <button type="button" class="plain track-more" onClick={() => toggleOpened(row.key)}>
          {row.isOpened ? "fewer levels" : `${row.hiddenLanes} more levels`}
        </button>
      )}
    </div>
  );
}

function counterRange({ track }: TrackRow): string {
  return track.max === null ? "" : `up to ${textOfCounter(track.max, track.unit)}`;
}

// Moves a track among those of its process while its head is dragged.
function useDrag(row: TrackRow, layout: Layout) {
  const from = useRef<number | null>(null);
  return {
    onPointerDown: (event: TargetedPointerEvent<HTMLDivElement>) => {
      if (event.target instanceof HTMLButtonElement || event.button !== 0) return;
      event.currentTarget.setPointerCapture(event.pointerId);
      from.current = event.clientY;
    },
    onPointerUp: (event: TargetedPointerEvent<HTMLDivElement>) => {
      if (from.current === null) return;
      const by = placesMoved(layout, row, event.clientY - from.current);
      from.current = null;
      if (by !== 0) setOrder(moved(layout, row.track.id, by));
    },
    onPointerCancel: () => (from.current = null),
  };
}

// Over how many of its neighbours a head was dragged.
export function placesMoved(layout: Layout, row: TrackRow, pixels: number): number {
  const siblings = layout.rows.filter(
    (item): item is TrackRow =>
      item.kind === "track" &&
      item.isPinned === row.isPinned &&
      item.track.process === row.track.process,
  );
  const from = siblings.findIndex((item) => item.key === row.key);
  const y = row.y + pixels + (pixels > 0 ? Math.min(row.height, 20) : 0);
  let to = from;
  if (pixels > 0)
    while (
      to + 1 < siblings.length &&
      y > siblings[to + 1]!.y + Math.min(siblings[to + 1]!.height, 40) / 2
    )
      ++to;
  else while (to > 0 && y < siblings[to - 1]!.y + siblings[to - 1]!.height / 2) --to;
  return to - from;
}
