"""`stepscope record PID`: where it writes, how it ends, what it says when it can not."""

import contextlib
import gzip
import json
import os
import pathlib
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytestmark = pytest.mark.live

PATIENCE_S = 120.0
Stepscope = Callable[..., subprocess.CompletedProcess[str]]

BUSY = """
    import threading, time

    def burn():
        for i in range(10_000):
            i * i

    def wait():
        time.sleep(1000)

    def work():
        while True:
            burn()

    threading.Thread(target=wait, name="waiter", daemon=True).start()
    print("up", flush=True)
    work()
"""
# C calls Python.
SORTS = """
    def key(n):
        for i in range(50):
            i * i
        return n

    def sort_much():
        while True:
            sorted(range(1000), key=key)

    print("up", flush=True)
    sort_much()
"""
# A child after the other, each for a moment, under the name of its work.
PARENT = """
    import os, time

    def work_of_child():
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            pass

    def wait_for_child():
        os.wait()

    print("up", flush=True)
    while True:
        if os.fork() == 0:
            work_of_child()
            os._exit(0)
        wait_for_child()
"""


@contextlib.contextmanager
def run_program(text: str) -> Iterator[int]:
    """The process id of a Python program that has printed a line."""
    program = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(text)],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert program.stdout is not None
        assert program.stdout.readline() == b"up\n"
        yield program.pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        program.communicate()


@pytest.fixture(scope="module")
def busy() -> Iterator[int]:
    with run_program(BUSY) as pid:
        yield pid


