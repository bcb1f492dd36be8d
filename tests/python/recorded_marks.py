"""Records with marks in each of the tracer's modes, and reads what was marked."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import stepscope
from stepscope import _session

MODES = ("all calls", "with C calls", "marks only")


@contextlib.contextmanager
def recording(folder: Path, mode: str = "all calls") -> Iterator[None]:
    options = _session.Options(
        str(folder), c_calls=mode == "with C calls", marks_only=mode == "marks only"
    )
    _session.start(options)
    try:
        yield
    finally:
        _session.stop()


def paths(folder: Path) -> list[str]:
    """The slices of `marked.py` and all marks, each with those that it is in, in order."""
    rows = stepscope.load(folder).sql("SELECT id, name, category, parent_id FROM slices")
    shown: dict[int, str] = {}
    found = []
    for row, name, category, parent in rows:
        path = shown.get(parent, "")
        if category in {"phase", "nn_module"} or name.startswith("marked.py"):
            path += "/" + name.rpartition("): ")[2]
            found.append(path)
        shown[row] = path
    return found


def module_paths(folder: Path) -> list[str]:
    """Only the modules, each in those that it is in, without "nn.Module: "."""
    found = []
    for path in paths(folder):
        names = [name for name in path.split("/") if name.startswith("nn.Module: ")]
        if path.rpartition("/")[2].startswith("nn.Module: "):
            found.append("/".join(name.removeprefix("nn.Module: ") for name in names))
    return found
