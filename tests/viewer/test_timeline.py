"""The timeline: slices where they belong, keys, mouse, search, what is selected, the address."""

from collections.abc import Callable
from typing import Any

import pytest

from .conftest import OpenPage, Server
from .screen import Color, Screen, wait_until

SPAN_NS = 3_000_000
# The address follows the window when it has been still for a while.
SETTLE_MS = 600
MAIN = "thread 1 (main)"
WORKER = "thread 2 (worker)"


@pytest.fixture
def screen(open_page: OpenPage, known: Server) -> Screen:
    return open_timeline(open_page, known)


def open_timeline(open_page: OpenPage, server: Server, **state: Any) -> Screen:
    screen = open_page(server, view="timeline", **state)
    wait_until(lambda: is_painted(screen), "slices on the canvas")
    return screen


def is_painted(screen: Screen) -> bool:
    """Slices have colours; the ground and the lines of the timeline are greys."""
    canvas = screen.canvas()
    box = (canvas["x"], canvas["y"], canvas["x"] + canvas["width"], canvas["y"] + canvas["height"])
    part = screen.picture().crop(tuple(map(int, box)))
    return any(is_slice(color) for _, color in part.getcolors(1 << 20) or [])


def is_slice(color: Any) -> bool:
    return max(color) - min(color) > 16


def colors_at(screen: Screen, places: list[tuple[str, int, float]]) -> list[Color]:
    picture = screen.picture()
    found = []
    for place in places:
        # Beside the middle, where names are written.
        x, y = screen.place(*place)
        found.append(picture.getpixel((int(x), int(y) - 7)))
    return found  # type: ignore[return-value]


# Within alpha, beta, gamma, delta, epsilon; and places where there is nothing.
FILLED = [
    (MAIN, 0, 0.02), (MAIN, 0, 0.30), (MAIN, 1, 0.05), (MAIN, 1, 0.12), (MAIN, 1, 0.22),
    (MAIN, 1, 0.26), (MAIN, 0, 0.68), (MAIN, 0, 0.98), (WORKER, 0, 0.35), (WORKER, 0, 0.65),
]  # fmt: skip
EMPTY = [
    (MAIN, 0, 0.35), (MAIN, 0, 0.50), (MAIN, 0, 0.65), (MAIN, 1, 0.02), (MAIN, 1, 0.15),
    (MAIN, 1, 0.29), (MAIN, 1, 0.80), (WORKER, 0, 0.10), (WORKER, 0, 0.32), (WORKER, 0, 0.68),
]  # fmt: skip


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_slices_are_painted_where_they_are_and_nowhere_else(
    open_page: OpenPage, known: Server, scheme: str
) -> None:
    screen = open_timeline(open_page, known, color_scheme=scheme)
    assert [is_slice(color) for color in colors_at(screen, FILLED)] == [True] * len(FILLED)
    empty = colors_at(screen, EMPTY)
    assert len(set(empty)) == 1, empty
    assert (sum(empty[0]) > 700) == (scheme == "light")


def test_names_of_processes_tracks_and_the_length_of_the_run_are_shown(
    open_page: OpenPage, known: Server
) -> None:
    screen = open_timeline(open_page, known, size=(1500, 800))
    assert "trainer" in screen.text()
    groups = screen.page.locator(".track-head")
    assert groups.evaluate_all("heads => heads.map(head => head.getAttribute('aria-label'))") == [
        MAIN,
        WORKER,
        "queue items",
    ]
    assert "3.000 ms, 5 slices" in screen.page.inner_text("header")


def test_a_click_on_a_slice_shows_all_of_it(screen: Screen) -> None:
    screen.page.mouse.click(*screen.place(MAIN, 1, 700 / 3000))
    details = screen.page.get_by_role("complementary", name="What is selected")
    details.get_by_text("gamma").first.wait_for()
    text = details.inner_text()
    for fact in ("Duration\n200.0 us", "Own time\n200.0 us", "600.0 us (600,000 ns)",
                 f"Track\n{MAIN}", "batch\n32", "note\nlast one", "Inside", "alpha"):  # fmt: skip
        assert fact in text
    assert "gamma" in screen.said()
    details.get_by_role("button", name="alpha").click()
    wait_until(lambda: "1.000 ms" in details.inner_text(), "details of alpha")
    assert "Own time\n500.0 us" in details.inner_text()


def test_a_click_where_nothing_is_selects_nothing(screen: Screen) -> None:
    screen.page.mouse.click(*screen.place(MAIN, 0, 0.1))
    wait_until(lambda: "slice" in screen.state(), "a selected slice")
    screen.page.mouse.click(*screen.place(MAIN, 0, 0.5))
    screen.wait_for_state(slice=None)
    assert screen.page.locator("aside").count() == 0


