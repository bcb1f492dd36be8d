"""Prints how often each function of tests/programs/NAME.py was called, as JSON.

  count_calls.py NAME HOW [FOLDER]

HOW is cprofile, setprofile (a counter on all threads, in Python), or stepscope,
stepscope-c-calls, stepscope-marked (recorded into FOLDER; the last with all of the program's
functions marked), or stepscope-marks (nothing but these marks, which are counted).
"""

import collections
import cProfile
import importlib.machinery
import importlib.util
import json
import sys
import threading
import types
from collections.abc import Callable
from pathlib import Path

import stepscope
from stepscope import _core, _session

Counts = dict[str, int]


# Programs may behave differently where some modules are loaded (dataclasses does, for typing).
stepscope.profile  # noqa: B018


def load_program(name: str, is_marked: bool) -> types.ModuleType:
    path = Path(__file__).parent.parent / "programs" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec
    assert isinstance(spec.loader, importlib.machinery.SourceFileLoader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    code = spec.loader.get_code(name)
    assert code
    if is_marked:
        mark_all(code)
    exec(code, vars(module))
    return module


def key_of(file: str, line: int, name: str) -> str:
    return f"{file}:{line}:{name}"


def count_with_cprofile(main: Callable[[], object]) -> Counts:
    profile = cProfile.Profile(builtins=False)
    profile.enable()
    main()
    profile.disable()
    counts: Counts = collections.Counter()
    for entry in profile.getstats():
        code = entry.code
        if isinstance(code, types.CodeType):
            key = key_of(code.co_filename, code.co_firstlineno, code.co_name)
            counts[key] += entry.callcount
    return counts


def count_with_setprofile(main: Callable[[], object]) -> Counts:
    by_thread: list[collections.Counter[types.CodeType]] = []
    local = threading.local()

    def count(frame: types.FrameType, event: str, argument: object) -> None:
        if event == "call":
            codes = getattr(local, "codes", None)
            if codes is None:
                codes = local.codes = collections.Counter()
                by_thread.append(codes)
            codes[frame.f_code] += 1

    threading.setprofile(count)
    sys.setprofile(count)
    main()
    sys.setprofile(None)
    threading.setprofile(None)  # type: ignore[arg-type]
    counts: Counts = collections.Counter()
    for codes in by_thread:
        for code, calls in codes.items():
            counts[key_of(code.co_filename, code.co_firstlineno, code.co_name)] += calls
    return counts


def mark_all(code: types.CodeType) -> None:
    """The functions of a module's code, by their usual names."""
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            name = f"{inner.co_filename}({inner.co_firstlineno}): {inner.co_qualname}"
            _core.mark_code(inner, name, "mark")
            mark_all(inner)


def count_with_stepscope(main: Callable[[], object], folder: str, how: str) -> Counts:
    marks_only = how == "stepscope-marks"
    options = _session.Options(folder, c_calls=how == "stepscope-c-calls", marks_only=marks_only)
    _session.start(options)
    main()
    _session.stop()
    trace = stepscope.load(folder)
    assert trace.stats.get("records_dropped", 0) == 0, trace.stats
    assert trace.stats.get("ends_without_begin", 0) == 0, trace.stats
    counts: Counts = collections.Counter()
    category = "mark" if marks_only else "python_function"
    table = trace.sql(
        f"SELECT name, count(*) FROM slices WHERE category = '{category}' GROUP BY name"
    )
    for name, calls in table:
        place, _, function = name.rpartition("): ")
        file, _, line = place.rpartition("(")
        counts[key_of(file, int(line), function.rpartition(".")[2])] += calls
    return counts


def main() -> None:
    name, how, *rest = sys.argv[1:]
    program = load_program(name, is_marked=how.startswith("stepscope-mark"))
    if how == "cprofile":
        counts = count_with_cprofile(program.main)
    elif how == "setprofile":
        counts = count_with_setprofile(program.main)
    else:
        counts = count_with_stepscope(program.main, rest[0], how)
    own = (__file__, "cProfile.py", "stepscope")
    kept = {key: calls for key, calls in counts.items() if not any(word in key for word in own)}
    print("\n" + json.dumps(kept, indent=0, sort_keys=True))


main()
