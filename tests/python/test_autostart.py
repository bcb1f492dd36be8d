"""STEPSCOPE=1 and stepscope.autostart(): a pipeline's step records itself."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

PROGRAM = """
import os, sys
import stepscope
print(stepscope.autostart())
def train():
    return sum(range(1000))
for _ in range(6):
    train()
    stepscope.step()
sys.exit(3)
"""


def run(
    tmp_path: pathlib.Path, program: str = PROGRAM, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def index_of(folder: pathlib.Path) -> list[dict[str, object]]:
    files: list[dict[str, object]] = json.loads((folder / "index.json").read_text())["files"]
    return files


@pytest.mark.parametrize("switch", ["", "0", "off"])
def test_nothing_happens_unless_it_is_switched_on(tmp_path: pathlib.Path, switch: str) -> None:
    done = run(tmp_path, STEPSCOPE=switch)
    assert (done.returncode, done.stdout, done.stderr) == (3, "False\n", "")
    assert not list(tmp_path.iterdir())


def test_the_run_and_its_index_are_among_the_outputs(tmp_path: pathlib.Path) -> None:
    done = run(tmp_path, STEPSCOPE="1", RANK="1", WORLD_SIZE="4")
    assert (done.returncode, done.stdout, done.stderr) == (3, "True\n", "")
    folder = tmp_path / "outputs" / "profiler_results"
    (entry,) = index_of(folder)
    assert {path.name for path in folder.iterdir()} == {"index.json", str(entry["file"])}
    assert (entry["rank"], entry["world_size"]) == (1, 4)
    assert entry["file"] == f"{entry['pid']}.sscope"
    assert entry["bytes"] == (folder / str(entry["file"])).stat().st_size


def test_each_rank_is_in_the_index(tmp_path: pathlib.Path) -> None:
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            cwd=tmp_path,
            env={**os.environ, "STEPSCOPE": "1", "STEPSCOPE_DIR": "run", "RANK": str(rank)},
            stdout=subprocess.DEVNULL,
        )
        for rank in range(4)
    ]
    for process in ranks:
        assert process.wait(timeout=120) == 3
    entries = {entry["rank"]: entry["pid"] for entry in index_of(tmp_path / "run")}
    assert entries == {rank: process.pid for rank, process in enumerate(ranks)}


def test_only_the_steps_that_were_asked_for_are_recorded(tmp_path: pathlib.Path) -> None:
    import stepscope

    assert (
        run(tmp_path, STEPSCOPE="1", STEPSCOPE_DIR="run", STEPSCOPE_STEPS="2,0,2,1").returncode == 3
    )
    functions = stepscope.load(tmp_path / "run").functions(limit=0).to_dict()
    calls = dict(zip(functions["name"], functions["calls"], strict=True))
    assert calls["train"] == 2


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("STEPSCOPE", "perhaps", "STEPSCOPE=perhaps: expected 1 or 0"),
        ("STEPSCOPE_MODE", "film", "STEPSCOPE_MODE=film: expected trace or sample"),
        ("STEPSCOPE_EPOCHS", "all", "STEPSCOPE_EPOCHS=all: expected a number"),
        ("STEPSCOPE_STEPS", "x", "x"),
        ("STEPSCOPE_DIR", "/proc/nowhere", "/proc/nowhere"),
    ],
)
def test_a_wrong_value_is_told_and_the_program_goes_on(
    tmp_path: pathlib.Path, variable: str, value: str, said: str
) -> None:
    done = run(tmp_path, **{"STEPSCOPE": "1", variable: value})
    assert (done.returncode, done.stdout) == (3, "False\n")
    assert done.stderr.startswith("stepscope: not recorded: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_under_stepscope_run_it_changes_nothing(tmp_path: pathlib.Path) -> None:
    program = "import stepscope; from stepscope import _session; before = _session.current()\n"
    program += "with stepscope.profile('run'):\n    print(stepscope.autostart())\n"
    done = run(tmp_path, program, STEPSCOPE="1")
    assert (done.stdout, done.stderr) == ("False\n", "")
