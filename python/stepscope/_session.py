"""The one recording of this process: started and stopped here, whoever asks for it."""

import atexit
import gc
import os
import sys

from stepscope import _core, _launcher, _on_import
from stepscope._schedule import Schedule, parse_steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from stepscope._frameworks import Frameworks
    from stepscope._upload import Uploads

FOLDER = "outputs/profiler_results"


class Options:
    """What is recorded, and where to."""

    def __init__(
        self,
        folder: str = FOLDER,
        *,
        c_calls: bool = False,
        min_duration_ns: int = 0,
        only: list[str] | None = None,
        exclude: list[str] | None = None,
        threads: str = "",
        max_file_bytes: int = 0,
        steps: str = "",
        epochs: int = 0,
        from_main: bool = False,
        marks_only: bool = False,
        torch: "dict[str, Any] | None" = None,
        frameworks: list[str] | None = None,
        window_ns: int = 0,
        mode: str = "trace",
        hz: float = 0,
        sampler_note: str = "",
        has_index: bool = False,
        upload: str = "",
        mlflow: bool = False,
    ) -> None:
        self.folder = folder
        self.c_calls = c_calls
        self.min_duration_ns = min_duration_ns
        self.only = only or []
        self.exclude = exclude or []
        self.threads = threads
        self.max_file_bytes = max_file_bytes
        self.steps = steps
        self.epochs = epochs
        self.from_main = from_main
        self.marks_only = marks_only
        self.torch = torch  # what the collector of operators is to do; None: nothing
        self.frameworks = frameworks or []  # "tensorflow", "jax": whose own profilers are run
        self.window_ns = window_ns  # for so long, where there are no steps to go by
        self.mode = mode  # "trace": every call. "sample": stacks, and marks of steps
        self.hz = hz  # of a sampler in this process; 0: there is none, or one outside
        self.sampler_note = sampler_note
        self.has_index = has_index  # the folder's index.json is kept up to date
        self.upload = upload  # a URL that the run is sent to
        self.mlflow = mlflow  # it becomes artifacts of the MLflow run