def test_an_arrow_leads_from_the_selected_slice_to_the_one_it_started(screen: Screen) -> None:
    before = screen.picture()
    screen.page.mouse.click(*screen.place(MAIN, 1, 200 / 3000))
    details = screen.page.get_by_role("complementary", name="What is selected")
    details.get_by_text("Bound to").wait_for()
    screen.page.mouse.move(5, 5)
    x, y = screen.place(MAIN, 1, 0.34)
    _, bottom = screen.place(WORKER, 0, 0.34)
    box = tuple(map(int, (x - 200, y + 10, x, bottom)))
    wait_until(
        lambda: screen.picture().crop(box).tobytes() != before.crop(box).tobytes(),
        "an arrow between the tracks",
    )
    details.get_by_role("button", name="epsilon").click()
    wait_until(lambda: f"Track\n{WORKER}" in details.inner_text(), "details of epsilon")


def test_the_pointer_over_a_slice_tells_its_name_and_length(screen: Screen) -> None:
    screen.page.mouse.move(*screen.place(MAIN, 0, 0.9))
    tooltip = screen.page.locator(".tooltip")
    tooltip.wait_for()
    assert "delta" in tooltip.inner_text()
    assert "1.000 ms at 2.000 ms" in tooltip.inner_text()
    queue = screen.page.get_by_role("group", name="queue items").bounding_box()
    screen.page.mouse.move(screen.place(MAIN, 0, 0.75)[0], queue["y"] + 10)
    wait_until(lambda: "queue items\n8" in tooltip.inner_text(), "the counter's value")


def width_of(window: tuple[int, int]) -> int:
    return window[1] - window[0]


def moved(screen: Screen, act: Callable[[], object]) -> tuple[tuple[int, int], tuple[int, int]]:
    """The window before something was done, and after it."""
    before = screen.window(SPAN_NS)
    act()
    wait_until(lambda: screen.window(SPAN_NS) != before, "another window")
    screen.page.wait_for_timeout(SETTLE_MS)
    return before, screen.window(SPAN_NS)


def test_wasd_zooms_and_moves(screen: Screen) -> None:
    press = screen.page.keyboard.press
    before, after = moved(screen, lambda: press("w"))
    assert width_of(after) == pytest.approx(0.8 * width_of(before), rel=0.01)
    before, after = moved(screen, lambda: press("d"))
    assert after[0] > before[0]
    assert width_of(after) == pytest.approx(width_of(before), abs=2)
    before, after = moved(screen, lambda: press("a"))
    assert after[0] < before[0]
    before, after = moved(screen, lambda: press("s"))
    assert width_of(after) > width_of(before)


def test_a_key_that_is_held_goes_on_zooming(screen: Screen) -> None:
    screen.page.keyboard.down("w")
    screen.page.wait_for_timeout(800)
    screen.page.keyboard.up("w")
    wait_until(lambda: width_of(screen.window(SPAN_NS)) < 0.6 * SPAN_NS, "a narrow window")


def test_the_wheel_with_control_zooms_at_the_pointer_and_with_shift_moves(screen: Screen) -> None:
    x, y = screen.place(MAIN, 0, 0.25)
    screen.page.mouse.move(x, y)

    def wheel(key: str, by: int) -> None:
        screen.page.keyboard.down(key)
        screen.page.mouse.wheel(0, by)
        screen.page.keyboard.up(key)

    _, after = moved(screen, lambda: wheel("Control", -200))
    # What was under the pointer still is.
    assert after[0] + 0.25 * width_of(after) == pytest.approx(0.25 * SPAN_NS, rel=0.01)
    before, after = moved(screen, lambda: wheel("Shift", 100))
    assert after[0] > before[0]
    assert width_of(after) == pytest.approx(width_of(before), abs=2)


def test_dragging_moves_what_is_shown_with_the_pointer(screen: Screen) -> None:
    screen.page.keyboard.press("w")
    screen.page.keyboard.press("w")
    x, y = screen.place(MAIN, 0, 0.5)
    screen.page.wait_for_timeout(SETTLE_MS)
    width = screen.canvas()["width"]

    def drag() -> None:
        screen.page.mouse.move(x, y)
        screen.page.mouse.down()
        screen.page.mouse.move(x + 50, y)
        screen.page.mouse.move(x + 100, y)
        screen.page.mouse.up()

    before, after = moved(screen, drag)
    assert before[0] - after[0] == pytest.approx(100 / width * width_of(before), rel=0.03)
    assert "slice" not in screen.state()


