// The tabs, in their order. A new view is one file in this folder and one line here.
import type { FunctionComponent } from "preact";
import type { Runs } from "../source";
import { Overview } from "./overview";
import { TimelineView } from "./timeline";

export interface View {
  id: string;
  title: string;
  component: FunctionComponent;
  // Only where the server can do it, or where there is something to show.
  isShown?: (runs: Runs) => boolean;
}

export const views: View[] = [
  { id: "overview", title: "Overview", component: Overview },
  { id: "timeline", title: "Timeline", component: TimelineView },
];
