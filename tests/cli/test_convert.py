"""`convert`: nothing is lost on the way, and a file is whole or not there at all."""

import gzip
import json
import marshal
import pathlib
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]
WriteTrace = Callable[..., pathlib.Path]


def tables_of(stepscope: Run, path: pathlib.Path) -> dict[str, Any]:
    """Everything that SQL can see of a trace."""
    found = {}
    for table in ("slices", "tracks", "counters", "flows", "args", "metadata", "allocations"):
        result = stepscope("query", path, f"SELECT * FROM {table}", "-f", "json", check=True)
        rows = json.loads(result.stdout)["rows"]
        found[table] = sorted(rows, key=lambda row: json.dumps(row))
    # Of its origin, a trace knows the file: that is another one now.
    own = ("source", "format", "path")
    found["metadata"] = [row for row in found["metadata"] if row[0] not in own]
    return found


def test_round_trip_over_all_formats_loses_nothing(stepscope: Run, trace: pathlib.Path) -> None:
    expected = tables_of(stepscope, trace)
    path = trace
    for name in ("a.sscope", "b.json", "c.sscope", "d.json.gz", "e.json.zst", "f.sscope"):
        target = trace.with_name(name)
        stepscope("convert", path, target, check=True)
        assert tables_of(stepscope, target) == expected, name
        path = target


