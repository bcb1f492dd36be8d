"""Files of stacks: collapsed, speedscope, callgrind, flame graph, pprof, written and read back.

Where an independent reader is installed (callgrind_annotate, gprof2dot, `go tool pprof`) it has the
last word; without one its test is skipped.
"""

import gzip
import json
import pathlib
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]
Event = dict[str, Any]
SVG = "{http://www.w3.org/2000/svg}"


def python_call(name: str, start: int, dur: int, tid: int = 7) -> Event:
    return {
        "ph": "X", "cat": "python_function", "name": name, "pid": 7, "tid": tid,
        "ts": start, "dur": dur,
    }  # fmt: skip


def make_calls() -> list[Event]:
    """main { fib { fib { fib } fib } load } on one thread, work { <lambda> } on another; in us."""
    fib, main = "/src/a.py(3): fib", "/src/a.py(20): main"
    return [
        {"ph": "M", "name": "thread_name", "pid": 7, "tid": 7, "args": {"name": "MainThread"}},
        {"ph": "M", "name": "thread_name", "pid": 7, "tid": 8, "args": {"name": "other"}},
        python_call(main, 100, 1000),
        python_call(fib, 150, 600),
        python_call(fib, 200, 300),
        python_call(fib, 210, 100),
        python_call(fib, 550, 50),
        python_call("<built-in method io.open>", 800, 250),
        python_call("/src/a.py(30): A.work", 300, 500, tid=8),
        python_call("/src/a.py(31): A.work.<locals>.<lambda>", 310, 40, tid=8),
    ]


# Self time in ns and calls of each function in make_calls().
SELF_NS = {
    "main": 150_000,
    "fib": 600_000,
    "<built-in method io.open>": 250_000,
    "A.work": 460_000,
    "A.work.<locals>.<lambda>": 40_000,
}
CALLS = dict.fromkeys(SELF_NS, 1) | {"fib": 4}


@pytest.fixture
def calls(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "calls.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": make_calls()}))
    return path


def convert(stepscope: Run, source: pathlib.Path, name: str) -> pathlib.Path:
    target = source.with_name(name)
    stepscope("convert", source, target, check=True)
    return target


def self_times(collapsed: pathlib.Path) -> Counter[str]:
    """Own time by function: an independent reading of the format."""
    found: Counter[str] = Counter()
    for line in collapsed.read_text().splitlines():
        if line.startswith("#"):
            continue
        stack, weight = line.rsplit(" ", 1)
        leaf = stack.split(";")[-1]
        found[re.sub(r" \([^()]*:\d+\)$", "", leaf)] += int(weight)
    return found


def test_collapsed_has_the_self_times(stepscope: Run, calls: pathlib.Path) -> None:
    assert self_times(convert(stepscope, calls, "a.collapsed")) == SELF_NS


def test_collapsed_round_trip_is_exact(stepscope: Run, calls: pathlib.Path) -> None:
    first = convert(stepscope, calls, "a.collapsed")
    second = convert(stepscope, first, "b.folded")
    assert first.read_text() == second.read_text()
    packed = convert(stepscope, first, "c.collapsed.gz")
    assert gzip.decompress(packed.read_bytes()).decode() == first.read_text()
    table = json.loads(stepscope("report", second, "--view", "functions", "-f", "json").stdout)
    assert {row[0]: row[5] for row in table["rows"]} == SELF_NS


def test_speedscope_round_trip_is_exact(stepscope: Run, calls: pathlib.Path) -> None:
    first = convert(stepscope, calls, "a.speedscope.json")
    second = convert(stepscope, first, "b.speedscope.json")
    assert json.loads(first.read_text()) | {"name": ""} == json.loads(second.read_text()) | {
        "name": ""
    }
    for view in ("functions", "tree"):
        tables = [
            json.loads(stepscope("report", path, "--view", view, "-f", "json").stdout)["rows"]
            for path in (calls, second)
        ]
        assert sorted(map(str, tables[0])) == sorted(map(str, tables[1]))


