// Links between the views: from a row to the timeline, from a finding's id to its text.
import { hrefOf, hrefOfSearch, textOfRange } from "../state";

// A search for exactly this name, as the server understands it (RE2).
export function patternOf(name: string): string {
  return `/^${name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")}$/`;
}

export function ToTimeline({ name }: { name: string }) {
  return (
    <a
      class="to-timeline"
      href={hrefOfSearch(patternOf(name))}
      title="Find on the timeline"
      aria-label={`Find ${name} on the timeline`}
      onClick={(event) => event.stopPropagation()}
    >
      ↗
    </a>
  );
}

// The timeline with a window a little wider than a range of time.
export function hrefOfRange(begin_ns: number, end_ns: number): string {
  const margin = Math.max(1, Math.round((end_ns - begin_ns) * 0.05));
  const range = { begin_ns: Math.max(0, begin_ns - margin), end_ns: end_ns + margin };
  return hrefOf({ view: "timeline", range: textOfRange(range), slice: null });
}

export function FindingLink({ id }: { id: string }) {
  return <a href={hrefOf({ view: "overview", finding: id })}>{id}</a>;
}
