"""The views about GPUs against HolisticTraceAnalysis (HTA).

The traces are HTA's own test data. Unions and delays are computed here anew from the files, by
HTA's definitions; figures of the critical path and of counters are those of its own tests.
`end_to_end/simple_add/output` is an overlay that HTA wrote: it is compared whole.
"""

import collections
import decimal
import gzip
import itertools
import json
import pathlib
from collections.abc import Callable, Iterable
from typing import Any

import pytest

US = 1000
FORWARD = "[param|pytorch.model.alex_net|0|0|0|measure|forward]@1"
SIMPLE_ADD = "critical_path/simple_add/benchmark_result_493459_1694039959_trace.json.gz"
ALEXNET = "critical_path/alexnet/benchmark_result_2869224_1695835535_trace.json.gz"
EVENT_SYNC = "critical_path/cuda_event_sync/event_sync_trace.json.gz"
MULTI_STREAM = "critical_path/cuda_event_sync_multi_stream/event_sync_trace.json.gz"
NCCL = "nccl_parser_config/nccl_data.json.gz"
RANK_0 = "trace_filter/sampled_rank-0.json.gz"
CUPTI = "cupti_profiler/benchmark_result_924719_1679055439_trace.json.gz"
DEVICE_CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset")

Row = dict[str, Any]
Event = dict[str, Any]


@pytest.fixture(scope="module")
def hta(shared_data: pathlib.Path) -> pathlib.Path:
    return shared_data / "hta"


@pytest.fixture(scope="module")
def make_table(stepscope: Callable[..., Any], hta: pathlib.Path) -> Callable[..., Any]:
    def make(name: str, view: str, *options: str) -> Any:
        arguments = ("--view", view, "--limit", "0", "--format", "json", *options)
        result = stepscope("report", hta / name, *arguments)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)

    return make


@pytest.fixture(scope="module")
def view(make_table: Callable[..., Any]) -> Callable[..., list[Row]]:
    def make(*arguments: str) -> list[Row]:
        table = make_table(*arguments)
        names = [column["name"] for column in table["columns"]]
        return [dict(zip(names, row, strict=True)) for row in table["rows"]]

    return make


def read_events(path: pathlib.Path) -> list[Event]:
    with gzip.open(path, "rt") as file:
        # A double has too few bits for microseconds since 1970 with their decimals.
        events: list[Event] = json.load(file, parse_float=decimal.Decimal)["traceEvents"]
    return events


def device_work(path: pathlib.Path) -> list[Event]:
    return [e for e in read_events(path) if e.get("cat") in DEVICE_CATEGORIES]


def to_ns(us: int | decimal.Decimal) -> int:
    return round(us * US)


def intervals(events: Iterable[Event]) -> list[tuple[int, int]]:
    return [(to_ns(e["ts"]), to_ns(e["ts"]) + to_ns(e["dur"])) for e in events]


def union_ns(spans: Iterable[tuple[int, int]]) -> int:
    total, reached = 0, -(2**62)
    for begin, end in sorted(spans):
        total += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return total


def is_communication(event: Event) -> bool:
    return str(event["name"]).startswith("nccl")


@pytest.mark.parametrize("name", [NCCL, RANK_0, SIMPLE_ADD])
def test_times_of_a_device_are_unions(
    view: Callable[..., list[Row]], hta: pathlib.Path, name: str
) -> None:
    work = device_work(hta / name)
    (row,) = view(name, "gpu")
    compute = [e for e in work if e["cat"] == "kernel" and not is_communication(e)]
    communication = [e for e in work if is_communication(e)]
    ends = [end for _, end in intervals(work)]
    begins = [begin for begin, _ in intervals(work)]
    assert row["span_ns"] == max(ends) - min(begins)
    assert row["busy_ns"] == union_ns(intervals(work))
    assert row["idle_ns"] == row["span_ns"] - row["busy_ns"]
    assert row["compute_ns"] == union_ns(intervals(compute))
    assert row["non_compute_ns"] == row["busy_ns"] - row["compute_ns"]
    assert row["communication_ns"] == union_ns(intervals(communication))
    together = union_ns(intervals(compute)) + union_ns(intervals(communication))
    assert row["overlap_ns"] == together - union_ns(intervals(compute + communication))
    causes = row["host_wait_ns"] + row["kernel_wait_ns"] + row["other_wait_ns"]
    assert causes == row["idle_ns"]


def test_launches_are_pairs_of_calls_and_work(
    view: Callable[..., list[Row]], hta: pathlib.Path
) -> None:
    events = read_events(hta / NCCL)
    calls = {e["args"]["correlation"]: e for e in events if e.get("cat") == "cuda_runtime"}
    pairs = {
        e["args"]["correlation"]: (calls[e["args"]["correlation"]], e)
        for e in events
        if e.get("cat") in DEVICE_CATEGORIES and e["args"]["correlation"] in calls
    }
    rows = {row["correlation"]: row for row in view(NCCL, "launches", "--by", "call")}
    assert rows.keys() == pairs.keys()
    for correlation, (call, work) in pairs.items():
        end = to_ns(call["ts"]) + to_ns(call["dur"])
        assert rows[correlation]["delay_ns"] == max(0, to_ns(work["ts"]) - end)
        assert rows[correlation]["work_ns"] == to_ns(work["dur"])


