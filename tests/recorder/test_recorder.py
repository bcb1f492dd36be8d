"""What is left of a recording, whatever its program did: recorder_target writes, stepscope reads.

The program publishes apart from the recorder what it did, where that is compared.
"""

import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPSCOPE = pathlib.Path(os.environ.get("STEPSCOPE_BIN", ROOT / ".venv/bin/stepscope")).absolute()
TARGET = STEPSCOPE.resolve().parent / "recorder_target"
# Many times slower, also in starting and in draining, and with memory of its own.
IS_SANITIZED = "asan" in TARGET.parts


def run(*args: Any, check: bool = True, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(TARGET), *map(str, args)], check=check, capture_output=True, text=True, timeout=timeout
    )


def query(path: pathlib.Path, sql: str) -> list[list[Any]]:
    command = [str(STEPSCOPE), "query", str(path), sql, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    rows: list[list[Any]] = json.loads(done.stdout)["rows"]
    return rows


def report(path: pathlib.Path, view: str = "tracks") -> dict[str, Any]:
    command = [
        str(STEPSCOPE),
        "report",
        str(path),
        "--view",
        view,
        "--format",
        "json",
        "--limit",
        "0",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    table: dict[str, Any] = json.loads(done.stdout)
    return table


def calls(path: pathlib.Path) -> dict[str, int]:
    return dict(query(path, "SELECT name, count(*) FROM slices GROUP BY name"))


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "run"


def test_everything_that_can_be_recorded_is_read(folder: pathlib.Path) -> None:
    run("kinds", folder)
    assert not list(folder.glob("*.pool"))
    names = calls(folder)
    assert names["train_step"] == 3
    assert names["forward"] == 3
    assert names["backward"] == 3
    assert names["checkpoint"] == 3
    assert names["outer"] == names["inner"] == 2
    assert {name for name in names if name.startswith("step ")} == {"step 0", "step 1", "step 2"}
    inside = query(
        folder,
        "SELECT count(*) FROM slices c JOIN slices p ON c.parent_id = p.id"
        " WHERE c.name = 'forward' AND p.name = 'train_step'",
    )
    assert inside == [[3]]
    arrows = query(
        folder,
        "SELECT a.name, b.name FROM flows f JOIN slices a ON f.from_slice = a.id"
        " JOIN slices b ON f.to_slice = b.id",
    )
    assert arrows == [["forward", "backward"]] * 3
    values = query(folder, "SELECT value FROM counters WHERE name = 'loss' ORDER BY time_ns")
    assert [value for (value,) in values] == [0.5, 0.25, 0.5 / 3]
    tracks = {row[0] for row in query(folder, "SELECT name FROM tracks")}
    assert "the main thread of all" in tracks
    assert "renamed" in tracks
    stats = report(folder)["stats"]
    assert not stats.get("records_dropped")


def kill(
    mode: str, folder: pathlib.Path, delay_s: float, threads: int, from_start: bool = False
) -> list[int]:
    """Kills a recording at some moment; the result is how many records each thread has written.

    The delay is from the first record on, or from the start of the program.
    """
    progress = folder / "progress"
    process = subprocess.Popen([str(TARGET), mode, str(folder), str(threads)])
    deadline = time.monotonic() + 60
    while not from_start and not (progress.exists() and any(progress.read_bytes())):
        assert time.monotonic() < deadline, "nothing is recorded"
        time.sleep(0.001)
    time.sleep(delay_s)
    process.kill()
    process.wait()
    if not progress.exists() or progress.stat().st_size == 0:
        return []
    written = list(struct.unpack(f"<{threads}Q", progress.read_bytes()[: 8 * threads]))
    if not any(file.stat().st_size for file in folder.glob("*.sscope")):
        assert sum(written) == 0
        return []
    return written


# Of every thread's numbered records: number, how many there are, the first, the last, their sum.
NUMBERED = (
    "SELECT CAST(substr(name, 8) AS INTEGER), count(*), min(value), max(value), sum(value)"
    " FROM counters GROUP BY track_id"
)


def check_whole(folder: pathlib.Path, delay_s: float, from_start: bool) -> int:
    """Each thread has a prefix of its records without a gap, up to at most the last 64.

    The result is how many records there are.
    """
    written = kill("count", folder, delay_s, threads=8, from_start=from_start)
    if not written:
        return 0
    dropped = report(folder)["stats"].get("records_dropped", 0)
    if IS_SANITIZED and dropped:
        return 0
    assert dropped == 0
    kept = [0] * len(written)
    for thread, count, first, last, total in query(folder, NUMBERED):
        kept[thread] = count
        assert (first, last, total) == (0, count - 1, count * (count - 1) / 2), "a gap or a repeat"
    for thread, count in enumerate(kept):
        # One more than published: killed between the two.
        assert written[thread] - 64 <= count <= written[thread] + 1, f"thread {thread}"
    return sum(kept)


def check_flood(folder: pathlib.Path, delay_s: float) -> None:
    """Threads that write faster than the drain: what is missing is what was counted as dropped."""
    written = kill("flood", folder, delay_s, threads=8)
    if not written:
        return
    dropped = report(folder)["stats"].get("records_dropped", 0)
    missing = 0
    for thread, count, _, last, _ in query(folder, NUMBERED):
        assert last <= written[thread], "a record that nobody wrote"
        missing += written[thread] - count
    assert missing <= dropped + 64 * len(written)


def killed_runs(times: int, tmp_path: pathlib.Path) -> None:
    random.seed(7)
    records = []
    for i in range(times):
        folder = tmp_path / str(i)
        # From the first records to some turns of the drain; each fifth at any time since the start.
        delay_s = random.choice([0.001, 0.05, 0.2]) * random.random()
        records.append(check_whole(folder, delay_s, from_start=i % 5 == 0))
        shutil.rmtree(folder, ignore_errors=True)
    assert sum(records) > times * 1000
    assert sum(count > 0 for count in records) >= times / (5 if IS_SANITIZED else 1.25)


def test_a_killed_program_leaves_all_but_the_last_records(tmp_path: pathlib.Path) -> None:
    killed_runs(25, tmp_path)


@pytest.mark.heavy
def test_a_program_killed_at_200_moments_leaves_all_but_the_last_records(
    tmp_path: pathlib.Path,
) -> None:
    killed_runs(200, tmp_path)


def test_a_flood_of_records_is_dropped_by_count(tmp_path: pathlib.Path) -> None:
    for i, delay_s in enumerate([0.05, 0.1, 0.3]):
        check_flood(tmp_path / str(i), delay_s)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL])
