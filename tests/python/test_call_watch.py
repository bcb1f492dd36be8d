"""A function of another library is watched, and neither it nor its callers can tell."""

import copy
import inspect
import pickle
import sys
import traceback
import types
from collections.abc import Callable
from typing import Any

import pytest

from stepscope import _core


def make_class() -> Any:
    class Counter:
        def add(self, n: int, *, twice: bool = False) -> int:
            """Adds."""
            if n < 0:
                raise ValueError("negative")
            return n * 2 if twice else n

    return Counter


def watch(owner: object, name: str) -> list[Any]:
    told: list[Any] = []
    assert _core.watch_calls(
        owner,
        name,
        lambda args, kwargs: told.append((args, kwargs)),
        lambda args, has_failed: told.append(has_failed),
    )
    return told


def test_method_is_called_between_two_callbacks() -> None:
    counter_class = make_class()
    told = watch(counter_class, "add")
    counter = counter_class()
    assert counter.add(2, twice=True) == 4
    assert counter_class.add(counter, 3) == 3
    assert told == [((counter, 2), {"twice": True}), False, ((counter, 3), None), False]


def test_error_goes_through_without_a_frame_of_ours() -> None:
    plain, watched = make_class(), make_class()
    told = watch(watched, "add")

    def fail(counter: Any) -> list[str]:
        with pytest.raises(ValueError, match="negative") as caught:
            counter.add(-1)
        return [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]

    assert fail(watched()) == fail(plain())
    assert told[-1] is True


def test_watched_function_looks_as_before() -> None:
    plain, watched = make_class(), make_class()
    watch(watched, "add")
    for look in (inspect.signature, inspect.getdoc, inspect.isfunction, inspect.getsource):
        assert look(watched.add) == look(plain.add)
    assert watched.add.__qualname__ == plain.add.__qualname__
    assert inspect.ismethod(watched().add)


def test_function_of_a_module_is_watched() -> None:
    module = types.ModuleType("module")
    exec("def double(x):\n    return 2 * x\ndef both(x):\n    return double(x)", module.__dict__)
    told = watch(module, "double")
    assert module.both(4) == 8
    assert told == [((4,), None), False]


@pytest.mark.parametrize("name", ["missing", "value"])
def test_what_is_not_there_or_no_function_is_left_alone(name: str) -> None:
    class Owner:
        value = 3

    ignore: Callable[..., None] = lambda *args: None  # noqa: E731
    assert not _core.watch_calls(Owner, name, ignore)
    assert Owner.value == 3


def test_function_is_watched_once() -> None:
    counter_class = make_class()
    watch(counter_class, "add")
    assert not _core.watch_calls(counter_class, "add", print)


def test_errors_of_callbacks_are_none_of_the_callers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unraisable: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", unraisable.append)
    counter_class = make_class()
    assert _core.watch_calls(counter_class, "add", lambda args, kwargs: 1 / 0)
    assert counter_class().add(5) == 5
    assert len(unraisable) == 1


def test_watched_function_is_pickled_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("watched_module")
    exec("def add(n): return n + 1", vars(module))
    monkeypatch.setitem(sys.modules, "watched_module", module)
    pickled = pickle.dumps(module.add)
    watch(module, "add")
    assert pickle.dumps(module.add) == pickled
    assert pickle.loads(pickled) is module.add
    assert copy.deepcopy(module.add) is module.add
