import { describe, expect, test } from "vitest";
import type { Cell } from "../format";
import type { FlameAnswer, RunInfo, TableAnswer, Tracks } from "../source";
import { callsText, functionRows } from "./function_rows";
import { findGrouping, findSection, GPU_SECTIONS } from "./gpu_sections";
import { pipelineOf, sumOf } from "./input_stages";
import { patternOf } from "./links";
import { curveOf, devicesOf, pickedRows, stacked } from "./memory_curve";
import { boxOf, cutsOf, lengthOf, rectangleAt } from "./memory_map";
import { moduleTree, openRows } from "./module_tree";
import { operatorColumns } from "./operator_columns";
import { labelledRows, meanOf, partsOfDevices, partsOfRanks, pitchOf } from "./part_rows";
import { sentenceOf } from "./part_bars";
import { processTable, rankColumns, runOfRank, withJobNotesFirst } from "./rank_tables";
import {
  choosePlot,
  columnsOfSchema,
  numericColumns,
  pointsOf,
  remembered,
  unitOf,
} from "./sql_plot";

function table(columns: [string, string][], rows: Cell[][]): TableAnswer {
  return { view: "test", columns: columns.map(([name, unit]) => ({ name, unit })), rows };
}

describe("functions", () => {
  const rows = functionRows(
    table(
      [
        ["name", ""],
        ["file", ""],
        ["line", ""],
        ["calls", "count"],
        ["primitive_calls", "count"],
        ["self_ns", "ns"],
        ["total_ns", "ns"],
      ],
      [
        ["fib", "f.py", 3, 6, 2, 60, 100],
        ["len", "", null, 1, 1, 5, 5],
        ["old", "~", 0, 0, 0, null, null],
      ],
    ),
  );

  test("per call is by all calls for the own time, by outer calls for the total", () => {
    expect(rows.rows[0]).toEqual([6, 2, 60, 10, 100, 50, "f.py:3(fib)", "f.py(3): fib"]);
    expect(rows.rows[1]!.at(-1)).toBe("len");
    expect(rows.rows[2]!.slice(2, 6)).toEqual([null, null, null, null]);
  });

  test("recursion shows both counts", () => {
    expect(callsText(1200, 2)).toBe("1,200/2");
    expect(callsText(1200, 1200)).toBe("1,200");
  });

  test("a name becomes a pattern that matches itself and nothing longer", () => {
    const text = patternOf("aten::add_(self[0])+$x");
    const pattern = new RegExp(text.slice(1, -1));
    expect(pattern.test("aten::add_(self[0])+$x")).toBe(true);
    expect(pattern.test("aten::add_(self[0])+$xy")).toBe(false);
  });
});

test("operators show what tells rows apart first, and no columns of zeros", () => {
  const operators = table(
    [
      ["name", ""],
      ["calls", "count"],
      ["self_device_ns", "ns"],
      ["flops", "count"],
      ["input_shapes", ""],
      ["device_memory_bytes", "bytes"],
    ],
    [
      ["aten::mm", 2, null, 5, "[[1]]", 0],
      ["aten::add", 1, null, null, "[]", 0],
    ],
  );
  expect(operatorColumns(operators)).toEqual(["name", "input_shapes", "calls", "flops"]);
});

describe("modules", () => {
  const columns: [string, string][] = [
    ["name", ""],
    ["class", ""],
    ["total_host_ns", "ns"],
    ["self_host_ns", "ns"],
  ];
  const modules = table(columns, [
    ["Net", "Net", 100, 5],
    ["features", "Sequential", 80, 0],
    ["features.0", "Conv2d", 20, 20],
    ["features.3", "MaxPool2d", 60, 60],
    ["layers.0", "Linear", 5, 5],
    ["layers.1", "Linear", 10, 10],
    ["Loss", "Loss", 2, 2],
  ]);

  test("paths are a tree, heavier siblings first, and lists that are never called have a row", () => {
    const tree = moduleTree(modules);
    expect(tree.map((row) => `${" ".repeat(row.depth)}${row.name}`)).toEqual([
      "Net",
      " features",
      "  3",
      "  0",
      " layers",
      "  1",
      "  0",
      "Loss",
    ]);
    expect(tree.find((row) => row.path === "layers")).toMatchObject({ row: -1, hasChildren: true });
  });

  test("what is closed hides all below it and nothing else", () => {
    const tree = moduleTree(modules);
    const names = (closed: string[]) =>
      openRows(modules, tree, new Set(closed)).rows.map((row) => row.path);
    expect(names(["features"])).toEqual([
      "Net",
      "features",
      "layers",
      "layers.1",
      "layers.0",
      "Loss",
    ]);
    expect(names(["Net", "features"])).toEqual(["Net", "Loss"]);
    expect(openRows(modules, tree, new Set()).table.rows[4]).toEqual(["layers", null, null, null]);
  });

  test("paths that no model's time accounts for stay at the top", () => {
    const gan = table(columns, [
      ["Maker", "Maker", 9, 6],
      ["Judge", "Judge", 8, 2],
      ["net.0", "Linear", 1, 1],
    ]);
    expect(moduleTree(gan).map((row) => [row.path, row.depth])).toEqual([
      ["Maker", 0],
      ["Judge", 0],
      ["net", 0],
      ["net.0", 1],
    ]);
  });
});

