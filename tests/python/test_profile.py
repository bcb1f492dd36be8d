"""stepscope.profile, record_function, step, the --profile flag: recording from within a program."""

import argparse
import asyncio
import contextlib
import cProfile
import io
import subprocess
import sys
import textwrap
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

import stepscope
from stepscope import _core


def calls(folder: Path) -> dict[str, int]:
    table = stepscope.load(folder).functions(limit=0).to_dict()
    return dict(zip(table["name"], table["calls"], strict=True))


def depths(folder: Path) -> dict[str, int]:
    """How deep each function's first call is."""
    rows = stepscope.load(folder).sql("SELECT name, min(depth) FROM slices GROUP BY name")
    return {name.rpartition("): ")[2]: depth for name, depth in rows}


def work(n: int = 3) -> int:
    return sum(square(i) for i in range(n))


def square(i: int) -> int:
    return i * i


def test_records_what_is_within(tmp_path: Path) -> None:
    with stepscope.profile(tmp_path) as recording:
        work()
    work()
    assert recording.folder == str(tmp_path)
    found = calls(tmp_path)
    assert found["work"] == 1
    assert found["square"] == 3


def test_frames_on_the_stack_are_open(tmp_path: Path) -> None:
    def outer() -> None:
        with stepscope.profile(tmp_path):
            work()

    outer()
    found = depths(tmp_path)
    assert found["work"] == found["test_frames_on_the_stack_are_open.<locals>.outer"] + 1
    trace = stepscope.load(tmp_path)
    assert trace.stats.get("ends_without_begin", 0) == 0


def test_a_frame_that_started_it_may_return(tmp_path: Path) -> None:
    recording = stepscope.profile(tmp_path)

    def begin() -> None:
        recording.start()
        square(1)

    def caller() -> None:
        begin()
        work()

    caller()
    work()
    recording.stop()
    found = depths(tmp_path)
    name = "test_a_frame_that_started_it_may_return.<locals>."
    assert found["square"] == found[name + "begin"] + 1
    # begin() has returned: work() is beside it. The second one is in the test itself.
    assert found["work"] == found[name + "caller"]
    rows = stepscope.load(tmp_path).sql("SELECT depth FROM slices WHERE name LIKE '%: work'")
    assert sorted(depth for (depth,) in rows) == [found[name + "caller"], found[name + "begin"]]


def test_decorates_functions_of_all_kinds(tmp_path: Path) -> None:
    @stepscope.profile(tmp_path / "plain")
    def plain() -> int:
        return work()

    @stepscope.profile(tmp_path / "coroutine")
    async def coroutine() -> int:
        await asyncio.sleep(0)
        return work()

    @stepscope.profile(tmp_path / "generator")
    def generator() -> Iterator[int]:
        yield work()
        yield work()

    @stepscope.profile(tmp_path / "async_generator")
    async def async_generator() -> AsyncIterator[int]:
        yield work()
        yield work()

    async def drain() -> list[int]:
        return [value async for value in async_generator()]

    assert plain() == plain() == 5
    assert asyncio.run(coroutine()) == 5
    assert list(generator()) == [5, 5]
    assert asyncio.run(drain()) == [5, 5]
    for name, count in [("plain", 2), ("coroutine", 1), ("generator", 2), ("async_generator", 2)]:
        assert calls(tmp_path / name)["work"] == count


def test_nesting_is_an_error(tmp_path: Path) -> None:
    with stepscope.profile(tmp_path / "a"):
        with pytest.raises(stepscope.TraceError, match=r"recorded already, into .*nested"):
            stepscope.profile(tmp_path / "b").start()
        work()
    assert calls(tmp_path / "a")["work"] == 1
    with stepscope.profile(tmp_path / "c"):
        work()
    assert calls(tmp_path / "c")["work"] == 1


def test_the_same_folder_takes_several_recordings(tmp_path: Path) -> None:
    for _ in range(3):
        with stepscope.profile(tmp_path):
            work()
    assert calls(tmp_path)["work"] == 3


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(stepscope.TraceError, match="file"),
        stepscope.profile(tmp_path / "file/x"),
    ):
        pass
    assert not _core.is_tracing()
    assert not _core.is_recording()


