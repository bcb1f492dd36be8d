"""The frame of the page: who may see it, hostile names, live runs, themes, keys."""

import contextlib
import gzip
import json
import pathlib
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable

import pytest

from .conftest import HOSTILE, Command, OpenPage, Server, known_events, start, write_json
from .screen import Screen, wait_until

VIEWS = [
    "overview", "timeline", "functions", "operators", "kernels", "gpu", "modules",
    "steps", "memory", "input", "ranks", "compare", "sql",
]  # fmt: skip


@pytest.mark.parametrize("token", ["0" * 32, "wrong"])
def test_a_wrong_token_shows_nothing_of_the_run_and_says_why(
    open_page: OpenPage, known: Server, token: str
) -> None:
    screen = open_page(known, token=token)
    alert = screen.page.get_by_role("alert")
    alert.wait_for()
    assert "token" in alert.inner_text()
    assert "known.json" not in screen.page.content()
    screen.page.wait_for_timeout(500)
    screen.forgive("403")


def test_the_watch_over_pages_sees_scripts_and_foreign_requests(
    open_page: OpenPage, known: Server
) -> None:
    """That pages do nothing forbidden is only worth what would be seen if they did."""
    screen = open_page(known)
    screen.page.evaluate(
        """() => {
             const script = document.createElement('script');
             script.textContent = 'window.wasRun = true';
             document.body.append(script);
           }"""
    )
    screen.forgive("Content Security Policy")
    assert screen.page.evaluate("window.wasRun") is None
    refused = screen.page.evaluate("fetch('http://127.0.0.1:1/').then(() => false, () => true)")
    assert refused
    screen.forgive("Content Security Policy")


@pytest.mark.parametrize("view", VIEWS)
def test_hostile_names_are_text(open_page: OpenPage, hostile: Server, view: str) -> None:
    screen = open_page(hostile, view=view)
    wait_until(lambda: "Loading" not in screen.text(), "answers")
    screen.page.wait_for_timeout(200)
    assert screen.page.locator("img, #page script, iframe").count() == 0
    assert screen.page.locator("script").count() == 1
    if view in ("overview", "functions", "operators", "kernels"):
        assert HOSTILE in screen.page.evaluate("document.body.innerText")
    if view == "timeline":
        assert any(HOSTILE in title for title in screen.page.evaluate(
            "[...document.querySelectorAll('.track-head')].map(head => head.title)"
        ))  # fmt: skip
        x, y = track_place(screen)
        screen.page.mouse.move(x, y)
        screen.page.locator(".tooltip").get_by_text(HOSTILE).first.wait_for()
        screen.page.mouse.click(x, y)
        panel = screen.page.get_by_role("complementary")
        panel.get_by_text("Arguments").wait_for()
        assert panel.inner_text().count(HOSTILE) >= 4
        assert screen.page.locator("img").count() == 0


def track_place(screen: Screen) -> tuple[float, float]:
    """On the slice at the begin of the first track that has its name from the trace."""
    head = screen.page.locator(".track-head").filter(has_text=HOSTILE).first.bounding_box()
    wait_until(lambda: screen.canvas()["width"] > 100, "a canvas")
    return screen.canvas()["x"] + 40, head["y"] + 9


def test_a_run_that_is_recorded_grows_on_the_page_until_it_ends(
    open_page: OpenPage,
    stepscope_bin: pathlib.Path,
    stepscope: Command,
    serve: Callable[..., Server],
    tmp_path: pathlib.Path,
) -> None:
    script = tmp_path / "work.py"
    script.write_text(
        "import pathlib, time\n"
        "def work():\n    time.sleep(0.002)\n"
        f"while not pathlib.Path({str(tmp_path / 'stop')!r}).exists():\n    work()\n"
    )
    run = tmp_path / "run"
    command = [stepscope_bin, "run", "-o", run, script]
    program = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: list(run.glob("*.sscope")), "a recording", 30)
        time.sleep(1)
        screen = open_page(serve(run), view="timeline", size=(1500, 800))
        header = screen.page.locator("header")
        header.get_by_text("live", exact=True).wait_for()
        figures = screen.page.locator(".run-figures")
        first = slices_in(figures.inner_text())
        wait_until(lambda: slices_in(figures.inner_text()) > first, "more slices", 30)
        (tmp_path / "stop").touch()
        assert program.wait(timeout=60) == 0
        header.get_by_text("live", exact=True).wait_for(state="detached", timeout=30_000)
    finally:
        with contextlib.suppress(ProcessLookupError):
            program.send_signal(signal.SIGTERM)
        program.wait(timeout=60)
    screen.tab("Functions")
    screen.page.get_by_role("searchbox", name="Filter Functions").fill("(work)")
    calls = screen.rows("Functions")[0]["ncalls"]
    printed = subprocess.run(
        [
            stepscope_bin,
            "report",
            run,
            "--view",
            "functions",
            "--filter",
            "^work$",
            "--format",
            "json",
        ],
        capture_output=True,
        check=True,
    )
    assert int(calls.replace(",", "")) == json.loads(printed.stdout)["rows"][0][3]