describe("memory", () => {
  const held = table(
    [
      ["time_ns", "ns"],
      ["device", ""],
      ["parameters_bytes", "bytes"],
      ["inputs_bytes", "bytes"],
      ["activations_bytes", "bytes"],
    ],
    [
      [0, "cpu", 10, 0, 0],
      [5, "cuda:0", 70, 0, 0],
      [10, "cpu", 10, 0, 30],
      [20, "cpu", 10, 0, 5],
    ],
  );

  test("the curve of a device has the categories that are there, its peak and their sums", () => {
    expect(devicesOf(held)).toEqual(["cuda:0", "cpu"]);
    const curve = curveOf(held, "cpu", 1000);
    expect(curve.categories).toEqual(["parameters", "activations"]);
    expect(curve.times_ns[curve.peak]).toBe(10);
    expect(stacked(curve.bytes).map((top) => [...top])).toEqual([
      [10, 10, 10],
      [10, 40, 15],
    ]);
  });

  test("fewer points keep the highest one", () => {
    const sums = Array.from({ length: 10_000 }, (_, at) => (at === 7777 ? 1e6 : at % 13));
    const picked = pickedRows(sums, 300);
    expect(picked.length).toBeLessThanOrEqual(300);
    expect(picked).toContain(7777);
    expect(picked).toEqual([...picked].sort((a, b) => a - b));
  });

  const rectangles = {
    offset: [0, 100, 200],
    bytes: [100, 100, 200],
    begin_ns: [0, 50, 0],
    end_ns: [100, 100, 100],
  };
  const ranges = [
    { address: 1000, bytes: 200, offset: 0 },
    { address: 9_000_000, bytes: 200, offset: 200 },
  ];
  const view = { widthPx: 400, heightPx: 400, begin_ns: 0, end_ns: 100, length: lengthOf(ranges) };

  test("addresses grow upwards, and a line shows where some were cut out", () => {
    expect(view.length).toBe(400);
    expect(boxOf(rectangles, view, 0)).toEqual({ x: 0, y: 300, width: 400, height: 100 });
    expect(boxOf(rectangles, view, 1)).toEqual({ x: 200, y: 200, width: 200, height: 100 });
    expect(cutsOf(ranges, view)).toEqual([200]);
    const many = Array.from({ length: 400 }, (_, at) => ({
      address: at * 9,
      bytes: 1,
      offset: at,
    }));
    expect(cutsOf(many, view).length).toBeLessThan(70);
  });

  test("the rectangle under the pointer is the one drawn there", () => {
    for (let row = 0; row < 3; ++row) {
      const box = boxOf(rectangles, view, row);
      const x = box.x + box.width / 2;
      const y = box.y + box.height / 2;
      expect(rectangleAt(rectangles, view, x, y)).toBe(row);
    }
    expect(rectangleAt(rectangles, view, 20, 250)).toBe(-1);
  });
});

