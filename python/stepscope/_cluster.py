"""Reads the ranks of a job on a Dask cluster: the other end of ``stepscope ranks --cluster``.

    python -m stepscope._cluster HOST:PORT WORLD_SIZE PATH...

Each worker opens one trace, by any URL that fsspec knows, and reduces it in C++; what comes back is
its summary, in frames on standard output (src/cli/cluster_reader.cc says which). Run as a program
so that functions travel by value: a scheduler needs no stepscope, workers do.
"""

from __future__ import annotations

import contextlib
import struct
import sys
from typing import Any, BinaryIO, NamedTuple

RETRIES = 3


class RankUrl(NamedTuple):
    url: str
    source: str  # what the user sees
    is_named: bool  # by the user, not found in a folder


def reduce_rank(url: str, source: str, world_size: int) -> tuple[str, bytes]:
    """On a worker: ("S", summary) or ("F", "<source>: <why>")."""
    import os
    import shutil
    import tempfile

    try:
        from stepscope import _core
    except ImportError as error:
        return "E", f"a worker has no stepscope ({error}): pip install stepscope there".encode()
    copied = None
    path = url.removeprefix("file://")
    try:
        if "://" in path:
            import fsspec

            # Not into memory: a trace may be larger than that.
            descriptor, copied = tempfile.mkstemp(prefix="stepscope-rank-")
            with fsspec.open(url, "rb") as remote, os.fdopen(descriptor, "wb") as local:
                shutil.copyfileobj(remote, local, 1 << 22)
            path = copied
        return "S", _core.summarize_rank(path, source, world_size)
    except _core.TraceError as error:
        return "F", str(error).encode()
    except Exception as error:
        return "F", f"{source}: {type(error).__name__}: {error}".replace("\n", " ").encode()
    finally:
        if copied is not None:
            os.unlink(copied)


def find_ranks(path: str) -> list[RankUrl]:
    """The traces that a path or URL stands for, as the command finds them on this machine."""
    import os

    from stepscope import _core

    local = path.removeprefix("file://")
    if "://" not in local:
        is_folder = os.path.isdir(local)
        files = _core.rank_files(local)
        found = [os.path.relpath(file, local) if is_folder else path for file in files]
        return [
            RankUrl(os.path.abspath(file), name, not is_folder)
            for file, name in zip(files, found, strict=True)
        ]
    import fsspec

    files_of: Any
    root: str
    files_of, root = fsspec.core.url_to_fs(path)
    if not files_of.isdir(root):
        return [RankUrl(path, path, True)]
    root = root.rstrip("/")
    entries = sorted(entry["name"].rstrip("/") for entry in files_of.ls(root, detail=True))
    names = [entry.rsplit("/", 1)[1] for entry in entries]
    names = [name for name in names if _core.has_trace_name(name) and name != "index.json"]
    if not names:
        raise _core.TraceError(f"{path}: no trace files in this folder")
    return [RankUrl(f"{path.rstrip('/')}/{name}", name, False) for name in names]


def send(out: BinaryIO, kind: str, payload: bytes = b"") -> None:
    out.write(kind.encode() + struct.pack("<I", len(payload)) + payload)
    out.flush()


def read_ranks(out: BinaryIO, scheduler: str, world_size: int, paths: list[str]) -> None:
    from stepscope import _core

    try:
        import distributed
    except ImportError:
        send(out, "E", b"--cluster needs Dask: pip install 'stepscope[dask]'")
        return
    ranks: list[RankUrl] = []
    faults: list[str] = []
    for path in paths:
        try:
            ranks += find_ranks(path)
        except _core.TraceError as error:
            faults.append(str(error))
        except Exception as error:
            faults.append(f"{path}: {type(error).__name__}: {error}".replace("\n", " "))
    try:
        client = distributed.Client(scheduler, timeout=20)
    except (OSError, TimeoutError) as error:
        send(out, "E", f"dask://{scheduler}: {error}".replace("\n", " ").encode())
        return
    with client:
        send(out, "N", str(len(ranks) + len(faults)).encode())
        for fault in faults:
            send(out, "P", fault.encode())
        # A worker that dies takes its rank to another one (retries: of errors in it).
        futures = {
            client.submit(
                reduce_rank, rank.url, rank.source, world_size, pure=False, retries=RETRIES
            ): place
            for place, rank in enumerate(ranks)
        }
        for future in distributed.as_completed(list(futures)):
            place = futures.pop(future)
            rank = ranks[place]
            try:
                kind, payload = future.result()
            except Exception as error:
                why = f"{rank.source}: {type(error).__name__}: {error}"
                kind, payload = "F", why.replace("\n", " ").encode()
            future.release()
            if kind == "E":
                send(out, "E", payload)
                return
            if kind == "S":
                payload = struct.pack("<I", place) + payload
            elif rank.is_named:
                kind = "P"
            send(out, kind, payload)
        send(out, ".")


def main() -> None:
    scheduler, world_size, *paths = sys.argv[1:]
    out = sys.stdout.buffer
    sys.stdout = sys.stderr  # what libraries print is no frame
    with contextlib.suppress(BrokenPipeError):
        read_ranks(out, scheduler, int(world_size), paths)


if __name__ == "__main__":
    main()