def test_exceptions_pass_and_are_closed(tmp_path: Path) -> None:
    def fail(n: int) -> None:
        if n == 0:
            raise ValueError("no")
        fail(n - 1)

    with pytest.raises(ValueError, match="no"), stepscope.profile(tmp_path):
        fail(10)
    trace = stepscope.load(tmp_path)
    assert trace.stats.get("ends_without_begin", 0) == 0
    assert calls(tmp_path)["test_exceptions_pass_and_are_closed.<locals>.fail"] == 11


def test_threads_that_ran_before_are_recorded(tmp_path: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def loop() -> None:
        begun.set()
        go_on.wait()
        work()

    thread = threading.Thread(target=loop, name="early")
    thread.start()
    begun.wait()
    with stepscope.profile(tmp_path):
        go_on.set()
        thread.join()
    found = depths(tmp_path)
    name = "test_threads_that_ran_before_are_recorded.<locals>.loop"
    assert found["work"] == found[name] + 1
    tracks = stepscope.load(tmp_path).tracks(limit=0).to_dict()["name"]
    assert any("(early)" in track for track in tracks)


def test_code_that_dies_is_not_taken_for_other_code(tmp_path: Path) -> None:
    with stepscope.profile(tmp_path):
        for i in range(3000):
            scope: dict[str, object] = {}
            exec(compile(f"def f{i}(): pass\nf{i}()", "made.py", "exec"), scope)
    found = calls(tmp_path)
    assert all(found[f"f{i}"] == 1 for i in range(3000))


def test_no_reference_is_kept_to_code(tmp_path: Path) -> None:
    import weakref

    scope: dict[str, object] = {}
    exec(compile("def g(): pass\ng()", "made.py", "exec"), scope)
    died: list[int] = []
    with stepscope.profile(tmp_path):
        exec("g()", scope)
        weakref.finalize(scope["g"].__code__, died.append, 1)  # type: ignore[attr-defined]
        scope.clear()
        assert died == [1]


def test_annotations_are_on_the_timeline(tmp_path: Path) -> None:
    @stepscope.record_function("decorated")
    def decorated() -> None:
        work()

    with stepscope.record_function("before"):
        pass
    with stepscope.profile(tmp_path):
        with stepscope.record_function("block"):
            work()
        decorated()
    found = depths(tmp_path)
    assert found["work"] == found["block"] + 1
    assert "decorated" in found
    assert "before" not in found


def test_steps_are_marked_and_bound(tmp_path: Path) -> None:
    with stepscope.profile(tmp_path, steps="1,1,2,2"):
        for _ in range(10):
            work()
            stepscope.step()
    assert calls(tmp_path)["work"] == 4
    with pytest.raises(ValueError, match="WAIT,WARMUP,ACTIVE,REPEAT"):
        stepscope.profile(tmp_path, steps="1,2").start()


def test_step_does_nothing_without_a_recording() -> None:
    stepscope.step()
    stepscope.epoch()


def parse(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float)
    stepscope.add_arguments(parser)
    return parser.parse_args(words)


@pytest.mark.parametrize(
    ("words", "is_on"),
    [
        ([], False),
        (["--profile"], True),
        (["--profile", "--rate", "1"], True),
        (["--profile", "true"], True),
        (["--profile", "True"], True),
        (["--profile=false"], False),
        (["--profile", "False"], False),
        (["--no-profile"], False),
    ],
)
def test_the_flag_takes_words_as_pipelines_pass_them(words: list[str], is_on: bool) -> None:
    args = parse(*words)
    assert args.profile is is_on
    assert args.profile_dir == "outputs/profiler_results"


def test_the_flag_records_into_a_folder_that_it_makes(tmp_path: Path) -> None:
    folder = tmp_path / "outputs/profiler_results"
    args = parse("--profile", "true", "--profile-dir", str(folder), "--profile-steps", "0,0,2,1")
    with stepscope.from_args(args):
        for _ in range(5):
            work()
            stepscope.step()
    assert calls(folder)["work"] == 2


def test_nothing_happens_without_the_flag(tmp_path: Path) -> None:
    args = parse("--profile-dir", str(tmp_path / "x"))
    with stepscope.from_args(args):
        assert not _core.is_tracing()
        assert not _core.is_recording()
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("words", [["--profile", "maybe"], ["--profile-steps", "1,2"]])
def test_a_wrong_flag_is_a_usage_error(words: list[str]) -> None:
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), pytest.raises(SystemExit) as exit_info:
        parse(*words)
    assert exit_info.value.code == 2
    assert "expected" in errors.getvalue()


