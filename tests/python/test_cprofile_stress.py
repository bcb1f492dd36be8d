"""stepscope.cprofile survives threads that share a profiler, and timers that misbehave."""

import os
import pathlib
import subprocess
import sys

import pytest

import stepscope

PROGRAM = pathlib.Path(__file__).with_name("cprofile_stress.py")


def run_stress(seconds: float, threads: int) -> None:
    package_folder = pathlib.Path(stepscope.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-X", "dev", PROGRAM, str(seconds), str(threads)],
        env=os.environ | {"PYTHONPATH": str(package_folder)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("survived"), done.stderr


def test_threads_that_share_profilers_do_no_harm() -> None:
    run_stress(seconds=1.5, threads=100)


@pytest.mark.heavy
def test_a_minute_of_it_and_2000_threads_do_no_harm() -> None:
    run_stress(seconds=60, threads=2_000)