describe("input", () => {
  function scopes(iterator: string): FlameAnswer {
    return {
      total_ns: 1000,
      left_out: 0,
      nodes: {
        parent: [-1, 0, 1, -1],
        label: [1, 2, 3, 2],
        total_ns: [600, 500, 100, 200],
        self_ns: [100, 400, 100, 200],
        calls: [10, 10, 10, 10],
      },
      labels: [
        { id: 1, name: `enumerate(DataLoader)#${iterator}.__next__`, category: "", kind: "" },
        { id: 2, name: "fetch", category: "", kind: "" },
        { id: 3, name: "collate", category: "", kind: "" },
      ],
    };
  }
  const figures = { findings: [], workers: 0, queue: null, step_ns: null, input_ns: null };

  test("in process a batch is fetched, collated and waited for; figures are per batch", () => {
    const pipeline = pipelineOf({ ...figures, scopes: scopes("_SingleProcessDataLoaderIter") })!;
    expect(pipeline.isInProcess).toBe(true);
    expect(pipeline.stages.map((stage) => [stage.id, stage.batch_ns])).toEqual([
      ["fetch", (700 - 100) / 20],
      ["collate", 10],
      ["wait", 60],
    ]);
  });

  test("workers bring a queue, and a finding marks its stage", () => {
    const finding = { id: "dataloader-too-few-workers" } as never;
    const pipeline = pipelineOf({
      ...figures,
      scopes: scopes("_MultiProcessingDataLoaderIter"),
      workers: 2,
      queue: { calls: 10, total_ns: 300 },
      findings: [finding],
    })!;
    expect(pipeline.stages.map((stage) => stage.id)).toEqual(["fetch", "collate", "queue", "wait"]);
    expect(pipeline.stages[0]).toMatchObject({
      notes: ["2 workers"],
      findings: ["dataloader-too-few-workers"],
    });
    expect(pipeline.stages.slice(1).every((stage) => stage.findings.length === 0)).toBe(true);
  });

  test("a run without a DataLoader has no pipeline", () => {
    const none = { ...scopes(""), labels: [] };
    expect(pipelineOf({ ...figures, scopes: none })).toBeNull();
  });

  test("a call within a call of the same is counted once", () => {
    const nested = scopes("x");
    nested.nodes.label = [2, 2, 3, 2];
    expect(sumOf(nested, (name) => name === "fetch")).toEqual({ calls: 20, total_ns: 800 });
  });
});

describe("SQL", () => {
  const result = table(
    [
      ["name", ""],
      ["dur_ns", "ns"],
      ["start_ns", "ns"],
      ["none", ""],
    ],
    [
      ["a", 5, 20, null],
      ["b", null, 10, null],
    ],
  );

  test("time goes on x and the first other figure on y, unless columns are named", () => {
    expect(numericColumns(result)).toEqual([1, 2]);
    expect(choosePlot(result, "", "")).toEqual({ x: 2, y: 1 });
    expect(choosePlot(result, "dur_ns", "start_ns")).toEqual({ x: 1, y: 2 });
    expect(choosePlot(result, "name", "gone")).toEqual({ x: 2, y: 1 });
    expect(choosePlot(table([["n", ""]], [[1], [2]]), "", "")).toBeNull();
  });

  test("axes have the units that the names of columns tell", () => {
    expect(unitOf({ name: "mean_ns", unit: "" })).toBe("ns");
    expect(unitOf({ name: "bytes", unit: "" })).toBe("bytes");
    expect(unitOf({ name: "responses", unit: "" })).toBe("");
    expect(unitOf({ name: "mean_ns", unit: "count" })).toBe("count");
  });

  test("points are by x, and missing values are gaps", () => {
    expect(pointsOf(result, { x: 2, y: 1 })).toEqual([
      [10, 20],
      [null, 5],
    ]);
  });

  test("columns come from the statement that made a table", () => {
    const sql = 'CREATE VIRTUAL TABLE args USING args(slice_id INTEGER, "key" TEXT, value)';
    expect(columnsOfSchema(sql)).toEqual(["slice_id INTEGER", "key TEXT", "value"]);
    expect(columnsOfSchema("nonsense")).toEqual([]);
  });

  test("a statement that is asked again moves to the front", () => {
    expect(remembered(["b", "a"], " a ")).toEqual(["a", "b"]);
    expect(remembered(["b"], "  ")).toEqual(["b"]);
    expect(remembered(Array.from({ length: 30 }, String), "new")).toHaveLength(30);
  });
});

