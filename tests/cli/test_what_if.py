"""stepscope report --what-if."""

import json
import pathlib
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

import stepscope as package

Run = Callable[..., subprocess.CompletedProcess[str]]
WriteTrace = Callable[..., pathlib.Path]


@pytest.fixture
def path(write_trace: WriteTrace) -> pathlib.Path:
    """Steps of 1 ms: 0.6 ms in a function of the program's own, 0.3 ms in an operator."""
    events: list[dict[str, Any]] = []
    for step in range(10):
        for category, name, begin, dur in (
            ("user_annotation", f"ProfilerStep#{step}", 0, 1000),
            ("python_function", "/home/me/train.py(41): confusion", 10, 600),
            ("cpu_op", "aten::linear", 620, 300),
        ):
            events.append(
                {"ph": "X", "cat": category, "name": name, "pid": 7, "tid": 7,
                 "ts": 1_000_000 + 1000 * step + begin, "dur": dur, "args": {}}
            )  # fmt: skip
    return write_trace("trace.json", events)


def test_a_function_or_operator_may_be_faster(stepscope: Run, path: pathlib.Path) -> None:
    options = ["--what-if", "confusion=2x", "--what-if", "aten::linear=0", "-f", "json"]
    table = json.loads(stepscope("report", path, *options, check=True).stdout)
    assert table["view"] == "what-if"
    assert table["rows"] == [
        ["confusion 2x as fast", 1_000_000, 700_000, 0.3],
        ["aten::linear gone", 1_000_000, 700_000, 0.3],
    ]


def test_a_finding_may_be_mended(stepscope: Run, path: pathlib.Path) -> None:
    (finding,) = package.load(path).findings()
    table = package.load(path).what_if(finding.id)
    assert table["saved_fraction"] == [pytest.approx(finding.at_stake_fraction, abs=1e-4)]
    printed = stepscope("report", path, "--what-if", finding.id, "-f", "json", check=True).stdout
    assert json.loads(printed) == table.to_json()


def test_mistakes_are_one_line(stepscope: Run, path: pathlib.Path) -> None:
    for request, message in (
        ("nothing=2x", "no function, operator or kernel 'nothing'"),
        ("confusion=fast", "write NAME=2x"),
        ("confusion=-1x", "write NAME=2x"),
        ("gpu-idle", "no finding 'gpu-idle' in this trace; there are: python-hotspot"),
    ):
        result = stepscope("report", path, "--what-if", request)
        assert result.returncode == 1
        assert message in result.stderr
        assert len(result.stderr.splitlines()) == 1
