"""Steps of pipelines that send their runs to real servers on this machine: Azurite and MLflow.

Runs with the Python of the environment that has their clients (scripts/setup pipelines).
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COMMAND = pathlib.Path(os.environ.get("STEPSCOPE_BIN", ROOT / ".venv/bin/stepscope")).absolute()
AZURITE = pathlib.Path(sys.prefix) / "azurite/node_modules/azurite/dist/src/blob/main.js"
# Azurite's own, known to everyone.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

Done = subprocess.CompletedProcess[str]
Environment = dict[str, str]


def environment(**more: str) -> Environment:
    """Without what would tell a program that it is part of a job, or whom to ask."""
    strange = ("STEPSCOPE", "MLFLOW", "AZURE", "FSSPEC", "RANK", "WORLD_SIZE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(strange)}
    kept |= {"PYTHONPATH": str(ROOT / "python"), "STEPSCOPE_PYTHON": sys.executable}
    return kept | more


def stepscope(*arguments: object, env: Environment | None = None, **options: Any) -> Done:
    return subprocess.run(
        [str(COMMAND), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        env=env if env is not None else environment(),
        **options,
    )


def run_python(
    folder: pathlib.Path, script: str, *arguments: object, env: Environment | None = None
) -> Done:
    (folder / "train.py").write_text(script)
    return subprocess.run(
        [sys.executable, "train.py", *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        env=env if env is not None else environment(),
    )


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


@dataclasses.dataclass
class Server:
    """A process that listens."""

    process: subprocess.Popen[bytes]
    port: int

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def wait_until(self, is_up: Callable[[], Any]) -> None:
        until = time.monotonic() + 120
        while True:
            assert self.process.poll() is None, "the server has ended"
            with contextlib.suppress(OSError):
                is_up()
                return
            assert time.monotonic() < until, "the server does not come up"
            time.sleep(0.1)


def connect(port: int) -> None:
    socket.create_connection(("127.0.0.1", port), timeout=5).close()


def connection_string(port: int) -> str:
    return (
        f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};"
        f"BlobEndpoint=http://127.0.0.1:{port}/{ACCOUNT};"
    )


def start_azurite(folder: pathlib.Path) -> Server:
    node = shutil.which("node")
    if node is None or not AZURITE.exists():
        pytest.skip("no Node.js, or no Azurite (scripts/setup pipelines)")
    port = free_port()
    command = [node, AZURITE, "--blobHost", "127.0.0.1", "--blobPort", port, "--location", folder]
    process = subprocess.Popen(
        [*map(str, command), "--silent", "--skipApiVersionCheck", "--disableTelemetry"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    server = Server(process, port)
    server.wait_until(lambda: connect(port))
    return server


@dataclasses.dataclass
class Blobs:
    """Azurite's containers, seen through Microsoft's client."""

    server: Server

    def environment(self, port: int = 0, **more: str) -> Environment:
        text = connection_string(port or self.server.port)
        return environment(AZURE_STORAGE_CONNECTION_STRING=text, **more)

    def client(self, container: str) -> Any:
        from azure.storage.blob import BlobServiceClient

        service = BlobServiceClient.from_connection_string(connection_string(self.server.port))
        return service.get_container_client(container)

    def make(self, container: str) -> str:
        self.client(container).create_container()
        return container

    def read(self, container: str) -> dict[str, bytes]:
        client = self.client(container)
        names = [blob.name for blob in client.list_blobs()]
        return {name: client.download_blob(name).readall() for name in names}


@pytest.fixture(scope="session")
def blobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Blobs]:
    server = start_azurite(tmp_path_factory.mktemp("azurite"))
    yield Blobs(server)
    server.kill()


@pytest.fixture
def mortal_blobs(tmp_path: pathlib.Path) -> Iterator[Blobs]:
    """A server of the test's own, that it may kill."""
    server = start_azurite(tmp_path / "azurite")
    yield Blobs(server)
    server.kill()


