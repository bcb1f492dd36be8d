"""stepscope.profile(mode="sample"): a thread of ours looks at the program from within."""

import argparse
import asyncio
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import stepscope
from stepscope import _core


def spend(seconds: float) -> int:
    """Uses so much CPU time of the calling thread."""
    end = time.thread_time() + seconds
    turns = 0
    while time.thread_time() < end:
        turns += 1
    return turns


def other_work(seconds: float) -> int:
    end = time.thread_time() + seconds
    turns = 0
    while time.thread_time() < end:
        turns += 1
    return turns


def samples(folder: Path) -> dict[str, int]:
    """How many looks found each function innermost, whether it ran or waited."""
    trace = stepscope.load(folder)
    table = trace.functions(limit=0).to_dict()
    if "samples" not in table:
        return {}
    assert set(table["calls"]) == {None}, "nobody has counted calls"
    return dict(zip(table["name"], table["samples"], strict=True))


def sample(folder: Path, **options: object) -> stepscope.profile:
    return stepscope.profile(folder, mode="sample", hz=500, **options)  # type: ignore[arg-type]


def run_python(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_samples_what_is_within(tmp_path: Path) -> None:
    with sample(tmp_path) as recording:
        spend(0.3)
    other_work(0.05)
    assert recording.folder == str(tmp_path)
    found = samples(tmp_path)
    assert found["spend"] > 5
    assert "other_work" not in found
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"{os.getpid()}.samples.sscope",
        f"{os.getpid()}.sscope",
    ]


def test_shares_are_those_of_the_program(tmp_path: Path) -> None:
    with sample(tmp_path):
        for _ in range(20):
            spend(0.06)
            other_work(0.02)
    table = stepscope.load(tmp_path).functions(limit=0).to_dict()
    share = dict(zip(table["name"], table["share"], strict=True))
    assert share["spend"] == pytest.approx(0.75, abs=0.1)
    assert share["other_work"] == pytest.approx(0.25, abs=0.1)


def test_no_call_is_hooked(tmp_path: Path) -> None:
    with sample(tmp_path):
        assert not _core.is_tracing()
        assert sys.getprofile() is None
        assert sys.gettrace() is None
        if sys.version_info >= (3, 12):
            assert [sys.monitoring.get_tool(tool) for tool in range(6)] == [None] * 6
        spend(0.02)
    rows = stepscope.load(tmp_path).sql("select count(*) from slices where kind = 'python'")
    assert [count for (count,) in rows] == [0]


def test_start_and_stop_may_come_again(tmp_path: Path) -> None:
    recording = sample(tmp_path)
    for _ in range(3):
        recording.start()
        spend(0.1)
        recording.stop()
    recording.stop()
    assert len(list(tmp_path.glob("*.samples.sscope"))) == 3
    assert samples(tmp_path)["spend"] > 5


def test_decorates_functions_of_all_kinds(tmp_path: Path) -> None:
    @sample(tmp_path / "plain")
    def plain() -> int:
        return spend(0.1)

    @sample(tmp_path / "coroutine")
    async def coroutine() -> int:
        await asyncio.sleep(0)
        return spend(0.1)

    @sample(tmp_path / "generator")
    def generator() -> Iterator[int]:
        yield spend(0.1)

    plain()
    asyncio.run(coroutine())
    list(generator())
    for name in ("plain", "coroutine", "generator"):
        assert samples(tmp_path / name)["spend"] > 0, name


def test_a_thread_that_leaves_a_mark_keeps_the_name_that_python_has_for_it(tmp_path: Path) -> None:
    with sample(tmp_path):
        thread = threading.Thread(target=lambda: (gc.collect(), spend(0.2)), name="collector")
        thread.start()
        thread.join()
    names = stepscope.load(tmp_path).view("tracks", limit=0).to_dict()["name"]
    assert any(name.endswith("(collector)") for name in names)


def test_all_threads_are_sampled_but_none_of_ours(tmp_path: Path) -> None:
    done = threading.Event()

    def wait_for_it() -> None:
        done.wait()

    with sample(tmp_path):
        threads = [
            threading.Thread(target=wait_for_it, name="waiter"),
            threading.Thread(target=other_work, args=(0.2,), name="worker"),
        ]
        for thread in threads:
            thread.start()
        spend(0.2)
        threads[1].join()
        done.set()
        threads[0].join()
    table = stepscope.load(tmp_path).view("tracks", limit=0).to_dict()
    seen = {
        name.rpartition("(")[2].rstrip(")"): (cpu_ns, waiting_ns)
        for name, count, cpu_ns, waiting_ns in zip(
            table["name"], table["samples"], table["cpu_ns"], table["waiting_ns"], strict=True
        )
        if count
    }
    assert set(seen) == {"MainThread", "waiter", "worker"}
    assert seen["waiter"][0] < seen["waiter"][1]
    assert seen["worker"][0] > 0


def test_steps_and_marks_are_recorded(tmp_path: Path) -> None:
    with sample(tmp_path):
        for _ in range(4):
            with stepscope.record_function("part"):
                spend(0.03)
            stepscope.step()
    trace = stepscope.load(tmp_path)
    rows = trace.sql("select count(*) from slices where name = 'part'")
    assert [count for (count,) in rows] == [4]
    phases = trace.view("phases", limit=0).to_dict()
    assert len(phases["step"]) == 4
    parts = [name for name in phases if name.endswith("_ns") and name not in {"start_ns", "dur_ns"}]
    for row, dur_ns in enumerate(phases["dur_ns"]):
        assert sum(phases[name][row] for name in parts) == dur_ns
    assert sum(phases["host_ns"]) > sum(phases["dur_ns"]) / 2
    assert any("samples" in note for note in trace.view("phases").notes)


