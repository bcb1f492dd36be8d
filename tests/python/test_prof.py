""".prof files: what Stepscope reads and writes, against cProfile, pstats and other readers."""

from __future__ import annotations

import cProfile
import json
import marshal
import pathlib
import profile
import pstats
import random
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import calls_of_programs
import pytest
from calls_of_programs import PROGRAMS, Stats

import stepscope
import stepscope.pstats
from stepscope import _core


def load_marshal(path: pathlib.Path) -> Stats:
    stats: Stats = marshal.loads(path.read_bytes())
    return stats


def map_times(stats: Stats, change: Callable[[float], float]) -> dict[Any, Any]:
    """The same with other times; callers that have none (the module profile) stay as they are."""

    def figures(values: Any) -> Any:
        return values if isinstance(values, int) else (*values[:2], *map(change, values[2:4]))

    return {
        key: (*figures(value), {caller: figures(calls) for caller, calls in value[4].items()})
        for key, value in stats.items()
    }


def in_ns(stats: Stats) -> dict[Any, Any]:
    return map_times(stats, lambda seconds: round(seconds * 1e9))


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    """A profile of a real program."""
    path = tmp_path / "program.prof"
    cProfile.runctx(
        "programs['libraries'](); programs['classes']()", {"programs": PROGRAMS}, {}, str(path)
    )
    return path


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_call_graph_of_slices_equals_cprofile(
    program: Callable[[], None], tmp_path: pathlib.Path
) -> None:
    expected = calls_of_programs.profile_calls(program)
    trace = tmp_path / "trace.json"
    trace.write_text(json.dumps(calls_of_programs.trace_calls(program)))
    stepscope.load(trace).save(tmp_path / "trace.prof")
    assert in_ns(load_marshal(tmp_path / "trace.prof")) == in_ns(expected)


def test_threads_are_summed_up(tmp_path: pathlib.Path) -> None:
    events = calls_of_programs.trace_calls(PROGRAMS["recursion"])["traceEvents"]
    twice = [*events, *({**event, "tid": 2} for event in events)]
    (tmp_path / "trace.json").write_text(json.dumps({"traceEvents": twice}))
    stepscope.load(tmp_path / "trace.json").save(tmp_path / "trace.prof")
    once = in_ns(calls_of_programs.profile_calls(PROGRAMS["recursion"]))
    both = in_ns(load_marshal(tmp_path / "trace.prof"))
    assert {key: figures[:4] for key, figures in both.items()} == {
        key: tuple(2 * figure for figure in figures[:4]) for key, figures in once.items()
    }


