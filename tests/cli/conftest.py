"""Small traces that the tests of the command share."""

import gzip
import json
import pathlib
from collections.abc import Callable
from typing import Any

import pytest

Event = dict[str, Any]


def make_events(steps: int = 3) -> list[Event]:
    """A small training run as torch.profiler writes it, without a GPU."""
    events: list[Event] = [
        {"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "args": {"name": "python"}},
        {"ph": "M", "name": "thread_name", "pid": 7, "tid": 7, "args": {"name": "main"}},
    ]
    for step in range(steps):
        begin = 1_000_000 + 1000 * step
        events += [
            {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 7,
             "tid": 7, "ts": begin, "dur": 900.5, "args": {"External id": 10 * step}},
            {"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 7, "tid": 7,
             "ts": begin + 100, "dur": 300.125,
             "args": {"External id": 10 * step + 1, "Input Dims": [[8, 16], [16, 4]]}},
            {"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 7, "tid": 7,
             "ts": begin + 150, "dur": 200, "args": {"External id": 10 * step + 2}},
            {"ph": "C", "name": "memory", "pid": 7, "tid": 7, "ts": begin, "args": {"bytes": step}},
        ]  # fmt: skip
    return events


@pytest.fixture
def write_trace(tmp_path: pathlib.Path) -> Callable[..., pathlib.Path]:
    """Writes events as a trace file: `write_trace("a.json.gz", events)`."""

    def write(name: str = "trace.json", events: list[Event] | None = None) -> pathlib.Path:
        text = json.dumps({"schemaVersion": 1, "traceEvents": events or make_events()})
        path = tmp_path / name
        data = text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


@pytest.fixture
def trace(write_trace: Callable[..., pathlib.Path]) -> pathlib.Path:
    return write_trace()
