"""Where training steps of TensorFlow and JAX programs begin and end, found while they run.

The best source that a program has decides, also where it shows late:

    TOLD       stepscope.step()
    ANNOTATED  tf.profiler.experimental.Trace(…, step_num=…), jax.profiler.StepTraceAnnotation
    KERAS      the batches of fit()
    ITERATOR   next() of a tf.data or distributed iterator, the first one that is still there
    FUNCTION   calls of a tf.function, the first one that is called twice

The calls are seen through _core.watch_calls, which leaves no frame in tracebacks. JAX's compiled
functions are called without any Python: there only compilations show that something is done."""

import _thread
import sys
from _weakref import ref

from stepscope import _core
from stepscope._on_import import when_imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any, Protocol

    class Listener(Protocol):
        def on_work(self, framework: str) -> None:
            """It does something; there need not be steps."""

        def on_begin(self, *, is_marked: bool) -> None:
            """A step begins; is_marked: the program itself shows it to the framework's profiler."""

        def on_end(self, *, is_whole: bool) -> None:
            """It ends; not is_whole: it was none."""


TENSORFLOW, JAX = "tensorflow", "jax"
TOLD, ANNOTATED, KERAS, ITERATOR, FUNCTION = 5, 4, 3, 2, 1
MAX_FUNCTIONS = 1000  # a program may make new ones all the time


class StepFinder:
    """Makes one sequence of steps of what the sources say."""

    def __init__(self, listener: "Listener") -> None:
        self._listener = listener
        self._rank = 0
        self._leader: ref[Any] | None = None  # the iterator or function that counts
        self._thread = 0
        self._is_open = False

    @property
    def has_source(self) -> bool:
        return self._rank > 0

    def work(self, framework: str) -> None:
        self._listener.on_work(framework)

    def begin(self, rank: int, framework: str, leader: object = None) -> None:
        """A step begins, and where one is open it ends."""
        self.work(framework)
        if not self._takes(rank, leader):
            return
        if self._is_open:
            self._close(is_whole=True)
        self._is_open = True
        self._listener.on_begin(is_marked=rank == ANNOTATED)

    def tell(self) -> None:
        """stepscope.step(): one ends here, and the next begins."""
        self._rank, self._thread = TOLD, _thread.get_ident()
        self._close(is_whole=True)
        self._is_open = True
        self._listener.on_begin(is_marked=False)

    def end(self, rank: int) -> None:
        if rank == self._rank and self._is_open and _thread.get_ident() == self._thread:
            self._close(is_whole=True)

    def cancel(self, leader: object) -> None:
        """The step that has begun is none: there was nothing left to fetch."""
        if self._leader is not None and self._leader() is leader:
            self._leader = None
            if self._is_open:
                self._close(is_whole=False)

    def _takes(self, rank: int, leader: object) -> bool:
        thread = _thread.get_ident()
        if rank > self._rank:
            if self._is_open:  # that a lesser source has opened
                self._close(is_whole=False)
            self._rank, self._leader, self._thread = rank, None, thread
        if rank < self._rank or thread != self._thread:
            return False
        if leader is not None:
            known = self._leader() if self._leader is not None else None
            if known is None:
                self._leader = ref(leader)
            return known is None or known is leader
        return True

    def _close(self, *, is_whole: bool) -> None:
        self._is_open = False
        self._listener.on_end(is_whole=is_whole)


class _FunctionCalls:
    """Calls of tf.functions that no other one makes."""

    def __init__(self, steps: StepFinder) -> None:
        self._steps = steps
        self._seen: set[int] = set()
        self._outermost: object = None

    def before(self, args: "tuple[Any, ...]", kwargs: object) -> None:
        self._steps.work(TENSORFLOW)
        if self._outermost is not None:
            return
        function = self._outermost = args[0]
        if id(function) in self._seen:
            self._steps.begin(FUNCTION, TENSORFLOW, function)
        elif len(self._seen) < MAX_FUNCTIONS:
            self._seen.add(id(function))

    def after(self, args: "tuple[Any, ...]", has_failed: bool) -> None:
        if args[0] is self._outermost:
            self._outermost = None
            self._steps.work(TENSORFLOW)


def watch_tensorflow(steps: StepFinder) -> None:
    """Once the program has imported it."""

    def watch(module_name: str, owner: str, name: str, *callbacks: "Callable[..., None]") -> None:
        when_imported(
            f"tensorflow.python.{module_name}",
            lambda module: _watch(module, owner, name, *callbacks),
        )

    def on_next(args: "tuple[Any, ...]", kwargs: object) -> None:
        steps.begin(ITERATOR, TENSORFLOW, args[0])

    def after_next(args: "tuple[Any, ...]", has_failed: bool) -> None:
        if has_failed:
            steps.cancel(args[0])

    def on_trace(args: object, kwargs: "dict[str, Any] | None") -> None:
        if kwargs and "step_num" in kwargs:
            steps.begin(ANNOTATED, TENSORFLOW)

    functions = _FunctionCalls(steps)
    watch("data.ops.iterator_ops", "OwnedIterator", "__next__", on_next, after_next)
    watch("distribute.input_lib", "DistributedIteratorBase", "__next__", on_next, after_next)
    watch("profiler.trace", "Trace", "__init__", on_trace)
    watch(
        "eager.polymorphic_function.polymorphic_function",
        "Function",
        "__call__",
        functions.before,
        functions.after,
    )
    watch(
        "eager.backprop", "GradientTape", "__enter__", lambda args, kwargs: steps.work(TENSORFLOW)
    )


def watch_keras(steps: StepFinder, keras: "ModuleType") -> None:
    """Keras 3, on any of its backends, and Keras 2, also as tf_keras."""

    def on_batch(args: object, kwargs: object) -> None:
        steps.begin(KERAS, keras.backend.backend())

    for name in ("src.callbacks.callback_list", "src.callbacks"):
        module = sys.modules.get(f"{keras.__name__}.{name}")
        if module is not None and _watch(module, "CallbackList", "on_train_batch_begin", on_batch):
            _watch(
                module,
                "CallbackList",
                "on_train_batch_end",
                _do_nothing,
                lambda args, has_failed: steps.end(KERAS),
            )
            return


def watch_jax(steps: StepFinder, jax: "ModuleType") -> None:
    """Once the program has imported it."""

    def on_duration(event: str, duration_s: float, **kwargs: object) -> None:
        if "compile" in event:
            steps.work(JAX)

    when_imported(
        "jax._src.profiler",
        lambda module: _watch(
            module,
            "StepTraceAnnotation",
            "__init__",
            lambda args, kwargs: steps.begin(ANNOTATED, JAX),
        ),
    )
    jax.monitoring.register_event_duration_secs_listener(on_duration)


def _do_nothing(args: object, kwargs: object) -> None:
    pass


def _watch(module: "ModuleType", owner: str, name: str, *callbacks: "Callable[..., None]") -> bool:
    found = vars(module).get(owner)
    return found is not None and _core.watch_calls(found, name, *callbacks)
