"""Carries a run to a store and back: any URL that fsspec knows, and artifacts of MLflow runs.

A program of its own, run by the command and by `_upload.py` in an interpreter that need not have
the rest of the package: it imports nothing of it. What it says are lines on standard output:

    file 2 3              so many of so many files are there
    why TEXT              what went wrong just now; it is tried again
    done 3 18204          all of them, so many bytes
    path PATH             of a download: a trace, a run or a folder that is here now
    fault TEXT            the end: what it is about, and why
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import functools
import os
import pathlib
import re
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")

_IS_PROGRAM = __name__ == "__main__"

MLFLOW = "mlflow://"
MLFLOW_FOLDER = "profiler_results"  # among a run's artifacts, unless told otherwise
INDEX = "index.json"
# What of a folder is a run or a trace; all else that lies there is none of ours.
_TRACES = ("*.sscope", "*.pool", "*.sscope.gz", "*.sscope.zst", "*.json", "*.json.gz", "*.json.zst")
_PROFILES = ("tensorflow-*", "jax-*")  # of frameworks, with folders within
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 15.0
_LAST_WORD_S = 1.0  # before the time is over, to say what went wrong
# How many nodes a job has, as its launcher tells (Azure ML, torchrun, Slurm).
_NODE_COUNTS = ("AZUREML_NODE_COUNT", "GROUP_WORLD_SIZE", "SLURM_NNODES")
_EXTRAS = {
    "abfs": "azure", "abfss": "azure", "az": "azure", "adl": "azure", "mlflow": "mlflow",
}  # fmt: skip


def timeout() -> float:
    """How many seconds an upload may take."""
    try:
        seconds = float(os.environ.get("STEPSCOPE_UPLOAD_TIMEOUT", ""))
    except ValueError:
        return 120.0
    return min(max(seconds, 1.0), 3600.0)


class FaultError(Exception):
    """What is told to the user; trying again would not help."""


def say(*words: object) -> None:
    if not _IS_PROGRAM:
        return
    line = " ".join(map(str, words))
    print("".join(c if c.isprintable() else " " for c in line), flush=True)


def shown(url: str) -> str:
    """The URL without what may be secret: a password, a token in its query."""
    return re.sub(r"(://[^/@:]*):[^/@]*@", r"\1@", url.partition("?")[0])


def explain(error: BaseException) -> str:
    """In a line; of the many that stores like to write, the first one with words in it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else type(error).__name__
    if isinstance(error, KeyError):
        text = f"no {text}"
    return text if len(text) <= 300 else text[:300] + "…"


def _needs(url: str, module: str) -> FaultError:
    scheme = url.partition("://")[0]
    extra = _EXTRAS.get(scheme)
    package = f"'stepscope[{extra}]'" if extra else module
    return FaultError(f"needs {module}, which {sys.executable} has not: pip install {package}")


class UrlStore:
    """What fsspec reaches."""

    def __init__(self, url: str) -> None:
        try:
            import fsspec
        except ImportError:
            raise _needs(url, _module_for(url)) from None
        try:
            self._fs, self._root = fsspec.core.url_to_fs(url, skip_instance_cache=True)
        except ImportError:
            raise _needs(url, _module_for(url)) from None
        except ValueError as error:  # a scheme that nobody knows, or an account that is not named
            raise FaultError(explain(error)) from None
        self._root = self._root.rstrip("/")

    def find(self) -> dict[str, int]:
        """Files by their names below the URL, with their sizes; "" is the URL itself."""
        found = self._fs.find(self._root, detail=True)
        if not isinstance(found, dict):  # adlfs, where the URL is a file
            found = {path: self._fs.info(path) for path in found}
        files = {}
        for path, info in found.items():
            if path.rstrip("/") == self._root:
                files[""] = int(info.get("size") or 0)
            elif path.startswith(self._root + "/"):
                files[path[len(self._root) + 1 :]] = int(info.get("size") or 0)
        return files

    def put(self, local: str, name: str) -> None:
        path = f"{self._root}/{name}"
        try:
            self._fs.put_file(local, path)
        except FileNotFoundError:
            # Folders are a thing of file systems; in a store they need not be, and a container that
            # is not there is made where that is allowed.
            self._fs.makedirs(path.rpartition("/")[0], exist_ok=True)
            self._fs.put_file(local, path)

    def get(self, name: str, local: str) -> None:
        self._fs.get_file(f"{self._root}/{name}" if name else self._root, local)


