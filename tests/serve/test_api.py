"""The answers of the API: the same figures as the command prints, and errors that say why."""

import json
import pathlib
import struct
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

from .conftest import HOSTILE, Server, start, stop

VIEWS = [
    "overview",
    "tracks",
    "operators",
    "kernels",
    "steps",
    "phases",
    "input",
    "modules",
    "devices",
    "ranks",
    "collectives",
    "gpu",
    "launches",
    "copies",
    "syncs",
    "critical_path",
    "sequences",
    "roofline",
    "cupti",
    "memory",
    "tree",
    "functions",
    "lines",
    "callers",
    "callees",
    "findings",
]


def ask_command(stepscope_bin: pathlib.Path, *arguments: object) -> Any:
    words = [stepscope_bin, *map(str, arguments), "--format", "json"]
    return json.loads(subprocess.run(words, capture_output=True, check=True, timeout=60).stdout)


@pytest.mark.parametrize("view", VIEWS)
def test_table_is_what_report_prints(
    server: Server, stepscope_bin: pathlib.Path, traces: list[pathlib.Path], view: str
) -> None:
    for run, path in enumerate(traces):
        expected = ask_command(stepscope_bin, "report", path, "--view", view)
        assert server.api("table", run=run, view=view).json() == expected


def test_options_of_a_table_are_those_of_report(
    server: Server, stepscope_bin: pathlib.Path, traces: list[pathlib.Path]
) -> None:
    options = {"sort": "+calls", "limit": 2, "filter": "aten|launch", "by": "shape"}
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    expected = ask_command(stepscope_bin, "report", traces[0], "--view", "operators", *words)
    assert server.api("table", view="operators", **options).json() == expected

    words = ["--range", "5ms..10ms", "--track", "main", "--depth", "1"]
    expected = ask_command(stepscope_bin, "report", traces[0], "--view", "tree", *words)
    found = server.api(
        "table", view="tree", begin_ns=5_000_000, end_ns=10_000_000, track="main", depth=1
    )
    assert found.json() == expected
    assert expected["rows"]


def test_diff_what_if_and_sql_are_those_of_the_command(
    server: Server, stepscope_bin: pathlib.Path, traces: list[pathlib.Path]
) -> None:
    diff = ask_command(stepscope_bin, "diff", *traces)
    assert server.api("diff", a=0, b=1).json() == diff
    assert diff["rows"]
    what = ask_command(stepscope_bin, "report", traces[0], "--what-if", "gemm=2x")
    assert server.api("what-if", what="gemm=2x").json() == what
    statement = "SELECT name, count(*) AS n, sum(dur_ns) AS t FROM slices GROUP BY name ORDER BY t"
    query = ask_command(stepscope_bin, "query", traces[0], statement)
    assert server.sql(statement).json() == query
    assert len(server.sql(statement, limit=2).json()["rows"]) == 2


def test_runs_say_what_opened_and_why_not(server: Server, traces: list[pathlib.Path]) -> None:
    answer = server.api("runs").json()
    assert answer["can"] == {"sql": True, "diff": True, "what_if": True, "job": True}
    runs = answer["runs"]
    assert [run["id"] for run in runs] == [0, 1, 2]
    assert [run["name"] for run in runs] == ["before.json", "after.json", "missing.json"]
    assert [run["path"] for run in runs[:2]] == [str(path) for path in traces]
    assert [run["error"] is None for run in runs] == [True, True, False]
    assert runs[2]["error"].endswith("missing.json: no such file")
    assert [run["slices"] for run in runs] == [200, 200, 0]
    assert runs[0]["span_ns"] == 39 * 1_000_000 + 900_500
    assert not any(run["is_live"] for run in runs)
    assert [run["job"] for run in runs] == [0, 0, 0]


@pytest.fixture(scope="module")
def job_server(stepscope_bin: pathlib.Path, job_folder: pathlib.Path) -> Iterator[Server]:
    running = start(stepscope_bin, job_folder)
    yield running
    assert stop(running) == 0


@pytest.mark.parametrize(
    "options",
    [
        {"view": "ranks"},
        {"view": "ranks", "sort": "-wait_ns", "limit": 3},
        {"view": "collectives"},
        {"view": "collectives", "by": "rank", "limit": 0, "filter": "reduce"},
        {"view": "groups"},
        {"view": "findings"},
    ],
)
def test_a_job_is_what_ranks_prints(
    job_server: Server,
    stepscope_bin: pathlib.Path,
    job_folder: pathlib.Path,
    options: dict[str, Any],
) -> None:
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    expected = ask_command(stepscope_bin, "ranks", job_folder, *words)
    assert job_server.api("job", **options).json() == expected
    assert expected.get("rows") or expected["findings"]