def test_counters_of_kernels_have_their_operators(view: Callable[..., list[Row]]) -> None:
    rows = view(CUPTI, "cupti")
    assert len(rows) == 77
    assert "fft2d_r2c_32x32" in rows[5]["name"]
    assert rows[5]["smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"] == 86114304
    assert rows[5]["top_operator"] == "aten::conv2d"
    assert rows[5]["operator"] == "aten::cudnn_convolution"


def test_critical_path_of_simple_add_has_the_figures_of_htas_tests(
    make_table: Callable[..., Any], view: Callable[..., list[Row]]
) -> None:
    edges = view(SIMPLE_ADD, "critical_path", "--within", FORWARD, "--by", "edge")
    assert len(edges) == 314
    shown = ("dependency", "launch_delay", "sync_dependency")
    assert sum(edge["type"].endswith(shown) for edge in edges) == 21
    notes = make_table(SIMPLE_ADD, "critical_path", "--within", FORWARD)["stats"]["notes"]
    assert "the path has 315 nodes of 159 slices, and 314 edges" in notes
    # Of the fft kernel that the test looks at: launched 27 us before, and followed after 7 us.
    graph = view(SIMPLE_ADD, "critical_path", "--within", FORWARD, "--by", "graph")
    assert sum(edge["critical"] for edge in graph) == 314
    fft = "void fft2d_r2c_32x32<float, false, 0u, false>"
    launches = [e for e in graph if e["type"] == "critical_path_kernel_launch_delay"]
    assert 27 * US in [e["weight_ns"] for e in launches if f"begin of {fft}" in e["to"]]
    gaps = [e for e in graph if e["type"] == "critical_path_kernel_kernel_delay"]
    assert 7 * US in [
        e["weight_ns"] for e in gaps if f"end of {fft}" in e["from"] and "gcgemm" in e["to"]
    ]


@pytest.mark.parametrize(
    ("name", "scope"),
    [(ALEXNET, FORWARD), (EVENT_SYNC, "ProfilerStep"), (MULTI_STREAM, "")],
)
def test_critical_path_ends_at_the_last_event(
    view: Callable[..., list[Row]], name: str, scope: str
) -> None:
    edges = view(name, "critical_path", "--within", scope, "--by", "edge")
    types = {
        row["type"]: row["graph_edges"]
        for row in view(name, "critical_path", "--within", scope, "--by", "type")
    }
    assert types["critical_path_sync_dependency"] > 0
    assert len(edges) >= 2
    assert edges[-1]["to_ns"] == max(edge["to_ns"] for edge in edges)
    # Each edge begins where the one before it ends.
    for before, after in itertools.pairwise(edges):
        assert (before["to"], before["to_ns"]) == (after["from"], after["from_ns"])


def arrows(events: list[Event]) -> collections.Counter[tuple[Any, ...]]:
    ends: dict[int, dict[str, Event]] = collections.defaultdict(dict)
    for event in events:
        if event.get("cat") == "critical_path":
            ends[event["id"]][event["ph"]] = event
    return collections.Counter(
        (
            pair["s"]["args"]["type"],
            pair["s"]["args"]["weight"],
            pair["s"]["tid"],
            pair["s"]["ts"],
            pair["f"]["tid"],
            pair["f"]["ts"],
        )
        for pair in ends.values()
    )


def critical_slices(events: list[Event]) -> collections.Counter[tuple[Any, ...]]:
    return collections.Counter(
        (e["cat"], e["name"], e["tid"], e["ts"], e["dur"])
        for e in events
        if e["ph"] == "X" and e.get("args", {}).get("critical") == 1
    )


def test_overlay_is_the_one_that_hta_wrote(
    stepscope: Callable[..., Any], hta: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    folder = hta / "critical_path/end_to_end/simple_add"
    output = tmp_path / "overlay.critical_path.json.gz"
    stepscope("convert", folder / "input/trace.json.gz", output, check=True)
    ours = read_events(output)
    theirs = read_events(folder / "output/overlaid_critical_path_trace.json.gz")
    assert sum(e["ph"] == "X" for e in ours) == sum(e["ph"] == "X" for e in theirs)
    assert critical_slices(ours) == critical_slices(theirs)
    assert arrows(ours) == arrows(theirs)


@pytest.mark.parametrize(
    ("name", "view_name", "said"),
    [
        ("amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz", "copies", "sizes of copies"),
        ("mtia_inference_trace/mtia_inference_rank_0.json.gz", "gpu", "have no launch"),
        ("cpu_only/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz", "gpu", "no work of a device"),
        ("rank_non_gpu/rank_non_gpu.json.gz", "launches", "no work of a device"),
        (NCCL, "cupti", "no ranges of CUPTI's counters"),
        (NCCL, "critical_path", "no synchronisation events"),
    ],
)
def test_what_a_trace_lacks_is_said(
    make_table: Callable[..., Any], name: str, view_name: str, said: str
) -> None:
    notes = make_table(name, view_name)["stats"]["notes"]
    assert any(said in note for note in notes), notes


def test_a_triton_kernel_is_launched_by_the_driver(view: Callable[..., list[Row]]) -> None:
    (row,) = view("triton_example/triton_example.json.gz", "launches", "--by", "call")
    assert row["name"].startswith("cuLaunchKernel")
