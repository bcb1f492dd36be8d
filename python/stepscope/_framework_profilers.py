"""TensorFlow's and JAX's own profilers, as a recording uses them.

Both write TensorBoard's layout, FOLDER/plugins/profile/TIME/HOST.xplane.pb. Python's own calls are
left out: the recording has them. The program's own use of a profiler comes first: only one can run
at a time, so that ours stops where the program starts it."""

import sys

from stepscope import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

STEP = "train"  # with the number it is "train#5" for every reader


class Profiler:
    title = ""
    name = ""  # of the module; folders of its profiles begin with it
    starters: tuple[str, ...] = ()  # module.function that the program would start it with

    def __init__(self, module: "ModuleType") -> None:
        self._module: Any = module
        self._step: Any = None
        self._is_ours = False

    def watch_program(self, on_start: "Callable[[], object]") -> None:
        """on_start(): the program is about to start the profiler itself."""

        def before(args: object, kwargs: object) -> None:
            if not self._is_ours:
                on_start()

        for starter in self.starters:
            module_name, _, function = starter.rpartition(".")
            if module_name in sys.modules:
                _core.watch_calls(sys.modules[module_name], function, before)

    def start(self, folder: str) -> None:
        self._is_ours = True
        try:
            self._start(folder)
        finally:
            self._is_ours = False

    def stop(self) -> None:
        raise NotImplementedError

    def begin_step(self) -> None:
        self._step = self._annotate(STEP)
        self._step.__enter__()

    def end_step(self, number: int | None) -> None:
        """None: it was no step."""
        step, self._step = self._step, None
        if step is not None:
            if number is not None:
                step.set_metadata(step_num=number, _r=1)
            step.__exit__(None, None, None)

    def _start(self, folder: str) -> None:
        raise NotImplementedError

    def _annotate(self, name: str) -> "Any":
        raise NotImplementedError


class TensorFlow(Profiler):
    title = "TensorFlow"
    name = "tensorflow"
    starters = (
        "tensorflow.python.profiler.profiler_v2.start",
        "tensorflow._api.v2.profiler.experimental.start",
    )

    def stop(self) -> None:
        self._module.profiler.experimental.stop()

    def _start(self, folder: str) -> None:
        profiler = self._module.profiler.experimental
        options = profiler.ProfilerOptions(
            host_tracer_level=2, python_tracer_level=0, device_tracer_level=1
        )
        state: Any = sys.modules.get("tensorflow.python.profiler.profiler_v2")
        before = getattr(state, "_profiler", None)
        try:
            profiler.start(folder, options=options)
        except Exception:
            # A start that fails because of a profiler server leaves a session that never began.
            if state is not None:
                state._profiler = before
            raise

    def _annotate(self, name: str) -> "Any":
        return self._module.profiler.experimental.Trace(name)


class Jax(Profiler):
    title = "JAX"
    name = "jax"
    starters = ("jax._src.profiler.start_trace", "jax.profiler.start_trace")

    def stop(self) -> None:
        self._module.profiler.stop_trace()

    def _start(self, folder: str) -> None:
        profiler = self._module.profiler
        options = {}
        if hasattr(profiler, "ProfileOptions"):
            options["profiler_options"] = profiler.ProfileOptions()
            options["profiler_options"].python_tracer_level = 0
        profiler.start_trace(folder, **options)

    def _annotate(self, name: str) -> "Any":
        return self._module.profiler.TraceAnnotation(name)
