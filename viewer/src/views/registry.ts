// The tabs, in their order. A new view is one file in this folder and one line here.
import type { FunctionComponent } from "preact";
import type { Runs } from "../source";
import { Compare } from "./compare";
import { Functions } from "./functions";
import { Gpu } from "./gpu";
import { Input } from "./input";
import { Kernels } from "./kernels";
import { Memory } from "./memory";
import { Modules } from "./modules";
import { Operators } from "./operators";
import { Overview } from "./overview";
import { Ranks } from "./ranks";
import { Sql } from "./sql";
import { Steps } from "./steps";
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
  { id: "functions", title: "Functions", component: Functions },
  { id: "operators", title: "Operators", component: Operators },
  { id: "kernels", title: "Kernels", component: Kernels },
  { id: "gpu", title: "GPU", component: Gpu },
  { id: "modules", title: "Modules", component: Modules },
  { id: "steps", title: "Steps", component: Steps },
  { id: "memory", title: "Memory", component: Memory },
  { id: "input", title: "Input", component: Input },
  { id: "ranks", title: "Ranks", component: Ranks },
  { id: "compare", title: "Compare", component: Compare },
  { id: "sql", title: "SQL", component: Sql },
];
