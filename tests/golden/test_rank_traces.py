"""Collectives and ranks of public traces (HTA's test data), against Python's json."""

import gzip
import json
import pathlib
import subprocess
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

Command = Callable[..., subprocess.CompletedProcess[str]]
ELEMENT_BYTES = {"Float": 4, "Half": 2, "Long": 8, "Int": 4, "BFloat16": 2, "Byte": 1}


def rows_of(table: dict[str, Any]) -> list[dict[str, Any]]:
    names = [column["name"] for column in table["columns"]]
    return [dict(zip(names, row, strict=True)) for row in table["rows"]]


def events_of(path: pathlib.Path) -> list[dict[str, Any]]:
    with gzip.open(path) as file:
        events: list[dict[str, Any]] = json.load(file)["traceEvents"]
    return events


def test_collectives_have_the_sizes_and_types_of_their_metadata(
    stepscope: Command, shared_data: pathlib.Path
) -> None:
    path = shared_data / "hta" / "nccl_parser_config" / "nccl_data.json.gz"
    expected: Counter[tuple[str, int, str]] = Counter()
    total_us: Counter[tuple[str, int, str]] = Counter()
    for event in events_of(path):
        args = event.get("args", {})
        if event.get("cat") != "kernel" or not event["name"].startswith("nccl"):
            continue
        elements = max(args["In msg nelems"], args["Out msg nelems"])
        kind = {"allreduce": "all_reduce", "_allgather_base": "all_gather"}
        name = args["Collective name"]
        key = (
            kind.get(name, name),
            elements * ELEMENT_BYTES[args["dtype"]],
            args["dtype"],
        )
        expected[key] += 1
        total_us[key] += event["dur"]
    assert sum(expected.values()) == 21
    result = stepscope(
        "report", path, "--view", "collectives", "--limit", 0, "-f", "json", check=True
    )
    rows = rows_of(json.loads(result.stdout))
    assert {
        (row["type"], row["size_bytes"], row["dtype"]): row["calls"] for row in rows
    } == expected
    for row in rows:
        us = total_us[row["type"], row["size_bytes"], row["dtype"]]
        assert row["total_ns"] == pytest.approx(us * 1000, rel=1e-6)
        # Of two ranks an all_reduce sends its size once over the bus.
        seconds = row["transfer_ns"] * 1e-9
        assert row["bus_bytes_per_s"] == pytest.approx(row["size_bytes"] / seconds, rel=1e-3)
        assert row["group"] == "0 (default_pg)"


def union_us(spans: list[tuple[float, float]]) -> float:
    total, end = 0.0, float("-inf")
    for begin, stop in sorted(spans):
        total += max(0.0, stop - max(begin, end))
        end = max(end, stop)
    return total


def test_two_ranks_of_one_job_are_aligned_by_the_collectives_they_share(
    stepscope: Command, shared_data: pathlib.Path
) -> None:
    folder = shared_data / "hta" / "trace_filter"
    result = stepscope("ranks", folder, "-f", "json", check=True)
    table = json.loads(result.stdout)
    rows = rows_of(table)
    assert [row["rank"] for row in rows] == [0, 1]
    # Both ran on one machine. Of ten collectives that each trace kept, five are the same ones; they
    # end within 8 to 332 us of each other, in the median at the same microsecond.
    assert abs(rows[1]["clock_offset_ns"]) <= 30_000
    assert rows[1]["clock_error_ns"] <= 100_000
    waits = json.loads(
        stepscope("ranks", folder, "--view", "collectives", "-f", "json", check=True).stdout
    )
    assert any("aligned by 5 collectives" in note for note in waits["stats"]["notes"])
    assert any(
        "126 of 128 ranks have no trace here: 2-127" in note for note in table["stats"]["notes"]
    )


def test_the_figures_of_a_rank_are_unions_over_its_steps(
    stepscope: Command, shared_data: pathlib.Path
) -> None:
    path = shared_data / "hta" / "trace_filter" / "sampled_rank-0.json.gz"
    kernels = [e for e in events_of(path) if e.get("cat") == "kernel"]
    result = stepscope("report", path, "--view", "steps", "-f", "json", check=True)
    steps = rows_of(json.loads(result.stdout))
    result = stepscope("report", path, "--view", "ranks", "-f", "json", check=True)
    (row,) = rows_of(json.loads(result.stdout))
    origin = min(e["ts"] for e in events_of(path) if e.get("ph") == "X")

    def mean(is_wanted: Callable[[str], bool]) -> float:
        total = 0.0
        for step in steps:
            begin = origin + step["start_ns"] / 1000
            end = begin + step["dur_ns"] / 1000
            spans = [
                (max(begin, e["ts"]), min(end, e["ts"] + e["dur"]))
                for e in kernels
                if is_wanted(e["name"]) and e["ts"] < end and e["ts"] + e["dur"] > begin
            ]
            total += union_us(spans)
        return total * 1000 / len(steps)

    assert row["steps"] == len(steps)
    assert row["communication_ns"] == pytest.approx(mean(lambda n: n.startswith("nccl")), rel=1e-3)
    assert row["compute_ns"] == pytest.approx(mean(lambda n: not n.startswith("nccl")), rel=1e-3)