def test_real_ranks_are_what_ranks_prints(
    stepscope_bin: pathlib.Path, shared_data: pathlib.Path
) -> None:
    folder = shared_data / "hta/trace_filter"
    running = start(stepscope_bin, folder)
    try:
        for view in ("ranks", "collectives", "groups", "findings"):
            expected = ask_command(stepscope_bin, "ranks", folder, "--view", view)
            assert running.api("job", view=view).json() == expected, view
    finally:
        assert stop(running) == 0


def test_a_job_says_which_runs_did_not_open(server: Server) -> None:
    notes = server.api("job", view="ranks").json()["stats"]["notes"]
    assert any(n.startswith("not read: ") and "missing.json: no such file" in n for n in notes)


WORKER = """
import pathlib, sys, time
import stepscope
pathlib.Path(sys.argv[1]).touch()
while not pathlib.Path(sys.argv[2]).exists():
    time.sleep(0.001)
for _ in range(6):
    time.sleep(0.02)
    stepscope.step()
"""
MAIN = """
import subprocess, sys
orders = (("a", "b"), ("b", "a"))
workers = [subprocess.Popen([sys.executable, "worker.py", *order]) for order in orders]
assert [worker.wait() for worker in workers] == [0, 0]
"""


@pytest.mark.live
def test_processes_of_one_run_that_train_at_the_same_time_are_ranks(
    stepscope_bin: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """The folder of a run is one run of the server; its processes are told apart."""
    (tmp_path / "worker.py").write_text(WORKER)
    (tmp_path / "main.py").write_text(MAIN)
    subprocess.run(
        [stepscope_bin, "run", "-o", "run", "main.py"], check=True, timeout=60, cwd=tmp_path
    )
    run = tmp_path / "run"
    running = start(stepscope_bin, run)
    try:
        assert len(running.api("runs").json()["runs"]) == 1
        found = running.api("job", view="ranks").json()
    finally:
        assert stop(running) == 0
    expected = ask_command(stepscope_bin, "ranks", run)
    assert len(expected["rows"]) == 2
    assert [row[:-1] for row in found["rows"]] == [row[:-1] for row in expected["rows"]]
    assert [row[-1] for row in found["rows"]] == [f"run/{row[-1]}" for row in expected["rows"]]


def test_wrong_questions_about_a_job_say_why(server: Server) -> None:
    for options, status in (
        ({"view": "kernels"}, 404),
        ({"view": "ranks", "run": 17}, 404),
        ({"view": "ranks", "by": "shape"}, 400),
        ({"view": "ranks", "sort": "nothing"}, 400),
    ):
        answer = server.api("job", **options)
        assert answer.status == status, options
        assert answer.json()["error"]


def test_tracks_are_those_of_the_view(server: Server) -> None:
    answer = server.api("tracks").json()
    table = server.api("table", view="tracks").json()
    names = [column["name"] for column in table["columns"]]
    rows = {row[0]: dict(zip(names, row, strict=True)) for row in table["rows"]}
    assert {track["id"] for track in answer["tracks"]} == set(rows)
    for track in answer["tracks"]:
        assert track["kind"] == rows[track["id"]]["kind"]
        assert track["slices"] == rows[track["id"]]["slices"]
    assert HOSTILE in [process["name"] for process in answer["processes"]]
    counter = next(track for track in answer["tracks"] if track["kind"] == "counter")
    assert (counter["min"], counter["max"], counter["unit"]) == (0, 39_000, "bytes")
    thread = next(track for track in answer["tracks"] if track["kind"] == "thread")
    assert (thread["name"], thread["depth"]) == ("thread 7 (main)", 3)
    stream = next(track for track in answer["tracks"] if track["kind"] == "stream")
    assert stream["device"] == 0


def read_tile(data: bytes) -> tuple[dict[str, int], list[dict[str, Any]], bytes]:
    names = ("magic", "track", "level", "index", "kind", "count", "bytes", "index_high")
    head = dict(zip(names, struct.unpack_from("<8I", data), strict=True))
    n, at = head["count"], 32
    columns = (
        {"slice": "I", "label": "I", "number": "I", "begin": "f", "end": "f", "depth": "H"}
        if head["kind"] == 0
        else {"at": "f", "least": "f", "most": "f", "last": "f"}
    )
    items: list[dict[str, Any]] = [{} for _ in range(n)]
    for name, code in columns.items():
        for item, value in zip(items, struct.unpack_from(f"<{n}{code}", data, at), strict=True):
            item[name] = value
        at += n * struct.calcsize(code)
    assert head["magic"] == 0x4C495453
    assert head["bytes"] == (at + 3) // 4 * 4
    return head, items, data[head["bytes"] :]


def test_tiles_show_every_slice_where_sql_says_it_is(server: Server) -> None:
    tracks = server.api("tracks").json()["tracks"]
    thread = next(track["id"] for track in tracks if track["kind"] == "thread")
    counter = next(track["id"] for track in tracks if track["kind"] == "counter")
    data = server.api("tiles", level=0, want=f"{thread}.0,{counter}.0").body
    head, items, rest = read_tile(data)
    assert (head["track"], head["level"], head["index"], head["kind"]) == (thread, 0, 0, 0)
    rows = server.sql(
        "SELECT name, start_ns, dur_ns, depth FROM slices WHERE track_id = "
        f"{thread} ORDER BY depth, start_ns"
    ).json()
    if "error" in rows:
        pytest.fail(rows["error"])
    assert sum(item["number"] for item in items) == len(rows["rows"])
    bucket_ns = (1 << (39_900_500).bit_length()) / 512
    steps = [row for row in rows["rows"] if row[3] == 0]
    found = [item for item in items if item["depth"] == 0]
    assert len(found) == len(steps) == 40
    ids = ",".join(str(label) for label in dict.fromkeys(item["label"] for item in items))
    labels = {at["id"]: at for at in server.api("labels", ids=ids).json()["labels"]}
    for item, (name, start_ns, dur_ns, _) in zip(found, steps, strict=True):
        assert labels[item["label"]]["name"] == name
        assert item["begin"] == pytest.approx(start_ns / bucket_ns, abs=1e-3)
        assert item["end"] == pytest.approx((start_ns + dur_ns) / bucket_ns, abs=1e-3)
    assert HOSTILE in [label["name"] for label in labels.values()]
    head, values, rest = read_tile(rest)
    assert (head["kind"], rest) == (1, b"")
    assert [value["last"] for value in values] == [1000.0 * step for step in range(40)]


def test_finest_tiles_are_there(server: Server) -> None:
    tracks = server.api("tracks").json()["tracks"]
    thread = next(track["id"] for track in tracks if track["kind"] == "thread")
    levels = (39_900_500).bit_length() - 9
    _, items, _ = read_tile(server.api("tiles", level=levels, want=f"{thread}.0").body)
    assert [item["depth"] for item in items] == [0]
    assert server.api("tiles", level=levels + 1, want=f"{thread}.0").status == 404


def test_search_slice_and_flame_agree(server: Server) -> None:
    found = server.api("search", q="ATEN::LIN", limit=3).json()
    assert (found["total"], len(found["matches"])) == (40, 3)
    match = found["matches"][0]
    slice_ = server.api("slice", id=match["slice"]).json()
    assert slice_["name"] == "aten::linear"
    assert slice_["self_ns"] == 280_125
    assert [parent["name"] for parent in slice_["parents"]] == ["ProfilerStep#0"]
    assert {"key": "Input Dims", "value": [[8, 16], [16, 4]]} in slice_["args"]
    launch = server.api("search", q="/^cudalaunch/", limit=1).json()["matches"][0]["slice"]
    flows = server.api("slice", id=launch).json()["flows"]
    assert [(flow["name"], flow["is_out"]) for flow in flows] == [("gemm", True)]

    flame = server.api("flame", least=0).json()
    names = {label["id"]: label["name"] for label in flame["labels"]}
    nodes = flame["nodes"]
    by_name = [names[label] for label in nodes["label"]]
    total = sum(
        ns for ns, name in zip(nodes["total_ns"], by_name, strict=True) if name == "aten::linear"
    )
    assert total == 40 * 300_125
    assert flame["total_ns"] == 40 * 900_500
    both = server.api("diff-flame", a=0, b=1, least=0).json()
    assert (both["total_ns"], both["other_ns"]) == (40 * 900_500, 40 * 810_450)


@pytest.mark.parametrize(
    ("path", "parameters", "status"),
    [
        ("tracks", {"run": 9}, 404),
        ("tracks", {"run": 2}, 404),
        ("tracks", {"run": -1}, 400),
        ("tracks", {"run": "x"}, 400),
        ("tracks", {"run": "0x0"}, 400),
        ("tracks", {"run": 1 << 70}, 400),
        ("tiles", {}, 400),
        ("tiles", {"want": "0"}, 400),
        ("tiles", {"want": "0.0", "level": 64}, 400),
        ("tiles", {"want": "0.0", "level": 63}, 404),
        ("tiles", {"want": "99.0"}, 404),
        ("tiles", {"want": "0.1"}, 404),
        ("tiles", {"want": "0.-1"}, 400),
        ("tiles", {"want": ","}, 400),
        ("tiles", {"want": ",".join(["0.0"] * 257)}, 400),
        ("labels", {}, 400),
        ("labels", {"ids": "99999"}, 404),
        ("labels", {"ids": "1,,2"}, 400),
        ("labels", {"ids": ",".join(["1"] * 1001)}, 400),
        ("slice", {"id": 200}, 404),
        ("slice", {"id": 4294967295}, 404),
        ("slice", {"id": 4294967296}, 400),
        ("search", {"q": "/(/"}, 400),
        ("search", {"q": "a", "limit": "many"}, 400),
        ("table", {}, 404),
        ("table", {"view": "x"}, 404),
        ("table", {"view": "tree", "sort": "nothing"}, 400),
        ("table", {"view": "tree", "filter": "("}, 400),
        ("table", {"view": "operators", "by": "colour"}, 400),
        ("table", {"view": "tree", "limit": 1.5}, 400),
        ("table", {"view": "tree", "track": "nowhere"}, 400),
        ("flame", {"least": 2}, 400),
        ("flame", {"least": "nan"}, 400),
        ("flame", {"tracks": "77"}, 400),
        ("flame", {"kind": "x"}, 400),
        ("flame", {"inverted": "maybe"}, 400),
        ("diff", {"a": 0, "b": 2}, 404),
        ("what-if", {}, 400),
        ("what-if", {"what": "nothing"}, 400),
        ("memory-flow", {"limit": 0}, 400),
        ("sql", {}, 405),
    ],
)
def test_bad_parameter_is_told_in_one_line(
    server: Server, path: str, parameters: dict[str, object], status: int
) -> None:
    answer = server.api(path, **parameters)
    assert answer.status == status
    assert list(answer.json()) == ["error"]
    message = answer.json()["error"]
    assert message
    assert "\n" not in message


@pytest.mark.parametrize(
    "statement",
    [
        "",
        "SELECT",
        "DELETE FROM slices",
        "SELECT 1; SELECT 2",
        "ATTACH '/tmp/x' AS x",
        "SELECT * FROM x",
        "CREATE TABLE x (y)",
        "PRAGMA journal_mode",
        "SELECT load_extension('x')",
        "\x00",
    ],
)
def test_sql_that_is_not_one_select_is_refused(server: Server, statement: str) -> None:
    answer = server.sql(statement)
    assert answer.status == 400
    assert answer.json()["error"]


def test_sql_reads_no_files(server: Server) -> None:
    for statement in ("SELECT readfile('/etc/passwd')", "SELECT writefile('/tmp/x', 'y')"):
        assert server.sql(statement).status == 400


@pytest.mark.live
def test_run_that_is_being_recorded_is_read_again(
    stepscope_bin: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import select, sys, time\n"
        "def work():\n    return sum(range(2000))\n"
        "while not select.select([sys.stdin], [], [], 0)[0]:\n"
        "    for _ in range(20): work()\n"
        "    time.sleep(0.01)\n"
    )
    folder = tmp_path / "run"
    recorder = subprocess.Popen(
        [stepscope_bin, "run", "-o", folder, program],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    server = None
    try:
        until = time.monotonic() + 30
        while not list(folder.glob("*.sscope")) and time.monotonic() < until:
            time.sleep(0.1)
        time.sleep(1)
        server = start(stepscope_bin, folder)
        first = server.api("runs").json()["runs"][0]
        assert first["is_live"]
        latest = first
        while latest["version"] < first["version"] + 2 and time.monotonic() < until:
            time.sleep(0.3)
            latest = server.api("runs").json()["runs"][0]
        assert latest["version"] >= first["version"] + 2
        assert latest["slices"] > first["slices"]
        recorder.communicate(b"\n", timeout=60)
        until = time.monotonic() + 30
        while latest["is_live"] and time.monotonic() < until:
            time.sleep(0.3)
            latest = server.api("runs").json()["runs"][0]
        assert not latest["is_live"]
        count = server.sql("SELECT count(*) FROM slices").json()["rows"][0][0]
        whole = ask_command(stepscope_bin, "query", folder, "SELECT count(*) FROM slices")
        assert count == latest["slices"] == whole["rows"][0][0]
    finally:
        recorder.kill()
        recorder.wait()
        if server:
            assert stop(server) == 0
