"""The page in a real Chromium: `stepscope view` on recordings made here, driven by Playwright.

What every test is also held to, by the fixture `open_page`: nothing on the console, no dialog, no
request to another host than the page's server.
"""

import dataclasses
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from .screen import Screen

playwright_api = pytest.importorskip(
    "playwright.sync_api", reason="Playwright is not installed (scripts/setup)"
)

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HOSTILE = "</script><img src=x onerror=alert(1)><script>alert(2)</script>&lt;b&gt;"

Event = dict[str, Any]
Command = Callable[..., subprocess.CompletedProcess[str]]


@dataclasses.dataclass
class Server:
    """A running `stepscope view`."""

    process: subprocess.Popen[str]
    port: int
    token: str

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(timeout=30)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


def start(stepscope_bin: pathlib.Path, *paths: pathlib.Path) -> Server:
    command = [stepscope_bin, "view", *paths, "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    match = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/#token=([0-9a-f]{32,})", line)
    assert match, f"no address in {line!r}"
    return Server(process, int(match[1]), match[2])


@pytest.fixture(scope="session")
def serve(stepscope_bin: pathlib.Path, page: None) -> Iterator[Callable[..., Server]]:
    """One server for each set of paths; all must live until the end, and stop when asked to."""
    running: dict[tuple[pathlib.Path, ...], Server] = {}

    def serve_paths(*paths: pathlib.Path) -> Server:
        if paths not in running:
            running[paths] = start(stepscope_bin, *paths)
        return running[paths]

    yield serve_paths
    assert [server.process.poll() for server in running.values()] == [None] * len(running)
    assert [server.stop() for server in running.values()] == [0] * len(running)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no chromium here")
    with playwright_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield launched
        launched.close()


@dataclasses.dataclass
class Watch:
    """What a page did that no page may do."""

    host: str
    complaints: list[str] = dataclasses.field(default_factory=list)

    def on_console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"console: {message.text}")

    def on_dialog(self, dialog: Any) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def on_request(self, request: Any) -> None:
        if not request.url.startswith((self.host, "data:,")):
            self.complaints.append(f"request: {request.url}")


OpenPage = Callable[..., Screen]


@pytest.fixture
def open_page(browser: Any) -> Iterator[OpenPage]:
    """Opens the page of a server: `open_page(server, view="timeline")`. `complaints` of the screen
    must be empty at the end of the test, or emptied by it."""
    contexts: list[Any] = []
    watches: list[Watch] = []

    def open_screen(
        server: Server,
        *,
        token: str | None = None,
        size: tuple[int, int] = (1280, 800),
        color_scheme: str = "light",
        **state: object,
    ) -> Screen:
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=color_scheme
        )
        context.set_default_timeout(15_000)
        contexts.append(context)
        watch = Watch(server.address)
        watches.append(watch)
        page = context.new_page()
        page.on("console", watch.on_console)
        page.on("pageerror", lambda error: watch.complaints.append(f"exception: {error}"))
        page.on("dialog", watch.on_dialog)
        page.on("request", watch.on_request)
        screen = Screen(page, server.address, token or server.token, watch.complaints)
        screen.go(**state)
        return screen

    yield open_screen
    for context in contexts:
        context.close()
    assert [watch.complaints for watch in watches] == [[] for _ in watches]


# The recordings.


def complete(name: str, start_us: float, dur_us: float, tid: int = 1, **more: Any) -> Event:
    event = {"ph": "X", "pid": 1, "tid": tid, "name": name, "ts": start_us, "dur": dur_us}
    return {**event, **more}


def named(what: str, name: str, tid: int = 1) -> Event:
    return {"ph": "M", "name": what, "pid": 1, "tid": tid, "args": {"name": name}}