def test_f_fits_the_selection_and_0_shows_all(screen: Screen) -> None:
    screen.page.mouse.click(*screen.place(MAIN, 1, 700 / 3000))
    wait_until(lambda: "gamma" in screen.said(), "gamma selected")
    _, (begin, end) = moved(screen, lambda: screen.page.keyboard.press("f"))
    assert begin <= 600_000
    assert end >= 800_000
    assert end - begin < 400_000
    assert is_slice(colors_at(screen, [(MAIN, 1, 0.5)])[0])
    screen.page.keyboard.press("0")
    screen.wait_for_state(range=None)


def test_m_marks_the_range_of_the_selection_until_it_is_pressed_again(screen: Screen) -> None:
    screen.page.mouse.click(*screen.place(MAIN, 1, 700 / 3000))
    wait_until(lambda: "gamma" in screen.said(), "gamma selected")
    screen.page.keyboard.press("m")
    screen.wait_for_state(mark="600000-800000")
    screen.page.keyboard.press("m")
    screen.wait_for_state(mark=None)


def test_arrows_go_to_the_slices_beside_above_and_below(screen: Screen) -> None:
    screen.page.mouse.click(*screen.place(MAIN, 1, 200 / 3000))
    wait_until(lambda: "beta" in screen.said(), "beta selected")
    for key, name in [("Right", "gamma"), ("Left", "beta"), ("Up", "alpha"), ("Right", "delta"),
                      ("Left", "alpha"), ("Down", "beta")]:  # fmt: skip
        screen.page.keyboard.press(f"Arrow{key}")
        wait_until(lambda name=name: name in screen.said(), f"{name} after {key}")


def test_the_keyboard_alone_reaches_a_slice(screen: Screen) -> None:
    for _ in range(60):
        screen.page.keyboard.press("Tab")
        if screen.page.evaluate("document.activeElement.getAttribute('role')") == "application":
            break
    screen.page.keyboard.press("ArrowRight")
    wait_until(lambda: "alpha" in screen.said(), "the first slice")


def test_slash_searches_and_n_goes_from_match_to_match(screen: Screen) -> None:
    screen.page.keyboard.press("/")
    screen.page.keyboard.type("lta")
    screen.wait_for_text("1 found")
    screen.page.keyboard.press("Escape")
    screen.page.keyboard.press("n")
    wait_until(lambda: "delta" in screen.said(), "the match is selected")
    screen.wait_for_text("1 of 1")
    assert screen.state()["q"] == "lta"

    box = screen.page.get_by_role("searchbox", name="Search slices")
    box.fill("/^(beta|gamma)$/")
    screen.wait_for_text("2 found")
    box.press("Enter")
    wait_until(lambda: "selected" in screen.said() or screen.state().get("slice"), "a match")
    first = screen.state()["slice"]
    screen.page.get_by_role("button", name="Next match").click()
    wait_until(lambda: screen.state().get("slice") != first, "the next match")
    screen.page.get_by_role("button", name="Previous match").click()
    screen.wait_for_state(slice=first)
    box.fill("batch:32")
    screen.wait_for_text("1 found")
    box.fill("omega")
    screen.wait_for_text("nothing found")


def select_area(screen: Screen, start: tuple[float, float], end: tuple[float, float]) -> None:
    screen.page.keyboard.down("Shift")
    screen.page.mouse.move(*start)
    screen.page.mouse.down()
    screen.page.mouse.move((start[0] + end[0]) / 2, end[1])
    screen.page.mouse.move(*end)
    screen.page.mouse.up()
    screen.page.keyboard.up("Shift")


def test_an_area_has_a_table_and_a_flame_graph_of_its_range(screen: Screen) -> None:
    select_area(screen, screen.place(MAIN, 0, 0.5), screen.place(MAIN, 1, 0.99))
    wait_until(lambda: "area" in screen.state(), "an area")
    begin, _, end = screen.state()["area"].partition("-")
    assert int(begin) == pytest.approx(0.5 * SPAN_NS, rel=0.01)
    assert int(end) == pytest.approx(0.99 * SPAN_NS, rel=0.01)
    panel = screen.page.get_by_role("complementary", name="What is selected")
    assert "1 track" in panel.inner_text()
    flame = panel.get_by_role("application")
    flame.wait_for()
    box = flame.bounding_box()
    screen.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 19 + 9)
    screen.page.locator(".floating-box").get_by_text("delta").first.wait_for()
    panel.get_by_role("button", name="functions").click()
    rows = screen.rows("functions of the range, all tracks")
    assert [row["name"] for row in rows] == ["delta"]