def test_a_crash_leaves_a_recording_that_can_be_read(folder: pathlib.Path, number: int) -> None:
    done = run("crash", folder, int(number), check=False)
    assert done.returncode == -number  # the program died as it would without us
    names = calls(folder)
    assert names["outer"] == names["inner"] == 1000
    assert names["open when it crashed"] == 1
    assert report(folder)["stats"]["records_recovered"] > 0


def test_forked_children_record_for_themselves(folder: pathlib.Path) -> None:
    check_forks(folder, 60)


@pytest.mark.heavy
def test_a_storm_of_1000_forks(folder: pathlib.Path) -> None:
    check_forks(folder, 1000)


def check_forks(folder: pathlib.Path, children: int) -> None:
    run("forks", folder, children)
    files = list(folder.glob("*.sscope"))
    assert len(files) == children + 1
    names = calls(folder)
    assert names["outer"] == 10 + children + 5 * children
    processes = query(folder, "SELECT count(DISTINCT pid) FROM tracks")
    assert processes == [[children + 1]]
    # The parent's records are the parent's alone: none of a child's went into its pages.
    parents = max(query(folder, "SELECT count(*) FROM slices s JOIN tracks t ON s.track_id = t.id"
                                " WHERE s.name = 'outer' GROUP BY t.pid"))  # fmt: skip
    assert parents == [10 + children]


def test_short_threads(folder: pathlib.Path) -> None:
    check_threads(folder, 1000)


@pytest.mark.heavy
def test_5000_short_threads(folder: pathlib.Path) -> None:
    check_threads(folder, 5000)


def check_threads(folder: pathlib.Path, threads: int) -> None:
    run("threads", folder, threads)
    # Where so many threads leave the drain no time, what it costs is counted, and little.
    dropped = report(folder)["stats"].get("records_dropped", 0)
    if dropped > 0:
        missing = 20 * threads - calls(folder)["outer"]
        assert missing <= dropped < 20 * threads / (1 if IS_SANITIZED else 20)  # of 80 each
        return
    assert calls(folder)["outer"] == 20 * threads
    per_thread = query(
        folder,
        "SELECT min(n), max(n), count(*) FROM (SELECT count(*) AS n FROM slices"
        " WHERE name = 'outer' GROUP BY track_id)",
    )
    assert per_thread == [[20, 20, threads]]


def test_thousands_of_threads_at_once(folder: pathlib.Path) -> None:
    run("at-once", folder, 2000)
    # With so many threads for two cores the drain may come late; what it costs is counted.
    dropped = report(folder)["stats"].get("records_dropped", 0)
    missing = 2 * 2000 - calls(folder)["outer"]
    assert missing <= dropped < (8000 if IS_SANITIZED else 2000)  # of 16,000


