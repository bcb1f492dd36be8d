"""What is left of a run that ended badly: kills, a full disk, a ring."""

import os
import random
import re
import shutil
import signal
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stepscope import load

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv/bin/python"
STEPSCOPE = Path(os.environ.get("STEPSCOPE_BIN", ROOT / ".venv/bin/stepscope")).absolute()
PROGRAM = Path(__file__).parent / "busy_program.py"
PLACES = 9

pytestmark = pytest.mark.live


def published(path: Path) -> tuple[int, ...]:
    return struct.unpack(f"{PLACES}q", path.read_bytes())


def kill_while_it_works(folder: Path, delay_s: float, *options: str) -> tuple[int, ...]:
    """Kills the whole of a recorded program; what its workers had published."""
    counts = folder / "counts"
    counts.write_bytes(bytes(8 * PLACES))
    command: list[Any] = [STEPSCOPE, "run", "--python", PYTHON, "-o", folder / "run", *options]
    with subprocess.Popen([*command, PROGRAM, counts], start_new_session=True) as process:
        end = time.monotonic() + 60
        while min(published(counts)) == 0 and time.monotonic() < end:
            time.sleep(0.005)
        time.sleep(delay_s)
        os.killpg(process.pid, signal.SIGKILL)
    # Each of the children is a process of its own, and dies in its own time.
    before: tuple[int, ...] = ()
    while (now := published(counts)) != before:
        before = now
        time.sleep(0.05)
    return now


def calls_by_worker(folder: Path) -> dict[int, int]:
    trace = load(folder)
    rows = trace.sql(
        "SELECT t.name, count(*) FROM slices s JOIN tracks t ON s.track_id = t.id"
        " WHERE s.name LIKE '%): work' GROUP BY t.name"
    )
    return {int(match[1]): n for name, n in rows if (match := re.search(r"worker-(\d+)", name))}


def check_kills(tmp_path: Path, times: int) -> None:
    chance = random.Random(5)
    for i in range(times):
        folder = tmp_path / str(i)
        folder.mkdir()
        counts = kill_while_it_works(folder, chance.uniform(0, 0.3))
        trace = load(folder / "run")
        assert trace.stats["records_recovered"] > 0
        assert trace.stats.get("records_dropped", 0) == 0
        found = calls_by_worker(folder / "run")
        for worker, count in enumerate(counts):
            # A call is in the recording before the program can count it. One more may have begun.
            assert count <= found.get(worker, 0) <= count + 1, (i, worker)
        shutil.rmtree(folder)


def test_no_call_that_had_ended_is_lost_when_a_program_is_killed(tmp_path: Path) -> None:
    check_kills(tmp_path, 5)


@pytest.mark.heavy
def test_no_call_that_had_ended_is_lost_in_fifty_kills(tmp_path: Path) -> None:
    check_kills(tmp_path, 50)


def test_the_newest_are_kept_in_a_ring_when_a_program_is_killed(tmp_path: Path) -> None:
    counts = kill_while_it_works(tmp_path, 1.5, "--max-size", "1MB")
    trace = load(tmp_path / "run")
    assert trace.stats["records_recovered"] > 0
    assert trace.stats.get("records_lost", 0) == 0
    found = calls_by_worker(tmp_path / "run")
    for worker, count in enumerate(counts):
        assert 0 < found[worker] <= count + 1
    closed = [path.stat().st_size for path in (tmp_path / "run").glob("*.sscope")]
    assert sum(closed) < 3 * 1_300_000, "three processes"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=24m", "none", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a small disk cannot be mounted here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_program_goes_on_when_the_disk_is_full(small_disk: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import random\n"
        "def one(): pass\n"
        "def two(): one()\n"
        "for i in range(10_000_000):\n"
        "    (one, two)[random.getrandbits(1)]()\n"
        "print('done')\n"
    )
    command: list[Any] = [STEPSCOPE, "run", "--python", PYTHON, "-o", small_disk / "run", script]
    result = subprocess.run(command, capture_output=True, timeout=300)
    assert result.returncode == 0
    assert result.stdout == b"done\n"
    assert b"records dropped while recording" in result.stderr
    trace = load(small_disk / "run")
    assert trace.stats["records_dropped"] > 0
    assert len(trace.slices) > 100_000
