"""The view of ranks: who is slow is said, drawn and listed, as `stepscope ranks` has it."""

import json
import pathlib
from collections.abc import Callable
from typing import Any

import pytest

from .command_tables import assert_same, rows_of
from .conftest import Command, OpenPage, Server, write_json
from .screen import Screen, wait_until
from .test_access import settle, violations

BLUE_AT_LEAST = 60  # of computing, more than of red


@pytest.fixture(scope="session")
def job(serve: Callable[..., Server], job_folder: pathlib.Path) -> Server:
    return serve(job_folder)


def bars(screen: Screen) -> dict[str, float]:
    canvas = screen.page.get_by_role("application", name="Steps of ranks")
    canvas.wait_for()
    return dict(canvas.bounding_box())


def test_the_verdict_and_findings_are_those_of_the_command(
    open_page: OpenPage, job: Server, job_folder: pathlib.Path, stepscope: Command
) -> None:
    screen = open_page(job, view="ranks")
    verdict = screen.page.get_by_role("region", name="Verdict")
    verdict.wait_for()
    printed = stepscope("ranks", job_folder, "--format", "json", check=True).stdout
    lines = json.loads(printed)["verdict"]
    assert [line for line in verdict.inner_text().splitlines() if line] == lines
    assert "Rank 2 is slower" in verdict.inner_text()

    printed = stepscope("ranks", job_folder, "--view", "findings", "--format", "json", check=True)
    findings = json.loads(printed.stdout)["findings"]
    cards = screen.page.locator("article.finding")
    wait_until(lambda: cards.count() == len(findings), "a card for each finding")
    for card, finding in zip(cards.all(), findings, strict=True):
        for part in ("title", "severity", "where", "fix", "id"):
            assert finding[part] in card.inner_text()


@pytest.mark.parametrize(
    ("label", "options"),
    [
        ("Ranks", ["--view", "ranks"]),
        ("Collectives", ["--view", "collectives"]),
        ("Process groups", ["--view", "groups"]),
    ],
)
def test_figures_are_those_of_the_command(
    open_page: OpenPage,
    job: Server,
    job_folder: pathlib.Path,
    stepscope: Command,
    label: str,
    options: list[str],
) -> None:
    screen = open_page(job, view="ranks", size=(1900, 1400))
    expected = rows_of(stepscope, "ranks", job_folder, *options)
    assert_same(screen.rows(label), expected, least=len(expected))


def test_stragglers_are_marked_and_lead_to_their_timeline(open_page: OpenPage, job: Server) -> None:
    screen = open_page(job, view="ranks")
    rows = {row["rank"]: row for row in screen.rows("Ranks")}
    assert {rank for rank, row in rows.items() if row["straggler"] == "yes"} == {"2", "5"}
    assert rows["2"]["cause"] == "input"
    assert rows["5"]["cause"] == "slow-kernel"
    screen.table("Ranks").get_by_role("link", name="5", exact=True).click()
    screen.wait_for_state(view="timeline", run="5")
    assert "rank0005" in screen.page.title()
    screen.page.locator(".track-head").first.wait_for()


def test_collectives_are_told_apart_by_rank(
    open_page: OpenPage, job: Server, job_folder: pathlib.Path, stepscope: Command
) -> None:
    screen = open_page(job, view="ranks")
    screen.table("Collectives")
    screen.page.get_by_role("combobox", name="By").select_option("rank")
    screen.wait_for_state(collectives__by="rank")
    wait_until(lambda: len(screen.rows("Collectives")) == 8, "a row per rank")
    expected = rows_of(stepscope, "ranks", job_folder, "--view", "collectives", "--by", "rank")
    assert_same(screen.rows("Collectives"), expected, least=8)


