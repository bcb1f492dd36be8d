"""`report` and `query`: formats, inputs, options."""

import csv
import gzip
import io
import json
import os
import pathlib
import pty
import re
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]
WriteTrace = Callable[..., pathlib.Path]

VIEWS = [
    "overview",
    "steps",
    "operators",
    "kernels",
    "devices",
    "ranks",
    "collectives",
    "memory",
    "tree",
    "functions",
    "callers",
    "callees",
    "tracks",
]


def load_table(stepscope: Run, *arguments: object) -> dict[str, Any]:
    result = stepscope("report", *arguments, "--format", "json", check=True)
    table: dict[str, Any] = json.loads(result.stdout)
    return table


def column(table: dict[str, Any], name: str) -> list[Any]:
    at = [c["name"] for c in table["columns"]].index(name)
    return [row[at] for row in table["rows"]]


def test_overview_is_what_one_gets_without_asking(stepscope: Run, trace: pathlib.Path) -> None:
    plain = stepscope("report", trace, check=True)
    assert plain.stderr == ""
    assert plain.stdout == stepscope("report", trace, "--view", "overview", check=True).stdout


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_has_every_format(stepscope: Run, trace: pathlib.Path, view: str) -> None:
    table = load_table(stepscope, trace, "--view", view, "--limit", "0")
    assert set(table) >= {"view", "columns", "rows", "stats"}
    assert table["view"] == view
    names = [c["name"] for c in table["columns"]]
    assert all(len(row) == len(names) for row in table["rows"])

    text = stepscope("report", trace, "--view", view, "--limit", "0", "--format", "csv", check=True)
    rows = list(csv.reader(io.StringIO(text.stdout, newline="")))
    assert rows[0] == names
    assert len(rows) == 1 + len(table["rows"])

    for name in ("text", "md"):
        assert stepscope("report", trace, "--view", view, "--format", name, check=True).stdout


def test_operators_have_exact_figures(stepscope: Run, trace: pathlib.Path) -> None:
    table = load_table(stepscope, trace, "--view", "operators")
    names = ("calls", "self_host_ns", "total_host_ns")
    figures = zip(*(column(table, name) for name in names), strict=True)
    rows = dict(zip(column(table, "name"), figures, strict=True))
    assert rows["aten::linear"] == (3, 3 * 100_125, 3 * 300_125)
    assert rows["aten::addmm"] == (3, 600_000, 600_000)


def test_rows_are_sorted_limited_and_filtered(stepscope: Run, trace: pathlib.Path) -> None:
    def names(*arguments: str) -> list[str]:
        found = column(load_table(stepscope, trace, "--view", "operators", *arguments), "name")
        return [name for name in found if name.startswith("aten::")]

    assert names("--sort", "total_host_ns") == ["aten::linear", "aten::addmm"]
    assert names("--sort", "+total_host_ns") == ["aten::addmm", "aten::linear"]
    assert names("--sort=-name") == ["aten::linear", "aten::addmm"]
    assert names("--sort", "total_host_ns", "--limit", "2") == ["aten::linear"]
    assert names("--filter", "add|mul") == ["aten::addmm"]
    assert names("--filter", "^add") == []


def test_range_and_track_take_a_part(stepscope: Run, trace: pathlib.Path) -> None:
    def calls(*arguments: str) -> int:
        table = load_table(
            stepscope, trace, "--view", "operators", "--filter", "linear", *arguments
        )
        return sum(column(table, "calls"))

    assert calls("--range", "0..1ms") == 1
    assert calls("--range", "1ms..") == 2
    assert calls("--range", "..1.2ms") == 2
    assert calls("--track", "main") == 3
    result = stepscope("report", trace, "--view", "operators", "--track", "nobody")
    assert result.returncode == 2
    assert "no track matches 'nobody'" in result.stderr


