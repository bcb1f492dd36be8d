"""The same program as py-spy sees it: the functions that take most of its time are the same."""

import os
import pathlib
import shutil
import subprocess
from collections import Counter

import pytest

from .recorded import PATIENCE_S, Program, Recorder, Recording

pytestmark = [pytest.mark.live, pytest.mark.heavy]

ATTEMPTS = 3  # the two do not look at the same seconds


def find_py_spy() -> str:
    found = os.environ.get("PY_SPY") or shutil.which("py-spy")
    if found is None:
        pytest.skip("no py-spy here (name it in $PY_SPY)")
    return found


def shares_of_py_spy(pid: int, path: pathlib.Path) -> dict[str, float]:
    """By function, of samples in which it was innermost."""
    command = [find_py_spy(), "record", "--pid", str(pid), "--format", "raw", "--output", str(path)]
    subprocess.run(
        [*command, "--rate", "200", "--duration", "5", "--function"],
        check=True,
        capture_output=True,
        timeout=PATIENCE_S,
    )
    counts: Counter[str] = Counter()
    for line in path.read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        counts[stack.split(";")[-1].split(" ")[0]] += int(count)
    total = sum(counts.values())
    return {name: count / total for name, count in counts.items()}


def test_top_functions_are_those_of_py_spy(
    stepscope_bin: pathlib.Path, python: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    find_py_spy()
    path = tmp_path / "run"
    options = ("--hz", 200, "--duration", "5s", "--overwrite", "-o", path)
    with Program(python, "one_thread.py", 100_000) as running:
        assert running.process.stdin is not None
        running.process.stdin.write("\n")
        running.process.stdin.flush()
        for _ in range(ATTEMPTS):
            with Recorder(stepscope_bin, running.pid, *options) as recorder:
                recorder.wait()
            peer = shares_of_py_spy(running.pid, tmp_path / "raw")
            own = Recording(stepscope_bin, path).shares()
            off = [abs(own[name] - peer.get(name, 0)) for name in ("half", "third", "tenth")]
            if max(off) < 0.1:
                break
    assert max(off) < 0.1, (own, peer)
    assert [name for name, _ in own.most_common(2)] == ["half", "third"]
    assert sorted(peer, key=lambda name: -peer[name])[:2] == ["half", "third"]
