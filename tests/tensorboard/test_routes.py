"""What the plugin says over TensorBoard's own server."""

import json
import pathlib
import subprocess
import time
from typing import Any

from .conftest import COMMAND, PLUGIN, Board, StartBoard, trace_text

MONDAY = "resnet/plugins/profile/monday"
WORKER0 = f"{MONDAY}/worker0.1623143089861"
WORKER1 = f"{MONDAY}/worker1.1623143089870"
PROFILE = "tf/plugins/profile/2026_11_16_10_00_00"


def test_tensorboard_lists_the_tab(board: Board) -> None:
    listed = board.ask("data/plugins_listing").json()["stepscope"]
    assert listed["enabled"] is True
    assert listed["tab_name"] == "Stepscope"
    assert listed["loading_mechanism"]["type"] == "IFRAME"


def test_runs_are_those_of_the_logdir_and_none_that_a_link_leads_to(board: Board) -> None:
    runs = {WORKER0, WORKER1, f"{MONDAY}/broken.1", "kept", "recorded", PROFILE}
    assert set(board.runs()) == runs


def test_profile_of_tensorflow_is_one_run_and_shows_its_pipeline(board: Board) -> None:
    run = board.runs()[PROFILE]["id"]
    answer = board.api("table", run=run, view="input", limit=0).json()
    names = [column["name"] for column in answer["columns"]]
    rows = [dict(zip(names, row, strict=True)) for row in answer["rows"]]
    assert [row["name"] for row in rows if row["is_bottleneck"]] == ["Map"]
    assert len(answer["verdict"]) == 4


def test_run_is_loaded_when_it_is_asked_for(start_board: StartBoard, logdir: pathlib.Path) -> None:
    with start_board("--logdir", logdir) as fresh:
        runs = fresh.runs()
        assert all(run["is_waiting"] for run in runs.values())
        wanted = runs[WORKER0]["id"]
        after = {run["name"]: run for run in fresh.api("runs", run=wanted).json()["runs"]}
        assert after[WORKER0]["slices"] == 90
        assert "is_waiting" not in after[WORKER0]
        assert after[WORKER1]["is_waiting"] is True


def notes_of(table: dict[str, Any]) -> list[str]:
    return list(table["stats"]["notes"])


def test_ranks_are_of_one_folder_and_read_when_they_are_wanted(
    start_board: StartBoard, logdir: pathlib.Path
) -> None:
    with start_board("--logdir", logdir) as fresh:
        runs = fresh.runs()
        assert runs[WORKER0]["job"] == runs[WORKER1]["job"] != runs["kept"]["job"]
        shown = runs[WORKER0]["id"]
        fresh.api("runs", run=shown)
        table = fresh.api("job", run=shown, view="ranks").json()
        assert [row[-1] for row in table["rows"]] == [WORKER0]
        assert (
            "2 more runs are not loaded, and not part of these figures" in table["stats"]["notes"]
        )
        table = fresh.api("job", run=shown, view="ranks", waiting=1).json()
        assert [row[-1] for row in table["rows"]] == [WORKER0, WORKER1]
        assert any(note.startswith("not read: ") for note in notes_of(table))
        assert fresh.runs()[WORKER1]["is_waiting"] is True


def test_tables_are_those_of_the_command(board: Board, logdir: pathlib.Path) -> None:
    for name, file in ((WORKER0, f"{WORKER0}.pt.trace.json"), ("recorded", "recorded")):
        for view in ("operators", "functions"):
            answer = board.api("table", run=board.runs()[name]["id"], view=view, limit=0)
            command = [COMMAND, "report", logdir / file, "--view", view, "--limit", "0"]
            printed = subprocess.run(
                [*map(str, command), "--format", "json"], check=True, capture_output=True
            ).stdout
            assert answer.status == 200
            assert answer.json()["rows"] == json.loads(printed)["rows"], (name, view)


def test_tiles_are_bytes(board: Board) -> None:
    run = board.runs()["kept"]["id"]
    track = board.api("tracks", run=run).json()["tracks"][0]["id"]
    answer = board.api("tiles", run=run, level=0, want=f"{track}.0")
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.body[:4] == b"STIL"


def test_two_workers_are_compared(board: Board) -> None:
    runs = board.runs()
    answer = board.api("diff", a=runs[WORKER0]["id"], b=runs[WORKER1]["id"])
    assert answer.status == 200
    assert any("aten::linear" in row for row in answer.json()["rows"])


def test_sql_is_asked_with_post(board: Board) -> None:
    run = board.runs()[WORKER0]["id"]
    answer = board.api("sql", b"SELECT count(*) FROM slices", run=run)
    assert answer.json()["rows"] == [[90]]
    assert board.api("sql", run=run).status == 405
    assert board.api("sql", b"x" * 100_000, run=run).status == 413


def test_broken_trace_says_why(board: Board) -> None:
    answer = board.api("tracks", run=board.runs()[f"{MONDAY}/broken.1"]["id"])
    assert answer.status == 404
    assert "broken.1.pt.trace.json" in answer.json()["error"]


def test_what_is_not_there_is_an_error(board: Board) -> None:
    assert board.api("tracks", run=99).status == 404
    assert board.api("tracks", run="../../etc").status == 400
    assert board.api("nothing").status == 404
    assert board.api("../../../../etc/passwd").status in (400, 404)
    assert board.ask(f"{PLUGIN}/../../etc/passwd").status == 404
    assert board.ask(f"{PLUGIN}/api/runs", method="DELETE").status == 405
    assert board.api("search", run=0, q="\udcff".encode("utf-8", "surrogatepass")).status == 200


def test_page_has_the_policy_of_tensorboard(board: Board) -> None:
    page = board.ask(f"{PLUGIN}/index.html")
    assert "default-src 'self'" in page.headers["Content-Security-Policy"]
    assert b"app.js" in page.body
    assert board.ask(f"{PLUGIN}/app.js").headers["Content-Type"].startswith("text/javascript")
    assert board.ask(f"{PLUGIN}/app.css").headers["Content-Type"].startswith("text/css")


def test_tab_is_hidden_until_there_is_a_trace(
    start_board: StartBoard, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "notes.json").write_text("{}")
    with start_board("--logdir_spec", f"mine:{tmp_path}", "--path_prefix=/board") as board:
        assert not board.is_active()
        assert board.runs() == {}
        job = tmp_path / "job"
        job.mkdir()
        trace = job / "rank0.pt.trace.json"
        trace.write_text(trace_text()[:100])  # still being written
        wait_until_active(board)
        assert set(board.runs()) == {"mine/job/rank0"}
        assert board.api("tracks", run=0).status == 404
        trace.write_text(trace_text())
        assert board.api("tracks", run=0).status == 200


def wait_until_active(board: Board) -> None:
    end = time.monotonic() + 20
    while not board.is_active():
        assert time.monotonic() < end, "the tab stays hidden"
        time.sleep(0.2)
