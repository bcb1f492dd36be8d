"""The tracer counts calls as the interpreter's own profilers do, on a corpus of programs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

COUNTER = Path(__file__).parent / "count_calls.py"
PROGRAMS = sorted(path.stem for path in (Path(__file__).parent.parent / "programs").glob("*.py"))
WITH_THREADS = {"deep_threads", "many_threads", "threads"}


def count(name: str, how: str, *arguments: str) -> dict[str, int]:
    command = [sys.executable, str(COUNTER), name, how, *arguments]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    result = subprocess.run(command, capture_output=True, env=environment)
    assert result.returncode == 0, result.stderr.decode()
    counts: dict[str, int] = json.loads(result.stdout[result.stdout.rindex(b"{") :])
    return counts


def differences(ours: dict[str, int], theirs: dict[str, int]) -> dict[str, tuple[int, int]]:
    return {
        key: (ours.get(key, 0), theirs.get(key, 0))
        for key in ours.keys() | theirs.keys()
        if ours.get(key, 0) != theirs.get(key, 0)
    }


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in WITH_THREADS])
def test_counts_are_those_of_cprofile(name: str, tmp_path: Path) -> None:
    theirs = count(name, "cprofile")
    assert sum(theirs.values()) > 10
    found = differences(count(name, "stepscope", str(tmp_path)), theirs)
    if name == "generators" and sys.version_info < (3, 12):
        # A generator that delegates goes on after a throw without a call event; its return event
        # makes cProfile take the function around it for ended, and forget it.
        found = {key: calls for key, calls in found.items() if not key.endswith(":main")}
    assert found == {}


@pytest.mark.parametrize("name", sorted(WITH_THREADS))
def test_counts_are_those_of_a_profile_function_on_all_threads(name: str, tmp_path: Path) -> None:
    theirs = count(name, "setprofile")
    assert sum(theirs.values()) > 10
    found = differences(count(name, "stepscope", str(tmp_path)), theirs)
    # Only we see how a thread begins, before it is told of the function.
    assert {key: calls for key, calls in found.items() if "/threading.py:" not in key} == {}


@pytest.mark.parametrize("how", ["stepscope-marked", "stepscope-marks"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_marks_are_as_many_as_calls_and_change_no_count(
    name: str, how: str, tmp_path: Path
) -> None:
    theirs = count(name, "stepscope", str(tmp_path / "a"))
    ours = count(name, how, str(tmp_path / "b"))
    if how == "stepscope-marks":
        theirs = {key: calls for key, calls in theirs.items() if f"/{name}.py:" in key}
    assert len(theirs) > 1
    assert differences(ours, theirs) == {}


@pytest.mark.parametrize("name", PROGRAMS)
def test_counts_are_the_same_with_c_calls(name: str, tmp_path: Path) -> None:
    theirs = count(name, "stepscope", str(tmp_path / "a"))
    found = differences(count(name, "stepscope-c-calls", str(tmp_path / "b")), theirs)
    assert {key: calls for key, calls in found.items() if "/threading.py:" not in key} == {}
