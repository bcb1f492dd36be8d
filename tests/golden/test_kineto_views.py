"""The views of a Kineto trace against TensorBoard's.

`expected_views.jsonl.gz` is what torch_tb_profiler shows of the same trace, one JSON per line; the
overview (steps, averages, GPU figures), the operator table and the kernel table are compared.
`gpu_metrics_expected.json` is a small trace with its counters, from its own unit tests. Times are
in whole microseconds.
"""

import gzip
import json
import pathlib
from collections.abc import Callable
from typing import Any

import pytest

US = 1000
STEP_COLUMNS = {
    "Kernel": "kernel_ns",
    "Memcpy": "memcpy_ns",
    "Memset": "memset_ns",
    "Runtime": "runtime_ns",
    "DataLoader": "input_ns",
    "CPU Exec": "cpu_exec_ns",
    "Other": "other_ns",
}

Row = dict[str, Any]
ViewFunction = Callable[..., list[Row]]


@pytest.fixture(scope="module")
def resnet(shared_data: pathlib.Path) -> pathlib.Path:
    return shared_data / "kineto" / "resnet50_num_workers_0"


@pytest.fixture(scope="module")
def expected(resnet: pathlib.Path) -> list[Any]:
    with gzip.open(resnet / "expected_views.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def make_view(stepscope: Callable[..., Any]) -> ViewFunction:
    def make(path: pathlib.Path, name: str, *options: str) -> list[Row]:
        arguments = ("--view", name, "--limit", "0", "--format", "json", *options)
        result = stepscope("report", path, *arguments)
        assert result.returncode == 0, result.stderr
        table = json.loads(result.stdout)
        names = [column["name"] for column in table["columns"]]
        return [dict(zip(names, row, strict=True)) for row in table["rows"]]

    return make


@pytest.fixture(scope="module")
def view(resnet: pathlib.Path, make_view: ViewFunction) -> ViewFunction:
    trace = resnet / "worker0.1623143089861.pt.trace.json.gz"
    return lambda name, *options: make_view(trace, name, *options)


def test_every_category_of_every_step_is_the_same(view: ViewFunction, expected: list[Any]) -> None:
    overview = expected[0]
    columns = [column.get("name") for column in overview["steps"]["columns"]]
    rows = view("steps")
    assert [str(row["step"]) for row in rows] == [row[0] for row in overview["steps"]["rows"]]
    for row, expected_row in zip(rows, overview["steps"]["rows"], strict=True):
        for name, ours in STEP_COLUMNS.items():
            us = expected_row[columns.index(name)]
            assert row[ours] == pytest.approx(us * US, abs=US), (row["step"], name)
        total_us = int(expected_row[2].split("Total: ")[1].split("us")[0])
        assert row["dur_ns"] == pytest.approx(total_us * US, abs=US)


def test_average_step_is_the_same(view: ViewFunction, expected: list[Any]) -> None:
    average = expected[0]["performance"][0]
    rows = view("steps")
    mean_ns = sum(row["dur_ns"] for row in rows) / len(rows)
    assert mean_ns == pytest.approx(average["value"] * US, abs=US)
    for part in average["children"]:
        part_ns = sum(row[STEP_COLUMNS[part["name"]]] for row in rows) / len(rows)
        assert part_ns == pytest.approx(part["value"] * US, abs=US), part["name"]
        assert 100 * part_ns / mean_ns == pytest.approx(part["extra"], abs=0.01), part["name"]


def test_categories_add_up_to_the_step(view: ViewFunction) -> None:
    for row in view("steps"):
        parts = [*STEP_COLUMNS.values(), "communication_ns"]
        assert sum(row[part] for part in parts) == row["dur_ns"]


def test_every_operator_is_the_same(view: ViewFunction, expected: list[Any]) -> None:
    expected_rows = {row["name"]: row for row in expected[2]["data"]}
    rows = {row["name"]: row for row in view("operators")}
    assert rows.keys() == expected_rows.keys()
    for name, row in rows.items():
        theirs = expected_rows[name]
        assert row["calls"] == theirs["calls"], name
        for ours, key in (
            ("self_host_ns", "host_self_duration"),
            ("total_host_ns", "host_total_duration"),
            ("self_device_ns", "device_self_duration"),
            ("total_device_ns", "device_total_duration"),
        ):
            assert row[ours] == pytest.approx(theirs[key] * US, abs=US), (name, key)
        assert row["tensor_core_eligible"] == (theirs["tc_eligible"] == "Yes"), name
        assert 100 * row["tensor_core_self_fraction"] == pytest.approx(
            theirs["tc_self_ratio"], abs=0.01
        )


def test_shapes_and_stacks_of_an_operator_add_up_to_it(view: ViewFunction) -> None:
    by_name = {row["name"]: row for row in view("operators")}
    for by, column in (("shape", "input_shapes"), ("stack", "stack")):
        sums: dict[str, list[int]] = {}
        rows = view("operators", "--by", by)
        assert len({(row["name"], row[column]) for row in rows}) == len(rows)
        for row in rows:
            total = sums.setdefault(row["name"], [0, 0])
            total[0] += row["calls"]
            total[1] += row["self_host_ns"]
        assert sums == {name: [row["calls"], row["self_host_ns"]] for name, row in by_name.items()}


def test_every_kernel_is_the_same(view: ViewFunction, expected: list[Any]) -> None:
    expected_rows = {row[0]: row for row in expected[3]["data"]["rows"]}
    rows = {row["name"]: row for row in view("kernels")}
    assert rows.keys() == expected_rows.keys()
    for name, row in rows.items():
        _, tensor_cores, calls, total, mean, longest, shortest, blocks, occupancy = expected_rows[
            name
        ]
        assert row["calls"] == calls, name
        assert row["tensor_cores"] == (tensor_cores == "Yes"), name
        for ours, us in (
            ("total_ns", total),
            ("mean_ns", mean),
            ("max_ns", longest),
            ("min_ns", shortest),
        ):
            assert row[ours] == pytest.approx(us * US, abs=US), (name, ours)
        assert row["blocks_per_sm"] == pytest.approx(blocks, abs=0.01), name
        assert 100 * row["occupancy"] == pytest.approx(occupancy, abs=0.01), name


def test_device_figures_are_the_same(view: ViewFunction, expected: list[Any]) -> None:
    figures = {item["title"]: item["value"] for item in expected[0]["gpu_metrics"]["data"]}
    (row,) = view("devices")
    assert row["device"] == 0
    assert row["name"] == figures["Name"]
    assert row["compute_capability"] == figures["Compute Capability"]
    for ours, title in (
        ("busy_fraction", "GPU Utilization"),
        ("sm_efficiency", "Est. SM Efficiency"),
        ("occupancy", "Est. Achieved Occupancy"),
        ("tensor_core_fraction", "Kernel Time using Tensor Cores"),
    ):
        percent = float(figures[title].removesuffix(" %"))
        assert 100 * row[ours] == pytest.approx(percent, abs=0.01), title
    # "Kernels with 68% time are launched by Tensor Cores eligible operators."
    assert "Kernels with 68% time" in expected[0]["recommendations"]
    assert round(100 * row["tensor_core_eligible_fraction"]) == 68


def test_counters_over_time_are_the_same(
    shared_data: pathlib.Path, make_view: ViewFunction
) -> None:
    """That file's values are 100 and 10 times those that torch_tb_profiler 0.4.3 itself finds in
    the input: 6 of 1000 us are busy in the third bucket (0.006), where the file has 0.6; the first
    kernel has 0.025 blocks per SM, where it has 0.25. Times and all ratios agree."""
    folder = shared_data / "kineto"
    events = json.loads((folder / "gpu_metrics_expected.json").read_text())["traceEvents"]
    counters = [event for event in events if event["ph"] == "C"]
    rows = make_view(folder / "gpu_metrics_input.json", "devices", "--by", "time")
    begin_ns = min(row["time_ns"] for row in rows)
    for metric, name, scale in (
        ("busy_fraction", "GPU Utilization", 100),
        ("sm_efficiency", "Est. SM Efficiency", 10),
    ):
        points = [(c["ts"], c["args"][name]) for c in counters if name in c["args"]]
        # The first two are there to draw the axis from 0 to 1.
        theirs = [((ts - points[0][0]) * US, value) for ts, value in points[2:]]
        ours = [(row["time_ns"], row["value"]) for row in rows if row["metric"] == metric]
        assert [time_ns - begin_ns for time_ns, _ in ours] == [time_ns for time_ns, _ in theirs]
        assert [scale * value for _, value in ours] == pytest.approx([v for _, v in theirs])
