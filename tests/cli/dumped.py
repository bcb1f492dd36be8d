"""Programs that tests of `stepscope dump` start, and what a dump says of them."""

import contextlib
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]
Json = dict[str, Any]

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 60.0


def may_read_others() -> bool:
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    return os.geteuid() == 0 or not scope.exists() or scope.read_text().strip() == "0"


live = [
    pytest.mark.live,
    pytest.mark.skipif(not may_read_others(), reason="this user may read its children only"),
]


@functools.cache
def find_python(version: str) -> str | None:
    """A Python of this version that starts: this one, a version manager's, one on the path."""
    names = sorted((Path.home() / ".pyenv/versions").glob(f"{version}.*/bin/python{version}"))
    found = [str(name) for name in names]
    if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
        found.insert(0, sys.executable)
    if on_path := shutil.which(f"python{version}"):
        found.append(on_path)
    for python in found:
        if subprocess.run([python, "-c", "import asyncio, ctypes"], check=False).returncode == 0:
            return python
    return None


@pytest.fixture(params=["3.11", "3.12", "3.13"])
def python(request: pytest.FixtureRequest) -> str:
    found = find_python(request.param)
    if found is None:
        pytest.skip(f"no Python {request.param}")
    return found


@contextlib.contextmanager
def running(python: str, script: Path | str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A program that has printed its first line; killed at the end, with all it started."""
    script_arguments = ["-c", script] if isinstance(script, str) else [str(script)]
    with subprocess.Popen(
        [python, *script_arguments, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n", "the program has failed"
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def dump_json(stepscope: Run, *arguments: object) -> Json:
    return dict(json.loads(stepscope("dump", *arguments, "--json", check=True).stdout))


def dump_until(
    stepscope: Run, pid: int, condition: Callable[[Json], bool], *arguments: str
) -> Json:
    """The first dump of a process for which the condition holds."""
    end = time.monotonic() + LIMIT_S
    while True:
        process: Json = dump_json(stepscope, pid, *arguments)["processes"][0]
        if condition(process):
            return process
        assert time.monotonic() < end, json.dumps(process, indent=1)
        time.sleep(0.05)


def thread_named(process: Json, name: str) -> Json:
    return next((t for t in process["threads"] if t["name"] == name), {"frames": []})


def places(stack: Json, file: str = "") -> list[str]:
    """ "function:line" of the frames in a file, the innermost first."""
    return [
        f"{frame['function']}:{frame['line']}"
        for frame in stack["frames"]
        if frame["file"].endswith(file)
    ]


def waits_in(name: str, call: str) -> Callable[[Json], bool]:
    return lambda process: thread_named(process, name).get("call") == call
