"""Marked functions: a slice of the mark's name around each call, and the function's own inside."""

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from recorded_marks import MODES, paths, recording

import stepscope
from stepscope import _core


def define(source: str) -> dict[str, Any]:
    """Functions with code of their own: marks stay on code."""
    names: dict[str, Any] = {"threading": threading}
    exec(compile(source, "marked.py", "exec"), names)
    return names


def mark(function: Callable[..., Any], name: str, outermost_only: bool = False) -> None:
    _core.mark_code(function.__code__, name, "phase", outermost_only)


@pytest.mark.parametrize("mode", MODES)
def test_a_mark_is_around_the_function(mode: str, tmp_path: Path) -> None:
    names = define("def outer():\n inner()\n inner()\ndef inner(): pass")
    mark(names["inner"], "phase a")
    with recording(tmp_path, mode):
        names["outer"]()
    if mode == "marks only":
        assert paths(tmp_path) == ["/phase a"] * 2
    else:
        assert paths(tmp_path) == ["/outer", *["/outer/phase a", "/outer/phase a/inner"] * 2]
    assert "ends_without_begin" not in stepscope.load(tmp_path).stats


@pytest.mark.parametrize("mode", MODES)
def test_a_mark_ends_with_an_exception(mode: str, tmp_path: Path) -> None:
    names = define(
        "def outer():\n try: inner()\n except ValueError: pass\n after()\n"
        "def inner(): raise ValueError\ndef after(): pass"
    )
    for name in ("inner", "after"):
        mark(names[name], name.upper())
    with recording(tmp_path, mode):
        names["outer"]()
    found = [path for path in paths(tmp_path) if path.endswith(("INNER", "AFTER"))]
    outer = "" if mode == "marks only" else "/outer"
    assert found == [f"{outer}/INNER", f"{outer}/AFTER"]


@pytest.mark.parametrize("c_calls", [False, True])
def test_the_filter_leaves_out_the_function_and_not_its_mark(c_calls: bool, tmp_path: Path) -> None:
    names = define("def outer():\n inner()\n other()\ndef inner(): other()\ndef other(): pass")
    mark(names["inner"], "phase a")
    with stepscope.profile(tmp_path, only="outer", c_calls=c_calls):
        names["outer"]()
    assert paths(tmp_path) == ["/outer", "/outer/phase a"]


@pytest.mark.parametrize("mode", MODES)
def test_of_nested_marks_of_one_name_the_outermost_counts(mode: str, tmp_path: Path) -> None:
    names = define(
        "def method(n):\n function(n)\n function(0)\n"
        "def function(n):\n if n: method(n - 1)\n"
        "def fail():\n try: function(-1)\n except RecursionError: pass"
    )
    for name in ("method", "function"):
        mark(names[name], "backward", outermost_only=True)
    with recording(tmp_path, mode):
        names["method"](3)
        names["function"](0)
        names["fail"]()
        names["function"](0)
    marks = [path for path in paths(tmp_path) if path.endswith("backward")]
    assert marks == ["/backward"] * 2 + [
        "/backward" if mode == "marks only" else "/fail/backward",
        "/backward",
    ]


@pytest.mark.parametrize("mode", MODES)
def test_each_thread_has_its_own_marks(mode: str, tmp_path: Path) -> None:
    names = define(
        "def outer():\n"
        " threads = [threading.Thread(target=inner) for _ in range(4)]\n"
        " for thread in threads: thread.start()\n"
        " for thread in threads: thread.join()\n"
        "def inner(): pass"
    )
    mark(names["outer"], "phase a", outermost_only=True)
    mark(names["inner"], "phase a", outermost_only=True)
    with recording(tmp_path, mode):
        names["outer"]()
    table = stepscope.load(tmp_path).sql(
        "SELECT count(*), count(DISTINCT track_id) FROM slices WHERE name = 'phase a'"
    )
    assert [tuple(row) for row in table] == [(5, 5)]


@pytest.mark.parametrize("mode", MODES)
def test_a_generator_is_marked_while_it_runs(mode: str, tmp_path: Path) -> None:
    names = define(
        "def outer():\n for _ in inner(): other()\n"
        "def inner():\n yield 1\n yield 2\ndef other(): pass"
    )
    mark(names["inner"], "phase a")
    mark(names["other"], "other")
    with recording(tmp_path, mode):
        names["outer"]()
    found = [path.rpartition("/")[2] for path in paths(tmp_path)]
    assert [name for name in found if name in {"phase a", "other"}].count("phase a") == 3
    assert all("phase a" not in path for path in paths(tmp_path) if path.endswith("other"))