def _module_for(url: str) -> str:
    return "adlfs" if _EXTRAS.get(url.partition("://")[0]) == "azure" else "fsspec"


class MlflowStore:
    """Artifacts of a run, below a path: mlflow://RUN/PATH."""

    def __init__(self, url: str) -> None:
        run, _, path = url[len(MLFLOW) :].partition("/")
        if _IS_PROGRAM:  # our own pauses and limits are enough: MLflow would try for minutes
            for name, value in (("MAX_RETRIES", "1"), ("BACKOFF_FACTOR", "1"), ("TIMEOUT", "30")):
                os.environ.setdefault(f"MLFLOW_HTTP_REQUEST_{name}", value)
        self._run = run or os.environ.get("MLFLOW_RUN_ID", "")
        if not self._run:
            raise FaultError("which run? The environment has no MLFLOW_RUN_ID")
        try:
            from mlflow.tracking import MlflowClient
        except ImportError:
            raise _needs(url, "mlflow") from None
        self._path = path.strip("/") or MLFLOW_FOLDER
        self._client = MlflowClient()

    def find(self) -> dict[str, int]:
        # MLflow says that a file has no entries; its folder says that it is there.
        folder = self._path.rpartition("/")[0]
        for entry in self._client.list_artifacts(self._run, folder or None):
            if entry.path == self._path and not entry.is_dir:
                return {"": int(entry.file_size or 0)}
        return dict(self._walk(self._path))

    def _walk(self, path: str, depth: int = 0) -> Iterator[tuple[str, int]]:
        for entry in self._client.list_artifacts(self._run, path):
            if not entry.is_dir:
                yield entry.path[len(self._path) + 1 :], int(entry.file_size or 0)
            elif depth < 8:
                yield from self._walk(entry.path, depth + 1)

    def put(self, local: str, name: str) -> None:
        folder = name.rpartition("/")[0]
        self._client.log_artifact(
            self._run, local, f"{self._path}/{folder}" if folder else self._path
        )

    def get(self, name: str, local: str) -> None:
        path = f"{self._path}/{name}" if name else self._path
        with tempfile.TemporaryDirectory(dir=os.path.dirname(local)) as folder:
            os.replace(self._client.download_artifacts(self._run, path, folder), local)


def open_store(url: str) -> UrlStore | MlflowStore:
    return MlflowStore(url) if url.startswith(MLFLOW) else UrlStore(url)


_FINAL = (FaultError, FileNotFoundError, PermissionError, ImportError, NotImplementedError)


def _is_final(error: BaseException | None) -> bool:
    """Whether the store has understood and said no: then there is no use in asking again."""
    while error is not None:
        if isinstance(error, _FINAL):
            return True
        status = getattr(error, "status_code", None)
        ask = getattr(error, "get_http_status_code", None)
        if status is None and ask is not None:
            with contextlib.suppress(Exception):
                status = ask()
        if isinstance(status, int) and 400 <= status < 500 and status not in (408, 429):
            return True
        error = error.__cause__
    return False


def insist(action: Callable[[], T], until: float) -> T:
    """Does it, again and again with growing pauses, until it works, is refused or time is over."""
    pause = _FIRST_PAUSE_S
    while True:
        try:
            return action()
        except Exception as error:
            if _is_final(error) or time.monotonic() + pause > until:
                raise
            say("why", explain(error))
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)


def is_trace(name: str) -> bool:
    """Of a file below a folder that a user has named."""
    parts = name.split("/")
    return any(fnmatch.fnmatch(parts[-1], pattern) for pattern in _TRACES) or name.endswith(".pb")


def is_safe(name: str) -> bool:
    """Whether a name that a store gave stays within the folder it is put in."""
    path = pathlib.PurePosixPath(name)
    return (
        name.isprintable()
        and "\\" not in name
        and not path.is_absolute()
        and ".." not in path.parts
        and len(name) < 1024
    )


def find_local(folder: str) -> list[str]:
    """The files of a run, the index last: who finds it finds what it lists."""
    names = []
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.is_file(follow_symlinks=False):
            if any(fnmatch.fnmatch(entry.name, pattern) for pattern in _TRACES):
                names.append(entry.name)
        elif entry.is_dir(follow_symlinks=False) and any(
            fnmatch.fnmatch(entry.name, pattern) for pattern in _PROFILES
        ):
            for path, _, files in os.walk(entry.path):
                names += [os.path.relpath(os.path.join(path, name), folder) for name in files]
    return sorted(names, key=lambda name: name == INDEX)


