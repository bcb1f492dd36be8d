"""TensorFlow and JAX in a recording: their own profilers run for some of the training steps.

With --steps they run while the recording does. Else they start with the first training work and
run until WINDOW after the first step has ended, but for MIN_STEPS steps, and at most PATIENCE times
the window. A step ends the window where steps are found, and a thread of ours elsewhere: there the
time counts from the last compilation, and the profilers run once more if steps come later.

What goes wrong here is one line at the end of the program, and nothing to it."""

import _thread
import atexit
import os
import time

from stepscope._framework_profilers import Jax, Profiler, TensorFlow
from stepscope._framework_steps import StepFinder, watch_jax, watch_keras, watch_tensorflow
from stepscope._on_import import when_imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from stepscope._session import Session

MIN_STEPS = 8
PATIENCE = 6
LOOK_EVERY_S = 0.2
STEPS_WITHIN_S = 10.0  # after the first work, or they are taken not to be found


class Frameworks:
    """Which profilers run, and when. Hears of steps from a StepFinder."""

    def __init__(self, session: "Session", names: list[str], window_s: float) -> None:
        self.has_profiled = False
        self._session = session
        self._names = names
        self._window_s = window_s
        self._has_schedule = bool(session.options.steps)
        self._steps = StepFinder(self)
        self._lock = _thread.RLock()
        self._known: list[Profiler] = []
        self._running: list[Profiler] = []
        self._at_work: set[str] = set()
        self._is_over = False
        self._waits_for_steps = False  # the window is over, and there were none
        self._has_timer = False
        self._stretch = 0
        self._started_s = self._counted_from_s = 0.0
        self._steps_ended = 0

    def watch(self) -> None:
        """From now on: what the program imports is waited for, and nothing imported."""
        if "tensorflow" in self._names:
            when_imported("tensorflow", self._on_tensorflow_imported)
        if "jax" in self._names:
            when_imported("jax", self._on_jax_imported)
        for name in ("keras", "tf_keras"):
            when_imported(name, lambda keras: watch_keras(self._steps, keras))

    def follow(self, is_recording: bool) -> None:
        """The recording has started, or is about to stop."""
        with self._lock:
            if not is_recording:
                self._stop(self._running)
            elif not self._is_over:
                self._start()

    def tell_step(self) -> None:
        """stepscope.step()."""
        self._steps.tell()

    def finish(self) -> None:
        """The program ends."""
        with self._lock:
            self._is_over = True
            self._stop(self._running)

    # What the StepFinder tells.

    def on_work(self, framework: str) -> None:
        has_steps = self._steps.has_source
        if self._is_over or (self._waits_for_steps and not has_steps):
            return
        with self._lock:
            if not has_steps:
                self._counted_from_s = time.monotonic()
            if framework not in self._at_work or self._waits_for_steps:
                self._waits_for_steps = False
                if self._has_schedule and not self._at_work:
                    _thread.start_new_thread(self._wait_for_steps, ())
                self._at_work.add(framework)
                self._session.follow_frameworks()

    def on_begin(self, *, is_marked: bool) -> None:
        if self._running and not is_marked:
            self._try(self._running[0].begin_step)

    def on_end(self, *, is_whole: bool) -> None:
        if self._running:
            number = self._session.step_number if is_whole else None
            self._try(self._running[0].end_step, number)
        if is_whole:
            if fault := self._try(self._session.advance):
                self._tell(fault)
            self._check_window()

    # Starting and stopping.

    def _start(self) -> None:
        for profiler in self._known:
            if profiler.name not in self._at_work or profiler in self._running:
                continue
            if fault := self._try(profiler.start, self._folder_of(profiler)):
                self._known = [other for other in self._known if other is not profiler]
                self._tell(f"{profiler.title} is not recorded: its profiler did not start: {fault}")
                continue
            self._running.append(profiler)
            self._begin_window()
            if not self.has_profiled:
                self.has_profiled = True
                # Before what the framework itself does at exit.
                atexit.register(self.finish)
                os.register_at_fork(after_in_child=self._forget)

    def _begin_window(self) -> None:
        self._started_s = self._counted_from_s = time.monotonic()
        self._steps_ended = 0
        if not self._has_schedule and not self._has_timer:
            self._has_timer = True
            _thread.start_new_thread(self._watch_time, ())

    def _stop(self, profilers: "list[Profiler]") -> None:
        if not profilers:
            return
        self._running = [other for other in self._running if other not in profilers]
        for profiler in profilers:
            if fault := self._try(profiler.stop):
                self._tell(f"what {profiler.title} did is lost: its profiler did not stop: {fault}")
        if not self._running:
            self._stretch += 1

    def _folder_of(self, profiler: Profiler) -> str:
        """TensorBoard takes it for a run. One for each process and stretch: the names of profiles
        have no more than the second in them."""
        number = f"-{self._stretch + 1}" if self._stretch else ""
        return f"{self._session.folder}/{profiler.name}-{os.getpid()}{number}"

    # The window of time.

    def _check_window(self) -> None:
        """A step has ended."""
        if not self._running or self._has_schedule:
            return
        now_s = time.monotonic()
        self._steps_ended += 1
        if self._steps_ended == 1:
            self._counted_from_s = now_s
        is_long_enough = now_s - self._counted_from_s >= self._window_s
        if is_long_enough and (self._steps_ended > MIN_STEPS or self._has_run_out(now_s)):
            self.finish()

    def _has_run_out(self, now_s: float) -> bool:
        return now_s - self._started_s >= self._window_s * PATIENCE

    def _watch_time(self) -> None:
        while True:
            time.sleep(min(LOOK_EVERY_S, self._window_s / 4))
            with self._lock:
                if not self._running:
                    self._has_timer = False
                    return
                now_s = time.monotonic()
                is_long_enough = now_s - self._counted_from_s >= self._window_s
                has_run_out = self._has_run_out(now_s)
                if self._steps.has_source and has_run_out:
                    self.finish()
                elif not self._steps.has_source and (is_long_enough or has_run_out):
                    self._stop(self._running)
                    self._waits_for_steps = True

    def _wait_for_steps(self) -> None:
        """--steps was given, and perhaps nothing shows where they are."""
        time.sleep(STEPS_WITHIN_S)
        with self._lock:
            if self._session.step_number == 0 and not self._steps.has_source and not self._is_over:
                self._tell(
                    "no training steps were found, so that a window of time was recorded by "
                    + " and ".join(
                        other.title for other in self._known if other.name in self._at_work
                    )
                    + " alone; stepscope.step() ends a step"
                )
                self._has_schedule = False
                self._start()

    # What the program does.

    def _on_tensorflow_imported(self, tensorflow: "ModuleType") -> None:
        watch_tensorflow(self._steps)
        self._add(TensorFlow(tensorflow))

    def _on_jax_imported(self, jax: "ModuleType") -> None:
        watch_jax(self._steps, jax)
        self._add(Jax(jax))

    def _add(self, profiler: Profiler) -> None:
        profiler.watch_program(lambda: self._yield_to_program(profiler))
        self._known.append(profiler)

    def _yield_to_program(self, profiler: Profiler) -> None:
        with self._lock:
            if profiler not in self._known or self._is_over:
                return
            self._known = [other for other in self._known if other is not profiler]
            is_running = profiler in self._running
            self._tell(
                f"the program runs {profiler.title}'s profiler itself: in this run is what "
                f"{profiler.title} did {'until then' if is_running else 'not'}"
            )
            if is_running:
                self._stop([profiler])

    def _forget(self) -> None:
        """In a child of fork: the profilers are the parent's."""
        self._lock = _thread.RLock()
        self._running = []
        self._known = []
        self._is_over = True

    def _try(self, action: "Callable[..., None]", *args: object) -> str:
        """What went wrong, in one line; empty where nothing did."""
        try:
            action(*args)
        except Exception as error:
            return (str(error).strip().splitlines() or [type(error).__name__])[0]
        return ""

    def _tell(self, fault: str) -> None:
        if fault not in self._session.faults:
            self._session.faults.append(fault)
