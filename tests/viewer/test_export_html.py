"""`stepscope export-html`: the file opened from disk with the network cut, beside the command's own
figures. That no request but for the file itself is made is watched by `open_page`."""

import dataclasses
import json
import pathlib
import random
import re
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from .command_tables import assert_same, rows_of
from .conftest import (
    HOSTILE,
    OpenPage,
    Server,
    complete,
    hostile_events,
    known_events,
    write_json,
)
from .screen import Screen, wait_until

pytestmark = pytest.mark.usefixtures("page")

MAIN = "thread 1 (main)"
WORKER = "thread 2 (worker)"

Command = Callable[..., subprocess.CompletedProcess[str]]


@dataclasses.dataclass(frozen=True)
class Exported:
    """A file, where the other tests have a server."""

    path: pathlib.Path
    token: str = ""

    @property
    def address(self) -> str:
        return self.path.as_uri()


@pytest.fixture
def open_file(open_page: OpenPage) -> Callable[..., Screen]:
    def open_offline(file: Exported, **state: object) -> Screen:
        screen = open_page(file, **state)
        screen.page.context.set_offline(True)
        screen.go(**state)
        return screen

    return open_offline


@pytest.fixture(scope="session")
def known_file(stepscope: Command, folder: pathlib.Path) -> Exported:
    trace = write_json(folder / "for_export.json", known_events())
    target = folder / "known.html"
    stepscope("export-html", trace, target, check=True)
    return Exported(target)


@pytest.fixture(scope="session")
def runs_file(stepscope: Command, folder: pathlib.Path, gpu_traces: list[pathlib.Path]) -> Exported:
    target = folder / "runs.html"
    stepscope("export-html", *gpu_traces, target, check=True)
    return Exported(target)


@pytest.fixture(scope="session")
def crowded_file(stepscope: Command, folder: pathlib.Path) -> Exported:
    """More slices than the file has room for."""
    events = [
        complete(f"call {i % 5000}", 2 * i, 1, args={"number": i * 7919, "text": f"{i:x}" * 3})
        for i in range(60_000)
    ]
    events += [
        complete("tiny", 600 * i, 0.5, tid=2, args={"noise": random.randbytes(200).hex()})
        for i in range(200)
    ]
    trace = write_json(folder / "crowded.json", events)
    target = folder / "crowded.html"
    stepscope("export-html", trace, target, "--max-size", "700KB", check=True)
    return Exported(target)


def test_slices_are_painted_where_they_are(
    open_file: Callable[..., Screen], known_file: Exported
) -> None:
    screen = open_file(known_file, view="timeline", range="0-3000000")

    def color(at: float) -> Any:
        return screen.color_at(*screen.place(MAIN, 0, at))

    wait_until(lambda: color(0.16) != color(0.5), "alpha is painted")
    ground = color(0.5)
    assert color(0.83) != ground
    assert screen.color_at(*screen.place(WORKER, 0, 0.5)) != ground
    assert screen.color_at(*screen.place(WORKER, 0, 0.16)) == ground


def test_slice_tells_its_arguments_when_clicked(
    open_file: Callable[..., Screen], known_file: Exported
) -> None:
    screen = open_file(known_file, view="timeline", range="0-3000000")
    wait_until(
        lambda: (
            screen.color_at(*screen.place(MAIN, 1, 0.23))
            != screen.color_at(*screen.place(MAIN, 1, 0.5))
        ),
        "gamma is painted",
    )
    screen.page.mouse.click(*screen.place(MAIN, 1, 0.23))
    screen.wait_for_text("last one")
    assert "gamma" in screen.text()
    assert "200" in screen.text()


def test_search_leads_to_slices(open_file: Callable[..., Screen], known_file: Exported) -> None:
    screen = open_file(known_file, view="timeline", q="EPSI")
    screen.wait_for_text("1 of 1")
    screen.wait_for_state(slice=screen.state()["slice"])
    screen.wait_for_text("epsilon")


@pytest.mark.parametrize("view", ["operators", "kernels"])
def test_figures_are_those_of_the_command(
    open_file: Callable[..., Screen],
    runs_file: Exported,
    stepscope: Command,
    gpu_traces: list[pathlib.Path],
    view: str,
) -> None:
    for run, trace in enumerate(gpu_traces):
        screen = open_file(runs_file, view=view, run=run)
        shown = screen.rows(view.capitalize())
        assert_same(shown, rows_of(stepscope, "report", trace, "--view", view))


