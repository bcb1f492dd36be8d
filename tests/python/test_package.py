"""The Python package on a small trace whose figures are known by hand."""

import json
import pathlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

import stepscope

EVENTS = [
    {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "main"}},
    {
        "ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 1, "tid": 2, "ts": 100.5,
        "dur": 50, "args": {"External id": 1, "Input Dims": [[2, 3], [4, 3]]},
    },
    {"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 1, "tid": 2, "ts": 110, "dur": 20},
    {"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 1, "tid": 2, "ts": 200, "dur": 30},
    {"ph": "C", "name": "queue", "pid": 1, "ts": 100, "args": {"length": 3}},
]  # fmt: skip


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": EVENTS}))
    return path


@pytest.fixture
def trace(path: pathlib.Path) -> stepscope.Trace:
    return stepscope.load(path)


def test_trace_says_what_it_is(trace: stepscope.Trace, path: pathlib.Path) -> None:
    assert trace.source == str(path)
    assert trace.format == "Kineto JSON"
    assert trace.duration_ns == 130_000
    assert "3 slices" in repr(trace)
    assert trace.stats == {"events_read": 5}


def test_operators_have_calls_self_and_total_time(trace: stepscope.Trace) -> None:
    table = trace.operators(sort="name")
    rows = dict(zip(table["name"], zip(*(table[c] for c in COLUMNS), strict=True), strict=True))
    assert rows == {"aten::addmm": (2, 50_000, 50_000), "aten::linear": (1, 30_000, 50_000)}


COLUMNS = ("calls", "self_host_ns", "total_host_ns")


def test_tree_has_its_heaviest_path(trace: stepscope.Trace) -> None:
    table = trace.tree(heaviest=True)
    assert table["name"] == ["aten::linear"]
    assert table["others_ns"] == [20_000]


@pytest.mark.parametrize("view", [name for name, _ in stepscope._core.views()])
def test_every_view_is_a_method_and_agrees_with_the_command(
    trace: stepscope.Trace,
    path: pathlib.Path,
    view: str,
    stepscope: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    printed = stepscope("report", path, "--view", view, "--format", "json", check=True).stdout
    found = getattr(trace, view)()
    if view == "findings":  # sentences, and so objects of their own
        assert [vars(finding) for finding in found] == json.loads(printed)["findings"]
        return
    assert found.to_json() == json.loads(printed)
    assert [list(row) for row in found] == json.loads(printed)["rows"]
    assert len(found) == len(json.loads(printed)["rows"])


def test_sql_is_the_same_as_the_commands(
    trace: stepscope.Trace,
    path: pathlib.Path,
    stepscope: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    query = "select name, count(*) as calls, sum(dur_ns) as ns from slices group by name order by 1"
    table = trace.sql(query)
    assert list(table) == [("aten::addmm", 2, 50_000), ("aten::linear", 1, 50_000)]
    printed = stepscope("query", path, query, "--format", "json", check=True).stdout
    assert table.to_json() == json.loads(printed)


def test_arguments_keep_their_types(trace: stepscope.Trace) -> None:
    assert list(trace.sql("select key, value from args where type = 'int'")) == [("External id", 1)]
    assert list(trace.sql("select key, value from args where type = 'json'")) == [
        ("Input Dims", "[[2, 3], [4, 3]]")
    ]


def test_table_prints_as_text(trace: stepscope.Trace) -> None:
    text = repr(trace.operators())
    assert "aten::linear" in text
    assert "50.00 us" in text


def test_arrow_stream_can_be_taken_more_than_once(trace: stepscope.Trace) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    slices = trace.slices
    for _ in range(3):
        table = pyarrow.table(slices)
        assert table.num_rows == 3
        assert table.column("dur_ns").to_pylist() == [50_000, 20_000, 30_000]
        assert table.column("name").to_pylist() == ["aten::linear", "aten::addmm", "aten::addmm"]
        assert table.column("parent_id").to_pylist() == [None, 0, None]
    operators = trace.operators()
    assert pyarrow.table(operators).to_pydict() == operators.to_dict()
    assert pyarrow.table(operators).to_pydict() == operators.to_dict()


def test_arrow_outlives_the_trace(path: pathlib.Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(stepscope.load(path).slices)
    assert table.column("name").to_pylist()[0] == "aten::linear"
    table.validate(full=True)


def test_to_pandas_gives_the_same_rows(trace: stepscope.Trace) -> None:
    pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    frame = trace.operators(sort="name").to_pandas()
    assert list(frame["name"]) == ["aten::addmm", "aten::linear"]
    assert list(frame["self_host_ns"]) == [50_000, 30_000]
    assert len(trace.slices.to_pandas()) == 3


def test_duckdb_has_slices_and_views_as_tables(trace: stepscope.Trace) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    connection = trace.duckdb()
    query = "select name, sum(dur_ns) from slices group by name order by name"
    expected = [("aten::addmm", 50_000), ("aten::linear", 50_000)]
    assert connection.sql(query).fetchall() == expected
    assert connection.sql(query).fetchall() == expected
    joined = """select s.name, o.calls from slices s join operators o on s.name = o.name
                join slices p on s.parent_id = p.id"""
    assert connection.sql(joined).fetchall() == [("aten::addmm", 2)]


def test_saved_trace_loads_as_the_same(trace: stepscope.Trace, tmp_path: pathlib.Path) -> None:
    saved = tmp_path / "trace.sscope"
    trace.save(saved)
    again = stepscope.load(saved)
    query = "select * from slices"
    assert list(again.sql(query)) == list(trace.sql(query))
    assert again.operators().to_dict() == trace.operators().to_dict()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path / "absent.json", "no such file"),
        (lambda path: path, "no trace"),
    ],
)
def test_fault_is_a_trace_error_with_the_commands_message(
    make: Callable[[pathlib.Path], pathlib.Path],
    message: str,
    tmp_path: pathlib.Path,
    stepscope: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    import stepscope as package

    bad = make(tmp_path)
    with pytest.raises(package.TraceError) as raised:
        package.load(bad)
    printed = stepscope("report", bad).stderr
    assert printed.rstrip("\n") == f"stepscope: {raised.value}"
    assert message in str(raised.value).lower() or "director" in str(raised.value)


def test_bad_sql_and_unknown_names_are_trace_errors(trace: stepscope.Trace) -> None:
    with pytest.raises(stepscope.TraceError, match="no such table"):
        trace.sql("select * from absent")
    with pytest.raises(stepscope.TraceError, match="unknown view"):
        trace.view("nothing")
    with pytest.raises(stepscope.TraceError, match="nothing"):
        trace.operators(sort="nothing")


def test_sql_can_not_write(trace: stepscope.Trace) -> None:
    for statement in ("create table t (a)", "delete from slices", "attach 'x.db' as x"):
        with pytest.raises(stepscope.TraceError):
            trace.sql(statement)


def test_other_threads_run_while_a_trace_loads(tmp_path: pathlib.Path) -> None:
    event = json.dumps(EVENTS[1])
    big = tmp_path / "big.json"
    big.write_text('{"traceEvents":[' + ",".join([event] * 200_000) + "]}")
    ticks: list[float] = []
    done = threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.monotonic()
    trace = stepscope.load(big)
    end = time.monotonic()
    done.set()
    thread.join()
    assert len(trace.slices) == 200_000
    assert len([t for t in ticks if begin < t < end]) >= 3


def test_import_brings_in_neither_torch_nor_numpy() -> None:
    heavy = "{'torch', 'numpy', 'pandas', 'pyarrow'}"
    code = f"import sys, stepscope; print({heavy} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"