def test_bars_are_drawn_in_the_order_of_the_table_and_walked_with_keys(
    open_page: OpenPage, job: Server
) -> None:
    screen = open_page(job, view="ranks")
    box = bars(screen)

    def color(row: int, at: float) -> tuple[int, int, int]:
        return screen.color_at(box["x"] + 30 + at * (box["width"] - 34), box["y"] + 24 * row + 10)

    def is_compute(row: int) -> bool:
        red, _, blue = color(row, 0.02)
        return blue - red > BLUE_AT_LEAST

    wait_until(lambda: all(is_compute(row) for row in range(8)), "bars that begin with computing")
    canvas = screen.page.get_by_role("application", name="Steps of ranks")
    canvas.focus()
    said = screen.page.locator(".part-bars [aria-live]")
    for _ in range(2):
        screen.page.keyboard.press("ArrowDown")
    wait_until(lambda: said.inner_text().startswith("rank 2: "), "the third rank")
    assert "straggler: input" in said.inner_text()
    assert "waiting" in said.inner_text()
    legend = screen.page.locator(".part-bars .legend")
    assert "rank 2" in legend.inner_text()

    head = screen.table("Ranks").get_by_role("columnheader", name="wait")
    head.get_by_role("button").click()
    screen.wait_for_state(ranks__sort="-wait_ns")
    first = screen.rows("Ranks")[0]["rank"]
    canvas.focus()
    screen.page.keyboard.press("Home")
    wait_until(lambda: said.inner_text().startswith(f"rank {first}: "), "who waits most")
    screen.page.keyboard.press("Enter")
    screen.wait_for_state(view="timeline", run=None if first == "0" else first)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_rule_of_axe_is_broken(open_page: OpenPage, job: Server, scheme: str) -> None:
    screen = open_page(job, view="ranks", color_scheme=scheme)
    screen.table("Process groups")
    settle(screen)
    assert violations(screen, scheme) == []


def test_runs_that_tell_no_rank_are_numbered_and_a_note_says_so(
    open_page: OpenPage, two_runs: Server
) -> None:
    screen = open_page(two_runs, view="ranks")
    rows = screen.rows("Ranks")
    assert {row["rank"]: row["source"] for row in rows} == {"0": "before.json", "1": "after.json"}
    screen.wait_for_text("no trace tells its rank")
    screen.wait_for_text("no collective was found on several ranks")


def test_two_real_ranks_are_there(
    open_page: OpenPage,
    serve: Callable[..., Server],
    shared_data: pathlib.Path,
    stepscope: Command,
) -> None:
    folder = shared_data / "hta/trace_filter"
    screen = open_page(serve(folder), view="ranks", size=(1900, 1400))
    assert_same(screen.rows("Ranks"), rows_of(stepscope, "ranks", folder), least=2)
    collectives = rows_of(stepscope, "ranks", folder, "--view", "collectives")
    assert_same(screen.rows("Collectives"), collectives, least=len(collectives))


def test_one_rank_alone_says_what_it_takes_to_see_more(
    open_page: OpenPage, known: Server, training: Server
) -> None:
    for server in (known, training):
        screen = open_page(server, view="ranks")
        screen.wait_for_text("stepscope view FOLDER")
        assert screen.page.get_by_role("alert").count() == 0


def test_runs_that_are_not_loaded_are_read_when_someone_says_so(
    open_page: OpenPage, job: Server
) -> None:
    """As in TensorBoard, whose server loads runs when they are shown."""
    screen = open_page(job)

    def let_two_wait(route: Any) -> None:
        answer = route.fetch().json()
        for run in answer["runs"][1:3]:
            run["is_waiting"] = True
        route.fulfill(json=answer)

    screen.page.route("**/api/runs*", let_two_wait)
    asked: list[str] = []
    screen.page.on("request", lambda request: asked.append(request.url))
    screen.go(view="ranks")
    button = screen.page.get_by_role("button", name="Read the other 2 runs of this folder too")
    button.wait_for()
    assert not any("waiting=1" in url for url in asked)
    button.click()
    screen.wait_for_state(ranks__waiting="1")
    button.wait_for(state="detached")
    wait_until(lambda: any("/job?" in url and "waiting=1" in url for url in asked), "the question")


def test_hundreds_of_ranks_are_in_sight_at_once(
    open_page: OpenPage, serve: Callable[..., Server], folder: pathlib.Path
) -> None:
    many = folder / "many"
    many.mkdir()
    for rank in range(300):
        events = [
            {"ph": "X", "pid": 1, "tid": 1, "cat": "user_annotation",
             "name": f"ProfilerStep#{step}", "ts": 1000 * step, "dur": 900}
            for step in range(4)
        ] + [
            {"ph": "X", "pid": 1, "tid": 1, "cat": "cpu_op", "name": "aten::mm",
             "ts": 1000 * step + 10, "dur": 400 + rank}
            for step in range(4)
        ]  # fmt: skip
        write_json(many / f"rank{rank}.json", events)
    screen = open_page(serve(many), view="ranks")
    assert bars(screen)["height"] == 300
    canvas = screen.page.get_by_role("application", name="Steps of ranks")
    canvas.focus()
    screen.page.keyboard.press("End")
    said = screen.page.locator(".part-bars [aria-live]")
    wait_until(lambda: said.inner_text().startswith("rank 299: "), "the last rank")