def test_another_profiler_is_told_of_once(tmp_path: Path) -> None:
    script = textwrap.dedent(
        """
        import cProfile, sys, stepscope
        profile = cProfile.Profile()
        profile.enable()
        for i in range(2):
            with stepscope.profile(sys.argv[1]):
                sum(range(3))
        profile.disable()
        """
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stderr.count("concurrent-profilers") == 1
    assert "cProfile" in result.stderr
    notes = stepscope.load(tmp_path).notes
    assert any("cProfile ran as well" in note for note in notes)


def test_a_profiler_that_the_program_starts_later_is_told_of(tmp_path: Path) -> None:
    with stepscope.profile(tmp_path / "with"):
        profile = cProfile.Profile()
        profile.enable()
        work()
        profile.disable()
    assert any("cProfile ran as well" in note for note in stepscope.load(tmp_path / "with").notes)
    with stepscope.profile(tmp_path / "without"):
        work()
    assert stepscope.load(tmp_path / "without").notes == []


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="sys.monitoring has room for several tools")
def test_c_calls_are_refused_where_another_profiler_has_the_hook(tmp_path: Path) -> None:
    profile = cProfile.Profile()
    profile.enable()
    try:
        with pytest.raises(stepscope.TraceError, match="another profiler"):
            stepscope.profile(tmp_path, c_calls=True).start()
    finally:
        profile.disable()
    assert not _core.is_recording()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with 3.12")
def test_all_places_of_sys_monitoring_taken_is_told(tmp_path: Path) -> None:
    monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    taken = [number for number in range(6) if monitoring.get_tool(number) is None]
    for number in taken:
        monitoring.use_tool_id(number, f"tool {number}")
    try:
        with pytest.raises(stepscope.TraceError, match=r"all 6 places .* are taken .*tool 4"):
            stepscope.profile(tmp_path).start()
    finally:
        for number in taken:
            monitoring.free_tool_id(number)
    assert not _core.is_recording()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with 3.12")
def test_a_callback_that_the_program_calls_itself_is_an_error(tmp_path: Path) -> None:
    monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    events = ("PY_START", "PY_RETURN", "PY_THROW", "PY_UNWIND", "CALL", "C_RETURN")
    with stepscope.profile(tmp_path, c_calls=True):
        tool = next(i for i in range(6) if monitoring.get_tool(i) == "stepscope")
        taken = [
            monitoring.register_callback(tool, getattr(monitoring.events, event), None)
            for event in events
        ]
    for callback in taken:
        for arguments in [(), (1, 2, 3, 4), (work.__code__,)]:
            with pytest.raises(TypeError, match=r"only sys.monitoring"):
                callback(*arguments)


def test_c_calls_have_the_names_of_cprofile(tmp_path: Path) -> None:
    import json

    with stepscope.profile(tmp_path, c_calls=True):
        values: list[int] = []
        values.append(len("abc"))
        json.dumps(values)
        sorted(values, key=abs)
    found = calls(tmp_path)
    assert found["<built-in method builtins.len>"] >= 1
    assert found["<method 'append' of 'list' objects>"] >= 1
    assert found["<built-in method builtins.sorted>"] == 1


def test_it_starts_and_stops_many_times(tmp_path: Path) -> None:
    for i in range(20):
        with stepscope.profile(tmp_path, c_calls=i % 2 == 1):
            work()
    assert calls(tmp_path)["work"] == 20
    assert sys.getprofile() is None