def test_several_views_are_printed_with_headings(stepscope: Run, trace: pathlib.Path) -> None:
    text = stepscope("report", trace, "--view", "steps", "--view", "operators", check=True).stdout
    assert text.index("steps") < text.index("operators") < text.index("aten::linear")
    result = stepscope("report", trace, "--view", "steps,operators", "-f", "json", check=True)
    tables = json.loads(result.stdout)
    assert [table["view"] for table in tables] == ["steps", "operators"]


def test_all_views_come_with_all(stepscope: Run, trace: pathlib.Path) -> None:
    tables = json.loads(stepscope("report", trace, "--all", "-f", "json", check=True).stdout)
    assert {table["view"] for table in tables} >= set(VIEWS)


def test_several_traces_are_printed_with_their_names(
    stepscope: Run, write_trace: WriteTrace
) -> None:
    paths = [str(write_trace("b.json")), str(write_trace("a.json"))]
    text = stepscope("report", *paths, check=True).stdout
    assert text.index(paths[0]) < text.index(paths[1])
    tables = json.loads(stepscope("report", *paths, "-f", "json", check=True).stdout)
    assert [table["path"] for table in tables] == paths


def test_folder_stands_for_its_traces(stepscope: Run, write_trace: WriteTrace) -> None:
    first = write_trace("a.json")
    folder = first.parent
    assert load_table(stepscope, folder)["view"] == "overview"
    write_trace("b.json.gz")
    (folder / "config.json").write_text('{"not": "a trace"}')
    result = stepscope("report", folder, "-f", "json")
    assert result.returncode == 0
    assert [pathlib.Path(table["path"]).name for table in json.loads(result.stdout)] == [
        "a.json",
        "b.json.gz",
    ]
    assert "config.json" in result.stderr
    one = stepscope("query", folder, "SELECT 1")
    assert one.returncode == 1
    assert "name one: a.json, b.json.gz, config.json" in one.stderr


def test_compressed_and_piped_traces_are_the_same(
    stepscope: Run, stepscope_bin: pathlib.Path, trace: pathlib.Path
) -> None:
    expected = load_table(stepscope, trace, "--view", "operators")
    data = trace.read_bytes()
    compressed = {"renamed.bin": gzip.compress(data), "two.gz": gzip.compress(data[:999]) +
                  gzip.compress(data[999:])}  # fmt: skip
    if zstd := shutil.which("zstd"):
        compressed["trace.json.zst"] = subprocess.run(
            [zstd, "-q", "-c"], input=data, capture_output=True, check=True
        ).stdout
    for name, content in compressed.items():
        path = trace.with_name(name)
        path.write_bytes(content)
        assert load_table(stepscope, path, "--view", "operators") == expected
        piped = subprocess.run(
            [stepscope_bin, "report", "-", "--view", "operators", "-f", "json"],
            input=content,
            capture_output=True,
            check=True,
        )
        assert json.loads(piped.stdout) == expected


def test_report_goes_to_a_file(stepscope: Run, trace: pathlib.Path) -> None:
    out = trace.with_name("report.json.gz")
    result = stepscope("report", trace, "-f", "json", "-o", out, check=True)
    assert result.stdout == ""
    assert json.loads(gzip.decompress(out.read_bytes()))["view"] == "overview"


def test_text_fits_the_width(stepscope: Run, write_trace: WriteTrace) -> None:
    path = write_trace("wide.json", [{"ph": "X", "cat": "cpu_op", "name": "n" * 500, "pid": 1,
                                      "tid": 1, "ts": 1, "dur": 5}])  # fmt: skip
    for width in (40, 80, 133):
        environment = os.environ | {"COLUMNS": str(width)}
        for view in VIEWS:
            text = stepscope("report", path, "--view", view, env=environment, check=True).stdout
            for line in text.splitlines():
                if "  " in line or "─" in line:  # rows, not sentences
                    assert len(line) <= width, (view, line)


