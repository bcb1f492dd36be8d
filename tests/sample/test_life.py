"""Programs that are looked at again and again, or that end, fork and exec at any moment: nothing
crashes on either side, and they do what they would have done alone."""

import os
import pathlib
import random
import subprocess
import time
from collections.abc import Callable

import pytest

from .recorded import PATIENCE_S, Program, Recorder, Recording

pytestmark = pytest.mark.live

Stepscope = Callable[..., subprocess.CompletedProcess[str]]

# Each ends on its own after some moments, with output and an exit code that tell of its work.
ENDS = """
import sys, time
def work():
    total = 0
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        for i in range(1000):
            total += i % 7
    return total
work()
print("worked")
sys.exit(7)
"""
FORKS = """
import os, sys, time
def work_of_child(n):
    end = time.monotonic() + 0.02 * n
    while time.monotonic() < end:
        pass
    os._exit(n)
def work():
    codes = []
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end or len(codes) < 4:
        for n in range(4):
            if os.fork() == 0:
                work_of_child(n)
        codes = sorted(os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(4))
    return codes
print("worked", work())
sys.exit(7)
"""
# Another program in its place: Python once more, and at last one that is none.
EXECS = """
import os, sys, time
def work():
    end = time.monotonic() + float(sys.argv[1]) / 4
    while time.monotonic() < end:
        pass
work()
left = int(sys.argv[2]) if len(sys.argv) > 2 else 3
if left:
    os.execv(sys.executable, [sys.executable, sys.argv[0], sys.argv[1], str(left - 1)])
os.execv("/bin/sh", ["sh", "-c", "echo worked; exit 7"])
"""
THREADS = """
import sys, threading, time
def work_of_thread():
    for i in range(2000):
        i * i
def work():
    made = 0
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        threads = [threading.Thread(target=work_of_thread) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
            made += 1
    return made
assert work() > 0
print("worked")
sys.exit(7)
"""
OUTPUT = {"forks": "worked [0, 1, 2, 3]\n"}
TEXTS = {"ends": ENDS, "forks": FORKS, "execs": EXECS, "threads": THREADS}


def attach_and_detach(
    stepscope: Stepscope, python: pathlib.Path, times: int, folder: pathlib.Path
) -> None:
    with Program(python, "threads.py", 100_000) as program:
        assert program.process.stdin is not None
        program.process.stdin.write("\n")
        program.process.stdin.flush()
        chance = random.Random(3)
        for i in range(times):
            path = folder / f"{i % 4}.sscope"
            duration = f"{chance.uniform(1, 30):.1f}ms"
            pause = ["--pause"] if i % 3 == 0 else []
            done = stepscope(
                "record",
                program.pid,
                "--hz",
                1000,
                "--duration",
                duration,
                "-q",
                "-o",
                path,
                *pause,
            )
            assert (done.returncode, done.stderr) == (0, ""), i
            assert program.process.poll() is None, i
        # Its threads still get on.
        before = cpu_ticks(program.pid)
        assert wait_for(lambda: cpu_ticks(program.pid), more_than=before) > before


def cpu_ticks(pid: int) -> int:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def wait_for(value: Callable[[], int], more_than: int) -> int:
    end = time.monotonic() + PATIENCE_S
    while (now := value()) <= more_than and time.monotonic() < end:
        time.sleep(0.01)
    return now


def test_busy_program_takes_no_notice_of_being_looked_at_often(
    stepscope: Stepscope, python: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    attach_and_detach(stepscope, python, 30, tmp_path)


@pytest.mark.heavy
def test_busy_program_takes_no_notice_of_a_thousand_looks(
    stepscope: Stepscope, python: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    attach_and_detach(stepscope, python, 1_000, tmp_path)


def record_some_of_its_life(
    stepscope_bin: pathlib.Path,
    python: pathlib.Path,
    name: str,
    chance: random.Random,
    folder: pathlib.Path,
    *options: str,
) -> None:
    """Looks at a program from a moment of its life on, whichever that is, to its end."""
    script = folder / f"{name}.py"
    script.write_text(TEXTS[name])
    path = folder / f"{name}.sscope"
    path.unlink(missing_ok=True)
    program = subprocess.Popen(
        [python, script, f"{chance.uniform(0, 0.8):.3f}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(chance.uniform(0, 0.4))
    recorder = subprocess.Popen(
        [stepscope_bin, "record", str(program.pid), "--hz", "1000", "-o", path, *options],
        stderr=subprocess.PIPE,
        text=True,
    )
    out, errors = program.communicate(timeout=PATIENCE_S)
    assert (out, errors, program.returncode) == (OUTPUT.get(name, "worked\n"), "", 7), name
    _, said = recorder.communicate(timeout=PATIENCE_S)
    # It came too late, or too early to find Python there, or it saw something.
    assert recorder.returncode in (0, 1), said
    if recorder.returncode == 1:
        assert said.splitlines()[-1].startswith("stepscope: process"), said
    else:
        assert Recording(stepscope_bin, path).sampling()["samples"] > 0


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_program_ends_as_it_would_alone(
    stepscope_bin: pathlib.Path, python: pathlib.Path, name: str, tmp_path: pathlib.Path
) -> None:
    chance = random.Random(name)
    every: tuple[list[str], ...] = ([], ["--pause", "--subprocesses"])
    for options in every:
        record_some_of_its_life(stepscope_bin, python, name, chance, tmp_path, *options)


@pytest.mark.heavy
@pytest.mark.parametrize("options", [[], ["--subprocesses"], ["--pause", "--subprocesses"]])
@pytest.mark.parametrize("name", sorted(TEXTS))
def test_program_ends_as_it_would_alone_many_times(
    stepscope_bin: pathlib.Path,
    python: pathlib.Path,
    name: str,
    options: list[str],
    tmp_path: pathlib.Path,
) -> None:
    chance = random.Random(f"{name} {options}")
    for _ in range(60):
        record_some_of_its_life(stepscope_bin, python, name, chance, tmp_path, *options)


@pytest.mark.parametrize("options", [[], ["--pause"]])
def test_program_goes_on_when_the_sampler_is_killed(
    stepscope_bin: pathlib.Path, python: pathlib.Path, options: list[str], tmp_path: pathlib.Path
) -> None:
    chance = random.Random(11)
    for i in range(5):
        path = tmp_path / f"{i}.sscope"
        with Program(python, "threads.py", 1) as program:
            with Recorder(
                stepscope_bin, program.pid, "--hz", 1000, "-o", path, *options
            ) as recorder:
                time.sleep(chance.uniform(0, 0.2))
                recorder.process.kill()
                recorder.process.wait()
            assert program.work().shares  # to its own end, with exit code 0
        assert os.path.getsize(path) > 0
        Recording(stepscope_bin, path).sampling()
