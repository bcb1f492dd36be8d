"""`operators` against torch.profiler's own key_averages(), for runs that are recorded on the spot.

torch's times are ns divided by 1000 and summed as floats; both sides are compared in whole ns.
"""

import json
import pathlib
import threading
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch.profiler import ProfilerActivity, profile, record_function, schedule  # noqa: E402

Rows = list[tuple[Any, ...]]
Report = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="module")
def report(stepscope: Callable[..., Any]) -> Report:
    def run(path: pathlib.Path, *options: str) -> list[dict[str, Any]]:
        arguments = ("--view", "operators", "--limit", "0", "--format", "json", *options)
        result = stepscope("report", path, *arguments)
        assert result.returncode == 0, result.stderr
        table = json.loads(result.stdout)
        names = [column["name"] for column in table["columns"]]
        return [dict(zip(names, row, strict=True)) for row in table["rows"]]

    return run


class Model(torch.nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False)
        self.norm = torch.nn.BatchNorm2d(8)
        self.head = torch.nn.Linear(8 * 16, 10)

    def forward(self, images: Any) -> Any:
        features = torch.relu(self.norm(self.conv(images)))
        return self.head(torch.cat([features, features]).flatten(1)[: len(images)])


def train(steps: int, profiler: Any) -> None:
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    data = torch.utils.data.TensorDataset(
        torch.randn(8 * steps, 3, 8, 8), torch.randint(0, 10, (8 * steps,))
    )
    for images, labels in torch.utils.data.DataLoader(data, batch_size=8):
        with record_function("forward"):
            loss = torch.nn.functional.cross_entropy(model(images), labels)
        with record_function("backward"):
            loss.backward()
        # A scope in a scope of its own name is one call in torch's tables.
        with record_function("update"), record_function("update"):
            optimizer.step()
            optimizer.zero_grad()
        torch.bmm(torch.randn(2, 3, 4), torch.randn(2, 4, 5)).mul(2.0).add(1)
        torch.baddbmm(torch.zeros(2, 3, 5), torch.randn(2, 3, 4), torch.randn(2, 4, 5))
        profiler.step()


def record(path: pathlib.Path, run: Callable[[int, Any], None], **options: Any) -> Any:
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=0, warmup=1, active=3, repeat=1),
        **options,
    ) as profiler:
        run(4, profiler)
    profiler.export_chrome_trace(str(path))
    return profiler


def theirs(profiler: Any, *extra: str, **grouping: Any) -> Rows:
    return sorted(
        (
            event.key,
            str(event.input_shapes),
            event.count,
            round(event.self_cpu_time_total * 1000),
            round(event.cpu_time_total * 1000),
            *(getattr(event, name) for name in extra),
        )
        for event in profiler.key_averages(**grouping)
    )


def ours(rows: list[dict[str, Any]], *extra: str) -> Rows:
    return sorted(
        (
            row["name"],
            row.get("input_shapes", ""),
            row["calls"],
            row["self_host_ns"],
            row["total_host_ns"],
            *(row[name] or 0 for name in extra),
        )
        for row in rows
    )


def flops_of(rows: Rows) -> dict[tuple[Any, ...], int]:
    """By name and shapes, where they are known."""
    return {row[:2]: row[-1] for row in rows if row[-1]}


def test_names_calls_times_memory_and_flops_are_those_of_key_averages(
    tmp_path: pathlib.Path, report: Report
) -> None:
    path = tmp_path / "run.pt.trace.json"
    profiler = record(path, train, record_shapes=True, profile_memory=True, with_flops=True)
    expected = theirs(profiler, "self_cpu_memory_usage", "cpu_memory_usage", "flops")
    assert len(expected) > 50
    columns = ("self_memory_bytes", "memory_bytes", "flops")
    found = ours(report(path), *columns)
    assert [row[:-1] for row in found] == [row[:-1] for row in expected]
    by_shape = theirs(profiler, "flops", group_by_input_shape=True)
    assert len(by_shape) > len(expected)
    found_by_shape = ours(report(path, "--by", "shape"), "flops")
    assert [row[:-1] for row in found_by_shape] == [row[:-1] for row in by_shape]
    # torch counts seven operators; the others that we count it leaves at 0.
    for rows, torchs in ((found, expected), (found_by_shape, by_shape)):
        counted = flops_of(torchs)
        assert counted
        assert counted.items() <= flops_of(rows).items()
        assert len(flops_of(rows)) > len(counted)


def test_plain_run_has_the_same_rows(tmp_path: pathlib.Path, report: Report) -> None:
    path = tmp_path / "run.pt.trace.json"
    profiler = record(path, train)
    rows = report(path)
    assert ours(rows) == theirs(profiler)
    assert all(row["flops"] is None and row["memory_bytes"] is None for row in rows)


def test_python_functions_are_rows_when_stacks_were_recorded(
    tmp_path: pathlib.Path, report: Report
) -> None:
    path = tmp_path / "run.pt.trace.json"
    profiler = record(path, train, with_stack=True, record_shapes=True)
    rows = report(path)
    assert any(row["kind"] == "python" for row in rows)
    assert ours(rows) == theirs(profiler)
    assert ours(report(path, "--by", "shape")) == theirs(profiler, group_by_input_shape=True)


def test_threads_are_nested_by_themselves(tmp_path: pathlib.Path, report: Report) -> None:
    def run(steps: int, profiler: Any) -> None:
        for _ in range(steps):
            weights = torch.randn(64, 64, requires_grad=True)
            threads = [
                threading.Thread(target=lambda w=weights: (w @ w).relu().sum().backward())
                for _ in range(3)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            (weights @ weights).sum().backward()
            profiler.step()

    path = tmp_path / "run.pt.trace.json"
    profiler = record(path, run, record_shapes=True)
    assert ours(report(path)) == theirs(profiler)
