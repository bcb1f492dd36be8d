"""profile, record_function, step, epoch: recording from within a program."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from typing import Any, TypeVar

from stepscope import _core, _session

F = TypeVar("F", bound=Callable[..., Any])


def _wrap(function: F, make: Callable[[], Any]) -> F:
    """The function within make()'s context: while it runs, also where it runs in pieces."""
    wrapper: Any
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            with make():
                return await function(*args, **kwargs)

    elif inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            with make():
                generator = function(*args, **kwargs)
                try:
                    async for value in generator:
                        yield value
                finally:
                    await generator.aclose()

    elif inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with make():
                return (yield from function(*args, **kwargs))

    else:

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with make():
                return function(*args, **kwargs)

    return wrapper  # type: ignore[no-any-return]


class profile:  # noqa: N801
    """Records this process, with every Python call or samples, into the run folder ``path``.

    >>> with stepscope.profile("outputs/profiler_results"):
    ...     train()

    Also a decorator (of plain, async and generator functions; each call is recorded), and an object
    with ``start()`` and ``stop()``. What is recorded is read with ``stepscope.load(path)`` or
    ``stepscope report PATH``.

    ``c_calls``: C functions too, at several times the cost on Python 3.11. ``min_duration``:
    seconds; shorter calls are left out and counted. ``only``, ``exclude``: globs of paths,
    folders or qualified names, or "mine" for code outside of the libraries. ``threads``: a glob
    of thread names. ``max_bytes``: a ring that keeps the newest. ``steps``, ``epochs``: which of
    them, see ``stepscope run --help``.

    ``mode="sample"``: no call is recorded; a thread of ours looks at the stacks of all threads
    ``hz`` times a second, and steps of PyTorch, ``stepscope.step()`` and ``record_function`` are
    recorded beside. It costs so little that it can stay on. Forked children sample themselves in
    the same way. What selects calls (``c_calls``, ``min_duration``, ``only``, ``exclude``,
    ``threads``) is of the mode "trace".

    ``torch``: the operators of PyTorch and their memory too, as ``stepscope run`` records them.

    ``upload``: a URL that fsspec knows (``abfs://container/job``), to which the run is sent when
    it is over. ``mlflow``: it becomes artifacts of the MLflow run that is active, or that the
    environment names (``MLFLOW_RUN_ID``). What can not be sent is told in a line, and stays here.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] = _session.FOLDER,
        *,
        c_calls: bool = False,
        min_duration: float = 0,
        only: str | list[str] = "",
        exclude: str | list[str] = "",
        threads: str = "",
        max_bytes: int = 0,
        steps: str = "",
        epochs: int = 0,
        mode: str = "trace",
        hz: float = 100,
        torch: bool = False,
        upload: str = "",
        mlflow: bool = False,
    ) -> None:
        if mode not in {"trace", "sample"}:
            raise ValueError(f'mode is "trace" or "sample", not {mode!r}')
        is_sampled = mode == "sample"
        if is_sampled and (c_calls or min_duration or only or exclude or threads):
            raise ValueError(
                'c_calls, min_duration, only, exclude and threads are of mode="trace": '
                "samples are of all functions and threads"
            )
        if is_sampled and not 1 <= hz <= 10_000:
            raise ValueError(f"hz is 1 to 10000 looks a second, not {hz!r}")
        self._options = _session.Options(
            os.fspath(path),
            c_calls=c_calls,
            min_duration_ns=round(min_duration * 1e9),
            only=_as_list(only),
            exclude=_as_list(exclude),
            threads=threads,
            max_file_bytes=max_bytes,
            steps=steps,
            epochs=epochs,
            mode=mode,
            hz=hz if is_sampled else 0,
            torch={"scopes_only": True} if is_sampled else {"memory": True} if torch else None,
            upload=upload,
            mlflow=mlflow,
        )
        self._session: _session.Session | None = None

    @property
    def folder(self) -> str:
        """Where the run is."""
        return os.path.abspath(self._options.folder)

    def start(self) -> None:
        """Starts recording. Raises ``TraceError`` where this process is being recorded already."""
        self._session = _session.start(self._options)

    def stop(self) -> None:
        """Stops recording, if it was started here."""
        if self._session is not None and self._session is _session.current():
            _session.stop()
        self._session = None

    def step(self) -> None:
        """As ``stepscope.step()``."""
        step()

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def __call__(self, function: F) -> F:
        return _wrap(function, lambda: self)


def _as_list(patterns: str | list[str]) -> list[str]:
    if isinstance(patterns, str):
        return [patterns] if patterns else []
    return list(patterns)


class record_function:  # noqa: N801
    """A named stretch of the timeline; also a decorator. Costs little where nothing is recorded.

    >>> with stepscope.record_function("load batch"):
    ...     batch = next(batches)
    """

    __slots__ = ("_label", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._label = 0

    def __enter__(self) -> record_function:
        if _core.is_recording():
            self._label = _core.intern(self._name)
            _core.begin(self._label)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._label:
            _core.end(self._label)
            self._label = 0

    def __call__(self, function: F) -> F:
        return _wrap(function, lambda: record_function(self._name))


def step() -> None:
    """Marks the end of a training step."""
    session = _session.current()
    if session is not None:
        session.step()


def epoch() -> None:
    """Marks the end of an epoch, for ``--epochs``."""
    session = _session.current()
    if session is not None:
        session.epoch()
