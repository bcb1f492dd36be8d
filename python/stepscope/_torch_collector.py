"""The collector of PyTorch's operators: an extension that is built for one version of PyTorch.

It is found by its name, which has the version in it, in the package or, where that cannot be
written, in the user's cache. Without it there is PyTorch's own profiler (``backend="kineto"``).
"""

import importlib.machinery
import importlib.util
import os
import pathlib
import sys
from typing import Any

_PACKAGE = pathlib.Path(__file__).resolve().parent


class CollectorMissingError(ImportError):
    """There is no collector for this PyTorch; the message says what to do."""


def _cache() -> pathlib.Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(base) / "stepscope"


def _name(torch_version: str) -> str:
    suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
    return f"_torch-{torch_version.replace('+', '_')}{suffix}"


def find(torch_version: str) -> pathlib.Path | None:
    """The file built for that version."""
    for folder in (_PACKAGE, _cache()):
        path = folder / _name(torch_version)
        if path.exists():
            return path
    return None


def path_for_writing(torch_version: str) -> pathlib.Path:
    """Where to put one."""
    folder = _PACKAGE if os.access(_PACKAGE, os.W_OK) else _cache()
    return folder / _name(torch_version)


_module: Any = None


def load() -> Any:
    """The extension. ``torch`` is imported already. Raises ``CollectorMissingError``."""
    global _module
    if _module is None:
        version = sys.modules["torch"].__version__
        path = find(version)
        if path is None:
            raise CollectorMissingError(
                f"there is no collector of operators for torch {version}; "
                "`stepscope doctor --build-torch` builds it"
            )
        loader = importlib.machinery.ExtensionFileLoader("_torch", str(path))
        spec = importlib.util.spec_from_loader("_torch", loader)
        assert spec
        try:
            module = importlib.util.module_from_spec(spec)
            loader.exec_module(module)
        except ImportError as error:
            raise CollectorMissingError(
                f"{path.name}: {error}; `stepscope doctor --build-torch` builds it anew"
            ) from None
        os.register_at_fork(after_in_child=module.continue_in_child)
        _module = module
    return _module


def start(
    *,
    inputs: bool = False,
    memory: bool = False,
    sampling: float = 1.0,
    sample_rate: int = 0,
    as_profiler: bool = False,
    scopes_only: bool = False,
) -> str:
    """Starts recording operators. Says what of it was not possible.

    ``inputs``: shapes, types and values. ``memory``: each allocation; ``sample_rate``: instead,
    what is in use after every so many operators. ``sampling``: the share of the time.
    ``as_profiler``: with the scopes that PyTorch shows only to profilers. ``scopes_only``: no
    operators, but the scopes around them: optimizers' steps, DataLoaders, record_function."""
    try:
        collector = load()
    except CollectorMissingError as error:
        return str(error)
    is_free = collector.is_memory_free()
    if (memory or sample_rate) and not as_profiler and not _yield_memory():
        memory, sample_rate = False, 0
    collector.start(
        inputs=inputs,
        memory=memory and is_free,
        sampling=sampling,
        sample_rate=sample_rate if is_free else 0,
        as_profiler=as_profiler and is_free,
        scopes_only=scopes_only,
    )
    if (memory or sample_rate) and not is_free:
        return "memory is not recorded: torch.profiler has it in this thread"
    return ""


def stop() -> None:
    """Stops recording operators, if they are recorded."""
    global _told_before
    if _module is not None:
        _module.stop()
    if _told_before is not None:
        sys.modules["torch.autograd.profiler"]._run_on_profiler_start = _told_before  # type: ignore[attr-defined]
        _told_before = None


_told_before: Any = None


def _yield_memory() -> bool:
    """Where the program starts torch.profiler, that is to find free what we need for memory, or it
    would raise. Whether it will tell."""
    global _told_before
    profiler: Any = sys.modules.get("torch.autograd.profiler")
    if _told_before is None:
        _told_before = getattr(profiler, "_run_on_profiler_start", None)
        if _told_before is None:
            return False

        def give_back() -> None:
            _module.stop_memory()
            if _told_before is not None:
                _told_before()

        profiler._run_on_profiler_start = give_back
    return True
