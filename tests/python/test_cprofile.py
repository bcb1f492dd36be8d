"""stepscope.cprofile as programs use it: files, printing, timers, threads, the command line."""

import cProfile
import gc
import io
import itertools
import os
import pathlib
import pstats
import re
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout

import pytest

import stepscope
from stepscope import cprofile
from stepscope._core import CallProfiler

IS_PER_THREAD = sys.version_info < (3, 12)


@pytest.fixture(autouse=True)
def no_collections() -> Iterator[None]:
    """Collections of the garbage of others are calls too."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def twice(n: int) -> int:
    return n + n


def work() -> int:
    return sum(twice(n) for n in range(5))


def calls_of(profiler: CallProfiler) -> dict[str, int]:
    return {cprofile.label(entry.code)[2]: entry.callcount for entry in profiler.getstats()}


def run_command(*args: object, cwd: pathlib.Path) -> subprocess.CompletedProcess[str]:
    package_folder = pathlib.Path(stepscope.__file__).parent.parent
    env = os.environ | {"PYTHONPATH": str(package_folder)}
    command = [sys.executable, *map(str, args)]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=60)


def test_dumped_stats_are_loaded_by_pstats(tmp_path: pathlib.Path) -> None:
    profiler = cprofile.Profile()
    profiler.runcall(work)
    path = tmp_path / "out.prof"
    profiler.dump_stats(path)
    loaded = pstats.Stats(str(path))
    assert loaded.stats == profiler.stats
    counts = {name[2]: figures[:2] for name, figures in loaded.stats.items()}
    assert counts["twice"] == (5, 5)
    assert counts["<genexpr>"] == (6, 6)


def test_stats_have_the_callers_that_cprofile_has() -> None:
    profilers = [module.Profile(itertools.count().__next__, 1) for module in (cProfile, cprofile)]
    for profiler in profilers:
        profiler.runcall(work)
        profiler.create_stats()
    assert profilers[1].stats == profilers[0].stats


def test_functions_of_one_name_and_line_are_added_up() -> None:
    first, second = (lambda: 1), (lambda: 2)
    profiler = cprofile.Profile()
    with profiler:
        first()
        second()
        second()
    profiler.create_stats()
    figures = {name[2]: figures for name, figures in profiler.stats.items()}
    assert figures["<lambda>"][:2] == (3, 3)


def test_print_stats_takes_one_key_or_several() -> None:
    profiler = cprofile.Profile()
    profiler.runcall(work)
    for sort, title in (
        ("cumulative", "cumulative time"),
        (("calls", "stdname"), "call count, standard name"),
        (1, "internal time"),
    ):
        with redirect_stdout(io.StringIO()) as output:
            profiler.print_stats(sort)
        assert f"Ordered by: {title}" in output.getvalue()
        assert "(twice)" in output.getvalue()


def test_results_exceptions_and_exits_come_out_as_they_are() -> None:
    profiler = cprofile.Profile()
    assert profiler.runcall(max, 3, 4) == 4
    with pytest.raises(ZeroDivisionError):
        profiler.runcall(lambda: 1 // 0)
    with pytest.raises(SystemExit):
        profiler.run("raise SystemExit(3)")
    with redirect_stdout(io.StringIO()):
        cprofile.run("raise SystemExit(3)")
    assert sys.getprofile() is None
    profiler.enable()  # nothing of these is still on
    profiler.disable()


def test_profilers_exclude_each_other_as_cprofiles_do() -> None:
    ours, theirs = cprofile.Profile(), cProfile.Profile()
    ours.enable()
    try:
        if IS_PER_THREAD:
            assert sys.getprofile() is ours
        else:
            for other in (theirs, cprofile.Profile(), ours):
                with pytest.raises(ValueError, match="Another profiling tool is already active"):
                    other.enable()
    finally:
        ours.disable()
    theirs.enable()
    if not IS_PER_THREAD:
        with pytest.raises(ValueError, match="Another profiling tool is already active"):
            ours.enable()
    theirs.disable()


def test_a_second_enable_changes_what_is_kept() -> None:
    profiler = cprofile.Profile()
    profiler.enable(builtins=False)
    len([])
    if not IS_PER_THREAD:
        profiler.disable()
    profiler.enable(subcalls=False, builtins=True)
    abs(-1)
    work()
    profiler.disable()
    calls = calls_of(profiler)
    assert calls["<built-in method builtins.abs>"] == 1
    assert "<built-in method builtins.len>" not in calls
    assert not any(entry.calls for entry in profiler.getstats())


def test_clear_forgets_also_the_open_calls() -> None:
    profiler = cprofile.Profile()

    def clear_inside() -> None:
        profiler.clear()
        work()

    profiler.runcall(clear_inside)
    assert "clear_inside" not in calls_of(profiler)
    assert calls_of(profiler)["twice"] == 5
    profiler.clear()
    assert profiler.getstats() == []


@pytest.mark.parametrize(
    ("timer", "unit", "error"),
    [
        (lambda: 1 // 0, 0.0, ZeroDivisionError),
        (lambda: "soon", 0.0, TypeError),
        (lambda: 1.5, 0.001, TypeError),
        (lambda: float("nan"), 0.0, ValueError),
        (lambda: 1e300, 0.0, OverflowError),
        (lambda: 10**12, 0.0, OverflowError),
        (lambda: 10**30, 0.001, OverflowError),
        (7, 0.0, TypeError),
    ],
)
def test_a_timer_that_fails_is_reported_and_counts_as_zero(
    timer: Callable[[], float], unit: float, error: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []
    for module in (cProfile, cprofile):
        reports: list[type] = []
        monkeypatch.setattr(sys, "unraisablehook", lambda r, to=reports: to.append(r.exc_type))
        profiler = module.Profile(timer, unit)
        profiler.runcall(work)
        assert set(reports) == {error}
        seen.append((len(reports), sorted(entry[1:5] for entry in profiler.getstats())))
    assert seen[1] == seen[0]


def test_an_exception_in_flight_survives_the_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "unraisablehook", lambda report: None)

    def stubborn() -> str:
        def generate() -> object:
            try:
                yield 1
            except KeyError as error:
                yield error.args[0]

        generator = generate()
        next(generator)
        return generator.throw(KeyError("kept"))

    assert cprofile.Profile(lambda: 1 // 0).runcall(stubborn) == "kept"
    with pytest.raises(KeyError, match="lost"):
        cprofile.Profile(lambda: 1 // 0).runcall({}.pop, "lost")


@pytest.mark.parametrize("action", ["disable", "clear"])
def test_a_timer_cannot_pull_the_profiler_from_under_itself(
    action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: reports.append(report.exc_value))
    profiler = cprofile.Profile(lambda: getattr(profiler, action)())
    profiler.runcall(work)
    assert {str(report) for report in reports} == {f"cannot {action} profiler in external timer"}


def test_a_timer_may_read_the_stats() -> None:
    ticks = itertools.count()
    profiler = cprofile.Profile(lambda: len(profiler.getstats()) * 0 + next(ticks), 1.0)
    profiler.runcall(work)
    assert calls_of(profiler)["twice"] == 5


def test_threads_are_seen_as_the_version_sees_them() -> None:
    seen = []
    for module in (cProfile, cprofile):
        profiler = module.Profile()
        profiler.enable()
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        profiler.disable()
        seen.append(calls_of(profiler).get("twice", 0))
    assert seen == ([0, 0] if IS_PER_THREAD else [5, 5])


def test_an_enabled_profiler_of_a_thread_that_ended_is_released() -> None:
    released: list[int] = []

    def leave_enabled() -> None:
        profiler = cprofile.Profile()
        weakref.finalize(profiler, released.append, 1)
        profiler.enable()
        if not IS_PER_THREAD:
            profiler.disable()

    thread = threading.Thread(target=leave_enabled)
    thread.start()
    thread.join()
    gc.collect()
    assert released == [1]
    work()


def test_a_profiler_in_a_cycle_with_its_timer_is_collected() -> None:
    class Timer:
        def __call__(self) -> int:
            return 1

    timer = Timer()
    timer.profiler = cprofile.Profile(timer)  # type: ignore[attr-defined]
    timer.profiler.runcall(work)  # type: ignore[attr-defined]
    alive = weakref.ref(timer)
    del timer
    gc.collect()
    assert alive() is None


def test_code_that_died_does_not_lend_its_address_to_other_code() -> None:
    profiler = cprofile.Profile()
    with profiler:
        for n in range(200):
            namespace: dict[str, Callable[[], int]] = {}
            exec(f"def f{n}(): return {n}", namespace)
            namespace[f"f{n}"]()
            del namespace
    calls = calls_of(profiler)
    assert all(calls[f"f{n}"] == 1 for n in range(200))


@pytest.mark.skipif(IS_PER_THREAD, reason="sys.monitoring came with Python 3.12")
def test_the_callbacks_stand_being_called_by_others() -> None:
    profiler = cprofile.Profile()
    profiler.enable()
    tool, events = sys.monitoring.PROFILER_ID, sys.monitoring.events
    start = sys.monitoring.register_callback(tool, events.PY_START, None)
    call = sys.monitoring.register_callback(tool, events.CALL, None)
    profiler.disable()
    for callback, args in ((start, ()), (start, (1,)), (call, (1, 2, 3))):
        with pytest.raises(TypeError):
            callback(*args)
    start(work.__code__, 0)
    call(work.__code__, 0, list.append, 5)
    call(work.__code__, 0, len, [])
    profiler.disable()


def test_wrong_arguments_are_refused() -> None:
    for arguments in ({"timeunit": "x"}, {"nonsense": 1}):
        with pytest.raises(TypeError):
            cprofile.Profile(**arguments)
    with pytest.raises(TypeError):
        cprofile.Profile().enable(nonsense=True)
    assert cprofile.Profile(None).runcall(work) == 20


# Imports nothing that is not there already: an import is calls too.
SCRIPT = """
import sys
def f(n): return n and f(n - 1)
f(3)
print(__name__, sys.argv[1:], __file__)
if "exit" in sys.argv: sys.exit(5)
if "raise" in sys.argv: raise ValueError("as it is")
"""


def without_times(output: str) -> list[str]:
    """A table of pstats as sorted lines without its times and without the profiler's own calls."""
    lines = [re.sub(r"\d+\.\d{3}", "-", line) for line in output.splitlines()]
    return sorted(line for line in lines if "script.py" in line or "{" in line)