@contextlib.contextmanager
def recording(stepscope_bin: pathlib.Path, *args: object) -> Iterator["subprocess.Popen[str]"]:
    """A recorder that samples by now."""
    command = [str(stepscope_bin), "record", *map(str, args)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as recorder:
        try:
            assert recorder.stderr is not None
            assert "recording" in (line := recorder.stderr.readline()), line
            yield recorder
        finally:
            recorder.kill()


def functions(stepscope: Stepscope, path: pathlib.Path, *options: object) -> dict[str, Any]:
    """Rows of the view by name."""
    done = stepscope(
        "report", path, "--view", "functions", "--limit", 0, "--format", "json", *options
    )
    assert done.returncode == 0, done.stderr
    table = json.loads(done.stdout)
    names = [column["name"] for column in table["columns"]]
    rows = [dict(zip(names, row, strict=True)) for row in table["rows"]]
    return {row["name"]: row for row in rows}


def wait_for_samples(stepscope: Stepscope, path: pathlib.Path, wanted: set[str]) -> None:
    """Until a recording that is being written has these functions."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        done = stepscope("query", path, "SELECT name FROM frames", "--format", "json")
        if done.returncode == 0 and wanted <= {row[0] for row in json.loads(done.stdout)["rows"]}:
            return
        time.sleep(0.1)
    pytest.fail(f"{wanted} never came")


def test_run_is_recorded_and_told_of(
    stepscope: Stepscope, busy: int, tmp_path: pathlib.Path
) -> None:
    folder = tmp_path / "run"
    done = stepscope("record", busy, "--duration", "1s", "-o", folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert f"recording process {busy}" in done.stderr
    assert "functions by own CPU time" in done.stderr
    assert "% ±" in done.stderr
    assert f"the run is in {folder}" in done.stderr
    assert [path.name for path in folder.iterdir()] == [f"{busy}.samples.sscope"]
    rows = functions(stepscope, folder)
    assert rows["burn"]["share"] > 0.5
    assert rows["wait"]["self_ns"] > 0


def test_folder_is_made_and_named_after_the_program(
    stepscope: Stepscope, tmp_path: pathlib.Path
) -> None:
    script = tmp_path / "train.py"
    script.write_text("print('up', flush=True)\nwhile True: pass\n")
    with subprocess.Popen([sys.executable, "-u", script], stdout=subprocess.PIPE) as program:
        try:
            assert program.stdout is not None
            program.stdout.readline()
            done = stepscope("record", program.pid, "--duration", "0.2s", "-q", cwd=tmp_path)
        finally:
            program.kill()
    assert (done.returncode, done.stderr) == (0, "")
    [folder] = (tmp_path / "outputs/profiler_results").iterdir()
    assert folder.name.startswith(f"train-{program.pid}-")


@pytest.mark.parametrize(
    ("name", "begin"),
    [
        ("flame.svg", b"<?xml"),
        ("run.speedscope.json", b"{"),
        ("run.collapsed", b"# stepscope"),
        ("run.collapsed.gz", b"\x1f\x8b"),
        ("run.pb.gz", b"\x1f\x8b"),
        ("callgrind.out.run", b"# callgrind format"),
        ("run.prof", b"{"),
    ],
)
def test_file_is_of_the_format_that_its_name_tells(
    stepscope: Stepscope, busy: int, name: str, begin: bytes, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / name
    done = stepscope("record", busy, "--duration", "0.3s", "-o", path)
    assert done.returncode == 0, done.stderr
    content = path.read_bytes()
    assert content.startswith(begin)
    assert b"burn" in (gzip.decompress(content) if name.endswith(".gz") else content)
    assert list(tmp_path.iterdir()) == [path]  # nothing beside it
    assert "functions by own CPU time" in done.stderr
    assert f"written: {path}" in done.stderr


def test_ctrl_c_ends_it_well(
    stepscope: Stepscope, stepscope_bin: pathlib.Path, busy: int, tmp_path: pathlib.Path
) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        path = tmp_path / f"{number}.sscope"
        with recording(stepscope_bin, busy, "--hz", 1, "-o", path) as recorder:
            wait_for_samples(stepscope, path, set())
            time.sleep(1.5)  # the first tick of a second
            recorder.send_signal(number)
            _, said = recorder.communicate(timeout=PATIENCE_S)
        assert recorder.returncode == 0, said
        assert "functions" in said
        assert "recovered" not in stepscope("report", path).stdout


def test_second_ctrl_c_ends_it_at_once(
    stepscope: Stepscope, stepscope_bin: pathlib.Path, busy: int, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / "run.sscope"
    with recording(stepscope_bin, busy, "--hz", 1000, "-o", path) as recorder:
        wait_for_samples(stepscope, path, {"burn"})
        recorder.send_signal(signal.SIGSTOP)  # so that both are there when it goes on
        recorder.send_signal(signal.SIGINT)
        recorder.send_signal(signal.SIGTERM)
        recorder.send_signal(signal.SIGCONT)
        recorder.communicate(timeout=PATIENCE_S)
    assert recorder.returncode in (-signal.SIGINT, -signal.SIGTERM)
    assert "burn" in functions(stepscope, path)


def test_recording_is_whole_after_a_kill(
    stepscope: Stepscope, stepscope_bin: pathlib.Path, busy: int, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / "run"
    with recording(stepscope_bin, busy, "--hz", 500, "-o", path) as recorder:
        begin = time.monotonic()
        wait_for_samples(stepscope, path, {"burn"})
        time.sleep(2)
        recorder.kill()
        ran_ns = (time.monotonic() - begin) * 1e9
    done = stepscope("query", path, "SELECT max(time_ns) FROM samples", "--format", "json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    # All but the last second, and what a busy machine takes to write it.
    assert told["rows"][0][0] > ran_ns - 2.5e9
    assert told["stats"]["sampler_ticks"] > 0
    assert stepscope("report", path, "--view", "functions").returncode == 0


def test_live_recording_can_be_read(
    stepscope: Stepscope, stepscope_bin: pathlib.Path, busy: int, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / "run"
    with recording(stepscope_bin, busy, "-o", path) as recorder:
        wait_for_samples(stepscope, path, {"burn", "wait"})
        assert recorder.poll() is None


def test_it_ends_with_the_program(stepscope_bin: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with (
        run_program(BUSY) as pid,
        recording(stepscope_bin, pid, "-o", tmp_path / "run") as recorder,
    ):
        time.sleep(0.5)
        os.kill(pid, signal.SIGKILL)
        _, said = recorder.communicate(timeout=PATIENCE_S)
    assert recorder.returncode == 0, said
    assert "burn" in said


def test_several_programs_are_one_recording(
    stepscope: Stepscope, busy: int, tmp_path: pathlib.Path
) -> None:
    other = BUSY.replace("burn", "glow")
    with run_program(other) as pid:
        done = stepscope("record", busy, pid, busy, "--duration", "1s", "-o", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "recording 2 processes" in done.stderr
    assert {"burn", "glow"} <= functions(stepscope, tmp_path / "run").keys()
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["samples.sscope"]


def test_children_join_and_leave(
    stepscope: Stepscope, stepscope_bin: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / "run"
    sql = "SELECT count(DISTINCT track_id) FROM samples"
    with run_program(PARENT) as pid:
        with recording(stepscope_bin, pid, "--subprocesses", "-o", path) as recorder:
            wait_for_samples(stepscope, path, {"work_of_child", "wait_for_child"})
            time.sleep(2)
            recorder.send_signal(signal.SIGINT)
            recorder.communicate(timeout=PATIENCE_S)
        assert recorder.returncode == 0
        done = stepscope("query", path, sql, "--format", "json")
        assert json.loads(done.stdout)["rows"][0][0] >= 3
        alone = tmp_path / "alone"
        assert stepscope("record", pid, "--duration", "1s", "-o", alone).returncode == 0
    rows = functions(stepscope, alone)
    assert "wait_for_child" in rows
    assert "work_of_child" not in rows


def test_waiting_counts_only_when_it_is_asked_for(
    stepscope: Stepscope, busy: int, tmp_path: pathlib.Path
) -> None:
    def record(name: str, *options: str) -> str:
        path = tmp_path / name
        done = stepscope("record", busy, "--duration", "0.5s", "-q", "-o", path, *options)
        assert (done.returncode, done.stderr) == (0, "")
        return path.read_text()

    assert "wait (" not in record("cpu.collapsed")
    assert "wait (" in record("wall.collapsed", "--idle")
    assert "burn (" in record("gil.collapsed", "--gil", "--idle")
    assert "wait (" not in record("gil.collapsed", "--gil", "--idle")


def test_native_functions_lie_between_those_of_python(
    stepscope: Stepscope, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / "run"
    with run_program(SORTS) as pid:
        done = stepscope("record", pid, "--native", "--hz", 200, "--duration", "3s", "-o", path)
    assert done.returncode == 0, done.stderr
    view = ("--view", "callers", "--filter", "^key$", "--limit", 0, "--format", "json")
    table = json.loads(stepscope("report", path, *view).stdout)
    names = [column["name"] for column in table["columns"]]
    callers = [dict(zip(names, row, strict=True)) for row in table["rows"]]
    # The interpreter's sort(), whatever its name there, called by sort_much().
    assert callers
    assert "sort_much" not in {row["caller"] for row in callers}
    assert all("python" in row["caller_file"] for row in callers)
    assert "sort_much" in functions(stepscope, path)


def test_program_that_never_holds_the_lock_gives_a_reason(
    stepscope: Stepscope, tmp_path: pathlib.Path
) -> None:
    with run_program("import time; print('up', flush=True); time.sleep(1000)") as pid:
        path = tmp_path / "run"
        done = stepscope("record", pid, "--gil", "--duration", "0.3s", "-q", "-o", path)
        assert done.returncode == 1
        assert "no thread held the GIL" in done.stderr
        assert not path.exists()
        # It waits, and that is told.
        done = stepscope("record", pid, "--duration", "0.3s", "-o", path)
        assert done.returncode == 0, done.stderr
        assert "<module>" in done.stderr


def check_fault(done: "subprocess.CompletedProcess[str]", code: int, *words: str) -> None:
    assert done.returncode == code, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("stepscope: ")
    for word in words:
        assert word in done.stderr


def test_process_that_is_not_there_is_one_line(
    stepscope: Stepscope, tmp_path: pathlib.Path
) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    done = stepscope("record", ended.pid, "-o", tmp_path / "run")
    check_fault(done, 1, f"process {ended.pid}", "no such process")
    assert not (tmp_path / "run").exists()


def test_what_is_no_python_is_one_line(
    stepscope: Stepscope, busy: int, tmp_path: pathlib.Path
) -> None:
    with subprocess.Popen(["sleep", "1000"]) as sleeper:
        try:
            done = stepscope("record", sleeper.pid, busy, "-o", tmp_path / "run")
        finally:
            sleeper.kill()
    check_fault(done, 1, f"process {sleeper.pid} (sleep)", "not a Python program")
    assert not (tmp_path / "run").exists()


def test_missing_right_is_one_line_that_says_what_to_do(
    stepscope_bin: pathlib.Path, busy: int
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can try to be somebody else")
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to others
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        command = folder / "stepscope"
        shutil.copy(stepscope_bin, command)
        command.chmod(0o755)
        if subprocess.run([*nobody, command, "--version"], capture_output=True).returncode != 0:
            pytest.skip("nobody else can run the command here")
        done = subprocess.run(
            [*nobody, command, "record", str(busy), "-o", folder / "run"],
            capture_output=True,
            text=True,
        )
    check_fault(done, 1, f"process {busy}", "CAP_SYS_PTRACE", "stepscope run --mode sample")


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("missing/flame.svg", "no such folder"),
        ("missing/run.sscope", "No such file or directory"),
        ("file/run", "Not a directory"),
        ("folder.svg/flame.svg/x.svg", "no such folder"),
    ],
)
def test_output_that_can_not_be_written_is_found_before_sampling(
    stepscope: Stepscope, busy: int, path: str, why: str, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "file").write_text("mine")
    done = stepscope("record", busy, "-o", tmp_path / path)
    check_fault(done, 1, why)
    assert (tmp_path / "file").read_text() == "mine"


def test_run_that_is_there_stays_unless_it_is_to_be_replaced(
    stepscope: Stepscope, busy: int, tmp_path: pathlib.Path
) -> None:
    record = ("record", busy, "--duration", "0.2s", "-q", "-o", tmp_path / "run")
    assert stepscope(*record).returncode == 0
    check_fault(stepscope(*record), 1, "--overwrite")
    assert stepscope(*record, "--overwrite").returncode == 0


def test_full_disk_is_one_line_and_leaves_what_was_recorded(
    stepscope: Stepscope, busy: int, tmp_path: pathlib.Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(disk)]
    mounted = subprocess.run(mount, capture_output=True, text=True)
    if mounted.returncode != 0:
        pytest.skip(f"no small disk can be had: {mounted.stderr.strip()}")
    try:
        path = disk / "run.sscope"
        done = stepscope("record", busy, "--hz", 10_000, "--duration", "60s", "-q", "-o", path)
        check_fault(done, 1, "No space left on device", f"what was recorded before is in {path}")
        assert "burn" in functions(stepscope, path)
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ([], "which process?"),
        (["abc"], "'abc' is no process id"),
        (["-5"], ""),
        (["1", "--hz", "0"], "--hz"),
        (["1", "--hz", "10001"], "--hz"),
        (["1", "--duration", "0"], "--duration"),
        (["1", "--duration", "5"], "needs a unit"),
        (["1", "--profiler-server", "localhost:1"], "--profiler-server"),
        (["--profiler-server", "localhost:1", "--native"], "--native"),
        (["1", "--python-calls"], "--profiler-server"),
        (["1", "-o", "flame.png"], "names no format"),
    ],
)
def test_wrong_usage_is_one_line(stepscope: Stepscope, args: list[str], why: str) -> None:
    check_fault(stepscope("record", *args), 2, why, "stepscope record --help")


def test_terminal_shows_how_far_it_is(
    stepscope_bin: pathlib.Path, busy: int, tmp_path: pathlib.Path
) -> None:
    controller, terminal = pty.openpty()
    command = [str(stepscope_bin), "record", str(busy), "-o", str(tmp_path / "run")]
    with subprocess.Popen(command, stderr=terminal, start_new_session=True) as recorder:
        os.close(terminal)
        seen = b""
        end = time.monotonic() + PATIENCE_S
        while b"1 s, " not in seen and time.monotonic() < end:
            if select.select([controller], [], [], 1)[0]:
                seen += os.read(controller, 4096)
        recorder.send_signal(signal.SIGINT)
        with contextlib.suppress(OSError):  # the terminal is gone with its last user
            while part := os.read(controller, 4096):
                seen += part
    os.close(controller)
    assert recorder.returncode == 0
    line = seen.split(b"\x1b[K")[-2]
    assert b" samples" in line
    assert b"Ctrl-C ends it" in line
    assert b"functions by own CPU time" in seen