def test_only_the_steps_that_are_asked_for_are_sampled(tmp_path: Path) -> None:
    work: list[Callable[[float], int]] = [spend, spend, other_work, spend]
    with sample(tmp_path, steps="2,0,1"):
        for function in work:
            function(0.15)
            stepscope.step()
    found = samples(tmp_path)
    assert found["other_work"] > 0
    assert found.get("spend", 0) <= 2  # at the borders


def test_an_exception_goes_through_and_the_file_is_whole(tmp_path: Path) -> None:
    def fail() -> float:
        return spend(0.1) / 0

    with pytest.raises(ZeroDivisionError), sample(tmp_path):
        fail()
    trace = stepscope.load(tmp_path)
    assert trace.notes == []
    assert samples(tmp_path)["spend"] > 0
    with sample(tmp_path / "again"):
        spend(0.1)
    assert samples(tmp_path / "again")["spend"] > 0


def test_nesting_is_an_error(tmp_path: Path) -> None:
    with sample(tmp_path / "a"):
        for mode in ("sample", "trace"):
            with pytest.raises(stepscope.TraceError, match=r"recorded already, into .*nested"):
                stepscope.profile(tmp_path / "b", mode=mode).start()
        spend(0.1)
    with (
        stepscope.profile(tmp_path / "c"),
        pytest.raises(stepscope.TraceError, match=r"recorded already, into .*nested"),
    ):
        sample(tmp_path / "d").start()
    assert samples(tmp_path / "a")["spend"] > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "both"}, "mode is"),
        ({"mode": "sample", "hz": 0}, "hz is"),
        ({"mode": "sample", "hz": 20_000}, "hz is"),
        ({"mode": "sample", "c_calls": True}, "c_calls"),
        ({"mode": "sample", "only": "mine"}, "only"),
    ],
)
def test_wrong_options_are_told(tmp_path: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        stepscope.profile(tmp_path, **options)  # type: ignore[arg-type]


def test_a_forked_child_samples_itself(tmp_path: Path) -> None:
    program = """
        import os, sys, time
        import stepscope
        def spend(seconds):
            end = time.thread_time() + seconds
            while time.thread_time() < end: pass
        def in_child(): spend(0.3)
        def in_parent(): spend(0.1)
        with stepscope.profile(sys.argv[1], mode="sample", hz=500):
            child = os.fork()
            if child == 0:
                in_child()
                os._exit(0)
            print(os.waitpid(child, 0)[1], child)
            in_parent()
    """
    result = run_python(program, tmp_path)
    assert result.returncode == 0, result.stderr
    status, child = result.stdout.split()
    assert status == "0"
    assert (tmp_path / f"{child}.samples.sscope").exists()
    table = stepscope.load(tmp_path).functions(limit=0).to_dict()
    total_ns = dict(zip(table["name"], table["total_cpu_ns"], strict=True))
    assert total_ns["in_child"] > 0
    assert total_ns["in_parent"] > 0


def test_children_that_are_forked_all_the_time_leave_nothing_hanging(tmp_path: Path) -> None:
    program = """
        import os, sys
        import stepscope
        with stepscope.profile(sys.argv[1], mode="sample", hz=5000):
            for i in range(60):
                child = os.fork()
                if child == 0:
                    os._exit(i % 7)
                assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == i % 7
        print("done")
    """
    result = run_python(program, tmp_path)
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr


def test_signals_go_to_the_program(tmp_path: Path) -> None:
    seen: list[str] = []
    before = signal.signal(signal.SIGUSR1, lambda *_: seen.append(threading.current_thread().name))
    try:
        with sample(tmp_path):
            for _ in range(50):
                os.kill(os.getpid(), signal.SIGUSR1)
                spend(0.002)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert seen
    assert set(seen) == {"MainThread"}


def test_a_killed_program_leaves_what_was_seen(tmp_path: Path) -> None:
    program = """
        import os, signal, sys, time
        import stepscope
        def spend(seconds):
            end = time.monotonic() + seconds
            while time.monotonic() < end: pass
        stepscope.profile(sys.argv[1], mode="sample", hz=500).start()
        spend(4)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    assert run_python(program, tmp_path).returncode == -signal.SIGKILL
    trace = stepscope.load(tmp_path)
    assert any("sampler ended without closing" in note for note in trace.notes), trace.notes
    assert samples(tmp_path)["spend"] > 0


def test_a_program_that_stops_nothing_has_a_whole_file(tmp_path: Path) -> None:
    program = """
        import sys, time
        import stepscope
        stepscope.profile(sys.argv[1], mode="sample", hz=500).start()
        end = time.thread_time() + 0.2
        while time.thread_time() < end: pass
        sys.exit(5)
    """
    assert run_python(program, tmp_path).returncode == 5
    assert stepscope.load(tmp_path).notes == []
    assert samples(tmp_path)["<module>"] > 0


def test_the_flag_of_pipelines_takes_the_mode(tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    stepscope.add_arguments(parser)
    words = ["--profile", "true", "--profile-mode", "sample", "--profile-dir", str(tmp_path)]
    with stepscope.from_args(parser.parse_args(words)):
        spend(0.3)
    assert samples(tmp_path)["spend"] > 0