def test_speedscope_has_what_its_schema_asks_for(stepscope: Run, calls: pathlib.Path) -> None:
    content = json.loads(convert(stepscope, calls, "a.speedscope.json").read_text())
    assert content["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = content["shared"]["frames"]
    assert {"name": "fib", "file": "/src/a.py", "line": 3} in frames
    assert [p["name"] for p in content["profiles"]] == ["MainThread", "other"]
    for profile in content["profiles"]:
        assert (profile["type"], profile["unit"]) == ("evented", "nanoseconds")
        open_frames, now = [], profile["startValue"]
        for event in profile["events"]:
            assert now <= event["at"] <= profile["endValue"]
            now = event["at"]
            if event["type"] == "O":
                open_frames.append(event["frame"])
            else:
                assert open_frames.pop() == event["frame"]
        assert not open_frames


def test_frames_that_begin_and_end_together_keep_their_order(
    stepscope: Run, tmp_path: pathlib.Path
) -> None:
    events = [{"type": "O", "frame": i, "at": 0} for i in range(3)]
    events += [{"type": "C", "frame": i, "at": 9} for i in (2, 1, 0)]
    source = tmp_path / "in.json"
    source.write_text(json.dumps({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": [{"name": name} for name in "abc"]},
        "profiles": [{"type": "evented", "name": "t", "unit": "none", "startValue": 0,
                      "endValue": 9, "events": events}],
    }))  # fmt: skip
    assert convert(stepscope, source, "out.folded").read_text().endswith("\na;b;c 9\n")


def test_speedscope_of_samples_keeps_its_unit(stepscope: Run, tmp_path: pathlib.Path) -> None:
    folded = tmp_path / "perf.txt"
    folded.write_text("a;b 3\na;c 4\na 1\n")
    content = json.loads(convert(stepscope, folded, "x.speedscope.json").read_text())
    (profile,) = content["profiles"]
    assert (profile["type"], profile["unit"]) == ("sampled", "none")
    assert profile["weights"] == [3, 4, 1]
    again = convert(stepscope, tmp_path / "x.speedscope.json", "y.folded")
    assert Counter(again.read_text().splitlines()) == Counter(folded.read_text().splitlines())


def test_flamegraph_is_xml_and_has_every_function(stepscope: Run, calls: pathlib.Path) -> None:
    path = convert(stepscope, calls, "a.svg")
    text = path.read_text()
    assert "://" not in re.sub(r'xmlns="[^"]*"|createElementNS\("[^"]*"', "", text)
    root = ElementTree.parse(path).getroot()
    tips = [g.findtext(f"{SVG}title") or "" for g in root.iter(f"{SVG}g")]
    assert tips[0] == "all\n1.5 ms, 100.00%"
    assert "main (/src/a.py:20)\n1 ms, 66.67%, itself 150 us, 1 call" in tips
    assert "fib (/src/a.py:3)\n350 us, 23.33%, itself 250 us, 2 calls" in tips
    boxes = {
        (g.findtext(f"{SVG}title") or "").split("\n")[0]: g.find(f"{SVG}rect")
        for g in root.iter(f"{SVG}g")
    }
    inner, outer = boxes["<built-in method io.open>"], boxes["main (/src/a.py:20)"]
    assert inner is not None
    assert outer is not None
    end = float(outer.attrib["x"]) + float(outer.attrib["width"])
    assert float(inner.attrib["x"]) + float(inner.attrib["width"]) <= end + 0.01
    assert float(inner.attrib["y"]) > float(outer.attrib["y"])


def test_callgrind_annotate_reads_the_self_times(stepscope: Run, calls: pathlib.Path) -> None:
    path = convert(stepscope, calls, "callgrind.out.7")
    if shutil.which("callgrind_annotate") is None:
        pytest.skip("no callgrind_annotate (Debian's valgrind)")
    command = ["callgrind_annotate", "--threshold=100", "--auto=no", str(path)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "WARNING" not in result.stderr
    found = {}
    for line in result.stdout.splitlines():
        match = re.match(r"\s*([\d,]+) \([^)]*\)\s+(\S+?):(.*)$", line)
        if match:
            found[match[3]] = int(match[1].replace(",", ""))
    assert found == SELF_NS


def test_gprof2dot_reads_callgrind(stepscope: Run, calls: pathlib.Path) -> None:
    gprof2dot = pytest.importorskip("gprof2dot")
    path = convert(stepscope, calls, "callgrind.out.7")
    with path.open() as lines:
        profile = gprof2dot.CallgrindParser(lines).parse()
    assert {f.name: f.called for f in profile.functions.values()}["fib"] == 4


def test_go_tool_pprof_reads_calls_and_times(stepscope: Run, calls: pathlib.Path) -> None:
    path = convert(stepscope, calls, "a.pb.gz")
    if shutil.which("go") is None:
        pytest.skip("no go")
    for kind, expected in (("time", SELF_NS), ("calls", CALLS)):
        command = [
            "go",
            "tool",
            "pprof",
            "-top",
            "-unit=ns",
            "-nodefraction=0",
            f"-sample_index={kind}",
            str(path),
        ]
        result = subprocess.run(command, capture_output=True, text=True, check=True)
        found = {}
        for line in result.stdout.splitlines():
            match = re.match(r"\s*(\d+)(?:ns)?\s+[\d.]+%\s+[\d.]+%\s+\S+\s+[\d.]+%\s+(.*)$", line)
            if match:
                found[match[2]] = int(match[1])
        assert found == expected, result.stdout


def read_fields(data: bytes) -> list[tuple[int, Any]]:
    """The fields of a protobuf message: numbers and bytes. An independent reading of the wire."""

    def varint(at: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            byte = data[at]
            value |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                return value, at

    fields: list[tuple[int, Any]] = []
    at = 0
    while at < len(data):
        key, at = varint(at)
        value, at = varint(at)
        assert key & 7 in (0, 2)
        if key & 7 == 0:
            fields.append((key >> 3, value))
        else:
            fields.append((key >> 3, data[at : at + value]))
            at += value
    return fields


def varints(data: bytes) -> list[int]:
    """The numbers of a packed list."""
    numbers, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(value)
            value = shift = 0
    return numbers


def test_pprof_has_the_fields_of_profile_proto(stepscope: Run, calls: pathlib.Path) -> None:
    data = gzip.decompress(convert(stepscope, calls, "a.pprof").read_bytes())
    fields = read_fields(data)
    strings = [value.decode() for number, value in fields if number == 6]
    assert strings[0] == ""
    types = [dict(read_fields(value)) for number, value in fields if number == 1]
    assert [(strings[t[1]], strings[t[2]]) for t in types] == [
        ("calls", "count"),
        ("time", "nanoseconds"),
    ]
    functions = {f[1]: f for f in (dict(read_fields(v)) for n, v in fields if n == 5)}
    locations = {}
    for value in (v for n, v in fields if n == 4):
        location = dict(read_fields(value))
        locations[location[1]] = functions[dict(read_fields(location[4]))[1]]
    times: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for value in (v for n, v in fields if n == 2):
        sample = dict(read_fields(value))
        leaf = strings[locations[varints(sample[1])[0]][2]]
        called, own_ns = varints(sample[2])
        counts[leaf] += called
        times[leaf] += own_ns
    assert times == SELF_NS
    assert counts == CALLS
    fib = next(f for f in functions.values() if strings[f[2]] == "fib")
    assert (strings[fib[4]], fib[5]) == ("/src/a.py", 3)


@pytest.mark.parametrize(
    "text",
    ["hello world\n", "one 1\ntwo 2\n", "a;b 3\nc;d\n", "a;b -1\n", "#only\n", "a;b 3\n\0;x 4\n"],
)
def test_text_that_is_no_stacks_is_refused(
    stepscope: Run, tmp_path: pathlib.Path, text: str
) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(text)
    result = stepscope("report", path)
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert "not a trace in a format that stepscope knows" in result.stderr


@pytest.mark.parametrize("name", ["a.collapsed", "a.svg", "a.pb.gz", "callgrind.out.1"])
def test_trace_without_calls_is_refused_in_one_line(
    stepscope: Run, tmp_path: pathlib.Path, name: str
) -> None:
    source = tmp_path / "none.json"
    source.write_text('{"traceEvents": []}')
    result = stepscope("convert", source, tmp_path / name)
    assert result.returncode == 1
    assert result.stderr == f"stepscope: {source}: no slices or samples to make stacks of\n"
    assert not (tmp_path / name).exists()


def test_formats_are_found_by_name(stepscope: Run) -> None:
    text = stepscope("convert", "--help", check=True).stdout
    for name in ("collapsed", "speedscope", "callgrind", "flamegraph", "pprof"):
        assert name in text


def test_heaviest_path_ends_where_the_time_spreads(stepscope: Run, calls: pathlib.Path) -> None:
    result = stepscope("report", calls, "--view", "tree", "--heaviest", "-f", "json", check=True)
    table = json.loads(result.stdout)
    names = [c["name"] for c in table["columns"]]
    rows = [dict(zip(names, row, strict=True)) for row in table["rows"]]
    path = [(r["depth"], r["name"].split(": ")[1], r["self_ns"], r["others_ns"]) for r in rows]
    assert path == [
        (0, "main", 150_000, 250_000),
        (1, "fib", 250_000, 0),
        (2, "fib", 250_000, 100_000),
    ]
    assert rows[0]["fraction"] == pytest.approx(1000 / 1500)
    assert table["stats"]["notes"][0].startswith("the path ends at /src/a.py(3): fib")