def test_round_trip_loses_nothing(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    stepscope.load(path).save(tmp_path / "a.sscope")
    stepscope.load(tmp_path / "a.sscope").save(tmp_path / "a.prof")
    before, after = load_marshal(path), load_marshal(tmp_path / "a.prof")
    assert list(before) == list(after)
    assert [list(figures[4]) for figures in before.values()] == [
        list(figures[4]) for figures in after.values()
    ]
    assert in_ns(before) == in_ns(after)


def test_profile_module_s_callers_have_no_times(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "old.prof"
    profile.runctx("program()", {"program": PROGRAMS["recursion"]}, {}, str(path))
    trace = stepscope.load(path)
    assert set(trace.callers()["total_ns"]) == {None}
    trace.save(tmp_path / "again.prof")
    assert in_ns(load_marshal(path)) == in_ns(load_marshal(tmp_path / "again.prof"))


@pytest.mark.parametrize("version", range(marshal.version + 1))
def test_every_version_of_marshal_is_read(
    version: int, path: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    stats = load_marshal(path)
    stats["größer/\udc80.py", 7, "日本"] = (2**40, 2**62, 0.5, 1e-9, {("~", 0, "x"): (-5, 1, 0, 2)})
    (tmp_path / "other.prof").write_bytes(marshal.dumps(stats, version))
    read = stepscope.pstats.Stats(str(tmp_path / "other.prof"))
    assert read.stats == stats
    read.dump_stats(tmp_path / "again.prof")
    assert load_marshal(tmp_path / "again.prof") == stats


def test_damaged_file_is_refused_or_read_as_marshal_does(path: pathlib.Path) -> None:
    whole = marshal.dumps(dict(list(load_marshal(path).items())[:20]))
    rng = random.Random(5)
    read = 0
    for _ in range(5000):
        data = bytearray(whole)
        for _ in range(rng.choice([1, 2, 4])):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        try:
            stats = _core.CallStats.decode(bytes(data), "damaged")
        except stepscope.TraceError:
            continue
        read += 1
        # As text: NaN is not equal to itself. Python 2's strings are bytes to Python 3.
        expected = re.sub(r"\bb'", "'", repr(map_times(marshal.loads(data), float)))
        assert repr(map_times(stats.to_dict(), float)) == expected
    assert 200 < read < 4800


def test_views_have_the_figures_of_pstats(path: pathlib.Path) -> None:
    stats = load_marshal(path)
    functions = stepscope.load(path).functions(limit=0)
    assert sorted(
        zip(functions["name"], functions["calls"], functions["primitive_calls"], strict=True)
    ) == sorted((key[2], nc, cc) for key, (cc, nc, *_) in stats.items())
    assert sum(functions["self_ns"]) == sum(round(figures[2] * 1e9) for figures in stats.values())
    for view, other in (("callers", "caller"), ("callees", "callee")):
        table = stepscope.load(path).view(view, limit=0)
        pairs = zip(table["name"], table[other], table["calls"], table["total_ns"], strict=True)
        expected = [
            (*((callee[2], caller[2]) if view == "callers" else (caller[2], callee[2])), nc, ct)
            for callee, figures in in_ns(stats).items()
            for caller, (nc, _, _, ct) in figures[4].items()
        ]
        assert sorted(pairs) == sorted(expected)


def test_filter_picks_whose_callers_are_shown(path: pathlib.Path) -> None:
    table = stepscope.load(path).callers(filter=r"^__len__$")
    assert set(table["name"]) == {"__len__"}
    assert "<built-in method builtins.len>" in table["caller"]


def test_trace_without_functions_is_not_written(tmp_path: pathlib.Path) -> None:
    events = [
        {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1, "dur": 1}
    ]
    (tmp_path / "trace.json").write_text(json.dumps({"traceEvents": events}))
    with pytest.raises(stepscope.TraceError, match="has no function calls"):
        stepscope.load(tmp_path / "trace.json").save(tmp_path / "trace.prof")
    assert not (tmp_path / "trace.prof").exists()


# Other readers of the file.


@pytest.fixture
def written(path: pathlib.Path, tmp_path: pathlib.Path) -> pathlib.Path:
    stepscope.load(path).save(tmp_path / "written.prof")
    return tmp_path / "written.prof"


def test_pstats_prints_the_same(path: pathlib.Path, written: pathlib.Path) -> None:
    def lines(path: pathlib.Path) -> dict[str, float]:
        found = pstats.Stats(str(path)).get_stats_profile().func_profiles
        return {name: entry.cumtime for name, entry in found.items()}

    assert lines(written) == pytest.approx(lines(path), abs=0.0011)


def test_snakeviz_reads_it(path: pathlib.Path, written: pathlib.Path) -> None:
    snakeviz = pytest.importorskip("snakeviz.stats", reason="snakeviz is not installed")
    ours, theirs = (snakeviz.table_rows(pstats.Stats(str(file))) for file in (written, path))
    assert [row[0] for row in ours] == [row[0] for row in theirs]
    trees = [snakeviz.json_stats(pstats.Stats(str(file))) for file in (written, path)]
    assert trees[0].keys() == trees[1].keys()


@pytest.mark.parametrize("tool", ["gprof2dot", "flameprof"])
def test_other_tools_draw_the_same(tool: str, path: pathlib.Path, written: pathlib.Path) -> None:
    pytest.importorskip(tool, reason=f"{tool} is not installed")
    options = ["-f", "pstats"] if tool == "gprof2dot" else []

    def draw(file: pathlib.Path) -> str:
        command = [sys.executable, "-m", tool, *options, str(file)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    assert draw(written).count("\n") == draw(path).count("\n") > 20
