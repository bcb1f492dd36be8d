// The tab of the timeline.
export function TimelineView() {
  return <section class="view" />;
}