class Session:
    """From start() to stop(). Between them the schedule decides what is recorded."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.folder = os.path.abspath(options.folder)
        self.schedule = Schedule(parse_steps(options.steps), options.epochs)
        self.step_number = 0
        self.faults: list[str] = []
        self.remarks: list[str] = []
        self._is_recording = False
        self._is_tracing = False
        self._is_observing = False
        self._is_sampling = False
        self._frameworks: Frameworks | None = None
        self._uploads: Uploads | None = None

    def start(self) -> None:
        if self.options.upload or self.options.mlflow:
            from stepscope._upload import Uploads

            urls = [self.options.upload] if self.options.upload else []
            self._uploads = Uploads(self.folder, urls, self.options.mlflow)
        self._follow()
        if self.options.frameworks:
            from stepscope._frameworks import Frameworks

            self._frameworks = Frameworks(
                self, self.options.frameworks, self.options.window_ns / 1e9
            )
            self._frameworks.watch()

    def stop(self) -> None:
        self._stop_recording()
        self._stop_tracing()
        self._update_index()
        self._send(is_end=True)

    def _update_index(self) -> None:
        if self.options.has_index:
            from stepscope import _index

            _index.update(self.folder)

    def _send(self, is_end: bool) -> None:
        """Uploads the run, if that is wanted. The program neither fails for it nor hangs."""
        if self._uploads is None:
            return
        try:
            if is_end:
                self.remarks += self._uploads.finish()
            else:
                self._uploads.start()
        except (Exception, KeyboardInterrupt) as error:
            text = str(error) or "interrupted"
            self.remarks.append(f"not uploaded: {text}; the run is in {self.folder}")

    def step(self) -> None:
        """A training step ends here, says the program."""
        # A framework's profile has the steps for which there is one.
        if self._is_recording and not (self._frameworks and self._frameworks.has_profiled):
            _core.mark_step(self.step_number)
        if self._frameworks is not None:
            self._frameworks.tell_step()
        else:
            self.advance()

    def advance(self) -> None:
        """A training step has ended."""
        self.step_number += 1
        self.schedule.step()
        self._follow()

    def follow_frameworks(self) -> None:
        """A framework has begun to work."""
        if self._frameworks is not None:
            self._frameworks.follow(self._is_recording)

    def epoch(self) -> None:
        """An epoch ends here."""
        self.schedule.epoch()
        self._follow()

    def _follow(self) -> None:
        """Does what the schedule says for the step that begins."""
        # Each stretch that is recorded is a recording of its own, so that no call spans the gap.
        if self.schedule.is_active and not self._is_recording:
            self._start_recording()
        elif not self.schedule.is_active and self._is_recording:
            self._stop_recording()
            self._stop_tracing()
            if self.schedule.is_over:
                self._update_index()
                self._send(is_end=False)
        if self.schedule.is_warming_up and not self._is_tracing:
            self._start_tracing()

    def _start_recording(self) -> None:
        self._stop_tracing()  # of the warm-up: the frames on the stack are to be opened anew
        _core.start_recording(
            self.folder,
            max_file_bytes=self.options.max_file_bytes,
            metadata=_describe_process(),
        )
        self._is_recording = True
        gc.callbacks.append(_core.on_garbage_collection)
        try:
            self._start_tracing()
            self._start_sampling()
            self.toggle_torch(True)
        except Exception:
            self._stop_recording()
            raise
        self.follow_frameworks()
        if not self.options.from_main and self.options.mode == "trace":
            _warn_of_others(_core.other_profilers())

    def _stop_recording(self) -> None:
        if self._is_recording:
            if self._frameworks is not None:
                self._frameworks.follow(False)
            self.toggle_torch(False)
            self._stop_sampling()
            if self._is_tracing:
                self._stop_tracing()
            self._is_recording = False
            if _core.on_garbage_collection in gc.callbacks:
                gc.callbacks.remove(_core.on_garbage_collection)
            _core.stop_recording()
            if not self.options.from_main and self.options.mode == "trace":
                _warn_of_others(_core.other_profilers())  # that the program has started since

    def toggle_torch(self, enable: bool) -> None:
        """Starts or stops recording the operators of PyTorch, where it is loaded."""
        is_wanted = enable and self._is_recording and self.options.torch is not None
        if is_wanted and not self._is_observing and "torch" in sys.modules:
            from stepscope import _torch_collector, _torch_marks

            self._is_observing = True
            if self.options.mode == "sample":
                _torch_marks.watch_backward(sys.modules["torch"], _is_sampled)
            fault = _torch_collector.start(**self.options.torch or {})
            if fault and fault not in self.faults:
                self.faults.append(fault)
        elif not is_wanted and self._is_observing:
            from stepscope import _torch_collector

            self._is_observing = False
            _torch_collector.stop()

    def _start_sampling(self) -> None:
        if self.options.hz:
            _core.start_sampling(self.folder, self.options.hz, self.options.sampler_note)
            self._is_sampling = True

    def _stop_sampling(self) -> None:
        if self._is_sampling:
            self._is_sampling = False
            fault = _core.stop_sampling()
            if fault:
                self.faults.append(fault)

    def _start_tracing(self) -> None:
        options = self.options
        if options.mode == "sample":
            _core.set_thread_name(_thread_name())
            return
        _core.start_tracing(
            c_calls=options.c_calls,
            from_main=options.from_main and self.step_number == 0,
            min_duration_ns=options.min_duration_ns,
            only=options.only,
            exclude=options.exclude,
            library_folders=_library_folders(),
            threads=options.threads,
            own_folder=os.path.dirname(__file__) + "/",
            marks_only=options.marks_only,
        )
        self._is_tracing = True

    def _stop_tracing(self) -> None:
        if self._is_tracing:
            self._is_tracing = False
            fault = _core.stop_tracing()
            if fault:
                self.faults.append(fault)


_current: Session | None = None
_has_warned = False
_has_handlers = False


def current() -> Session | None:
    return _current


def _is_sampled() -> bool:
    return _current is not None and _current.options.mode == "sample" and _core.is_recording()


def start(options: Options) -> Session:
    """Starts the recording of this process; it ends with stop(), or with the process."""
    global _current
    if _current is not None:
        raise _core.TraceError(
            f"this process is being recorded already, into {_current.folder}; "
            "recordings cannot be nested"
        )
    session = Session(options)
    _set_handlers()
    _current = session
    try:
        session.start()
    except BaseException:
        _current = None
        raise
    return session


def stop() -> None:
    """Ends the recording, if there is one."""
    global _current
    session, _current = _current, None
    if session is None:
        return
    session.stop()
    for fault in session.faults + session.remarks:
        sys.stderr.write(f"stepscope: {fault}\n")


def _describe_process() -> str:
    """What the recording says of this process: lines key=value."""
    about = {"python_version": sys.version.split()[0], "working_directory": _working_folder()}
    return "\n".join(f"{key}={value}" for key, value in (about | _launcher.place()).items())


def _working_folder() -> str:
    """Paths of the program are shown relative to it."""
    try:
        return os.getcwd().replace("\n", " ")
    except OSError:  # it was removed
        return ""


def _thread_name() -> str:
    """That of the calling thread, as Python has it."""
    threading = sys.modules.get("threading")
    if threading is None:
        return "MainThread"  # who starts another thread imports it
    name: str = threading.current_thread().name
    return name


def _warn_of_others(names: list[str]) -> None:
    """Once: the trace says it each time."""
    global _has_warned
    if names and not _has_warned:
        _has_warned = True
        sys.stderr.write(
            f"stepscope: {', '.join(names)} runs as well: each slows the program for the other "
            "(concurrent-profilers)\n"
        )


def _set_handlers() -> None:
    global _has_handlers
    if _has_handlers:
        return
    _has_handlers = True
    atexit.register(stop)
    os.register_at_fork(after_in_child=_core.continue_in_child)
    os.register_at_fork(after_in_child=_core.continue_sampling_in_child)
    _core.watch_exit(os)
    _on_import.when_imported("torch", _on_torch_imported)


def _on_torch_imported(torch: "ModuleType") -> None:
    from stepscope import _torch_marks

    _torch_marks.on_torch_imported(torch)
    if _current is not None:
        _current.toggle_torch(True)


def _library_folders() -> list[str]:
    """Where code lies that is not the user's own."""
    folders = [os.path.dirname(os.__file__)]
    if "-c" not in sys.orig_argv:
        folders.append("<string>")  # of dataclasses, named tuples, …
    site = sys.modules.get("site")
    if site is not None:
        folders += [*site.getsitepackages(), site.getusersitepackages()]
    return folders + [os.path.realpath(folder) for folder in folders]
