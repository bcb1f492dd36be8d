"""MegEngine's ``Profiler`` for programs of PyTorch: its names, options and files.

>>> from stepscope.megengine import profile
>>> @profile(formats=["chrome_timeline.json", "memory_flow.svg"])
... def train_step(batch): ...

Also a ``with`` block, each entry of which is profiled. The files are ``<path>/<pid>.<format>``,
written when the profiler goes, at the program's end, or by ``dump()``.

>>> from stepscope.megengine import trace
>>> step = trace(model, profiling=True)
>>> step(batch)
>>> step.get_profile()["profiler"]["opr_footprint"]     # FLOPs, bytes and shapes of each operator
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from stepscope import _core, _session
from stepscope._profile import _wrap

__all__ = ["Profiler", "profile", "trace"]

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_FORMAT = "chrome_timeline.json"
_MEMORY_FORMATS = ("memory_flow", "memory_timeline", "memory-")


class Profiler:
    """Profiles what runs within it, as MegEngine's does.

    ``path``: the folder of the files. ``format``, ``formats``: one or several of
    ``chrome_timeline.json``, ``memory_flow.svg`` and every format of ``stepscope convert``.
    ``sample_rate``: memory in use after every so many operators; 0: at the begin and at the end.
    ``profile_device=False``: nothing of devices. ``with_backtrace``: every Python call.
    ``with_scopes`` is accepted: modules, backward, step and clear_grad are always blocks. So are
    ``num_tensor_watch`` and ``enable_cupti``, which mean nothing here.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] = "profile",
        format: str | None = None,
        formats: list[str] | tuple[str, ...] | None = None,
        with_backtrace: bool = False,
        with_scopes: bool = False,
        *,
        sample_rate: int = 0,
        profile_device: bool = True,
        num_tensor_watch: int = 10,
        enable_cupti: bool = False,
    ) -> None:
        if format is not None and formats is not None:
            raise ValueError("name one format with format=, or several with formats=")
        if sample_rate < 0:
            raise ValueError(f"sample_rate is 0 or a number of operators, not {sample_rate}")
        names = [format] if format is not None else list(formats or [DEFAULT_FORMAT])
        suffixes = [_core.export_suffix(name) for name in names]
        self.path = os.fspath(path)
        metadata = {
            "megengine_sample_rate": str(sample_rate),
            "megengine_no_device": "0" if profile_device else "1",
        }
        draws_memory = any(name.startswith(_MEMORY_FORMATS) for name in names)
        self._options = {
            "marks_only": not with_backtrace,
            "torch": {
                "inputs": True,
                "memory": draws_memory,
                "sample_rate": 0 if draws_memory else sample_rate,
                "as_profiler": True,
            },
        }
        self._recording = _Recording(self.path, suffixes, metadata)
        self._session: _session.Session | None = None
        self._depth = 0
        # Whatever comes first: the profiler goes, dump(), or the program ends.
        self._end = weakref.finalize(self, self._recording.write)
        atexit.register(self._recording.write)

    def start(self) -> None:
        """Begins to profile; within a profiled block it goes on."""
        self._depth += 1
        if self._depth > 1:
            return
        current = _session.current()
        if current is not None:
            sys.stderr.write(
                f"stepscope: this process is being recorded already, into {current.folder}: "
                f"{self.path} gets nothing of it\n"
            )
            return
        folder = self._recording.make_folder()
        self._session = _session.start(_session.Options(folder, **self._options))  # type: ignore[arg-type]

    def stop(self) -> None:
        """Stops to profile."""
        self._depth = max(0, self._depth - 1)
        if self._depth > 0:
            return
        session, self._session = self._session, None
        if session is not None and session is _session.current():
            _session.stop()

    def step(self) -> Profiler:
        """A training step ends here."""
        if self._session is not None:
            self._session.step()
        return self

    def dump(self) -> None:
        """Writes the files now, of all that was profiled so far."""
        if self._session is not None:
            self._depth = 1
            self.stop()
        self._recording.write()

    def __enter__(self) -> Profiler:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def __call__(self, function: F) -> F:
        """The function, profiled whenever it runs."""
        return _wrap(function, lambda: self)


profile = Profiler


class trace:  # noqa: N801
    """A step whose calls can be profiled as MegEngine profiles a compiled graph.

    ``function``: anything that runs operators of PyTorch: a function, a module, what ``torch.jit``,
    ``torch.fx`` and ``torch.compile`` make. With ``profiling=True`` each call is recorded, and
    ``get_profile()`` gives the last one. What else MegEngine's ``trace`` takes is accepted and
    means nothing here. Also a decorator: ``@trace(profiling=True)``.
    """

    def __new__(cls, function: Callable[..., Any] | None = None, **options: Any) -> Any:
        if function is None:
            return functools.partial(cls, **options)
        return super().__new__(cls)

    def __init__(
        self,
        function: Callable[..., Any] | None = None,
        *,
        profiling: bool = False,
        **_: Any,
    ) -> None:
        assert function is not None
        self._function = function
        self._profiling = profiling
        self._profile = ""
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self._profiling:
            return self._function(*args, **kwargs)
        folder = tempfile.mkdtemp(prefix="stepscope-")
        options = _session.Options(
            folder, marks_only=True, torch={"inputs": True, "as_profiler": True}
        )
        try:
            session = _session.start(options)
            try:
                return self._function(*args, **kwargs)
            finally:
                if session is _session.current():
                    _session.stop()
                    path = os.path.join(folder, "profile.megengine.json")
                    _core.load(folder).save(path)
                    with open(path) as file:
                        self._profile = file.read()
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def get_profile(self) -> dict[str, Any]:
        """The last call, in the form of MegEngine's static profiles: what ``stepscope analyze``
        and MegEngine's ``profile_analyze`` read from a file."""
        if not self._profile:
            raise RuntimeError("no call was profiled: trace(..., profiling=True), and call it")
        profile: dict[str, Any] = json.loads(self._profile)
        return profile


class _Recording:
    """What was recorded, until the files are made of it. Knows nothing of the profiler, which may
    be gone by then."""

    def __init__(self, path: str, suffixes: list[str], metadata: dict[str, str]) -> None:
        self._path = os.path.abspath(path)
        self._suffixes = suffixes
        self._metadata = metadata
        self._pid = os.getpid()
        self._folder = ""

    def make_folder(self) -> str:
        """Of the run that the next recording is part of."""
        if not self._folder or self._pid != os.getpid():
            self._pid = os.getpid()
            self._folder = os.path.join(self._path, f"{self._pid}.recording")
            os.makedirs(self._folder, exist_ok=True)
        return self._folder

    def write(self) -> None:
        """Makes the files, once. A file that can not be written does not hinder the others."""
        folder, self._folder = self._folder, ""
        if not folder or self._pid != os.getpid():
            return
        session = _session.current()
        if session is not None and session.folder == folder:
            _session.stop()
        faults = []
        try:
            trace = _core.load(folder, metadata=self._metadata)
        except _core.TraceError as error:
            sys.stderr.write(f"stepscope: {error}\n")
            return
        for suffix in self._suffixes:
            try:
                trace.save(os.path.join(self._path, f"{self._pid}{suffix}"))
            except _core.TraceError as error:
                faults.append(str(error))
        for fault in faults:
            sys.stderr.write(f"stepscope: {fault}\n")
        if not faults:
            shutil.rmtree(folder, ignore_errors=True)
