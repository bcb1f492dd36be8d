"""TensorBoard itself, with the package as installed: `tensorboard --logdir` on a port of its own.

Runs in .venv-tensorboard (scripts/setup tensorboard), where nothing else brings a tab.
"""

import contextlib
import dataclasses
import gzip
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COMMAND = ROOT / ".venv/bin/stepscope"
PLUGIN = "data/plugin/stepscope"
PROFILE = ROOT / "tests/data/xplane/prefetch_seqmap_noopt.xplane.pb.gz"
HOSTILE = "</script><img src=x onerror=alert(1)>"


def make_events(scale: float = 1.0) -> list[dict[str, Any]]:
    """A training run as torch.profiler writes it."""
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "thread_name", "pid": 7, "tid": 7, "args": {"name": "main"}}
    ]
    for step in range(30):
        begin = 1_000_000 + 1000 * step
        common = {"ph": "X", "pid": 7, "tid": 7}
        events += [
            {**common, "cat": "user_annotation", "name": f"ProfilerStep#{step}", "ts": begin,
             "dur": 900},
            {**common, "cat": "cpu_op", "name": "aten::linear", "ts": begin + 100,
             "dur": 300 * scale},
            {**common, "cat": "cpu_op", "name": HOSTILE, "ts": begin + 700, "dur": 10},
        ]  # fmt: skip
    return events


def trace_text(scale: float = 1.0) -> str:
    return json.dumps({"schemaVersion": 1, "traceEvents": make_events(scale)})


@pytest.fixture(scope="session")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A job of two workers in the layout of torch.profiler's handler, a profile of TensorFlow's, a
    recording, a converted file, one that is broken, and what must not be shown."""
    folder = tmp_path_factory.mktemp("logdir")
    job = folder / "resnet" / "plugins" / "profile" / "monday"
    job.mkdir(parents=True)
    (job / "worker0.1623143089861.pt.trace.json").write_text(trace_text())
    (job / "worker1.1623143089870.pt.trace.json.gz").write_bytes(
        gzip.compress(trace_text(0.5).encode())
    )
    (job / "broken.1.pt.trace.json").write_text('{"traceEvents": [{"ph"')
    profile = folder / "tf" / "plugins" / "profile" / "2026_11_16_10_00_00"
    profile.mkdir(parents=True)
    shutil.copy(PROFILE, profile / "vm.xplane.pb.gz")
    subprocess.run(
        [COMMAND, "convert", job / "worker0.1623143089861.pt.trace.json", folder / "kept.sscope"],
        check=True,
        capture_output=True,
    )
    script = folder / "train.py"
    script.write_text(
        "def work():\n    return sum(range(1000))\n\nfor _ in range(50):\n    work()\n"
    )
    subprocess.run(
        [COMMAND, "run", "-o", folder / "recorded", script], check=True, capture_output=True
    )
    (folder / "settings.json").write_text("{}")
    outside = tmp_path_factory.mktemp("outside") / "secret.pt.trace.json"
    outside.write_text(trace_text())
    (folder / "link.pt.trace.json").symlink_to(outside)
    (folder / "linked").symlink_to(outside.parent)
    return folder


@dataclasses.dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclasses.dataclass
class Board:
    """A running TensorBoard."""

    address: str  # ends in /

    def ask(self, path: str, body: bytes | None = None, method: str | None = None) -> Answer:
        request = urllib.request.Request(self.address + path, data=body, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return Answer(response.status, dict(response.headers.items()), response.read())
        except urllib.error.HTTPError as error:
            return Answer(error.code, dict(error.headers.items()), error.read())

    def api(self, path: str, body: bytes | None = None, **parameters: object) -> Answer:
        return self.ask(f"{PLUGIN}/api/{path}?{urllib.parse.urlencode(parameters)}", body)

    def runs(self) -> dict[str, dict[str, Any]]:
        return {run["name"]: run for run in self.api("runs").json()["runs"]}

    def is_active(self) -> bool:
        return bool(self.ask("data/plugins_listing").json()["stepscope"]["enabled"])


StartBoard = Callable[..., "contextlib.AbstractContextManager[Board]"]


@pytest.fixture(scope="session")
def start_board(tmp_path_factory: pytest.TempPathFactory) -> StartBoard:
    """Starts TensorBoard, which finds the entry point that pyproject.toml names."""
    site = tmp_path_factory.mktemp("site")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    info = site / "stepscope-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stepscope\nVersion: 0\n")
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in points.items())
        for group, points in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))

    @contextlib.contextmanager
    def start(*arguments: object) -> Iterator[Board]:
        command = [sys.executable, "-m", "tensorboard.main", *map(str, arguments)]
        with tempfile.TemporaryFile("w+") as log:
            process = subprocess.Popen(
                [*command, "--port=0", "--host=127.0.0.1", "--load_fast=false"],
                stdout=log,
                stderr=log,
                env=os.environ | {"PYTHONPATH": str(site)},
            )
            try:
                yield Board(wait_for_address(process, log))
                assert process.poll() is None
            finally:
                process.terminate()
                process.wait(timeout=30)

    return start


def wait_for_address(process: subprocess.Popen[bytes], log: Any) -> str:
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        log.seek(0)
        for word in log.read().split():
            if word.startswith("http://127.0.0.1:"):
                return word
        time.sleep(0.1)
    log.seek(0)
    raise AssertionError(f"TensorBoard did not start:\n{log.read()}")


@pytest.fixture(scope="session")
def board(start_board: StartBoard, logdir: pathlib.Path) -> Iterator[Board]:
    with start_board("--logdir", logdir) as running:
        yield running


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if chromium is None:
        pytest.skip("no Chromium here")
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=flags)
        yield running
        running.close()
