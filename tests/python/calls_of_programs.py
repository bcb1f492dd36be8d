"""Small programs that call functions in every way, and two ways to see their calls.

``profile_calls`` runs one under cProfile, ``trace_calls`` under sys.setprofile. Both count events
instead of time, so that what is made of the second must equal the first to the last digit.
"""

from __future__ import annotations

import cProfile
import itertools
import json
import re
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

Stats = dict[tuple[str, int, str], tuple[int, int, float, float, dict[Any, Any]]]


def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def recursion() -> None:
    fib(9)


def is_even(n: int) -> bool:
    return n == 0 or is_odd(n - 1)


def is_odd(n: int) -> bool:
    return n > 0 and is_even(n - 1)


def mutual_recursion() -> None:
    is_even(9)
    is_odd(6)


def walk(depth: int) -> int:
    return turn(depth) + walk(depth - 1) if depth > 0 else 0


def turn(depth: int) -> int:
    return walk(depth - 2) + sum(map(abs, [depth, -depth])) if depth > 1 else leaf(depth)


def leaf(depth: int) -> int:
    return abs(depth)


def recursion_of_three() -> None:
    walk(7)


def count(n: int) -> Iterator[int]:
    try:
        for i in range(n):
            leaf(i)
            yield i
    finally:
        leaf(-n)


def tree(n: int) -> Iterator[int]:
    if n > 0:
        yield from tree(n - 1)
        yield n
        yield from tree(n - 1)


def generators() -> None:
    list(tree(3))
    for _ in zip(count(3), count(4), strict=False):
        leaf(1)
    stopped = count(5)
    next(stopped)
    stopped.close()
    thrown = count(5)
    next(thrown)
    try:
        thrown.throw(ValueError)
    except ValueError:
        leaf(2)


def fail(depth: int) -> int:
    return int("x") if depth == 0 else fail(depth - 1)


def exceptions() -> None:
    for depth in range(3):
        try:
            fail(depth)
        except ValueError:
            leaf(depth)
    try:
        sorted([3, 1, 2], key=lambda n: fail(n))
    except ValueError:
        leaf(0)


class Shape:
    def __init__(self, n: int) -> None:
        self.parts = [Shape(n - 1) for _ in range(n)]

    def __len__(self) -> int:
        return 1 + sum(len(part) for part in self.parts)

    @property
    def size(self) -> int:
        return len(self)


def classes() -> None:
    assert Shape(3).size == 16


def libraries() -> None:
    json.loads(json.dumps({"a": [1, 2.5, {"é": None}], "b": [True] * 3}))
    re.purge()
    re.match(r"(a|b)*c(?P<d>\d+)", "abac12")


PROGRAMS: dict[str, Callable[[], None]] = {
    program.__name__: program
    for program in (
        recursion,
        mutual_recursion,
        recursion_of_three,
        generators,
        exceptions,
        classes,
        libraries,
    )
}


def profile_calls(program: Callable[[], None], *, builtins: bool = True) -> Stats:
    """What cProfile says of it. A tick of the clock is a ns."""
    program()  # what is done only once is done now
    ticks = itertools.count()
    profiler = cProfile.Profile(ticks.__next__, 1e-9, builtins=builtins)
    profiler.enable()
    program()
    profiler.disable()
    profiler.create_stats()
    stats: Stats = profiler.stats  # type: ignore[attr-defined]
    return {key: figures for key, figures in stats.items() if "lsprof" not in key[2]}


def name_of_builtin(function: Any) -> str:
    """As cProfile names a function of C."""
    owner = function.__self__
    if owner is None or isinstance(owner, types.ModuleType):
        return f"<built-in method {function.__module__}.{function.__name__}>"
    method = getattr(type(owner), function.__name__, None)
    return repr(method) if method else f"<built-in method {function.__name__}>"


def trace_calls(program: Callable[[], None]) -> dict[str, Any]:
    """A Chrome trace of the same, with names and categories as Stepscope's recordings have them."""
    program()
    ticks = itertools.count()
    open_calls: list[tuple[str, str, int]] = []
    events: list[dict[str, Any]] = []

    def see(frame: types.FrameType, event: str, arg: Any) -> None:
        now = next(ticks)
        code = frame.f_code
        if event == "call":
            name = f"{code.co_filename}({code.co_firstlineno}): {code.co_qualname}"
            open_calls.append((name, "python_function", now))
        elif event == "c_call":
            open_calls.append((name_of_builtin(arg), "c_function", now))
        elif open_calls:
            name, category, start = open_calls.pop()
            events.append(
                {
                    "ph": "X",
                    "pid": 1,
                    "tid": 1,
                    "name": name,
                    "cat": category,
                    "ts": start / 1000,
                    "dur": (now - start) / 1000,
                }
            )

    sys.setprofile(see)
    program()
    sys.setprofile(None)
    return {"traceEvents": events}