@pytest.mark.parametrize("mode", MODES)
def test_a_function_may_be_marked_while_it_runs(mode: str, tmp_path: Path) -> None:
    names = define("def outer(mark):\n inner()\n mark()\n inner()\ndef inner(): pass")

    def mark_both() -> None:
        mark(names["inner"], "phase a")
        mark(names["outer"], "phase b")

    with recording(tmp_path, mode):
        names["outer"](mark_both)
        names["outer"](lambda: None)
    expected = ["/outer", "/outer/inner", "/outer/phase a", "/outer/phase a/inner"]
    expected += ["/phase b", "/phase b/outer"]
    expected += ["/phase b/outer/phase a", "/phase b/outer/phase a/inner"] * 2
    if mode == "marks only":
        expected = ["/phase a", "/phase b", "/phase b/phase a", "/phase b/phase a"]
    assert paths(tmp_path) == expected
    assert "ends_without_begin" not in stepscope.load(tmp_path).stats


@pytest.mark.parametrize("c_calls", [False, True])
def test_a_recording_that_begins_within_a_marked_call_has_it(c_calls: bool, tmp_path: Path) -> None:
    names = define("def outer(start):\n start()\n inner()\ndef inner(): pass")
    mark(names["outer"], "phase a")
    profile = stepscope.profile(tmp_path, c_calls=c_calls)
    names["outer"](profile.start)
    names["inner"]()
    profile.stop()
    assert paths(tmp_path) == ["/phase a", "/phase a/outer", "/phase a/outer/inner", "/inner"]


@pytest.mark.parametrize("mode", MODES)
def test_a_forked_child_is_within_the_mark(mode: str, tmp_path: Path) -> None:
    names = define("def outer(fork):\n fork()\n inner()\ndef inner(): pass")
    mark(names["outer"], "phase a")
    mark(names["inner"], "phase b")
    children: list[int] = []
    with recording(tmp_path, mode):
        names["outer"](lambda: children.append(os.fork()))
        if children == [0]:
            os._exit(0)
    os.waitpid(children[0], 0)
    if mode == "marks only":
        expected = ["/phase a", "/phase a/phase b"]
    else:
        expected = ["/phase a", "/phase a/outer"]
        expected += ["/phase a/outer/phase b", "/phase a/outer/phase b/inner"]
    assert paths(tmp_path) == expected * 2


@pytest.mark.parametrize("mode", MODES)
def test_what_an_argument_holds_is_marked(mode: str, tmp_path: Path) -> None:
    names = define(
        "import functools\n"
        "class Loader:\n"
        " def __init__(self, items, collate): self.collate = collate\n"
        "class Collate:\n"
        " def __call__(self): inner()\n"
        " def method(self): inner()\n"
        "def wrap(f):\n"
        " @functools.wraps(f)\n"
        " def wrapper(): return f()\n"
        " return wrapper\n"
        "@wrap\n"
        "def wrapped(): inner()\n"
        "def plain(): inner()\n"
        "def given(n): inner()\n"
        "def inner(): pass\n"
        "def use(collate): Loader([], collate).collate()\n"
    )
    _core.mark_argument(names["Loader"].__init__.__code__, 2, "collate", "phase")
    used = [
        names["plain"],
        names["plain"],
        names["Collate"](),
        names["Collate"]().method,
        names["wrapped"],
        names["functools"].partial(names["given"], 1),
        lambda: names["inner"](),
        dict,
    ]
    with recording(tmp_path, mode):
        for collate in used:
            names["use"](collate)
    found = [path for path in paths(tmp_path) if path.endswith("collate")]
    assert len(found) == len(used) - 1
    assert all("inner" not in path for path in found)


def test_only_code_can_be_marked() -> None:
    with pytest.raises(TypeError):
        _core.mark_code(paths, "phase a", "phase")  # type: ignore[arg-type]


def test_a_mark_goes_with_its_code(tmp_path: Path) -> None:
    # New functions at the addresses of old ones.
    with recording(tmp_path):
        for i in range(200):
            names = define("def inner(): pass")
            if i % 2:
                mark(names["inner"], "phase a")
            names["inner"]()
    found = paths(tmp_path)
    assert found.count("/phase a/inner") == found.count("/inner") == 100


def test_the_program_sees_no_exception_of_ours(tmp_path: Path) -> None:
    names = define(
        "import sys\n"
        "def outer():\n"
        " try: raise ValueError('own')\n"
        " except ValueError: seen = inner()\n"
        " assert inner() == (None, None, None)\n"
        " return seen\n"
        "def inner(): return sys.exc_info()\n"
    )
    mark(names["inner"], "phase a")
    with recording(tmp_path):
        assert str(names["outer"]()[1]) == "own"


def test_marks_only_leaves_no_hook_behind(tmp_path: Path) -> None:
    names = define("def inner(): pass")
    mark(names["inner"], "phase a")
    for i in range(3):
        with recording(tmp_path / str(i), "marks only"):
            names["inner"]()
        names["inner"]()
        assert paths(tmp_path / str(i)) == ["/phase a"]
    if sys.version_info >= (3, 12):
        assert all(sys.monitoring.get_tool(tool) != "stepscope" for tool in range(6))