def _is_recorded_by_another(name: str, pid: int) -> bool:
    """Whether a process that still runs, and is not ours, writes the file: it sends it itself."""
    number = re.match(r"(?:tensorflow-|jax-)?(\d+)\b", name)
    if pid == 0 or number is None or int(number[1]) == pid:
        return False
    return os.path.exists(f"/proc/{number[1]}")


def _node() -> str:
    """A folder for each node of a job that has several: their processes may have the same ids."""
    for name in _NODE_COUNTS:
        if os.environ.get(name, "").isdigit():
            return f"{socket.gethostname()}/" if int(os.environ[name]) > 1 else ""
    return ""


def upload(folder: str, url: str, *, pid: int, is_again: bool, until: float) -> tuple[int, int]:
    """The files of the run, as many and as many bytes as are there then."""
    store = insist(lambda: open_store(url), until)
    node = _node()
    # What others have sent is not sent again; nor what this process has, the second time.
    there: dict[str, int] = {}
    with contextlib.suppress(FileNotFoundError):
        there = insist(store.find, until)
    names = [name for name in find_local(folder) if not _is_recorded_by_another(name, pid)]
    if not names:
        raise FaultError("nothing was recorded")
    own = f"{pid}."
    total = 0
    for count, name in enumerate(names):
        say("file", count, len(names))
        path = os.path.join(folder, name)
        size = os.path.getsize(path)
        total += size
        may_be_there = pid != 0 and name != INDEX and (is_again or not name.startswith(own))
        if may_be_there and there.get(node + name) == size:
            continue
        if name != INDEX:
            insist(functools.partial(store.put, path, node + name), until)
            continue
        # Another process of this node may have written it meanwhile; the newest is to be the last.
        for _ in range(5):
            sent = pathlib.Path(path).read_bytes()
            insist(functools.partial(store.put, path, node + name), until)
            if pathlib.Path(path).read_bytes() == sent:
                break
    return len(names), total


def download(url: str, folder: str) -> list[str]:
    """What the URL names, into a folder; the paths of the traces and runs there."""
    until = time.monotonic() + 30
    store = insist(lambda: open_store(url), until)
    found = insist(store.find, until)
    name_of_all = url.partition("?")[0].rstrip("/").rpartition("/")[2] or "run"
    if url.startswith(MLFLOW) and "/" not in url[len(MLFLOW) :].rstrip("/"):
        name_of_all = MLFLOW_FOLDER
    if not is_safe(name_of_all):
        name_of_all = "run"
    target = os.path.join(folder, name_of_all)
    if set(found) == {""}:
        insist(lambda: store.get("", target), until + 600)
        return [target]
    names = [name for name in found if name and is_trace(name) and is_safe(name)]
    if not names:
        raise FaultError("no trace files in this folder" if found else "no such file or folder")
    for count, name in enumerate(sorted(names)):
        say("file", count, len(names))
        path = os.path.join(target, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        # Another pause for each: what takes long is not what hangs.
        insist(functools.partial(store.get, name, path), time.monotonic() + 30)
    return _runs_in(target)


def _runs_in(folder: str) -> list[str]:
    """The folder, or those in it where each node of a job has its own."""
    if any(entry.is_file() for entry in os.scandir(folder)):
        return [folder]
    within = [entry.path for entry in os.scandir(folder) if entry.is_dir()]
    with_recordings = [path for path in within if list(pathlib.Path(path).glob("*.sscope"))]
    return sorted(with_recordings) or [folder]


def _detach() -> None:
    """A process that is no child of the program's: `os.wait()` there does not meet it."""
    if os.fork() != 0:
        os._exit(0)
    os.setsid()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=("upload", "download"))
    parser.add_argument("--url", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--pid", type=int, default=0, help="whose files they are; 0: all")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--detach", action="store_true")
    parser.add_argument("--seconds", type=float, default=timeout())
    args = parser.parse_args()
    if args.detach:
        _detach()
    try:
        if args.action == "download":
            for path in download(args.url, args.folder):
                say("path", path)
        else:
            # Whatever hangs, hangs no longer: nothing in this process has a say in it.
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, args.seconds)
            until = time.monotonic() + args.seconds - _LAST_WORD_S
            sent = upload(args.folder, args.url, pid=args.pid, is_again=args.again, until=until)
            say("done", *sent)
    except KeyboardInterrupt:
        return 1
    except Exception as error:
        say("fault", explain(error))
        return 1
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # stores' threads are not waited for
