// The views about devices: what each is asked for, and how it can be grouped (docs/views.md).
export interface GpuSection {
  view: string;
  title: string;
  question: string;
  // The parameter `by`, and what it is called; the first is what is shown until someone chooses.
  groupings: [string, string][];
  bars: string[];
  // Columns with names of slices, which lead to the timeline.
  links: string[];
}

export const GPU_SECTIONS: GpuSection[] = [
  {
    view: "gpu",
    title: "Time",
    question: "What the time of each device goes into",
    groupings: [
      ["", "device"],
      ["stream", "stream: why it was idle"],
      ["type", "type of work"],
      ["annotation", "annotation"],
    ],
    bars: ["busy_ns", "idle_ns", "total_ns"],
    links: ["longest", "annotation"],
  },
  {
    view: "launches",
    title: "Launches",
    question: "How the host feeds the devices",
    groupings: [
      ["", "runtime call"],
      ["stream", "stream: how long its queue is"],
    ],
    bars: ["call_ns", "work_ns", "mean_queue"],
    links: ["name"],
  },
  {
    view: "copies",
    title: "Copies",
    question: "How much is copied, and how fast",
    groupings: [["", ""]],
    bars: ["total_ns", "bytes"],
    links: ["name"],
  },
  {
    view: "syncs",
    title: "Waits of the host",
    question: "Where the host waits for a device, and for what",
    groupings: [["", ""]],
    bars: ["total_ns", "wait_ns"],
    links: ["name"],
  },
  {
    view: "critical_path",
    title: "Critical path",
    question: "The chain of causes that takes longest",
    groupings: [
      ["", "what it is bound by"],
      ["event", "event"],
    ],
    bars: ["total_ns"],
    links: ["name", "longest"],
  },
  {
    view: "sequences",
    title: "Sequences",
    question: "Kernels that often follow each other, and could be one",
    groupings: [
      ["", "operator"],
      ["stream", "stream"],
    ],
    bars: ["device_ns", "gap_ns", "launches_saved"],
    links: ["operator"],
  },
  {
    view: "roofline",
    title: "Roofline",
    question: "How near operators come to what the device can compute and move",
    groupings: [["", ""]],
    bars: ["device_ns", "roof_fraction"],
    links: ["name"],
  },
  {
    view: "cupti",
    title: "Counters",
    question: "Hardware counters of kernels, with the operators that launched them",
    groupings: [["", ""]],
    bars: ["dur_ns"],
    links: ["name"],
  },
];

// What an address names; the first one where it names none.
export function findSection(view: string): GpuSection {
  return GPU_SECTIONS.find((section) => section.view === view) ?? GPU_SECTIONS[0]!;
}

export function findGrouping(section: GpuSection, by: string): string {
  return section.groupings.some(([known]) => known === by) ? by : section.groupings[0]![0];
}
