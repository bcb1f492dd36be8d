"""index.json: which files of a run are whose, for who finds them among a pipeline's outputs."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import sys
from typing import Any

from stepscope import _launcher

NAME = "index.json"


def update(folder: str) -> None:
    """Enters what this process recorded, and what others left there, in the folder's index."""
    try:
        # Of the folder itself, so that there is no file beside the index. Where a file system knows
        # no locks the last one to write wins, and lists all files that there are.
        lock = os.open(folder, os.O_RDONLY)
        try:
            _lock(lock)
            _write(folder)
        finally:
            os.close(lock)
    except OSError as error:
        sys.stderr.write(f"stepscope: {os.path.join(folder, NAME)}: {error.strerror}\n")


def _lock(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _write(folder: str) -> None:
    known = _read(folder)
    own = f"{os.getpid()}."
    own_place = {"host": socket.gethostname(), **_launcher.place()}
    files: list[dict[str, Any]] = []
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".sscope"):
            continue
        entry = own_place if name.startswith(own) else known.get(name, {})
        pid = name.partition(".")[0]
        about = {"file": name, "pid": int(pid) if pid.isdigit() else None}
        files.append({**entry, **about, "bytes": os.path.getsize(os.path.join(folder, name))})
    path = os.path.join(folder, NAME)
    with open(f"{path}.{os.getpid()}", "w") as file:
        json.dump({"files": files}, file, indent=1)
        file.write("\n")
    os.replace(file.name, path)


def _read(folder: str) -> dict[str, dict[str, Any]]:
    """What is known already, by file; what is no index of ours is as good as none."""
    try:
        with open(os.path.join(folder, NAME)) as file:
            return {entry["file"]: entry for entry in json.load(file)["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
