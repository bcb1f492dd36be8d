"""Findings as the command shows them, of small traces with one known problem."""

import json
import pathlib
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

import stepscope as package

Run = Callable[..., subprocess.CompletedProcess[str]]
WriteTrace = Callable[..., pathlib.Path]


def make_loop(hot_us: int, steps: int = 10) -> list[dict[str, Any]]:
    """Steps of a training loop in which a function of the program's own takes `hot_us` of 1000."""
    events: list[dict[str, Any]] = []
    for step in range(steps):
        at = 1_000_000 + 1000 * step

        def add(category: str, name: str, begin: int, dur: int, at: int = at) -> None:
            events.append(
                {"ph": "X", "cat": category, "name": name, "pid": 7, "tid": 7, "ts": at + begin,
                 "dur": dur, "args": {}}
            )  # fmt: skip

        add("user_annotation", f"ProfilerStep#{step}", 0, 1000)
        add("python_function", "/home/me/train.py(41): confusion", 10, hot_us)
        add("cpu_op", "aten::linear", 20 + hot_us, 900 - hot_us)
    return events


@pytest.fixture
def slow(write_trace: WriteTrace) -> pathlib.Path:
    return write_trace("slow.json", make_loop(600))


@pytest.fixture
def healthy(write_trace: WriteTrace) -> pathlib.Path:
    return write_trace("healthy.json", make_loop(20))


def findings_of(stepscope: Run, path: pathlib.Path) -> list[dict[str, Any]]:
    result = stepscope("report", path, "--view", "findings", "-f", "json", check=True)
    findings: list[dict[str, Any]] = json.loads(result.stdout)["findings"]
    return findings


def test_json_has_what_scripts_rely_on(stepscope: Run, slow: pathlib.Path) -> None:
    (finding,) = findings_of(stepscope, slow)
    assert finding["id"] == "python-hotspot"
    assert finding["severity"] == "critical"
    assert finding["where"] == "/home/me/train.py:41 confusion"
    assert finding["at_stake_fraction"] == pytest.approx(0.57, abs=0.01)
    assert "60 %" in finding["title"]
    assert finding["fix"]
    figures = {figure["name"]: figure for figure in finding["evidence"]["figures"]}
    assert figures["per step"] == {"name": "per step", "value": 600_000, "unit": "ns"}
    (slice_id,) = finding["evidence"]["slices"]
    rows = package.load(slow).sql(f"SELECT name FROM slices WHERE id = {slice_id}")
    assert [name for (name,) in rows] == ["/home/me/train.py(41): confusion"]


def test_text_has_a_paragraph_for_each(stepscope: Run, slow: pathlib.Path) -> None:
    text = stepscope("report", slow, "--view", "findings", check=True).stdout
    assert text.startswith("python-hotspot\n")
    assert "train.py:41 confusion" in text


def test_overview_begins_with_the_verdict(
    stepscope: Run, slow: pathlib.Path, healthy: pathlib.Path
) -> None:
    table = json.loads(stepscope("report", slow, "-f", "json", check=True).stdout)
    first, second, *_ = table["verdict"]
    assert first.startswith("A step takes 1 ms (9 steady ones after 1 to warm up)")
    assert second.startswith("1. 60 % of each step is Python code in /home/me/train.py:41")
    text = stepscope("report", slow, check=True).stdout
    assert " ".join(text.split()).startswith(f"{first} {second}")
    assert "Nothing stands out." in stepscope("report", healthy, check=True).stdout
    markdown = stepscope("report", slow, "-f", "md", check=True).stdout
    assert markdown.startswith("A step takes")


def test_a_part_of_a_trace_has_no_verdict(stepscope: Run, slow: pathlib.Path) -> None:
    text = stepscope("report", slow, "--range", "1ms..2ms", check=True).stdout
    assert "A step takes" not in text


def test_healthy_traces_have_none(stepscope: Run, healthy: pathlib.Path) -> None:
    assert findings_of(stepscope, healthy) == []


def test_gates_open_for_healthy_traces_only(
    stepscope: Run, slow: pathlib.Path, healthy: pathlib.Path
) -> None:
    shut = stepscope("report", slow, "--fail-on", "warning")
    assert shut.returncode == 1
    assert "python-hotspot (critical)" in shut.stderr
    assert stepscope("report", slow, "--fail-on", "critical").returncode == 1
    assert stepscope("report", healthy, "--fail-on", "info").returncode == 0
    assert stepscope("report", slow, "--fail-on", "anything").returncode == 2


def test_python_has_them_as_objects(slow: pathlib.Path) -> None:
    trace = package.load(slow)
    (finding,) = trace.findings()
    assert isinstance(finding, package.Finding)
    assert finding.id == "python-hotspot"
    assert str(finding).endswith("[python-hotspot]")
    assert trace.verdict()[0].startswith("A step takes 1 ms")
    assert trace.view("findings")["id"] == ["python-hotspot"]