def slices_in(text: str) -> int:
    return int(text.split(", ", 1)[1].split()[0].replace(",", ""))


def test_light_and_dark_follow_the_system_and_the_choice_is_kept(
    open_page: OpenPage, known: Server
) -> None:
    screen = open_page(known, color_scheme="dark")
    assert sum(screen.color_at(640, 790)) < 150
    screen.page.get_by_role("button", name="Switch to light colours").click()
    wait_until(lambda: sum(screen.color_at(640, 790)) > 700, "a light page")
    screen.page.reload()
    screen.page.get_by_role("button", name="Switch to dark colours").wait_for()
    assert sum(screen.color_at(640, 790)) > 700


def test_numbers_open_the_tabs_and_back_returns(open_page: OpenPage, known: Server) -> None:
    screen = open_page(known)
    screen.page.keyboard.press("2")
    screen.wait_for_state(view="timeline")
    screen.page.keyboard.press("3")
    screen.wait_for_state(view="functions")
    assert "known.json: Functions" in screen.page.title()
    screen.page.go_back()
    screen.wait_for_state(view="timeline")
    screen.page.locator(".track-head").first.wait_for()
    screen.page.go_forward()
    screen.wait_for_state(view="functions")


def test_a_question_mark_lists_the_keys_and_escape_closes_the_list(
    open_page: OpenPage, known: Server
) -> None:
    screen = open_page(known)
    screen.page.keyboard.press("?")
    dialog = screen.page.get_by_role("dialog", name="Keys")
    dialog.wait_for()
    assert "zoom in, out" in dialog.inner_text()
    screen.page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")


def test_a_file_that_did_not_open_says_why_and_the_others_are_there(
    open_page: OpenPage, serve: Callable[..., Server], tmp_path: pathlib.Path
) -> None:
    good = write_json(tmp_path / "good.json", known_events())
    bad = tmp_path / "bad.json"
    bad.write_text('{"traceEvents": 17}')
    screen = open_page(serve(good, bad), view="timeline", run=1)
    alert = screen.page.locator("main").get_by_role("alert")
    alert.wait_for()
    assert "bad.json" in alert.inner_text()
    assert len(alert.inner_text()) > len(str(bad)) + 10
    screen.page.get_by_role("combobox", name="Run").select_option(label="good.json")
    screen.page.locator(".track-head").first.wait_for()


@pytest.mark.parametrize(
    "state",
    [
        {"view": "nowhere"},
        {"view": "timeline", "range": "abc", "slice": "-5", "area": "9-1", "q": "/(/"},
        {"view": "timeline", "slice": "4000000000", "tracks__pinned": "99,x"},
        {"view": "functions", "functions__zoom": "1.2.999999", "functions__depth": "x"},
    ],
)
def test_an_address_that_is_wrong_does_no_harm(
    open_page: OpenPage, known: Server, state: dict[str, str]
) -> None:
    screen = open_page(known, **state)
    screen.page.wait_for_timeout(600)
    # Asking for what is not there is answered with an error, which browsers log.
    screen.complaints[:] = [text for text in screen.complaints if "status of 40" not in text]
    screen.tab("Overview")
    screen.page.get_by_role("region", name="Verdict").wait_for()


def test_the_page_is_small(known: Server) -> None:
    packed = 0
    for name in ("", "app.js", "app.css"):
        with urllib.request.urlopen(known.address + name, timeout=30) as answer:
            packed += len(gzip.compress(answer.read()))
    assert packed < 150_000


def test_a_run_that_is_not_there_is_said(open_page: OpenPage, known: Server) -> None:
    screen = open_page(known, run=77)
    assert "There is no run 77 here." in screen.text()


def test_a_server_that_ends_is_said(
    open_page: OpenPage, stepscope_bin: pathlib.Path, folder: pathlib.Path
) -> None:
    server = start(stepscope_bin, write_json(folder / "ends.json", known_events()))
    screen = open_page(server)
    screen.page.get_by_role("region", name="Verdict").wait_for()
    assert server.stop() == 0
    screen.tab("Operators")
    screen.page.get_by_role("alert").wait_for()
    assert len(screen.page.get_by_role("alert").first.inner_text()) > 10
    screen.forgive("ERR_CONNECTION_REFUSED")
