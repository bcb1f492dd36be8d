"""The tab on the screen: TensorBoard in Chromium."""

from collections.abc import Iterator
from typing import Any

import pytest

from .conftest import HOSTILE, Board
from .test_routes import WORKER0, WORKER1

CHOICE = "select[aria-label=Run]"


@pytest.fixture
def page(browser: Any, board: Board) -> Iterator[Any]:
    """TensorBoard with the tab chosen; no script complains, none asks another host."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
    page.on(
        "console",
        lambda message: (
            complaints.append(message.text)
            if "/plugin/stepscope/" in message.location.get("url", "") and message.type == "error"
            else None
        ),
    )
    page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith((board.address, "data:", "blob:"))
            else complaints.append(request.url)
        ),
    )
    page.goto(board.address)
    page.get_by_role("tab", name="Stepscope").click()
    page.frame_locator("iframe").locator("header .brand").wait_for()
    yield page
    page.close()
    assert complaints == []


def choose(frame: Any, board: Board, name: str) -> None:
    frame.locator(CHOICE).select_option(str(board.runs()[name]["id"]))
    frame.locator(".run-figures", has_text="slices").wait_for()


def test_runs_and_workers_are_to_choose_from(page: Any) -> None:
    frame = page.frame_locator("iframe")
    options = frame.locator(f"{CHOICE} option").all_text_contents()
    assert {"kept", "recorded", "worker0.1623143089861", "worker1.1623143089870"} <= set(options)
    group = frame.locator(f'{CHOICE} optgroup[label="resnet/plugins/profile/monday"] option')
    assert group.count() == 3


def test_operators_of_the_chosen_worker_are_shown(page: Any, board: Board) -> None:
    frame = page.frame_locator("iframe")
    frame.get_by_role("navigation", name="Views").get_by_text("Operators", exact=True).click()
    for name, total in ((WORKER0, "9.000 ms"), (WORKER1, "4.500 ms")):
        choose(frame, board, name)
        row = frame.get_by_role("row").filter(has_text="aten::linear").filter(has_text=total).first
        row.wait_for()
    frame.get_by_text(HOSTILE).first.wait_for()


def test_timeline_is_painted(page: Any, board: Board) -> None:
    frame = page.frame_locator("iframe")
    choose(frame, board, WORKER0)
    frame.get_by_role("navigation", name="Views").get_by_text("Timeline", exact=True).click()
    frame.locator("canvas").first.wait_for()
    assert frame.locator(CHOICE).input_value() == str(board.runs()[WORKER0]["id"])
    page.wait_for_function(
        """() => {
          const inside = document.querySelector("iframe").contentDocument;
          return [...inside.querySelectorAll("canvas")].some((canvas) => {
            const context = canvas.width > 0 && canvas.getContext("2d");
            if (!context) return false;
            const data = context.getImageData(0, 0, canvas.width, canvas.height).data;
            const colors = new Set();
            for (let i = 0; i < data.length; i += 4) {
              const rgb = data.slice(i, i + 3);
              if (Math.max(...rgb) - Math.min(...rgb) > 25) colors.add(rgb.join());
            }
            return colors.size >= 2;
          });
        }"""
    )


def test_broken_trace_says_why_on_the_page(page: Any, board: Board) -> None:
    frame = page.frame_locator("iframe")
    broken = next(run for name, run in board.runs().items() if "broken" in name)
    frame.locator(CHOICE).select_option(str(broken["id"]))
    frame.locator("main").get_by_text("broken.1.pt.trace.json").first.wait_for()


def test_back_button_goes_back_inside_the_tab(page: Any, board: Board) -> None:
    frame = page.frame_locator("iframe")
    choose(frame, board, "recorded")
    views = frame.get_by_role("navigation", name="Views")
    views.get_by_text("Functions", exact=True).click()
    frame.locator("main").get_by_text("train.py").first.wait_for()
    views.get_by_text("Steps", exact=True).click()
    page.evaluate("history.back()")
    frame.locator("nav a[aria-current=page]", has_text="Functions").wait_for()
    assert "#stepscope" in page.url
