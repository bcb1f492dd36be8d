"""stepscope diff: two traces against each other."""

import json
import pathlib
import random
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]
WriteTrace = Callable[..., pathlib.Path]


def make_steps(op_us: float, noise_us: float, *, steps: int = 20, seed: int = 1) -> list[Any]:
    """Steps of 1 ms that hold one operator; `noise_us` is what steps differ by."""
    chance = random.Random(seed)
    events = []
    for step in range(steps):
        begin = 1_000_000 + 2000 * step
        took = op_us + chance.uniform(0, noise_us)
        common = {"ph": "X", "pid": 7, "tid": 7}
        events += [
            {**common, "cat": "user_annotation", "name": f"ProfilerStep#{step}", "ts": begin,
             "dur": 500 + took},
            {**common, "cat": "cpu_op", "name": "aten::mm", "ts": begin + 10, "dur": took},
            {**common, "cat": "python_function", "name": "/a/train.py(7): log",
             "ts": begin + 15 + took, "dur": 100},
        ]  # fmt: skip
    return events


@pytest.fixture
def compare(stepscope: Run, write_trace: WriteTrace) -> Callable[..., Any]:
    def run(before: list[Any], after: list[Any], *options: str) -> subprocess.CompletedProcess[str]:
        first, second = write_trace("a.json", before), write_trace("b.json", after)
        return stepscope("diff", first, second, *options)

    return run


def rows_of(result: subprocess.CompletedProcess[str]) -> dict[tuple[str, str], dict[str, Any]]:
    table = json.loads(result.stdout)
    names = [column["name"] for column in table["columns"]]
    rows = [dict(zip(names, row, strict=True)) for row in table["rows"]]
    return {(row["section"], row["name"]): row for row in rows}


def test_what_got_faster_is_told_per_step(compare: Callable[..., Any]) -> None:
    result = compare(make_steps(400, 4), make_steps(200, 4), "-f", "json")
    rows = rows_of(result)
    step = rows["step", "step"]
    assert step["change_ns"] == pytest.approx(-200_000, abs=3_000)
    assert step["change_fraction"] == pytest.approx(-200 / 902, abs=0.01)
    assert step["certain"] is True
    assert rows["operators", "aten::mm"]["change_fraction"] == pytest.approx(-0.5, abs=0.01)
    assert ("functions", "train.py: log") not in rows, "it has not changed"
    assert "less" in json.loads(result.stdout)["verdict"][0]


def test_noise_is_no_difference(compare: Callable[..., Any]) -> None:
    result = compare(make_steps(400, 300), make_steps(400, 300, seed=2), "-f", "json")
    assert rows_of(result)["step", "step"]["certain"] is False
    assert "noise" in json.loads(result.stdout)["verdict"][0]


def test_functions_are_the_same_where_their_lines_have_moved(compare: Callable[..., Any]) -> None:
    after = json.loads(json.dumps(make_steps(400, 4)).replace("/a/train.py(7)", "/b/train.py(9)"))
    for event in after:
        if event["cat"] == "python_function":
            event["dur"] = 50
    rows = rows_of(compare(make_steps(400, 4), after, "-f", "json"))
    log = rows["functions", "train.py: log"]
    assert (log["before_ns"], log["after_ns"]) == (100_000, 50_000)


def test_a_regression_sets_the_exit_code(compare: Callable[..., Any]) -> None:
    fast, slow = make_steps(400, 4), make_steps(500, 4)  # 11 % of the step
    assert compare(fast, slow, "--fail-on-regression", "5%").returncode == 1
    assert compare(fast, slow, "--fail-on-regression", "15%").returncode == 0
    assert compare(slow, fast, "--fail-on-regression", "5%").returncode == 0
    noisy = compare(
        make_steps(400, 300), make_steps(430, 300, seed=2), "--fail-on-regression", "1%"
    )
    assert noisy.returncode == 0, "3 % more, and noise of 30 %"
    assert compare(fast, slow, "--fail-on-regression", "much").returncode == 2


def test_traces_without_steps_are_compared_as_a_whole(compare: Callable[..., Any]) -> None:
    def only_functions(dur: float) -> list[Any]:
        return [{"ph": "X", "cat": "python_function", "name": "/a/x.py(1): work", "pid": 1,
                 "tid": 1, "ts": 0, "dur": dur}]  # fmt: skip

    result = compare(only_functions(1000), only_functions(3000), "-f", "json")
    rows = rows_of(result)
    assert rows["whole", "all"]["change_fraction"] == 2
    assert rows["functions", "x.py: work"]["certain"] is None


def test_a_missing_file_is_one_line(stepscope: Run, trace: pathlib.Path) -> None:
    result = stepscope("diff", trace, "/nowhere.json")
    assert result.returncode == 1
    assert result.stderr.startswith("stepscope: /nowhere.json")
