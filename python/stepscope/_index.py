"""index.json: which files of a run are whose, for who finds them among a pipeline's outputs."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import sys
from typing import Any

NAME = "index.json"
# What launchers (torchrun, MPI, Slurm) tell a process about its place.
_RANK = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
_WORLD_SIZE = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")


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
    files: list[dict[str, Any]] = []
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".sscope"):
            continue
        entry = _own_place() if name.startswith(own) else known.get(name, {})
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


def _own_place() -> dict[str, Any]:
    place: dict[str, Any] = {"host": socket.gethostname()}
    for key, variables in (("rank", _RANK), ("world_size", _WORLD_SIZE)):
        value = next((os.environ[name] for name in variables if name in os.environ), "")
        if value.isdigit():
            place[key] = int(value)
    return place
