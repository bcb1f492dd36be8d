"""The page for keyboards and screen readers: axe-core's rules on every view in both themes, every
control reached by Tab, and what is drawn on a canvas told in words."""

import pathlib
from typing import Any

import pytest

from .conftest import OpenPage, Server
from .screen import Screen, wait_until
from .test_page import VIEWS

AXE = pathlib.Path(__file__).parents[2] / "viewer/node_modules/axe-core/axe.min.js"


# In the dark only colours are others.
RULES: dict[str, list[str]] = {
    "light": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "dark": ["color-contrast"],
}


def violations(screen: Screen, scheme: str) -> list[str]:
    """What axe-core finds against WCAG 2.2 A and AA: names, roles, contrast of 4.5 and more."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed: Node.js is missing")
    screen.page.evaluate(AXE.read_text())
    found: list[dict[str, Any]] = screen.page.evaluate(
        "async runOnly => (await axe.run(document, {runOnly})).violations", RULES[scheme]
    )
    # Heads of tracks are as high as a lane; the keys C and P do the same.
    return [
        f"{rule['id']}: {node['html'][:120]} {node['failureSummary'][:200]}"
        for rule in found
        for node in rule["nodes"]
        if rule["id"] != "target-size" or 'aria-label="Collapse ' not in node["html"]
    ]


def settle(screen: Screen) -> None:
    wait_until(lambda: "Loading" not in screen.text(), "answers")
    screen.page.wait_for_timeout(200)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_view_breaks_a_rule_of_axe(open_page: OpenPage, training: Server, scheme: str) -> None:
    screen = open_page(training, color_scheme=scheme)
    broken = []
    for view in VIEWS:
        screen.go(view=view)
        settle(screen)
        broken += [f"{view}: {text}" for text in violations(screen, scheme)]
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_comparing_and_what_is_selected_break_no_rule_of_axe(
    open_page: OpenPage, two_runs: Server, scheme: str
) -> None:
    screen = open_page(two_runs, color_scheme=scheme)
    broken = []
    for state in (
        {"view": "compare"},
        {"view": "ranks"},
        {"view": "kernels"},
        {"view": "gpu", "gpu__show": "launches"},
        {"view": "timeline", "slice": 1},
        {"view": "timeline", "area": "0-5000000"},
        {"view": "timeline", "area": "0-5000000", "area__tab": "operators"},
        {"view": "sql", "sql__q": "SELECT * FROM slices", "sql__plot": 1},
    ):
        screen.go(**state)
        settle(screen)
        broken += [f"{state}: {text}" for text in violations(screen, scheme)]
    assert not broken, "\n".join(broken)


CONTROLS = "a[href], button:not(:disabled), input, select, textarea, summary, [tabindex='0']"


@pytest.mark.parametrize(
    "view", ["overview", "timeline", "functions", "operators", "memory", "sql"]
)
def test_tab_reaches_every_control(open_page: OpenPage, two_runs: Server, view: str) -> None:
    screen = open_page(two_runs, view=view)
    settle(screen)
    screen.page.evaluate(
        """selector => {
             window.unreached = new Set([...document.querySelectorAll(selector)].filter(
               element => element.checkVisibility() && element.tabIndex >= 0));
             document.addEventListener('focusin', event => window.unreached.delete(event.target));
           }""",
        CONTROLS,
    )
    count = screen.page.evaluate("window.unreached.size")
    assert count > 10
    for _ in range(count + 5):
        screen.page.keyboard.press("Tab")
    unreached = screen.page.evaluate("[...window.unreached].map(element => element.outerHTML)")
    assert unreached == []


def test_a_row_is_reached_and_opened_with_keys(open_page: OpenPage, training: Server) -> None:
    screen = open_page(training, view="functions")
    grid = screen.table("Functions")
    grid.focus()
    screen.page.keyboard.press("ArrowDown")
    wait_until(
        lambda: grid.get_attribute("aria-activedescendant") == "functions-row-1", "the second row"
    )
    assert screen.page.locator("#functions-row-1").count() == 1
    screen.page.keyboard.press("Enter")
    wait_until(lambda: "functions.zoom" in screen.state(), "its function zoomed")


def test_what_has_the_focus_is_seen(open_page: OpenPage, known: Server) -> None:
    screen = open_page(known, view="timeline")
    screen.page.locator(".track-head").first.wait_for()
    before = screen.picture()
    screen.page.keyboard.press("Tab")
    outline = screen.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    assert screen.picture().tobytes() != before.tobytes()