def known_events() -> list[Event]:
    """3 ms. On `main` alpha (0..1 ms) holds beta and gamma, then nothing, then delta (2..3 ms);
    on `worker` epsilon is in the middle, started by beta."""
    return [
        named("process_name", "trainer"),
        named("thread_name", "main"),
        named("thread_name", "worker", 2),
        complete("alpha", 0, 1000),
        complete("beta", 100, 300),
        complete("gamma", 600, 200, args={"batch": 32, "note": "last one"}),
        complete("delta", 2000, 1000),
        complete("epsilon", 1000, 1000, tid=2),
        {"ph": "s", "id": 1, "pid": 1, "tid": 1, "ts": 150, "name": "go", "cat": "flow"},
        {"ph": "f", "id": 1, "pid": 1, "tid": 2, "ts": 1000, "name": "go", "cat": "flow",
         "bp": "e"},
        {"ph": "C", "pid": 1, "name": "queue", "ts": 0, "args": {"items": 0}},
        {"ph": "C", "pid": 1, "name": "queue", "ts": 1500, "args": {"items": 8}},
    ]  # fmt: skip


def hostile_events() -> list[Event]:
    """Everything that has a name is named with HTML and script."""
    args = {HOSTILE: HOSTILE, "Call stack": f"{HOSTILE}(1): {HOSTILE}"}
    return [
        named("process_name", HOSTILE),
        named("process_labels", HOSTILE),
        named("thread_name", HOSTILE),
        complete(HOSTILE, 0, 1000, cat="cpu_op", args=args),
        complete(f"{HOSTILE}.py(3): {HOSTILE}", 2000, 400, cat="python_function"),
        complete(HOSTILE, 3000, 500, tid=7, pid=0, cat="kernel", args={"device": 0, "stream": 7}),
        {"ph": "C", "pid": 1, "name": HOSTILE, "ts": 0, "args": {HOSTILE: 5}},
    ]


def gpu_events(scale: float) -> list[Event]:
    """A training loop on a device, as torch.profiler writes it; `scale` is of its kernels."""
    events = [named("process_name", "python"), named("thread_name", "main")]
    for step in range(20):
        begin = 1000 * step
        link = {"correlation": step + 1, "External id": step + 1}
        events += [
            complete(f"ProfilerStep#{step}", begin, 950, cat="user_annotation"),
            complete("aten::linear", begin + 50, 300 * scale, cat="cpu_op",
                     args={"External id": step + 1, "Input Dims": [[8, 16], [16, 4]]}),
            complete("cudaLaunchKernel", begin + 60, 20, cat="cuda_runtime", args=link),
            complete("gemm", begin + 100, 400 * scale, tid=7, pid=0, cat="kernel",
                     args={"device": 0, "stream": 7, **link}),
        ]  # fmt: skip
    return events


def write_json(path: pathlib.Path, events: list[Event]) -> pathlib.Path:
    path.write_text(json.dumps({"traceEvents": events}))
    return path


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return tmp_path_factory.mktemp("viewer")


@pytest.fixture(scope="session")
def known(serve: Callable[..., Server], folder: pathlib.Path) -> Server:
    return serve(write_json(folder / "known.json", known_events()))


@pytest.fixture(scope="session")
def hostile(serve: Callable[..., Server], folder: pathlib.Path) -> Server:
    return serve(write_json(folder / "<img src=x onerror=alert(3)>.json", hostile_events()))


@pytest.fixture(scope="session")
def gpu_traces(folder: pathlib.Path) -> list[pathlib.Path]:
    return [
        write_json(folder / "before.json", gpu_events(1.0)),
        write_json(folder / "after.json", gpu_events(0.5)),
    ]


@pytest.fixture(scope="session")
def two_runs(serve: Callable[..., Server], gpu_traces: list[pathlib.Path]) -> Server:
    return serve(*gpu_traces)


TRAINING = """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Noise(Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, index):
        return distort(torch.rand(3, 16, 16)), index % 10

def distort(picture):
    for row in range(16):
        picture[:, row] += row * 0.1
    return picture

model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 14 * 14, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(2):
    for pictures, labels in DataLoader(Noise(), batch_size=8):
        loss = nn.functional.cross_entropy(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.fixture(scope="session")
def training_run(stepscope: Command, folder: pathlib.Path) -> pathlib.Path:
    """A short PyTorch training, recorded once."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    script = folder / "train.py"
    script.write_text(TRAINING)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    run = folder / "training"
    stepscope("run", "--only", "mine", "-o", run, script, check=True, env=environment)
    return run


@pytest.fixture(scope="session")
def training(serve: Callable[..., Server], training_run: pathlib.Path) -> Server:
    return serve(training_run)
