"""stepscope run: the program is as without us, and every call of it is in the run."""

import json
import os
import re
import signal
import subprocess
import textwrap
import time
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PYTHON = ROOT / ".venv/bin/python"
STEPSCOPE = str(Path(os.environ.get("STEPSCOPE_BIN", ROOT / ".venv/bin/stepscope")).absolute())


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))
    return path


def plain(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([PYTHON, *arguments], cwd=folder, capture_output=True, timeout=120)


def run(folder: Path, *arguments: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    command = [STEPSCOPE, "run", "--python", str(PYTHON), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, timeout=120, **options)  # type: ignore[call-overload,no-any-return]


def table(folder: Path, *options: str) -> dict[str, list[object]]:
    command = [STEPSCOPE, "report", str(folder), "--format", "json", "--limit", "0", *options]
    result = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    names = [column["name"] for column in result["columns"]]
    columns = {name: [row[i] for row in result["rows"]] for i, name in enumerate(names)}
    columns["stats"] = result["stats"]
    return columns


def calls(folder: Path) -> dict[str, int]:
    functions = table(folder, "--view", "functions")
    return dict(zip(functions["name"], functions["calls"], strict=True))  # type: ignore[arg-type]


# What a program sees of itself: the same with and without us.
SEES = """
    import os, sys
    def main():
        print(sys.argv, __name__, sys.path[0], os.getcwd(), sys.flags.optimize)
        print(__file__ if "__file__" in globals() else None, __spec__ and __spec__.name)
        print(sys.stdin.read())
        print("to stderr", file=sys.stderr)
    main()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, "script.py", SEES)
    write(tmp_path, "package/__init__.py", "")
    write(tmp_path, "package/__main__.py", SEES)
    write(tmp_path, "package/part.py", SEES)
    with zipfile.ZipFile(tmp_path / "program.zip", "w") as archive:
        archive.writestr("__main__.py", textwrap.dedent(SEES))
    return tmp_path


@pytest.mark.parametrize(
    "program",
    [
        ["script.py", "a", "--b", "-o"],
        ["-m", "package", "-m", "x"],
        ["-m", "package.part"],
        ["-c", "import sys; print(sys.argv, __name__)", "x"],
        ["package"],
        ["program.zip", "-c"],
        ["--", "script.py", "--", "a"],
    ],
    ids=lambda program: " ".join(program)[:20],
)
def test_a_program_sees_the_same(folder: Path, program: list[str]) -> None:
    without = plain(folder, *program[program[0] == "--" :])
    with_us = run(folder, "--quiet", "-o", "run", *program, stdin=subprocess.DEVNULL)
    assert with_us.stdout == without.stdout
    assert with_us.stderr == without.stderr
    assert with_us.returncode == without.returncode
    assert "<module>" in calls(folder / "run")


@pytest.mark.live
@pytest.mark.parametrize(
    "text",
    [
        "import sys; sys.exit(3)",
        "import sys; sys.exit('a message')",
        "import os; os._exit(4)",
        "def f():\n    raise ValueError('no')\nf()",
        "def f():\n    return f()\nf()",
        "x = = 1",
        "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
        "import os; os.abort()",
        "raise KeyboardInterrupt",
        "import asyncio\nasync def f():\n    raise OSError('x')\nasyncio.run(f())",
        "import threading\nt = threading.Thread(target=lambda: 1 / 0)\nt.start()\nt.join()",
        "import atexit; atexit.register(print, 'bye')",
        "import os; os._exit('x')",
    ],
)
def test_a_program_ends_the_same(tmp_path: Path, text: str) -> None:
    write(tmp_path, "script.py", text)
    without = plain(tmp_path, "script.py")
    with_us = run(tmp_path, "--quiet", "-o", "run", "script.py")
    assert with_us.stdout == without.stdout
    address = re.compile(rb"0x[0-9a-f]+|Thread-\d+")
    assert address.sub(b"", with_us.stderr) == address.sub(b"", without.stderr)
    assert with_us.returncode == without.returncode


@pytest.mark.live
def test_few_modules_are_loaded_for_it(tmp_path: Path) -> None:
    write(tmp_path, "script.py", "import sys; print(*sorted(sys.modules))")
    before = set(plain(tmp_path, "script.py").stdout.decode().split())
    with_us = set(run(tmp_path, "--quiet", "script.py").stdout.decode().split())
    added = {name for name in with_us - before if not name.startswith("stepscope")}
    assert added <= {"atexit", "gc", "sitecustomize"}


@pytest.mark.live
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP])
def test_signals_reach_the_program(tmp_path: Path, number: signal.Signals) -> None:
    write(
        tmp_path,
        "script.py",
        """
        import signal, sys, time
        def handle(number, frame):
            print("got", number)
            sys.exit(7)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP):
            signal.signal(number, handle)
        print("ready", flush=True)
        while True:
            time.sleep(0.01)
        """,
    )
    command = [STEPSCOPE, "run", "--python", PYTHON, "-o", "run", "script.py"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        output, errors = process.communicate(timeout=60)
    assert output == f"got {number.value}\n".encode()
    assert process.returncode == 7
    assert b"the run is in run" in errors
    assert calls(tmp_path / "run")["handle"] == 1


def test_a_killed_program_is_reported(tmp_path: Path) -> None:
    write(
        tmp_path,
        "script.py",
        """
        import os, signal
        def leave():
            os.kill(os.getpid(), signal.SIGKILL)
        def work():
            pass
        for _ in range(1000):
            work()
        leave()
        """,
    )
    result = run(tmp_path, "-o", "run", "script.py")
    assert result.returncode == -signal.SIGKILL
    assert b"recovered" in result.stderr
    assert calls(tmp_path / "run")["work"] == 1000


CHILDREN = """
    import multiprocessing, os, subprocess, sys
    def in_child(n):
        return sum(square(i) for i in range(n))
    def square(i):
        return i * i
    def forked():
        pid = os.fork()
        if pid == 0:
            in_child(10)
            os._exit(0)
        os.waitpid(pid, 0)
    if __name__ == "__main__":
        how = sys.argv[1]
        if how == "os.fork":
            forked()
        elif how == "subprocess":
            subprocess.run([sys.executable, "-c", "import script; script.in_child(10)"], check=True)
        else:
            context = multiprocessing.get_context(how)
            process = context.Process(target=in_child, args=(10,))
            process.start()
            process.join()
            assert process.exitcode == 0
"""


@pytest.mark.live
@pytest.mark.parametrize("how", ["os.fork", "subprocess", "fork", "spawn", "forkserver"])
def test_children_are_recorded(tmp_path: Path, how: str) -> None:
    write(tmp_path, "script.py", CHILDREN)
    result = run(tmp_path, "-o", "run", "script.py", how)
    assert result.returncode == 0, result.stderr.decode()
    recordings = sorted((tmp_path / "run").glob("[0-9]*.sscope"))
    assert len(recordings) >= 2
    assert not list((tmp_path / "run").glob("*.pool")), "all were closed"
    assert calls(tmp_path / "run")["square"] == 10
    assert b"recovered" not in result.stderr
    # The child's calls are in the child's recording, below what it was forked in.
    tracks = table(tmp_path / "run", "--view", "tracks")
    assert len(set(tracks["pid"])) == len(recordings)  # type: ignore[arg-type]


LIBRARY = """
    import json, time
    class Mine:
        def default(self, value):
            return tiny(value)
    def tiny(value):
        return str(value)
    def slow():
        time.sleep(0.02)
        tiny(1)
    def main():
        json.dumps(object(), default=Mine().default)
        slow()
        for _ in range(500):
            tiny(2)
    main()
"""


@pytest.mark.live
def test_only_my_code_keeps_the_tree(tmp_path: Path) -> None:
    write(tmp_path, "script.py", LIBRARY)
    assert run(tmp_path, "--only", "mine", "-o", "run", "script.py").returncode == 0
    assert set(calls(tmp_path / "run")) == {
        "<module>",
        "Mine",
        "main",
        "Mine.default",
        "tiny",
        "slow",
    }
    tree = table(tmp_path / "run", "--view", "tree")
    names = [str(name).strip().rpartition(": ")[2] for name in tree["name"]]
    assert names.index("main") < names.index("Mine.default"), (
        "below its caller, through the library"
    )
    assert run(tmp_path, "--exclude", "tiny", "-o", "other", "script.py").returncode == 0
    others = calls(tmp_path / "other")
    assert "tiny" not in others
    assert "JSONEncoder.encode" in others


@pytest.mark.live
def test_short_calls_are_left_out_and_counted(tmp_path: Path) -> None:
    write(tmp_path, "script.py", LIBRARY)
    result = run(tmp_path, "--min-duration", "10ms", "-o", "run", "script.py")
    assert result.returncode == 0
    found = calls(tmp_path / "run")
    assert found["slow"] == found["main"] == 1
    assert "tiny" not in found
    stats = table(tmp_path / "run", "--view", "functions")["stats"]
    assert stats["calls_left_out"] >= 502  # type: ignore[call-overload]


@pytest.mark.live
def test_threads_are_chosen_by_name(tmp_path: Path) -> None:
    write(
        tmp_path,
        "script.py",
        """
        import threading
        def work():
            helper()
        def helper():
            pass
        for name in ("loader-1", "loader-2", "logger"):
            thread = threading.Thread(target=work, name=name)
            thread.start()
            thread.join()
        """,
    )
    run(tmp_path, "-o", "all", "script.py")
    assert calls(tmp_path / "all")["helper"] == 3
    names = {str(name) for name in table(tmp_path / "all", "--view", "tracks")["name"]}
    assert {"MainThread", "loader-1", "loader-2", "logger"} <= {
        match[1] for name in names if (match := re.search(r"\((.*)\)", name))
    }
    run(tmp_path, "--threads", "loader-*", "-o", "some", "script.py")
    assert calls(tmp_path / "some")["helper"] == 2


@pytest.mark.live
def test_a_ring_keeps_the_newest(tmp_path: Path) -> None:
    write(
        tmp_path,
        "script.py",
        """
        import random
        def one(): pass
        def two(): one()
        def last(): pass
        for _ in range(600_000):
            random.choice((one, two))()
        last()
        """,
    )
    assert run(tmp_path, "--max-size", "1MB", "-o", "run", "script.py").returncode == 0
    size = sum(path.stat().st_size for path in (tmp_path / "run").iterdir())
    assert size < 1_300_000
    found = calls(tmp_path / "run")
    assert found["last"] == 1
    assert 1_000 < found["one"] < 600_000


STEPS = """
    import stepscope
    def train(i):
        return work(i)
    def work(i):
        return i
    for i in range(20):
        train(i)
        stepscope.step()
    def after():
        pass
    after()
    print(stepscope._core.is_tracing(), stepscope._core.is_recording())
"""


@pytest.mark.live
@pytest.mark.parametrize(
    ("steps", "count"), [("5", 5), ("2,1,4", 4), ("2,1,4,1", 4), ("1,0,2,3", 6), ("0,1,4,0", 16)]
)
def test_steps_bound_what_is_recorded(tmp_path: Path, steps: str, count: int) -> None:
    write(tmp_path, "script.py", STEPS)
    result = run(tmp_path, "--steps", steps, "-o", "run", "script.py")
    assert result.returncode == 0, result.stderr.decode()
    found = calls(tmp_path / "run")
    assert found["train"] == found["work"] == count
    if not steps.endswith(",0"):
        assert result.stdout == b"False False\n", "the profiler has taken itself out"
        assert "after" not in found
    step_table = table(tmp_path / "run", "--view", "steps")
    assert len(step_table["step"]) >= count  # type: ignore[arg-type]


@pytest.mark.live
def test_epochs_bound_what_is_recorded(tmp_path: Path) -> None:
    write(
        tmp_path,
        "script.py",
        """
        import stepscope
        def train(): pass
        for _ in range(5):
            for _ in range(10):
                train()
                stepscope.step()
            stepscope.epoch()
        """,
    )
    assert run(tmp_path, "--epochs", "2", "-o", "run", "script.py").returncode == 0
    assert calls(tmp_path / "run")["train"] == 20


def test_the_report_goes_to_stderr(tmp_path: Path) -> None:
    write(tmp_path, "script.py", "def f(): pass\nf()\nprint('mine')")
    result = run(tmp_path, "script.py")
    assert result.stdout == b"mine\n"
    assert b"calls" in result.stderr
    match = re.search(rb"the run is in (outputs/profiler_results/script-[-\d]+)\n", result.stderr)
    assert match
    assert calls(tmp_path / match[1].decode())["f"] == 1
    assert run(tmp_path, "--quiet", "script.py").stderr == b""


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["missing.py"], 1, "missing.py: no such file"),
        (["."], 1, "a folder without __main__.py"),
        ([], 2, "what is to be run?"),
        (["-m"], 2, "-m: a value is missing"),
        (["--c-cals", "x.py"], 2, "did you mean '--c-calls'?"),
        (["--min-duration", "5", "x.py"], 2, "needs a unit"),
        (["--max-size", "much", "x.py"], 2, "is no size"),
        (["--steps", "1,2", "x.py"], 2, "expected WAIT,WARMUP,ACTIVE,REPEAT"),
        (["--python", "/no/such", "x.py"], 1, "no such program"),
        (["-o", "/proc/none", "x.py"], 1, "/proc/none: "),
    ],
)
def test_wrong_usage_is_told(tmp_path: Path, arguments: list[str], code: int, message: str) -> None:
    write(tmp_path, "x.py", "")
    command = [STEPSCOPE, "run", *arguments]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True)
    assert result.returncode == code
    lines = result.stderr.decode().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("stepscope: ")
    assert message in lines[0]


def test_a_run_is_not_overwritten_by_accident(tmp_path: Path) -> None:
    write(tmp_path, "x.py", "def f(): pass\nf()")
    assert run(tmp_path, "-o", "run", "x.py").returncode == 0
    again = run(tmp_path, "-o", "run", "x.py")
    assert again.returncode == 1
    assert b"holds a run already" in again.stderr
    assert run(tmp_path, "-o", "run", "--overwrite", "x.py").returncode == 0
    assert calls(tmp_path / "run")["f"] == 1


@pytest.mark.live
def test_a_live_run_can_be_read(tmp_path: Path) -> None:
    write(
        tmp_path,
        "script.py",
        """
        import time
        def work(): time.sleep(0.001)
        print("ready", flush=True)
        while True: work()
        """,
    )
    command = [STEPSCOPE, "run", "--python", PYTHON, "-o", "run", "script.py"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout
        process.stdout.readline()
        time.sleep(0.5)
        assert calls(tmp_path / "run")["work"] > 10
        process.kill()


@pytest.mark.heavy
def test_a_hundred_million_calls_fit_into_memory(tmp_path: Path) -> None:
    write(
        tmp_path,
        "script.py",
        """
        def a(x): return b(x) if x & 1 else c(x)
        def b(x): return x
        def c(x): return d(x)
        def d(x): return x
        def main(n):
            for i in range(n): a(i)
        main(40_000_000)
        """,
    )
    command = [STEPSCOPE, "run", "--python", PYTHON, "-o", "run", "script.py"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    # Of the program and of the report that follows it, whichever takes more.
    assert usage.ru_maxrss << 10 < 4e9
    found = table(tmp_path / "run", "--view", "functions")
    counts = dict(zip(found["name"], found["calls"], strict=True))
    assert [counts[name] for name in "abcd"] == [40_000_000, 20_000_000, 20_000_000, 20_000_000]
    assert "records_dropped" not in found["stats"]
    size = sum(path.stat().st_size for path in (tmp_path / "run").iterdir())
    assert size < 8 * 100_000_000


@pytest.mark.live
def test_functions_are_told_apart_by_thread(tmp_path: Path) -> None:
    write(
        tmp_path,
        "script.py",
        """
        import threading
        def work(): pass
        thread = threading.Thread(target=work, name="other")
        thread.start()
        thread.join()
        work()
        """,
    )
    assert run(tmp_path, "-o", "run", "script.py").returncode == 0
    found = table(tmp_path / "run", "--view", "functions", "--by", "thread", "--filter", "^work$")
    names = {re.sub(r"\d+ ", "", str(name)) for name in found["thread"]}
    assert names == {"(MainThread)", "(other)"}
    assert found["calls"] == [1, 1]
