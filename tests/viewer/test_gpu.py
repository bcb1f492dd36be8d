"""The view of devices: its tables are those of the command, what is chosen is in the address."""

import pathlib
from collections.abc import Callable

import pytest

from .command_tables import assert_same, rows_of
from .conftest import Command, OpenPage, Server
from .screen import wait_until
from .test_access import settle, violations

# What is chosen, the table's name, and how the command is asked for the same.
SECTIONS = [
    ("gpu", "", "Time"),
    ("gpu", "stream", "Time"),
    ("gpu", "type", "Time"),
    ("launches", "", "Launches"),
    ("launches", "stream", "Launches"),
    ("copies", "", "Copies"),
    ("syncs", "", "Waits of the host"),
    ("critical_path", "", "Critical path"),
    ("critical_path", "event", "Critical path"),
    ("sequences", "", "Sequences"),
    ("sequences", "stream", "Sequences"),
    ("roofline", "", "Roofline"),
]


@pytest.fixture(scope="session")
def resnet_trace(shared_data: pathlib.Path) -> pathlib.Path:
    found = sorted((shared_data / "kineto").glob("resnet50_num_workers_0/*.pt.trace.json*"))
    if not found:
        pytest.skip("no trace of torch.profiler in ../shared/data/kineto")
    return found[0]


@pytest.fixture(scope="session")
def resnet(serve: Callable[..., Server], resnet_trace: pathlib.Path) -> Server:
    return serve(resnet_trace)


@pytest.mark.parametrize(("view", "by", "label"), SECTIONS)
def test_figures_are_those_of_the_command(
    open_page: OpenPage,
    resnet: Server,
    resnet_trace: pathlib.Path,
    stepscope: Command,
    view: str,
    by: str,
    label: str,
) -> None:
    screen = open_page(resnet, view="gpu", gpu__show=view, gpu__by=by, size=(1900, 1000))
    words = ["--view", view, *(["--by", by] if by else []), "--limit", 0]
    expected = rows_of(stepscope, "report", resnet_trace, *words)
    assert_same(screen.rows(label), expected)


def test_what_is_chosen_is_in_the_address(open_page: OpenPage, resnet: Server) -> None:
    screen = open_page(resnet, view="gpu")
    screen.table("Time")
    screen.page.get_by_role("button", name="Launches").click()
    screen.wait_for_state(gpu__show="launches")
    screen.table("Launches")
    screen.page.get_by_role("combobox", name="By").select_option("stream")
    screen.wait_for_state(gpu__by="stream")
    wait_until(lambda: "mean queue" in screen.heads("Launches"), "queues")
    screen.page.get_by_role("button", name="Copies").click()
    screen.wait_for_state(gpu__show="copies", gpu__by=None)
    screen.page.go_back()
    screen.wait_for_state(gpu__show="launches", gpu__by="stream")
    screen.table("Launches")


def test_the_time_of_devices_is_drawn(open_page: OpenPage, resnet: Server) -> None:
    screen = open_page(resnet, view="gpu")
    canvas = screen.page.get_by_role("application", name="The time of each device")
    canvas.focus()
    said = screen.page.locator(".part-bars [aria-live]")
    wait_until(lambda: said.inner_text().startswith("device 0: "), "the device")
    row = screen.rows("Time")[0]
    assert f"device 0: {row['span']}, compute " in said.inner_text()
    assert f"idle {row['idle %']}" in said.inner_text()


def test_a_name_leads_to_the_timeline(open_page: OpenPage, two_runs: Server) -> None:
    screen = open_page(two_runs, view="gpu", gpu__show="launches")
    screen.page.get_by_role("link", name="Find cudaLaunchKernel on the timeline").click()
    screen.wait_for_state(view="timeline", q="/^cudaLaunchKernel$/")
    screen.wait_for_text("1 of 20")


@pytest.mark.parametrize("view", ["copies", "cupti"])
def test_a_table_with_nothing_in_it_says_why(
    open_page: OpenPage, two_runs: Server, view: str
) -> None:
    screen = open_page(two_runs, view="gpu", gpu__show=view)
    screen.wait_for_text("Nothing of this in the run.")
    assert "trace" in screen.page.locator("main .notes").inner_text()
    assert screen.page.get_by_role("button", name="Time").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_rule_of_axe_is_broken(open_page: OpenPage, resnet: Server, scheme: str) -> None:
    screen = open_page(resnet, view="gpu", color_scheme=scheme)
    broken = []
    for view in dict.fromkeys(view for view, _, _ in SECTIONS):
        screen.go(view="gpu", gpu__show=view)
        settle(screen)
        broken += [f"{view}: {text}" for text in violations(screen, scheme)]
    assert not broken, "\n".join(broken)
