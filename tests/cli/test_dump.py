"""stepscope dump: threads, stacks, locals and processes of programs that run meanwhile."""

import itertools
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from .dumped import (
    LIMIT_S,
    ROOT,
    Json,
    Run,
    dump_json,
    dump_until,
    live,
    places,
    python,
    running,
    thread_named,
    waits_in,
)

pytestmark = live

__all__ = ["python"]


THREADS = """\
import threading, time
def leaf():
    time.sleep(1000)
class Worker:
    def work(self):
        leaf()
def numbers():
    yield 1
    leaf()
def consume():
    for _ in numbers():
        pass
def deep(n):
    if n == 0:
        leaf()
    deep(n - 1)
for name, target, *args in [
    ("worker", Worker().work), ("generator", consume), ("deep", deep, 500)
]:
    threading.Thread(target=target, args=args, name=name, daemon=True).start()
print("ready", flush=True)
leaf()
"""


@pytest.fixture
def threads_script(tmp_path: Path) -> Path:
    path = tmp_path / "threads_program.py"
    path.write_text(THREADS)
    return path


def all_sleep(process: Json) -> bool:
    calls = [t["call"] for t in process["threads"]]
    sleep = len(calls) == 4 and all(call and "nanosleep" in call for call in calls)
    return sleep and bool(process["remarks"])  # none has just begun to


def test_threads_have_their_stacks_names_and_lines(
    stepscope: Run, python: str, threads_script: Path
) -> None:
    with running(python, threads_script) as program:
        process = dump_until(stepscope, program.pid, all_sleep)
    file = "threads_program.py"
    main = process["threads"][0]
    assert (main["tid"], main["name"]) == (program.pid, "MainThread")
    assert places(main) == ["leaf:3", "<module>:22"]
    assert main["frames"][0]["file"] == str(threads_script)
    assert places(thread_named(process, "worker"), file) == ["leaf:3", "Worker.work:6"]
    assert places(thread_named(process, "generator"), file) == [
        "leaf:3",
        "numbers:9",
        "consume:11",
    ]
    assert "Thread.run" in places(thread_named(process, "worker"), "threading.py")[0]
    assert not any(t["holds_gil"] for t in process["threads"])
    assert "All 4 threads of Python wait, and nobody holds the GIL." in process["remarks"]


def test_recursion_500_deep_is_whole_in_json_and_short_in_text(
    stepscope: Run, python: str, threads_script: Path
) -> None:
    with running(python, threads_script) as program:
        process = dump_until(stepscope, program.pid, all_sleep)
        text = stepscope("dump", program.pid, check=True).stdout
    deep = places(thread_named(process, "deep"), "threads_program.py")
    assert deep == ["leaf:3", "deep:15", *["deep:16"] * 500]
    assert "… the same 497 times more" in text
    assert len(text.splitlines()) < 50


def test_text_names_the_innermost_call_first_and_fits_80_columns(
    stepscope: Run, python: str, threads_script: Path
) -> None:
    with running(python, threads_script) as program:
        dump_until(stepscope, program.pid, all_sleep)
        environment = os.environ | {"COLUMNS": "80"}
        text = stepscope("dump", program.pid, "--locals", env=environment, check=True).stdout
    lines = text.splitlines()
    assert max(len(line) for line in lines) <= 80
    assert lines[0].startswith(f"Process {program.pid}: ")
    at = lines.index(f"Thread {program.pid} MainThread: waiting in clock_nanosleep")
    assert lines[at + 1].endswith("threads_program.py:3 leaf")
    assert lines[at + 2].endswith("threads_program.py:22 <module>")
    assert "\x1b" not in text