@dataclasses.dataclass
class Tracking:
    """An MLflow server, and its own client."""

    server: Server

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self.server.port}"

    def client(self) -> Any:
        from mlflow.tracking import MlflowClient

        return MlflowClient(self.uri)

    def make_run(self) -> str:
        run: str = self.client().create_run("0").info.run_id
        return run

    def environment(self, run: str, port: int = 0, **more: str) -> Environment:
        """As Azure ML sets it for a job."""
        uri = f"http://127.0.0.1:{port or self.server.port}"
        return environment(MLFLOW_TRACKING_URI=uri, MLFLOW_RUN_ID=run, **more)

    def read(self, run: str, folder: pathlib.Path) -> dict[str, bytes]:
        folder.mkdir()
        self.client().download_artifacts(run, "", str(folder))
        files = [path for path in folder.rglob("*") if path.is_file()]
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def start_mlflow(folder: pathlib.Path) -> Server:
    folder.mkdir(exist_ok=True)
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port),
         "--workers", "1", "--backend-store-uri", f"sqlite:///{folder}/mlflow.db",
         "--artifacts-destination", str(folder / "artifacts")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(MLFLOW_DISABLE_TELEMETRY="true", DO_NOT_TRACK="true"),
        cwd=folder,
        start_new_session=True,
    )  # fmt: skip
    server = Server(process, port)
    server.wait_until(lambda: urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5))
    return server


def end_group(server: Server) -> None:
    """MLflow's workers are children of the process that was started, in its own group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(server.process.pid, 9)
    server.process.wait()


@pytest.fixture(scope="session")
def tracking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tracking]:
    pytest.importorskip("mlflow", reason="MLflow is not installed (scripts/setup pipelines)")
    server = start_mlflow(tmp_path_factory.mktemp("mlflow"))
    yield Tracking(server)
    end_group(server)


class Wire:
    """The network between a program and a server; it can be cut.

    `cut_after`: when so many bytes have gone to the server, it is gone for good. `refuse`: so many
    connections are dropped before one is let through.
    """

    def __init__(self, to_port: int, *, cut_after: int | None = None, refuse: int = 0) -> None:
        self._to_port = to_port
        self._cut_after = cut_after
        self._refuse = refuse
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        self._sent = 0
        self.is_cut = False
        self.refused = 0
        self.on_cut: Callable[[], None] = lambda: None
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if self.refused < self._refuse:
                self.refused += 1
                near.close()
                continue
            try:
                far = socket.create_connection(("127.0.0.1", self._to_port))
            except OSError:
                near.close()
                continue
            self._open += [near, far]
            threading.Thread(target=self._carry, args=(near, far, True), daemon=True).start()
            threading.Thread(target=self._carry, args=(far, near, False), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket, is_upwards: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(4096):
                if is_upwards and self._cut_after is not None:
                    with self._lock:
                        self._sent += len(data)
                        if self._sent > self._cut_after:
                            self.cut()
                            return
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def cut(self) -> None:
        if not self.is_cut:
            self.is_cut = True
            self.on_cut()
        for end in [self._listener, *self._open]:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


@pytest.fixture
def wire() -> Iterator[Callable[..., Wire]]:
    wires: list[Wire] = []

    def make(to_port: int, **options: Any) -> Wire:
        wires.append(Wire(to_port, **options))
        return wires[-1]

    yield make
    for made in wires:
        made.cut()


def files_of(folder: pathlib.Path) -> dict[str, bytes]:
    """Of a run; none may be more or less than those of the recipe."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def check_run(folder: pathlib.Path) -> None:
    """It is whole: the index lists what is there, and the command reads it without complaint."""
    listed = json.loads((folder / "index.json").read_text())["files"]
    files = files_of(folder)
    assert {entry["file"] for entry in listed} == set(files) - {"index.json"}
    assert all(entry["bytes"] == len(files[entry["file"]]) for entry in listed)
    report = functions_of(folder)
    assert report["train"] > 0


def functions_of(path: object, env: Environment | None = None) -> dict[str, int]:
    """Calls by function, as `stepscope report` has them."""
    done = stepscope(
        "report", path, "--view", "functions", "--limit", 0, "--format", "json", env=env
    )
    assert (done.returncode, done.stderr) == (0, "")
    table = json.loads(done.stdout)
    columns = [column["name"] for column in table["columns"]]
    name, calls = columns.index("name"), columns.index("calls")
    return {row[name]: row[calls] for row in table["rows"]}