describe("ranks", () => {
  const columns: [string, string][] = [
    ["rank", ""],
    ["step_ns", "ns"],
    ["compute_ns", "ns"],
    ["communication_ns", "ns"],
    ["overlap_ns", "ns"],
    ["wait_ns", "ns"],
    ["idle_ns", "ns"],
    ["straggler", ""],
    ["cause", ""],
    ["copy_ns", "ns"],
    ["own_ns", "ns"],
    ["clock_offset_ns", "ns"],
  ];
  const ranks = table(columns, [
    [0, 100, 50, 40, 10, 20, 20, false, null, 0, 80, null],
    [1, 100, 70, 15, 10, 0, 25, true, "slow-kernel", 0, 100, null],
  ]);

  test("the parts of a bar add up to the step", () => {
    const { parts, rows } = partsOfRanks(ranks);
    expect(parts).toEqual(["compute", "transfer", "waiting", "idle"]);
    expect(rows.map((row) => row.parts)).toEqual([
      [50, 10, 20, 20],
      [70, 5, 0, 25],
    ]);
    for (const row of rows)
      expect(row.parts.reduce((sum, part) => sum + part, 0)).toBe(row.total_ns);
    expect(meanOf({ parts, rows })).toEqual({ total_ns: 100, parts: [60, 7.5, 10, 22.5] });
  });

  test("communication is one part where no one knows who waited", () => {
    const unknown = table(columns, [[0, 100, 50, 40, 10, null, 20, false, null, 0, 100, null]]);
    const { parts, rows } = partsOfRanks(unknown);
    expect(parts).toEqual(["compute", "communication", "idle"]);
    expect(rows[0]!.parts).toEqual([50, 30, 20]);
  });

  test("a straggler says why, in the legend and to screen readers", () => {
    const { parts, rows } = partsOfRanks(ranks);
    expect(rows.map((row) => row.remark)).toEqual(["", "straggler: slow-kernel"]);
    expect(sentenceOf(rows[1]!, parts)).toBe(
      "rank 1: 100 ns, compute 70.0%, transfer 5.0%, waiting 0%, idle 25.0%, straggler: slow-kernel",
    );
  });

  test("what tells slow ranks apart comes first, and empty columns do not come", () => {
    const shown = rankColumns(ranks);
    expect(shown.slice(0, 5)).toEqual(["rank", "straggler", "cause", "own_ns", "step_ns"]);
    expect(shown).not.toContain("clock_offset_ns");
    expect(shown).toHaveLength(columns.length - 1);
  });

  test("a rank is of the run of its name, or of the folder that holds its file", () => {
    const known = [
      { id: 0, name: "job" },
      { id: 1, name: "job/rank1.json" },
      { id: 2, name: "rank2.json" },
    ] as RunInfo[];
    expect(runOfRank(known, "rank2.json")?.id).toBe(2);
    expect(runOfRank(known, "job/rank1.json")?.id).toBe(1);
    expect(runOfRank(known, "job/rank7.sscope")?.id).toBe(0);
    expect(runOfRank(known, "jobs/rank7.sscope")).toBeUndefined();
  });

  test("notes about all ranks come before those about one", () => {
    const notes = ["rank 0 (a.json): cut", "rank 1 (b.json): cut", "clocks are aligned"];
    const shown = withJobNotesFirst({ ...ranks, stats: { rows_total: 2, notes } });
    expect(shown.stats).toEqual({ rows_total: 2, notes: [notes[2], notes[0], notes[1]] });
  });

  test("processes without slices are left out", () => {
    const track = { process: 1, kind: "thread", slices: 3 };
    const made = processTable({
      processes: [
        { id: 1, pid: 10, name: "python", labels: "" },
        { id: 2, pid: 11, name: "idle", labels: "GPU 1" },
      ],
      tracks: [track, { process: 2, kind: "stream", slices: 0 }],
    } as unknown as Tracks);
    expect(made.rows).toEqual([["10", "python", null, 1, 3, 0]]);
  });
});

describe("bars of parts", () => {
  test("eight rows are wide, five hundred are in sight at once", () => {
    expect(pitchOf(8)).toBe(24);
    expect(pitchOf(64) * 64).toBeLessThanOrEqual(460);
    expect(pitchOf(512)).toBe(1);
  });

  test("labels do not cover each other, and those that stand out have theirs", () => {
    expect(labelledRows([false, false, false], 24)).toEqual([0, 1, 2]);
    const many = Array.from({ length: 100 }, (_, index) => index === 17 || index === 61);
    const shown = labelledRows(many, 4);
    expect(shown).toContain(17);
    expect(shown).toContain(61);
    for (let i = 1; i < shown.length; ++i)
      expect(shown[i]! - shown[i - 1]!).toBeGreaterThanOrEqual(4);
    expect(shown.length).toBeGreaterThan(15);
  });

  test("a device's time is computing, other work and nothing", () => {
    const devices = table(
      [
        ["device", ""],
        ["span_ns", "ns"],
        ["compute_ns", "ns"],
        ["non_compute_ns", "ns"],
        ["idle_ns", "ns"],
      ],
      [[0, 100, 60, 10, 30]],
    );
    expect(partsOfDevices(devices)).toEqual({
      parts: ["compute", "other_work", "idle"],
      rows: [{ name: "device 0", label: "0", total_ns: 100, parts: [60, 10, 30], remark: "" }],
    });
  });
});

test("an address that names no view of devices, or no grouping of it, shows the first", () => {
  expect(findSection("copies").title).toBe("Copies");
  expect(findSection("nowhere")).toBe(GPU_SECTIONS[0]);
  expect(findGrouping(findSection("gpu"), "stream")).toBe("stream");
  expect(findGrouping(findSection("copies"), "stream")).toBe("");
});