def test_real_traces_survive_the_round_trip(
    stepscope: Run, shared_data: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    files = [
        "hta/amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz",
        "hta/cupti_profiler/benchmark_result_924719_1679055439_trace.json.gz",
    ]
    for name in files:
        source = shared_data / name
        expected = tables_of(stepscope, source)
        stepscope("convert", source, tmp_path / "a.sscope", check=True)
        assert tables_of(stepscope, tmp_path / "a.sscope") == expected, name
        stepscope("convert", tmp_path / "a.sscope", tmp_path / "b.json", check=True)
        assert tables_of(stepscope, tmp_path / "b.json") == expected, name


def test_exported_json_is_json_and_exact(stepscope: Run, trace: pathlib.Path) -> None:
    for name in ("out.json", "out.pt.trace.json"):
        target = trace.with_name(name)
        stepscope("convert", trace, target, check=True)
        content = json.loads(target.read_text())
        slices = [e for e in content["traceEvents"] if e["ph"] == "X"]
        assert len(slices) == 9
        linear = next(e for e in slices if e["name"] == "aten::linear")
        assert (linear["ts"], linear["dur"]) == (1_000_100, 300.125)
        assert linear["args"] == {"External id": 1, "Input Dims": [[8, 16], [16, 4]]}
    assert content["schemaVersion"] == 1
    assert "deviceProperties" in content


def test_format_is_found_by_the_name_or_given(stepscope: Run, trace: pathlib.Path) -> None:
    target = trace.with_name("named.bin")
    stepscope("convert", trace, target, "--to", "chrome", check=True)
    assert json.loads(target.read_text())["traceEvents"]
    packed = trace.with_name("packed.json.gz")
    stepscope("convert", trace, packed, check=True)
    assert json.loads(gzip.decompress(packed.read_bytes()))["traceEvents"]


def test_functions_become_a_prof(stepscope: Run, tmp_path: pathlib.Path) -> None:
    place = {"ph": "X", "pid": 1, "tid": 1, "cat": "python_function"}
    events = [
        {**place, "name": "a.py(1): A.run", "ts": 0, "dur": 10},
        {**place, "name": "a.py(5): f", "ts": 2, "dur": 4},
    ]
    trace, prof = tmp_path / "trace.json", tmp_path / "trace.prof"
    trace.write_text(json.dumps({"traceEvents": events}))
    result = stepscope("convert", trace, prof, check=True)
    assert "left out the timeline" in result.stderr
    assert marshal.loads(prof.read_bytes()) == {
        ("a.py", 1, "run"): (1, 1, 6e-6, 1e-5, {}),
        ("a.py", 5, "f"): (1, 1, 4e-6, 4e-6, {("a.py", 1, "run"): (1, 1, 4e-6, 4e-6)}),
    }
    for view in ("functions", "callers", "callees"):
        options = ["--view", view, "--format", "csv", "--sort", "line"]
        tables = [stepscope("report", path, *options, check=True).stdout for path in (trace, prof)]
        assert tables[0].replace("A.run", "run") == tables[1]


def test_standard_output_takes_every_format(
    stepscope: Run, stepscope_bin: pathlib.Path, trace: pathlib.Path
) -> None:
    text = stepscope("convert", trace, "-", "--to", "chrome", check=True).stdout
    assert json.loads(text)["traceEvents"]
    command = [stepscope_bin, "convert", trace, "-", "--to", "sscope"]
    binary = subprocess.run(command, capture_output=True, check=True).stdout
    target = trace.with_name("from-pipe.sscope")
    target.write_bytes(binary)
    assert tables_of(stepscope, target) == tables_of(stepscope, trace)


def test_file_can_be_converted_onto_itself(stepscope: Run, trace: pathlib.Path) -> None:
    expected = tables_of(stepscope, trace)
    stepscope("convert", trace, trace, check=True)
    assert tables_of(stepscope, trace) == expected


def test_failed_conversion_leaves_the_old_file(stepscope: Run, trace: pathlib.Path) -> None:
    old = trace.with_name("old.sscope")
    old.write_text("old")
    result = stepscope("convert", trace.with_name("no.json"), old)
    assert result.returncode == 1
    assert old.read_text() == "old"
    assert sorted(p.name for p in trace.parent.iterdir()) == ["old.sscope", "trace.json"]


def test_converted_size_is_told(stepscope: Run, trace: pathlib.Path) -> None:
    target = trace.with_name("a.sscope")
    result = stepscope("convert", trace, target, check=True)
    assert result.stdout.startswith(f"{target}: 9 slices, ")


def test_cut_sscope_gives_every_block_before_the_cut(
    stepscope: Run, write_trace: WriteTrace
) -> None:
    events = [
        {"ph": "X", "cat": "cpu_op", "name": f"op {i * 7919 % 997}", "pid": 1, "tid": i % 3,
         "ts": i * 3 + i * i % 3, "dur": 1 + i * 31 % 97, "args": {"x": i * 104729 % 65537}}
        for i in range(6_000)
    ]  # fmt: skip
    source = write_trace("big.json", events)
    whole = source.with_name("whole.sscope")
    stepscope("convert", source, whole, check=True)
    data = whole.read_bytes()
    cut_path = source.with_name("cut.sscope")
    before = 0
    for cut in range(1_000, len(data), 1_000):
        cut_path.write_bytes(data[:cut])
        result = stepscope("query", cut_path, "SELECT count(*) FROM slices", "-f", "json")
        assert result.returncode == 0, (cut, result.stderr)
        table = json.loads(result.stdout)
        slices = table["rows"][0][0]
        assert before <= slices <= len(events), cut
        before = slices
        faults = {k: v for k, v in table["stats"].items() if k not in ("events_read", "rows_total")}
        assert faults, f"cut at byte {cut}: nothing is said"


def test_empty_sscope_is_refused(stepscope: Run, trace: pathlib.Path) -> None:
    whole = trace.with_name("whole.sscope")
    stepscope("convert", trace, whole, check=True)
    for keep in (1, 4, 7):
        cut = trace.with_name("cut.sscope")
        cut.write_bytes(whole.read_bytes()[:keep])
        result = stepscope("report", cut)
        assert result.returncode == 1
        assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("suffix", ["json", "pt.trace.json", "sscope"])
def test_trace_without_events_is_converted(
    stepscope: Run, tmp_path: pathlib.Path, suffix: str
) -> None:
    source = tmp_path / "none.json"
    source.write_text('{"traceEvents": []}')
    target = tmp_path / f"out.{suffix}"
    stepscope("convert", source, target, check=True)
    result = stepscope("report", target, "--view", "tracks", "-f", "json", check=True)
    assert json.loads(result.stdout)["rows"] == []