@pytest.mark.parametrize("arguments", [["a", "-o", "b"], ["exit"], ["raise"]])
def test_the_command_line_prints_what_cprofiles_prints(
    arguments: list[str], tmp_path: pathlib.Path
) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    ours, theirs = (
        run_command("-m", module, "-s", "name", "script.py", *arguments, cwd=tmp_path)
        for module in ("stepscope", "cProfile")
    )
    assert ours.returncode == theirs.returncode == (1 if arguments == ["raise"] else 0)
    assert without_times(ours.stdout) == without_times(theirs.stdout)
    assert any("4/1" in line and "(f)" in line for line in without_times(ours.stdout))
    assert ours.stderr.splitlines()[-1:] == theirs.stderr.splitlines()[-1:]


def test_the_script_is_the_main_module(tmp_path: pathlib.Path) -> None:
    (tmp_path / "script.py").write_text(
        "import os, pickle\nclass Kept: pass\n"
        "print(__name__, __file__, type(pickle.loads(pickle.dumps(Kept()))) is Kept)\n"
        "os.chdir('/')\n"
    )
    done = run_command("-m", "stepscope", "-o", "out.prof", "script.py", cwd=tmp_path)
    assert done.stdout == "__main__ script.py True\n"
    assert done.stderr == ""
    assert pstats.Stats(str(tmp_path / "out.prof")).total_calls > 5


def test_wrong_usage_exits_with_2(tmp_path: pathlib.Path) -> None:
    for arguments in ([], ["-m"], ["-s", "nonsense", "x.py"], ["--nonsense"]):
        done = run_command("-m", "stepscope", *arguments, cwd=tmp_path)
        assert done.returncode == 2
        usage = (
            "Usage: python -m stepscope [-o output_file_path] [-s sort] [-m module | scriptfile]"
        )
        assert usage in done.stdout + done.stderr
    assert run_command("-m", "stepscope", "missing.py", cwd=tmp_path).returncode == 1