def run_on_a_terminal(command: list[str], environment: dict[str, str]) -> str:
    """What a user sees: standard output and error on a pseudo-terminal."""
    parent, child = pty.openpty()
    process = subprocess.Popen(command, stdout=child, stderr=child, env=environment)
    os.close(child)
    seen = b""
    while True:
        try:
            part = os.read(parent, 65536)
        except OSError:
            break
        if not part:
            break
        seen += part
    os.close(parent)
    assert process.wait() == 0
    return seen.decode()


def test_colours_are_for_terminals_and_not_with_no_color(
    stepscope: Run, stepscope_bin: pathlib.Path, trace: pathlib.Path
) -> None:
    command = [str(stepscope_bin), "report", str(trace), "--view", "operators"]
    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}
    environment["TERM"] = "xterm-256color"
    assert "\x1b[" in run_on_a_terminal(command, environment)
    assert "\x1b[" not in run_on_a_terminal(command, environment | {"NO_COLOR": "1"})
    assert "\x1b[" not in run_on_a_terminal(command, environment | {"TERM": "dumb"})
    assert "\x1b[" not in stepscope(*command[1:], check=True).stdout


def test_faults_are_told_beside_a_csv(stepscope: Run, write_trace: WriteTrace) -> None:
    path = write_trace()
    path.write_bytes(path.read_bytes()[:-30])
    result = stepscope("report", path, "--view", "operators", "-f", "csv", check=True)
    assert result.stderr.startswith(f"stepscope: {path}: ")
    assert next(csv.reader(io.StringIO(result.stdout)))[0] == "name"


def test_query_answers_sql(stepscope: Run, trace: pathlib.Path) -> None:
    result = stepscope(
        "query", trace,
        "SELECT name, count(*) AS calls, sum(dur_ns) AS total_ns FROM slices "
        "WHERE name LIKE 'aten::%' GROUP BY name ORDER BY name", "--format", "json", check=True,
    )  # fmt: skip
    table = json.loads(result.stdout)
    assert [c["name"] for c in table["columns"]] == ["name", "calls", "total_ns"]
    assert table["rows"] == [["aten::addmm", 3, 600_000], ["aten::linear", 3, 900_375]]


@pytest.mark.parametrize("table", ["slices", "tracks", "counters", "flows", "args", "strings"])
def test_query_has_the_tables_of_the_model(stepscope: Run, trace: pathlib.Path, table: str) -> None:
    assert stepscope("query", trace, f"SELECT count(*) FROM {table}", check=True).stdout


@pytest.mark.parametrize(
    "sql",
    ["SELECT nonsense FROM slices", "SELEKT", "DELETE FROM slices", "ATTACH 'x.db' AS x", ""],
)
def test_sql_that_can_not_be_answered_is_one_line(
    stepscope: Run, trace: pathlib.Path, sql: str
) -> None:
    result = stepscope("query", trace, sql, cwd=trace.parent)
    assert result.returncode == 1
    assert re.fullmatch(r"stepscope: query: .+\n", result.stderr)
    assert not (trace.parent / "x.db").exists()


@pytest.mark.parametrize("view", ["operators", "kernels", "functions"])
def test_streamed_views_are_those_of_the_loaded_trace(
    stepscope: Run, shared_data: pathlib.Path, tmp_path: pathlib.Path, view: str
) -> None:
    trace = shared_data / "hta/nccl_parser_config/nccl_data.json.gz"
    saved = tmp_path / "trace.sscope"
    stepscope("convert", trace, saved, check=True)
    command = ("report", saved, "--view", view, "--format", "json")
    loaded = json.loads(stepscope(*command, check=True).stdout)
    streamed = json.loads(stepscope(*command, "--stream", check=True).stdout)
    assert streamed["columns"] == loaded["columns"]
    assert streamed["rows"] == loaded["rows"]


def test_a_view_that_can_not_stream_says_so(
    stepscope: Run, shared_data: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    saved = tmp_path / "trace.sscope"
    stepscope("convert", shared_data / "kineto/gpu_metrics_input.json", saved, check=True)
    result = stepscope("report", saved, "--view", "steps", "--stream")
    assert result.returncode == 2
    assert "steps" in result.stderr
