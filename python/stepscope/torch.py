"""``torch.profiler``'s names on Stepscope's collector: change the import, and nothing else.

>>> from stepscope.torch import profile, record_function, schedule, tensorboard_trace_handler
>>> with profile(record_shapes=True) as prof:
...     model(inputs)
>>> print(prof.key_averages().table(sort_by="cpu_time_total", row_limit=10))

Operators are recorded for less than they cost with ``torch.profiler``, and tables are there at
once. Where a GPU is to be profiled, or where there is no collector for the installed PyTorch,
PyTorch's own collects (``backend="kineto"``), and the tables are made from its file.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import warnings
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.profiler
from torch.autograd.profiler_util import EventList
from torch.profiler import (
    ProfilerAction,
    ProfilerActivity,
    record_function,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

from stepscope import _core, _session, _torch_collector, _torch_events
from stepscope._trace import Trace

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]

_FOLDER = "./outputs/profiler_results"


class profile(torch.profiler.profile):  # type: ignore[misc]  # noqa: N801
    """``torch.profiler.profile``: the same arguments, methods and schedule.

    Further arguments: ``backend`` ("stepscope", "kineto"; chosen by itself), ``path`` (a run folder
    that is kept, to be read with ``stepscope report``), ``sampling`` (the share of the time in
    which operators are recorded; tables are scaled up), ``sample_rate`` (instead of every
    allocation, the memory in use after every so many operators).
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        backend: str | None = None,
        path: str | os.PathLike[str] | None = None,
        sampling: float = 1.0,
        sample_rate: int = 0,
        **options: Any,
    ) -> None:
        if on_trace_ready is tensorboard_trace_handler:
            warnings.warn(
                "on_trace_ready=tensorboard_trace_handler lacks its folder, as in "
                f"tensorboard_trace_handler({_FOLDER!r}); the files go there",
                stacklevel=2,
            )
            on_trace_ready = torch.profiler.tensorboard_trace_handler(_FOLDER)
        if not 0 < sampling <= 1:
            raise ValueError(
                f"sampling is a share of the time, above 0 and up to 1, not {sampling}"
            )
        super().__init__(
            activities=activities, schedule=schedule, on_trace_ready=on_trace_ready, **options
        )
        self._backend = _choose_backend(backend, self.activities)
        self._path = path
        self._sampling = sampling
        self._sample_rate = sample_rate
        self._has_schedule = schedule is not None
        self._session: _session.Session | None = None
        self._folder = ""
        self._loaded: Trace | None = None
        self._recordings = 0

    # What torch.profiler's schedule calls.

    def prepare_trace(self) -> None:
        """As in ``torch.profiler``."""
        if self._backend == "kineto":
            super().prepare_trace()

    def start_trace(self) -> None:
        """As in ``torch.profiler``."""
        if self._backend == "kineto":
            super().start_trace()
            return
        if self.execution_trace_observer:
            self.execution_trace_observer.start()
        if not self._folder or not self.acc_events:
            self._folder = self._make_folder()
        self._trace_metadata.update(self._metadata())
        self._loaded = None
        try:
            self._session = _session.start(self._session_options())
        except _core.TraceError as error:
            # Whoever records already goes on, and so does the program.
            warnings.warn(f"{error}: nothing is recorded here", stacklevel=4)
            return
        _tell_torch(True)

    def stop_trace(self) -> None:
        """As in ``torch.profiler``."""
        self._recordings += 1
        if self._backend == "kineto":
            super().stop_trace()
            self._folder = self._make_folder()
            self._loaded = None
            assert self.profiler is not None
            self.profiler.kineto_results.save(os.path.join(self._folder, "kineto.pt.trace.json"))
            return
        if self.execution_trace_observer:
            self.execution_trace_observer.stop()
        if self._session is not None and self._session is _session.current():
            _tell_torch(False)
            _session.stop()
        self._session = None

    def stop(self) -> None:
        """As in ``torch.profiler``; says so where the schedule left nothing to show."""
        super().stop()
        if self._has_schedule and self._recordings == 0:
            _warn_of_schedule(self.schedule, self.step_num)

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[Any]) -> None:
        """Switches the recording of operators off and on in the middle of it."""
        if self._backend == "kineto":
            super().toggle_collection_dynamic(enable, activities)
        elif self._session is not None and ProfilerActivity.CPU in set(activities):
            self._session.toggle_torch(enable)

    # What is asked afterwards.

    @property
    def trace(self) -> Trace:
        """All that was recorded, with the worker processes: every view of ``stepscope.load``."""
        return self._load(self._folder, self._trace_metadata)

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """Operators by name, as ``torch.profiler`` has them; made from the view `operators`."""
        if (group_by_input_shape and group_by_stack_n > 0) or group_by_overload_name:
            return self.events().key_averages(
                group_by_input_shape, group_by_stack_n, group_by_overload_name
            )
        by = "shape" if group_by_input_shape else "stack" if group_by_stack_n > 0 else None
        table = self._own().operators(by=by, depth=group_by_stack_n or None, limit=0)
        return _torch_events.averages(table, **self._list_options())

    def events(self) -> EventList:
        """Every operator as an object of ``torch.autograd.profiler_util``; slow for many."""
        return _torch_events.events(self._own(), **self._list_options())

    def export_chrome_trace(self, path: str, use_python_export: bool = False) -> None:
        """Writes Kineto's JSON, gzipped where the path ends in .gz."""
        path = os.fspath(path)
        if self._backend == "kineto":
            super().export_chrome_trace(path, use_python_export)
            return
        metadata = {"traceName": json.dumps(path)} | self._trace_metadata
        self._load(self._folder, metadata)._core.save(path, "kineto")

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Writes lines "outermost;…;innermost microseconds" for flame graphs."""
        table = self._own().operators(by="stack", limit=0)
        _torch_events.write_stacks(table, path, metric)

    def export_memory_timeline(self, path: str, device: str | None = None) -> None:
        """Memory by category over time, as .html, .json or .json.gz."""
        path = os.fspath(path)
        format = "memory-html" if path.endswith(".html") else "memory-json"
        self.trace._core.save(path, format)

    def add_metadata(self, key: str, value: str) -> None:
        """A text that the trace is to say of itself."""
        self._trace_metadata[key] = json.dumps(value)

    def add_metadata_json(self, key: str, value: str) -> None:
        """A value, as JSON, that the trace is to say of itself."""
        self._trace_metadata[key] = value

    # The recording.

    def _metadata(self) -> dict[str, str]:
        flags = ("profile_memory", "with_stack", "record_shapes", "with_modules", "with_flops")
        metadata: dict[str, str] = {flag: "1" for flag in flags if getattr(self, flag)}
        distributed = self._get_distributed_info()
        if distributed:
            metadata["distributedInfo"] = json.dumps(distributed, default=str)
        metadata |= self.preset_metadata
        return metadata

    def _session_options(self) -> _session.Options:
        return _session.Options(
            self._folder,
            marks_only=not self.with_stack,
            torch={
                "inputs": self.record_shapes or self.with_flops,
                "memory": self.profile_memory and not self._sample_rate,
                "sampling": self._sampling,
                "sample_rate": self._sample_rate,
                "as_profiler": True,
            },
        )

    def _make_folder(self) -> str:
        if self._path is not None:
            return os.path.abspath(self._path)
        folder = tempfile.mkdtemp(prefix="stepscope-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return folder

    def _own(self) -> Trace:
        """What this process did: torch.profiler does not see the workers of a DataLoader."""
        if self._loaded is None:
            own = os.path.join(self._folder, f"{os.getpid()}.sscope")
            self._loaded = self._load(own if os.path.exists(own) else self._folder, {})
        return self._loaded

    def _load(self, path: str, metadata: dict[str, str]) -> Trace:
        if not path:
            raise RuntimeError(
                "nothing was recorded yet: use the profiler as a context manager, or call start() "
                "and stop(), and step() as often as its schedule asks for"
            )
        return Trace(_core.load(path, metadata=metadata))

    def _list_options(self) -> dict[str, Any]:
        return {
            "use_device": self.use_device if self._backend == "kineto" else None,
            "profile_memory": self.profile_memory,
            "with_flops": self.with_flops,
        }


def _tell_torch(is_profiling: bool) -> None:
    """What torch.compile has made says more of itself while a profiler runs."""
    from torch.autograd import profiler

    notify = "_run_on_profiler_start" if is_profiling else "_run_on_profiler_stop"
    getattr(profiler, notify, bool)()


def _choose_backend(wanted: str | None, activities: Iterable[Any]) -> str:
    if wanted not in (None, "stepscope", "kineto"):
        raise ValueError(f'backend is "stepscope" or "kineto", not {wanted!r}')
    if wanted == "kineto":
        return wanted
    on_device = any(activity != ProfilerActivity.CPU for activity in activities)
    if wanted is None and on_device and torch.accelerator.is_available():
        return "kineto"
    try:
        _torch_collector.load()
    except _torch_collector.CollectorMissingError as error:
        warnings.warn(f"{error}; torch.profiler collects instead", stacklevel=3)
        return "kineto"
    return "stepscope"


def _warn_of_schedule(schedule: Callable[[int], ProfilerAction], steps: int) -> None:
    recorded = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
    first = next((step for step in range(100_000) if schedule(step) in recorded), None)
    if first is None:
        advice = "its schedule never records a step"
    elif steps == 0:
        advice = "call its step() after each training step"
    else:
        advice = f"it saw {steps} steps, and its schedule begins to record at step {first}"
    warnings.warn(f"the profiler recorded nothing: {advice}", stacklevel=3)
