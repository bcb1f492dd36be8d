"""stepscope.cprofile against cProfile on the programs of tests/programs.

Both get a timer that counts its own calls, so that not only the calls but also all times must be
equal, to the last tick: an event more or less anywhere changes them.
"""

import contextlib
import cProfile
import gc
import importlib.util
import itertools
import pathlib
import sys
import time
from collections.abc import Callable, Iterator
from types import CodeType

import pytest

import stepscope.cprofile

PROGRAMS = pathlib.Path(__file__).resolve().parent.parent / "programs"
# Which thread runs when is not the program's to say, nor is then the order of events.
WITH_THREADS = {"deep_threads", "many_threads", "threads"}


def load_main(program: str) -> Callable[[], object]:
    spec = importlib.util.spec_from_file_location(program, PROGRAMS / f"{program}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[program] = module  # dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module.main


def name_of(code: CodeType | str) -> tuple[str, int, str]:
    return stepscope.cprofile.label(code)


def rows_of(stats: list) -> list[tuple]:
    """The stats in an order of their own: cProfile's is that of addresses."""
    return sorted(
        (
            name_of(entry.code),
            *entry[1:5],
            sorted((name_of(c.code), *c[1:]) for c in entry.calls or ()),
        )
        for entry in stats
    )


def profile(profiler: cProfile.Profile | stepscope.cprofile.Profile, main: Callable) -> list[tuple]:
    gc.collect()
    gc.disable()  # a collection at another moment would be other calls
    try:
        profiler.enable()
        main()
        profiler.disable()
    finally:
        gc.enable()
    return rows_of(profiler.getstats())


def programs() -> list[str]:
    return sorted(path.stem for path in PROGRAMS.glob("*.py"))


@pytest.mark.parametrize("program", [name for name in programs() if name not in WITH_THREADS])
@pytest.mark.parametrize("timer", ["integers", "seconds"])
def test_every_figure_is_equal_to_cprofiles(program: str, timer: str) -> None:
    main = load_main(program)
    main()
    main()  # caches are filled, imports are done
    rows = []
    for module in (cProfile, stepscope.cprofile):
        count = itertools.count()
        if timer == "integers":
            profiler = module.Profile(count.__next__, 0.001)
        else:
            profiler = module.Profile(lambda count=count: next(count) / 64)
        rows.append(profile(profiler, main))
    assert len(rows[0]) > 3
    assert rows[1] == rows[0]


@pytest.mark.parametrize("options", [{"subcalls": False}, {"builtins": False}])
@pytest.mark.parametrize("program", ["generators", "class_heavy", "mutual_recursion"])
def test_options_leave_out_what_cprofile_leaves_out(program: str, options: dict) -> None:
    main = load_main(program)
    main()
    ours, theirs = (
        profile(module.Profile(itertools.count().__next__, 1.0, **options), main)
        for module in (stepscope.cprofile, cProfile)
    )
    assert ours == theirs
    assert "subcalls" not in options or not any(row[-1] for row in ours)
    assert "builtins" not in options or not any(row[0][0] == "~" for row in ours)


@pytest.mark.parametrize("program", programs())
def test_calls_are_as_many_with_the_machines_clock(program: str) -> None:
    if program in WITH_THREADS and sys.version_info >= (3, 12):
        pytest.skip("cProfile mixes the calls of threads up: its own counts vary")
    main = load_main(program)
    main()
    counts = []
    for module in (cProfile, stepscope.cprofile):
        rows = profile(module.Profile(), main)
        if program in WITH_THREADS:  # locks are tried as often as threads meet
            rows = [row for row in rows if str(PROGRAMS) in row[0][0]]
            counts.append(sorted(row[:2] for row in rows))
        else:
            # Sorted anew: two functions of one name and line stood in the order of their times.
            counts.append(sorted((*row[:3], [callee[:3] for callee in row[-1]]) for row in rows))
    assert counts[0]
    assert counts[1] == counts[0]


def test_ends_without_begins_count_as_in_cprofile() -> None:
    def profile_from_within(profiler: cProfile.Profile | stepscope.cprofile.Profile) -> list[tuple]:
        def switch_builtins_on(n: int) -> int:
            # Refused where the profiler is active already, but the switch is made all the same.
            with contextlib.suppress(ValueError):
                profiler.enable(builtins=True)
            return -n

        def begin(n: int) -> int:
            if n == 3:
                profiler.enable(builtins=False)
            return len(str(n))

        def resume(numbers: Iterator[int]) -> int:
            return sum(sorted(numbers, key=switch_builtins_on)) + abs(next(iter([1])))

        gc.collect()
        gc.disable()
        sum(map(begin, range(6)))
        resume(iter(range(4)))
        profiler.disable()
        gc.enable()
        return rows_of(profiler.getstats())

    ours, theirs = (
        profile_from_within(module.Profile(itertools.count().__next__, 1.0))
        for module in (stepscope.cprofile, cProfile)
    )
    assert ours == theirs
    assert any("switch_builtins_on" in row[0] for row in ours)


def test_times_are_those_that_the_program_measures_itself() -> None:
    def spin(seconds: float) -> float:
        begin = time.perf_counter()
        while (now := time.perf_counter()) - begin < seconds:
            pass
        return now - begin

    def outer() -> float:
        return sum(spin(0.005) for _ in range(20))

    profiler = stepscope.cprofile.Profile(builtins=False)
    measured_s = profiler.runcall(outer)
    entries = {name_of(entry.code)[2]: entry for entry in profiler.getstats()}
    for name in ("spin", "outer"):
        assert entries[name].totaltime == pytest.approx(measured_s, rel=0.05, abs=20e-6)
    assert entries["spin"].inlinetime == entries["spin"].totaltime
    assert entries["outer"].inlinetime < 0.05 * measured_s


def test_stats_stay_the_same_until_more_is_collected() -> None:
    profiler = stepscope.cprofile.Profile()
    profiler.runcall(sorted, range(10))
    first = profiler.getstats()
    time.sleep(0.05)
    assert profiler.getstats() == first
