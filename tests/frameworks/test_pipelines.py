"""The scripts of examples/tensorflow: the planted problem is found; the pipeline that is changed as
advised has it no more, and its steps are faster, by at least half of what was predicted."""

import json
import pathlib
import statistics
import sys
from typing import Any

import pytest

from .conftest import ROOT, Recorded, stepscope

WARM_UP = 10  # steps

pytestmark = pytest.mark.heavy


def record_example(folder: pathlib.Path, name: str, *arguments: str) -> Recorded:
    script = ROOT / "examples/tensorflow" / f"{name}.py"
    done = stepscope(
        "run", "-q", "--python", sys.executable, "-o", folder, "--", script, *arguments
    )
    assert done.returncode == 0, done.stderr
    return Recorded(folder, done.returncode, done.stdout, done.stderr)


def find_findings(run: Recorded) -> list[dict[str, Any]]:
    report = stepscope("report", run.folder, "--view", "findings", "--format", "json")
    findings: list[dict[str, Any]] = json.loads(report.stdout)["findings"]
    return findings


def step_ns(run: Recorded) -> float:
    return statistics.median(run.view("steps")["dur_ns"][WARM_UP:])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("slow_map", "tfdata-slow-map"),
        ("slow_source", "tfdata-slow-source"),
        ("no_cache", "tfdata-slow-parallel-map"),
        ("no_prefetch", "tfdata-no-prefetch"),
    ],
)
def test_advice_makes_the_step_as_fast_as_predicted(
    tmp_path: pathlib.Path, name: str, expected: str
) -> None:
    slow = record_example(tmp_path / "slow", name)
    first = find_findings(slow)[0]
    assert first["id"] == expected
    fixed = record_example(tmp_path / "fixed", name, "--fixed")
    assert expected not in [finding["id"] for finding in find_findings(fixed)]
    won = 1 - step_ns(fixed) / step_ns(slow)
    assert won >= first["at_stake_fraction"] / 2


def test_healthy_pipeline_has_no_warning(tmp_path: pathlib.Path) -> None:
    findings = find_findings(record_example(tmp_path / "healthy", "healthy"))
    assert [finding["id"] for finding in findings if finding["severity"] != "info"] == []