def test_a_range_on_the_ruler_is_of_all_tracks(screen: Screen) -> None:
    ruler = screen.page.locator(".ruler").bounding_box()
    y = ruler["y"] + ruler["height"] / 2
    screen.page.mouse.move(ruler["x"] + 0.1 * ruler["width"], y)
    screen.page.mouse.down()
    screen.page.mouse.move(ruler["x"] + 0.4 * ruler["width"], y)
    screen.page.mouse.up()
    screen.wait_for_text("all tracks")
    begin, _, end = screen.state()["area"].partition("-")
    assert int(begin) == pytest.approx(300_000, abs=6000)
    assert int(end) == pytest.approx(1_200_000, abs=6000)


def test_the_minimap_moves_the_window(screen: Screen) -> None:
    screen.page.keyboard.press("w")
    screen.page.keyboard.press("w")
    screen.page.keyboard.press("w")
    screen.page.wait_for_timeout(SETTLE_MS)
    box = screen.page.locator(".minimap").bounding_box()
    _, after = moved(
        screen,
        lambda: screen.page.mouse.click(box["x"] + 0.95 * box["width"], box["y"] + 5),
    )
    assert after[1] == pytest.approx(SPAN_NS, rel=0.05)


def names_of_tracks(screen: Screen) -> list[str]:
    heads = screen.page.locator(".track-head")
    return list(
        heads.evaluate_all(
            """heads => heads.sort((a, b) => a.offsetTop - b.offsetTop)
                 .map(head => head.getAttribute('aria-label'))"""
        )
    )


def test_tracks_are_pinned_collapsed_filtered_and_moved(screen: Screen) -> None:
    button = screen.page.get_by_role("button", name=f"Pin {WORKER}")
    button.click()
    wait_until(lambda: names_of_tracks(screen)[0] == WORKER, "worker on top")
    button.click()
    wait_until(lambda: names_of_tracks(screen)[0] == MAIN, "worker back")

    head = screen.page.get_by_role("group", name=MAIN, exact=True)
    height = head.bounding_box()["height"]
    screen.page.get_by_role("button", name=f"Collapse {MAIN}").click()
    wait_until(lambda: head.bounding_box()["height"] < height, "one lane")
    assert not is_slice(colors_at(screen, [(MAIN, 1, 0.1)])[0])
    screen.page.get_by_role("button", name=f"Collapse {MAIN}").click()

    screen.page.get_by_role("searchbox", name="Filter tracks by name").fill("work")
    wait_until(lambda: names_of_tracks(screen) == [WORKER], "one track")
    screen.wait_for_text("2 hidden")
    screen.page.get_by_role("searchbox", name="Filter tracks by name").fill("")
    wait_until(lambda: len(names_of_tracks(screen)) == 3, "all tracks")

    screen.page.mouse.click(*screen.place(WORKER, 0, 0.5))
    wait_until(lambda: "epsilon" in screen.said(), "epsilon selected")
    screen.page.keyboard.press("Alt+ArrowUp")
    wait_until(lambda: names_of_tracks(screen)[0] == WORKER, "worker moved up")


def test_an_address_shows_the_same_again_and_back_takes_steps_back(screen: Screen) -> None:
    screen.page.mouse.click(*screen.place(MAIN, 0, 0.9))
    wait_until(lambda: "delta" in screen.said(), "delta selected")
    moved(screen, lambda: screen.page.keyboard.press("f"))
    screen.page.mouse.click(*screen.place(MAIN, 0, 0.5))
    state = screen.state()
    canvas = {k: int(v) for k, v in screen.canvas().items()}
    # Without the line around what has the focus.
    box = (canvas["x"] + 3, canvas["y"] + 3, canvas["x"] + canvas["width"] - 3, canvas["y"] + 60)
    screen.page.mouse.move(5, 5)
    screen.page.wait_for_timeout(300)
    picture = screen.picture().crop(box)
    screen.page.reload()
    screen.page.get_by_role("complementary", name="What is selected").wait_for()
    wait_until(lambda: screen.picture().crop(box).tobytes() == picture.tobytes(), "the same")
    assert screen.state() == state

    screen.tab("Functions")
    screen.wait_for_state(view="functions")
    screen.page.go_back()
    screen.wait_for_state(view="timeline", range=state["range"])
    screen.page.get_by_role("complementary", name="What is selected").wait_for()
    screen.page.go_back()
    screen.wait_for_state(slice=None)
    assert screen.page.locator("aside").count() == 0


def test_a_link_from_the_details_leads_to_the_row_of_the_table(screen: Screen) -> None:
    screen.page.mouse.click(*screen.place(MAIN, 0, 0.9))
    screen.page.get_by_role("link", name="in functions").click()
    screen.wait_for_state(view="functions", functions__filter="delta")
    assert [row["filename:lineno(function)"] for row in screen.rows("Functions")] == ["delta"]