def test_every_view_shows_something_of_a_training(
    open_file: Callable[..., Screen],
    stepscope: Command,
    folder: pathlib.Path,
    training_run: pathlib.Path,
) -> None:
    target = folder / "training.html"
    stepscope("export-html", training_run, target, check=True)
    screen = open_file(Exported(target))
    for view in ("overview", "timeline", "functions", "operators", "modules", "steps", "memory",
                 "input", "ranks", "gpu"):  # fmt: skip
        screen.go(view=view)
        wait_until(lambda: "Loading" not in screen.text(), f"{view} is there")
        assert "not in the file" not in screen.text(), view
        assert len(screen.text()) > 40, view


def test_ranks_of_a_job_are_there(
    open_file: Callable[..., Screen],
    stepscope: Command,
    folder: pathlib.Path,
    job_folder: pathlib.Path,
) -> None:
    target = folder / "job.html"
    stepscope("export-html", job_folder, target, check=True)
    for run in (0, 3):
        screen = open_file(Exported(target), view="ranks", run=run)
        assert_same(screen.rows("Ranks"), rows_of(stepscope, "ranks", job_folder), least=8)
        assert screen.page.locator("article.finding").count() > 0
        screen.table("Process groups")
    screen.page.get_by_role("combobox", name="By").select_option("rank")
    wait_until(lambda: len(screen.rows("Collectives")) == 8, "a row per rank")


@pytest.mark.parametrize("show", ["gpu", "launches", "copies", "syncs", "critical_path",
                                  "sequences", "roofline", "cupti"])  # fmt: skip
def test_every_table_of_devices_is_there(
    open_file: Callable[..., Screen], runs_file: Exported, known_file: Exported, show: str
) -> None:
    screen = open_file(runs_file, view="gpu", gpu__show=show, run=1)
    answer = screen.page.locator("main .table-frame, main p.quiet").first
    answer.wait_for()
    for by in range(screen.page.locator("main select option").count()):
        screen.page.locator("main select").select_option(index=by)
        answer.wait_for()
        screen.page.wait_for_timeout(100)
        assert "not in the file" not in screen.text()
    screen = open_file(known_file, view="gpu", gpu__show=show)
    screen.wait_for_text("no work of a device in this trace")


def label_of(stepscope: Command, run: pathlib.Path, function: str) -> str:
    """As slices of the function are named."""
    printed = stepscope("report", run, "--view", "functions", "--filter", f"^{function}$",
                        "--format", "json", check=True).stdout  # fmt: skip
    [row] = json.loads(printed)["rows"]
    columns = [column["name"] for column in json.loads(printed)["columns"]]
    known = dict(zip(columns, row, strict=True))
    return f"{known['file']}({known['line']}): {known['name']}"


def test_callers_and_callees_are_there_for_every_function(
    open_file: Callable[..., Screen],
    stepscope: Command,
    folder: pathlib.Path,
    training_run: pathlib.Path,
) -> None:
    target = folder / "focus.html"
    stepscope("export-html", training_run, target, check=True)
    screen = open_file(Exported(target), view="functions")
    assert any("distort" in str(row) for row in screen.rows("Functions"))
    focus = label_of(stepscope, training_run, "distort")
    screen.go(view="functions", functions__focus=focus)
    screen.wait_for_text("Who calls distort")
    heads = screen.page.locator(".sandwich h2").all_inner_texts()
    assert [head.split(" ")[:2] for head in heads] == [["Who", "calls"], ["What", "distort"]]
    wait_until(lambda: screen.page.locator(".sandwich canvas").count() >= 2, "both halves")


CALLS = """
import time

def leaf():
    time.sleep(0.001)

def branch(depth):
    leaf()
    if depth > 0:
        other(depth - 1)
        branch(depth - 1)

def other(depth):
    branch(depth)
    leaf()

branch(4)
other(2)
"""


def told_of(screen: Screen, half: str, deeper: str, back: str) -> list[str]:
    """What is said of every node of a half of the sandwich, walked from its top with keys."""
    picture = screen.page.get_by_role("application", name=half)
    picture.focus()
    said = screen.page.locator(".flame").filter(has=picture).locator("[aria-live]")

    def after(key: str) -> str:
        screen.page.keyboard.press(key)
        return str(said.inner_text())

    told = [str(said.inner_text())]
    level = 0
    while True:
        here = told[-1]
        if (child := after(deeper)) != here:
            told.append(child)
            level += 1
            continue
        while (beside := after("ArrowRight")) == here and level > 0:
            here = after(back)
            level -= 1
        if level == 0:
            return told
        told.append(beside)