def test_the_same_functions_and_lines_as_py_spy(
    stepscope: Run, python: str, threads_script: Path
) -> None:
    py_spy = shutil.which("py-spy") or shutil.which(ROOT / ".venv-peers/bin/py-spy")
    if py_spy is None:
        pytest.skip("py-spy is not installed")
    with running(python, threads_script) as program:
        process = dump_until(stepscope, program.pid, all_sleep)
        command = [py_spy, "dump", "--json", "--pid", str(program.pid)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        pytest.skip(f"py-spy can not read this Python: {result.stderr}")

    def describe(name: str, file: str, line: int) -> str:
        return f"{file}:{line} {name.rsplit('.', 1)[-1]}"

    theirs = {
        t["os_thread_id"]: [describe(f["name"], f["filename"], f["line"]) for f in t["frames"]]
        for t in json.loads(result.stdout)
    }
    ours = {
        t["tid"]: [describe(f["function"], f["file"], f["line"]) for f in t["frames"]]
        for t in process["threads"]
    }
    assert ours == theirs


LOCALS = r"""
import time
def compute(rate, *rest, key=None, **options):
    big = list(range(1_000_000))
    text = "red\x1b[31m" * 100_000
    cyclic = [1]; cyclic.append(cyclic)
    table = {"lr": 0.001, "layers": [64, 64]}; table["self"] = table
    huge = 7 ** 100_000
    captured = 5
    def inner():
        here = captured
        print("ready", flush=True)
        time.sleep(1000)
    inner()
compute(0.5, 1, 2, key="k", deep=True)
"""


def test_locals_are_shown_within_limits(stepscope: Run, python: str) -> None:
    with running(python, LOCALS) as program:
        sleeps = waits_in("MainThread", "clock_nanosleep")
        process = dump_until(stepscope, program.pid, sleeps, "--locals")
        text = stepscope("dump", program.pid, "--locals", check=True).stdout
    inner, compute, _ = process["threads"][0]["frames"]
    assert {v["name"]: v["value"] for v in inner["locals"]} == {"here": "5", "captured": "5"}
    values = {v["name"]: v["value"] for v in compute["locals"]}
    assert [v["name"] for v in compute["locals"] if v["argument"]] == [
        "rate",
        "key",
        "rest",
        "options",
    ]
    assert values["rate"] == "0.5"
    assert values["rest"] == "(1, 2)"
    assert values["options"] == "{'deep': True}"
    assert values["big"] == "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, … 999990 more]"
    assert values["cyclic"] == "[1, [...]]"
    assert values["table"] == "{'lr': 0.001, 'layers': [64, 64], 'self': {...}}"
    assert re.fullmatch(r"<int of 28\d{4} bits>", values["huge"])
    assert values["text"].startswith("'red\\x1b[31mred")
    assert all(len(value) < 140 for value in values.values())
    assert process["all_locals"]
    assert "\x1b" not in text
    assert "        cyclic = [1, [...]]\n" in text


def test_many_locals_in_deep_frames_are_cut_and_that_is_said(stepscope: Run, python: str) -> None:
    names = "\n    ".join(f"v{i} = n" for i in range(60))
    script = f"""
import time
def deep(n):
    {names}
    if n == 0:
        print("ready", flush=True)
        time.sleep(1000)
    deep(n - 1)
deep(200)
"""
    with running(python, script) as program:
        sleeps = waits_in("MainThread", "clock_nanosleep")
        process = dump_until(stepscope, program.pid, sleeps, "--locals")
    frames = process["threads"][0]["frames"]
    assert len(frames) == 202
    assert (len(frames[0]["locals"]), frames[0]["locals_left_out"]) == (50, 11)
    assert not process["all_locals"]
    assert "locals" not in frames[-2]


def test_native_frames_lie_among_those_of_python(stepscope: Run, python: str) -> None:
    script = """
import time
def wait(_):
    print("ready", flush=True)
    time.sleep(1000)
sorted([1], key=wait)
"""
    with running(python, script) as program:
        sleeps = waits_in("MainThread", "clock_nanosleep")
        process = dump_until(stepscope, program.pid, sleeps, "--native")
        assert program.poll() is None
    frames = process["threads"][0]["frames"]
    python_at = [i for i, f in enumerate(frames) if not f["native"]]
    assert [f"{frames[i]['function']}:{frames[i]['line']}" for i in python_at] == [
        "wait:5",
        "<module>:6",
    ]
    above = [f["function"] for f in frames[: python_at[0]]]
    between = [f["function"] for f in frames[python_at[0] : python_at[1]]]
    assert any("nanosleep" in name for name in above), above
    assert any("sort" in name for name in between), between
    assert process["paused"]


TREE = """\
import os, subprocess, sys, time
if len(sys.argv) > 1 and int(sys.argv[1]) > 0:
    depth = int(sys.argv[1])
    child = subprocess.Popen([sys.executable, __file__, str(depth - 1)])
    shell = subprocess.Popen(["sleep", "1000"])
    child.wait()
else:
    print("ready", flush=True)
    time.sleep(1000)
"""


def test_subprocesses_are_shown_as_a_tree_without_those_that_are_no_python(
    stepscope: Run, python: str, tmp_path: Path
) -> None:
    script = tmp_path / "tree.py"
    script.write_text(TREE)
    with running(python, script, "2") as program:
        end = time.monotonic() + LIMIT_S
        while True:
            result = stepscope("dump", program.pid, "--subprocesses", "--json", check=True)
            dump = json.loads(result.stdout)
            stacks = [places(p["threads"][0], "tree.py") for p in dump["processes"] if p["threads"]]
            waits = ["<module>:6"]
            do_wait = all(p["threads"] and p["threads"][0]["call"] for p in dump["processes"])
            if (do_wait and stacks == [waits, waits, ["<module>:9"]]) or time.monotonic() > end:
                break
            time.sleep(0.05)
        text = stepscope("dump", program.pid, "-s", check=True).stdout
    pids = [p["pid"] for p in dump["processes"]]
    assert stacks == [waits, waits, ["<module>:9"]]
    assert [p["parent_pid"] for p in dump["processes"][1:]] == pids[:2]
    assert (dump["faults"], result.stderr) == ([], "")
    assert dump["processes"][0]["threads"][0]["on"] == f"process {pids[1]}"
    indents = [len(line) - len(line.lstrip()) for line in text.splitlines()[:3]]
    assert indents == [0, 4, 8]


def test_json_has_the_documented_members(stepscope: Run, python: str, threads_script: Path) -> None:
    with running(python, threads_script) as program:
        dump = dump_json(stepscope, program.pid, "--locals")
    assert set(dump) == {"processes", "faults"}
    process = dump["processes"][0]
    assert set(process) == {
        "pid",
        "parent_pid",
        "python",
        "binary",
        "command",
        "paused",
        "threads",
        "native_threads",
        "tasks",
        "all_locals",
        "remarks",
    }
    assert (process["pid"], process["parent_pid"]) == (program.pid, os.getpid())
    assert "threads_program.py" in process["command"]
    for thread in process["threads"]:
        assert set(thread) == {
            "tid",
            "name",
            "interpreter",
            "state",
            "call",
            "on",
            "waits_for",
            "holds_gil",
            "python",
            "read",
            "frames",
        }
        for frame in thread["frames"]:
            assert set(frame) - {"locals", "locals_left_out"} == {
                "function",
                "file",
                "line",
                "native",
            }
    text = (ROOT / "docs/sampling.md").read_text()
    for name in [*process, *process["threads"][0], *process["threads"][0]["frames"][0]]:
        assert f"`{name}`" in text, f"{name} is not documented"


def test_busy_threads_are_read_again_until_their_stacks_are_whole(
    stepscope: Run, python: str
) -> None:
    script = """
import threading
def leaf(n): return n
def middle(n): return leaf(n) + leaf(n)
def work():
    while True: middle(1)
for i in range(4): threading.Thread(target=work, name=f"busy-{i}", daemon=True).start()
print("ready", flush=True)
work()
"""
    allowed = {("leaf", "middle"), ("middle", "work")}
    with running(python, script) as program:
        for option in ["--locals", "--pause", "--locals", "--pause"]:
            process = dump_json(stepscope, program.pid, option)["processes"][0]
            for thread in process["threads"]:
                assert thread["read"]
                own = [f["function"] for f in thread["frames"] if f["file"] == "<string>"]
                own = [name for name in own if name != "<module>"]
                assert set(itertools.pairwise(own)) <= allowed
        assert program.poll() is None
