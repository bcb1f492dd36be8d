"""`stepscope top` where its output is no terminal: snapshots, and what it says when it can not."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

pytestmark = pytest.mark.live

PROGRAM = pathlib.Path(__file__).parent / "top_program.py"
PATIENCE_S = 120.0
ROW = re.compile(r" *([\d.]+)% +([\d.]+)% +([\d.]+)% +([\d.]+)%  (\S+) +(\S*)")

Stepscope = Callable[..., subprocess.CompletedProcess[str]]


def find_python(version: str) -> str | None:
    pyenv = sorted(pathlib.Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
    for path in [sys.executable, *map(str, pyenv), shutil.which(f"python{version}")]:
        if path is None:
            continue
        code = "import sys; print('%d.%d' % sys.version_info[:2])"
        told = subprocess.run([path, "-c", code], capture_output=True, text=True)
        if told.returncode == 0 and told.stdout.strip() == version:
            return path
    return None


@pytest.fixture(params=["3.11", "3.12", "3.13"])
def python(request: pytest.FixtureRequest) -> str:
    path = find_python(request.param)
    if path is None:
        pytest.skip(f"no Python {request.param} here")
    return path


@contextlib.contextmanager
def running(*command: object) -> Iterator[subprocess.Popen[str]]:
    """A program that has said that it is ready; it and its children are killed at the end."""
    words = [str(word) for word in command]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def rows_of(snapshot: str) -> dict[str, tuple[float, ...]]:
    """By function: own and total share now, own and total share since the start."""
    found = (ROW.match(line) for line in snapshot.splitlines())
    return {m[5]: tuple(float(m[i]) for i in range(1, 5)) for m in found if m}


def snapshots_of(text: str) -> list[str]:
    return text.split("\n\n")


def test_shares_are_those_of_the_program(stepscope: Stepscope, python: str) -> None:
    with running(python, PROGRAM) as program:
        result = stepscope("top", program.pid, "--once", "--interval", "3s", "--hz", 250)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    version = pathlib.Path(python).resolve().name.removeprefix("python")
    assert lines[0].startswith(f"stepscope top   {program.pid}  ")
    assert lines[0].endswith(f"Python {version}")
    assert re.match(r"CPU [\d.]+%   GIL held [\d.]+%   threads 2: ", lines[1])
    assert re.match(r"250 Hz   [\d.]+ s   [\d,]+ samples   [\d,]+ ticks? missed", lines[2])
    rows = rows_of(result.stdout)
    assert rows["hot"][1] == pytest.approx(100 * 30 / 44, abs=12)
    assert rows["cool"][1] == pytest.approx(100 * 10 / 44, abs=12)
    assert rows["main"][0] == pytest.approx(100 * 4 / 44, abs=8)
    assert rows["spin"][0] == pytest.approx(rows["hot"][1] + rows["cool"][1], abs=5)
    assert rows["main"][1] > 80


def test_threads_are_listed_with_where_they_are(stepscope: Stepscope, python: str) -> None:
    with running(python, PROGRAM) as program:
        result = stepscope("top", program.pid, "--once")
    assert re.search(rf"% +(running|waiting) +{program.pid}  MainThread ", result.stdout)
    assert re.search(r" 0\.\d%  waiting +\d+  waiter +Condition\.wait \S*:\d+", result.stdout)


def test_waiting_threads_count_only_where_that_is_asked_for(stepscope: Stepscope) -> None:
    with running(sys.executable, PROGRAM) as program:
        burning = stepscope("top", program.pid, "--once", "--limit", 0)
        idle = stepscope("top", program.pid, "--once", "--limit", 0, "--idle")
    assert rows_of(burning.stdout).get("wait_for_nothing", (0, 0))[1] < 20
    assert rows_of(idle.stdout)["wait_for_nothing"][1] == pytest.approx(50, abs=10)
    assert "shares of all threads' time, waiting too" in idle.stdout


def test_each_interval_has_its_snapshot_and_the_start_is_kept(stepscope: Stepscope) -> None:
    with running(sys.executable, PROGRAM) as program:
        result = stepscope("top", program.pid, "--interval", "500ms", "--duration", "1900ms")
    snapshots = snapshots_of(result.stdout)
    assert result.returncode == 0
    assert 2 <= len(snapshots) <= 5
    for snapshot in snapshots:
        assert rows_of(snapshot)["main"][1] > 50
    counts = [int(re.findall(r"([\d,]+) samples", part)[0].replace(",", "")) for part in snapshots]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


def test_a_program_that_ends_is_the_end_and_no_fault(stepscope: Stepscope, python: str) -> None:
    with running(python, PROGRAM, 2) as program:
        result = stepscope("top", program.pid, "--interval", "500ms")
        assert program.wait(PATIENCE_S) == 0
    assert result.returncode == 0
    assert result.stderr == f"stepscope: process {program.pid} has ended\n"
    assert "hot" in rows_of(result.stdout)


def test_children_join_where_that_is_asked_for(stepscope: Stepscope) -> None:
    with running(sys.executable, PROGRAM, 600, 2) as program:
        alone = stepscope("top", program.pid, "--once")
        all_of_them = stepscope("top", program.pid, "--interval", "3s", "--once", "--subprocesses")
    assert "child_work" not in rows_of(alone.stdout)
    assert "3 processes: " in all_of_them.stdout.splitlines()[0]
    rows = rows_of(all_of_them.stdout)
    assert rows["child_work"][1] > 20
    assert rows["hot"][1] > 5


def test_several_programs_are_one_view(stepscope: Stepscope) -> None:
    with running(sys.executable, PROGRAM) as one, running(sys.executable, PROGRAM) as two:
        result = stepscope("top", one.pid, two.pid, "--once")
    assert result.stdout.startswith(f"stepscope top   2 processes: {one.pid} {two.pid}")
    assert result.returncode == 0


def test_one_that_can_not_be_read_does_not_hide_the_others(stepscope: Stepscope) -> None:
    with running(sys.executable, PROGRAM) as program:
        result = stepscope("top", 99999999, program.pid, "--once")
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert "99999999" in result.stderr
    assert "hot" in rows_of(result.stdout)


def test_text_is_as_wide_as_the_user_says(stepscope: Stepscope) -> None:
    with running(sys.executable, PROGRAM) as program:
        for columns in (40, 80, 120):
            environment = os.environ | {"COLUMNS": str(columns)}
            result = stepscope("top", program.pid, "--once", env=environment)
            assert max(map(len, result.stdout.splitlines())) <= columns
            assert "\x1b" not in result.stdout


def test_names_can_not_steer_a_terminal(stepscope: Stepscope, tmp_path: pathlib.Path) -> None:
    script = tmp_path / "evil.py"
    script.write_text(
        "import threading, time\n"
        "code = compile('def f():\\n while True: pass', 'a\\x1b[2J\\r\\n.py', 'exec')\n"
        "space = {}\n"
        "exec(code, space)\n"
        "f = space['f']\n"
        "f.__code__ = f.__code__.replace(co_name='\\x1b]0;x\\x07', co_qualname='\\x1b]0;x\\x07')\n"
        "threading.Thread(target=f, name='\\x1b[31mred', daemon=True).start()\n"
        "print('ready', flush=True)\n"
        "time.sleep(600)\n"
    )
    with running(sys.executable, script) as program:
        result = stepscope("top", program.pid, "--once")
    assert result.returncode == 0
    assert "␛]0;x␇" in result.stdout
    assert "␛[31mred" in result.stdout
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", result.stdout)


def test_sampling_with_pauses_and_native_frames(stepscope: Stepscope, python: str) -> None:
    with running(python, PROGRAM) as program:
        paused = stepscope("top", program.pid, "--once", "--pause")
        native = stepscope("top", program.pid, "--once", "--native", "--limit", 0)
        assert program.poll() is None
    for result in (paused, native):
        if "CAP_SYS_PTRACE" in result.stderr:
            pytest.skip("programs can not be stopped here")
        assert result.returncode == 0, result.stderr
        assert rows_of(result.stdout)["hot"][1] > 40


def test_a_signal_ends_it_in_order(stepscope_bin: pathlib.Path) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        with running(sys.executable, PROGRAM) as program:
            command = [str(stepscope_bin), "top", str(program.pid), "--interval", "100ms"]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as top:
                assert top.stdout is not None
                assert top.stdout.readline().startswith("stepscope top")
                top.send_signal(number)
                top.communicate(timeout=PATIENCE_S)
            assert top.returncode == 0
            assert program.poll() is None


def test_a_reader_that_has_seen_enough_ends_it(stepscope_bin: pathlib.Path) -> None:
    with running(sys.executable, PROGRAM) as program:
        command = [str(stepscope_bin), "top", str(program.pid), "--interval", "100ms"]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as top:
            assert top.stdout is not None
            assert top.stderr is not None
            top.stdout.readline()
            top.stdout.close()
            assert top.wait(PATIENCE_S) == -signal.SIGPIPE
            assert top.stderr.read() == ""


def test_a_process_that_is_no_python_is_said_in_one_line(stepscope: Stepscope) -> None:
    with subprocess.Popen(["sleep", "600"]) as sleep:
        time.sleep(0.1)
        result = stepscope("top", sleep.pid, "--once")
        sleep.kill()
    assert result.returncode == 1
    assert result.stdout == ""
    assert re.fullmatch(
        rf"stepscope: [^\n]*{sleep.pid}[^\n]*not a Python program[^\n]*\n", result.stderr
    )


def test_a_process_that_does_not_exist_is_said_in_one_line(stepscope: Stepscope) -> None:
    result = stepscope("top", 99999999)
    assert result.returncode == 1
    assert re.fullmatch(r"stepscope: [^\n]*99999999[^\n]*\n", result.stderr)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ([], "PID"),
        (["train.py"], "'train.py' is no process id"),
        (["1", "--interval", "5ms"], "100ms at least"),
        (["1", "--interval", "soon"], "--interval"),
        (["1", "--duration", "0"], "--duration"),
        (["1", "--hz", "0"], "--hz"),
        (["1", "--sort", "size"], "own-since-start"),
        (["1", "--gil", "--idle"], "--gil"),
        (["1", "--onze"], "did you mean '--once'"),
    ],
)
def test_wrong_usage_is_said_in_one_line(
    stepscope: Stepscope, arguments: list[str], word: str
) -> None:
    result = stepscope("top", *arguments)
    assert result.returncode == 2
    assert word in result.stderr
    assert result.stderr.count("\n") == 1