@pytest.fixture(scope="session")
def calls_run(stepscope: Command, folder: pathlib.Path) -> pathlib.Path:
    """Functions that call each other, none of which is too short to be drawn."""
    script = folder / "calls.py"
    script.write_text(CALLS)
    run = folder / "calls"
    stepscope("run", "--only", "mine", "-o", run, script, check=True)
    return run


@pytest.mark.parametrize("name", ["<module>", "branch", "other", "leaf"])
def test_callers_and_callees_are_those_of_the_server(
    open_page: OpenPage,
    open_file: Callable[..., Screen],
    serve: Callable[..., Server],
    stepscope: Command,
    folder: pathlib.Path,
    calls_run: pathlib.Path,
    name: str,
) -> None:
    target = folder / "calls.html"
    stepscope("export-html", calls_run, target, check=True)
    focus = label_of(stepscope, calls_run, name)
    state = {"view": "functions", "functions__focus": focus, "functions__depth": 0}
    told = []
    for screen in (open_page(serve(calls_run), **state), open_file(Exported(target), **state)):
        screen.wait_for_text(f"Who calls {name}")
        told.append(
            told_of(screen, "Callers", "ArrowUp", "ArrowDown")
            + told_of(screen, "Callees", "ArrowDown", "ArrowUp")
        )
    assert told[0] == told[1]
    assert len(told[0]) > 5
    assert all(re.search(r": total .*, self .*, calls \d+", text) for text in told[0])


def test_what_needs_a_server_says_so(open_file: Callable[..., Screen], runs_file: Exported) -> None:
    screen = open_file(runs_file, view="sql")
    screen.wait_for_text("stepscope view")
    screen.go(view="compare")
    screen.wait_for_text("stepscope view")
    screen.go(view="timeline", area="0-5000000")
    screen.wait_for_text("stepscope view")


def test_page_says_what_was_left_out(
    open_file: Callable[..., Screen], crowded_file: Exported
) -> None:
    screen = open_file(crowded_file, view="timeline")
    screen.page.locator(".left-out summary").click()
    said = screen.page.inner_text(".left-out")
    assert "of 60200 slices" in said
    assert "of 2 tracks of the timeline" in said


def test_timeline_draws_the_finest_there_is_and_says_so(
    open_file: Callable[..., Screen], crowded_file: Exported
) -> None:
    screen = open_file(crowded_file, view="timeline")
    track = screen.page.get_by_role("group").first
    track.wait_for()
    note = screen.page.get_by_text("Finer details are not in this file")
    screen.go(view="timeline", range="60000000-60200000")
    note.wait_for()
    # Every second microsecond has a call, of which eight are one item here: without a gap.
    box = screen.canvas()
    picture = screen.picture()
    y = int(screen.place("thread 1", 0, 0.5)[1])
    left, right = int(box["x"]) + 5, int(box["x"] + box["width"]) - 5
    painted = sum(picture.getpixel((x, y)) != (255, 255, 255) for x in range(left, right))
    assert painted > 0.7 * (right - left)
    # Where all is shown, nothing is missing.
    screen.go(view="timeline")
    track.wait_for()
    middle = screen.place("thread 1", 0, 0.5)
    wait_until(lambda: screen.color_at(*middle) != (255, 255, 255), "calls are painted")
    assert note.count() == 0


def test_slice_without_details_tells_what_the_timeline_knows(
    open_file: Callable[..., Screen], crowded_file: Exported
) -> None:
    screen = open_file(crowded_file, view="timeline", q="tiny", range="0-120000000")
    screen.wait_for_text("200 found in this file")
    screen.page.get_by_role("button", name="Next match").click()
    screen.wait_for_text("Its arguments, stack and flows are not in the file")
    panel = screen.page.get_by_role("complementary").inner_text()
    assert "tiny" in panel
    assert "500 ns" in panel


def test_names_of_html_and_script_are_text(
    open_file: Callable[..., Screen], stepscope: Command, folder: pathlib.Path
) -> None:
    trace = write_json(folder / "<img src=x onerror=alert(9)>.json", hostile_events())
    target = folder / "hostile.html"
    stepscope("export-html", trace, target, check=True)
    screen = open_file(Exported(target), view="operators")
    assert screen.rows("Operators")[0]["name"] == HOSTILE
    screen.go(view="timeline")
    assert HOSTILE in screen.text()
    assert screen.page.locator("img").count() == 0
