"""A server at work: the command `stepscope view` on a small trace, asked over real sockets."""

import contextlib
import dataclasses
import gzip
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any

import pytest

Event = dict[str, Any]
HOSTILE = "</script><script>alert(1)</script>&amp;\u202e"


def make_events(steps: int = 40, scale: float = 1.0) -> list[Event]:
    """A training run as torch.profiler writes it: steps, operators, kernels, a counter."""
    events: list[Event] = [
        {"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "args": {"name": HOSTILE}},
        {"ph": "M", "name": "thread_name", "pid": 7, "tid": 7, "args": {"name": "main"}},
    ]
    for step in range(steps):
        begin = 1_000_000 + 1000 * step
        common = {"ph": "X", "pid": 7, "tid": 7}
        stream = {"ph": "X", "pid": 0, "tid": 7, "cat": "kernel"}
        launch = {"correlation": step + 1, "External id": 10 * step + 1}
        events += [
            {**common, "cat": "user_annotation", "name": f"ProfilerStep#{step}", "ts": begin,
             "dur": 900.5 * scale},
            {**common, "cat": "cpu_op", "name": "aten::linear", "ts": begin + 100,
             "dur": 300.125 * scale,
             "args": {"External id": 10 * step + 1, "Input Dims": [[8, 16], [16, 4]]}},
            {**common, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": begin + 150,
             "dur": 20, "args": launch},
            {**common, "cat": "cpu_op", "name": HOSTILE, "ts": begin + 500, "dur": 10},
            {**stream, "name": "gemm", "ts": begin + 200, "dur": 400 * scale,
             "args": {"device": 0, "stream": 7, **launch}},
            {"ph": "C", "name": "memory", "pid": 7, "tid": 7, "ts": begin,
             "args": {"bytes": step * 1000}},
        ]  # fmt: skip
    return events


def write_trace(path: pathlib.Path, events: list[Event]) -> pathlib.Path:
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


@dataclasses.dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclasses.dataclass
class Server:
    """A running `stepscope view`."""

    process: subprocess.Popen[str]
    port: int
    token: str

    def ask(
        self,
        path: str,
        *,
        method: str = "GET",
        body: str | bytes | None = None,
        headers: dict[str, str] | None = None,
        token: str | None = "",
    ) -> Answer:
        """One request on a connection of its own. `token` "" is the right one, None is none."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        sent = dict(headers or {})
        if token is not None:
            sent["X-Stepscope-Token"] = token or self.token
        try:
            connection.request(method, path, body=body, headers=sent)
            response = connection.getresponse()
            data = response.read()
            if response.headers.get("Content-Encoding") == "gzip":
                data = gzip.decompress(data)
            return Answer(response.status, dict(response.headers.items()), data)
        finally:
            connection.close()

    def api(self, path: str, **parameters: object) -> Answer:
        return self.ask(f"/api/{path}?{urllib.parse.urlencode(parameters)}")

    def sql(self, statement: str, **parameters: object) -> Answer:
        path = f"/api/sql?{urllib.parse.urlencode(parameters)}"
        return self.ask(path, method="POST", body=statement)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def send_raw(self, data: bytes) -> bytes:
        """What comes back where this is all that is sent."""
        with self.connect() as client:
            with contextlib.suppress(OSError):  # refused before all was sent
                client.sendall(data)
                client.shutdown(socket.SHUT_WR)
            return receive_all(client)

    def is_well(self) -> bool:
        return self.process.poll() is None and self.api("runs").status == 200


def receive_all(client: socket.socket) -> bytes:
    received = b""
    try:
        while chunk := client.recv(65536):
            received += chunk
    except ConnectionError:
        pass
    return received


StartServer = Callable[..., Server]


def start(stepscope_bin: pathlib.Path, *arguments: object) -> Server:
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    process = subprocess.Popen(
        [stepscope_bin, "view", *map(str, arguments), "--no-browser"],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    match = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/#token=([0-9a-f]{32,})", line)
    assert match, f"no address in {line!r}"
    return Server(process, int(match[1]), match[2])


def stop(server: Server) -> int:
    server.process.send_signal(signal.SIGINT)
    code = server.process.wait(timeout=30)
    assert server.process.stdout is not None
    server.process.stdout.close()
    return code


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> list[pathlib.Path]:
    folder = tmp_path_factory.mktemp("traces")
    before = write_trace(folder / "before.json", make_events())
    after = write_trace(folder / "after.json", make_events(scale=0.9))
    return [before, after]


@pytest.fixture(scope="module")
def server(stepscope_bin: pathlib.Path, traces: list[pathlib.Path]) -> Iterator[Server]:
    """Runs 0 and 1; run 2 did not open. What it is asked must not end it."""
    running = start(stepscope_bin, *traces, traces[0].parent / "missing.json")
    yield running
    assert running.process.poll() is None
    assert stop(running) == 0