def test_a_daemon_that_closes_every_descriptor(folder: pathlib.Path) -> None:
    run("daemon", folder)
    log = folder.parent / "daemon.log"
    deadline = time.monotonic() + 30
    while not (log.exists() and log.read_bytes()) and time.monotonic() < deadline:
        time.sleep(0.05)
    # Nothing of ours went into the files that took our numbers.
    assert log.read_bytes() == b"daemon was here\n"
    assert calls(folder)["outer"] == 10 + 10 + 100_000


def test_a_program_that_closes_every_descriptor(folder: pathlib.Path) -> None:
    run("close-all", folder)
    assert (folder.parent / "program.log").read_bytes() == b"program was here\n"
    assert calls(folder)["outer"] == 10 + 100_000
    assert not list(folder.glob("*.pool"))


def test_a_program_that_changes_its_root(
    folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() != 0:
        pytest.skip("chroot needs root")
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0")  # it looks for /proc, which is outside
    run("chroot", folder)
    assert calls(folder)["outer"] == 10 + 10_000
    assert not list(folder.glob("*.pool"))


def test_a_chain_of_execs(folder: pathlib.Path) -> None:
    run("exec", folder, 5)
    assert len(list(folder.glob("*.sscope"))) == 6
    assert calls(folder)["outer"] == 6 * 10


def test_starting_and_stopping_while_threads_record(folder: pathlib.Path) -> None:
    run("restart", folder, 40)
    for i in range(40):
        names = calls(folder / str(i))
        assert names["outer"] >= 1000
        stats = report(folder / str(i))["stats"]
        assert not stats.get("records_lost")
        assert not stats.get("records_recovered")


def test_a_folder_that_vanishes_does_not_hurt_the_program(folder: pathlib.Path) -> None:
    done = run("vanish", folder)
    assert done.stdout.startswith("stop: 1 ")
    assert "was removed" in done.stdout


def test_memory_stays_flat_whatever_the_length(folder: pathlib.Path) -> None:
    check_flat(folder, 400)


@pytest.mark.heavy
def test_memory_stays_flat_over_10_gb(folder: pathlib.Path) -> None:
    check_flat(folder, 10_000, timeout=900)


def check_flat(folder: pathlib.Path, megabytes: int, timeout: float = 120) -> None:
    done = run("much", folder, megabytes, timeout=timeout)
    first_kb, last_kb = map(int, done.stdout.split())
    if not IS_SANITIZED:
        assert last_kb < 60_000  # the pool's 8 MB, and the program
        assert last_kb - first_kb < 20_000
    files = list(folder.glob("*.sscope"))
    assert sum(file.stat().st_size for file in files) <= 8 << 20
    # The ring keeps the newest: it says so, and what it keeps has no gap.
    stats = report(folder)["stats"]
    assert stats["records_expired"] > 0
    assert not stats.get("records_lost")


@pytest.fixture
def small_disk(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    """A file system of 8 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(disk)], capture_output=True, text=True
    )
    if mounted.returncode != 0:
        pytest.skip(f"no right to mount a small disk: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_costs_records_and_says_so(small_disk: pathlib.Path) -> None:
    folder = small_disk / "run"
    done = run("disk-full", folder)  # the program ends well
    assert done.stdout.startswith("stop: 1 ")
    assert "No space left on device" in done.stdout
    written = int(done.stdout.split("wrote ")[1])
    stats = report(folder)["stats"]
    kept = query(folder, "SELECT count(*) FROM counters")[0][0]
    assert kept > 100_000
    assert stats["records_dropped"] > 0
    assert kept + stats["records_dropped"] == written


def test_a_folder_that_can_not_be_written_is_said_at_the_start(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("")
    done = run("disk-full", tmp_path / "file" / "run", check=False)
    assert done.returncode == 1
    assert done.stdout.startswith("start: ")


@pytest.fixture
def long_run(folder: pathlib.Path) -> Iterator[Callable[[], pathlib.Path]]:
    process = subprocess.Popen([str(TARGET), "long", str(folder)], stdout=subprocess.PIPE)
    assert process.stdout
    process.stdout.readline()

    yield lambda: folder
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_recording_is_read_while_it_is_written(long_run: Callable[[], pathlib.Path]) -> None:
    folder = long_run()
    counts = []
    for _ in range(5):
        time.sleep(0.2)
        counts.append(calls(folder)["outer"])
        stats = report(folder)["stats"]
        assert not stats.get("records_lost")
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


def test_the_systems_counters_are_recorded(folder: pathlib.Path) -> None:
    run("counters", folder)
    series = {tuple(row) for row in query(folder, "SELECT DISTINCT name, series FROM counters")}
    assert ("CPU", "user") in series
    assert ("memory", "RSS") in series
    busy = query(folder, "SELECT max(value) FROM counters WHERE name = 'CPU' AND series = 'user'")[
        0
    ][0]
    assert 0.1 < busy < 64
