"""`modules` against the tree of events that torch.profiler itself makes."""

import json
import pathlib
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch.profiler import ProfilerActivity, profile  # noqa: E402

PREFIX = "nn.Module: "


class Block(torch.nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(16, 16)
        self.second = torch.nn.Linear(16, 16)

    def forward(self, rows: Any) -> Any:
        return self.second(torch.relu(self.first(rows))) + rows


def count_operators(event: Any) -> int:
    return sum(
        (not child.is_python_function) + count_operators(child) for child in event.cpu_children
    )


def time_in_modules(event: Any) -> float:
    """Of the modules that it calls, whatever Python is between."""
    total = 0.0
    for child in event.cpu_children:
        is_module = child.name.startswith(PREFIX)
        total += child.cpu_time_total if is_module else time_in_modules(child)
    return total


def test_calls_times_and_operators_are_those_of_the_profilers_events(
    tmp_path: pathlib.Path, stepscope: Callable[..., Any]
) -> None:
    model = torch.nn.Sequential(Block(), torch.nn.ReLU(), Block())
    path = tmp_path / "run.pt.trace.json"
    with profile(activities=[ProfilerActivity.CPU], with_stack=True) as profiler:
        for _ in range(5):
            model(torch.randn(4, 16)).sum().backward()
    profiler.export_chrome_trace(str(path))

    expected: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for event in profiler.events():
        if not event.name.startswith(PREFIX):
            continue
        row = expected[event.name.removeprefix(PREFIX)]
        row[0] += 1
        row[1] += round(1000 * (event.cpu_time_total - time_in_modules(event)))
        row[2] += round(1000 * event.cpu_time_total)
        row[3] += count_operators(event)
    assert sorted(expected) == [
        "Block_0",
        "Block_1",
        "Linear_0",
        "Linear_1",
        "Linear_2",
        "Linear_3",
        "ReLU_0",
        "Sequential_0",
    ]

    result = stepscope("report", path, "--view", "modules", "--format", "json")
    assert result.returncode == 0, result.stderr
    table = json.loads(result.stdout)
    names = [column["name"] for column in table["columns"]]
    rows = [dict(zip(names, row, strict=True)) for row in table["rows"]]
    assert {row["name"]: row["class"] for row in rows} == {
        name: name.rpartition("_")[0] for name in expected
    }
    columns = ("calls", "self_host_ns", "total_host_ns", "operators")
    assert {row["name"]: [row[name] for name in columns] for row in rows} == expected
