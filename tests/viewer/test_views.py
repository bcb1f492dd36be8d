"""Each view: its figures are the command's, its links and controls do what they say."""

import json
import pathlib
from collections.abc import Callable
from typing import Any

import pytest

from .command_tables import assert_same, rows_of
from .conftest import Command, OpenPage, Server
from .screen import Screen, wait_until

PROFILE = pathlib.Path(__file__).parent.parent / "data/xplane/prefetch_seqmap_noopt.xplane.pb.gz"


def is_drawn(screen: Screen, canvas: Any) -> bool:
    """Is there more than ground and lines on it?"""
    box = canvas.bounding_box()
    part = screen.picture().crop(
        tuple(map(int, (box["x"], box["y"], box["x"] + box["width"], box["y"] + box["height"])))
    )
    colors = part.getcolors(1 << 20) or []
    return sum(count for count, color in colors if max(color) - min(color) > 16) > 100


def test_overview_has_the_verdict_findings_and_figures_of_the_command(
    open_page: OpenPage, training: Server, training_run: pathlib.Path, stepscope: Command
) -> None:
    screen = open_page(training)
    overview = json.loads(stepscope("report", training_run, "--format", "json", check=True).stdout)
    verdict = screen.page.get_by_role("region", name="Verdict")
    verdict.wait_for()
    assert overview["verdict"][0] in verdict.inner_text()

    printed = stepscope(
        "report", training_run, "--view", "findings", "--format", "json", check=True
    )
    findings = json.loads(printed.stdout)["findings"]
    cards = screen.page.locator("article.finding")
    wait_until(lambda: cards.count() == len(findings), "a card for each finding")
    for card, finding in zip(cards.all(), findings, strict=True):
        for part in ("title", "severity", "where", "fix", "id"):
            assert finding[part] in card.inner_text()

    text = screen.page.locator(".overview-side").inner_text().lower()
    section = ""
    for row in rows_of(stepscope, "report", training_run, "--view", "overview"):
        section = row["section"] or section
        assert section in text
        assert f"{row['name']}\n{row['value']}".lower() in text
    steps = screen.page.locator(".overview-main canvas").first
    wait_until(lambda: is_drawn(screen, steps), "bars of steps")


def test_a_finding_jumps_to_its_evidence_on_the_timeline(
    open_page: OpenPage, training: Server
) -> None:
    screen = open_page(training)
    screen.page.get_by_role("link", name="Show on the timeline", exact=True).first.click()
    screen.wait_for_state(view="timeline")
    panel = screen.page.get_by_role("complementary", name="What is selected")
    panel.wait_for()
    assert "Duration" in panel.inner_text()
    screen.page.go_back()
    screen.wait_for_state(view=None)
    screen.page.locator("article.finding").first.wait_for()


def test_functions_are_a_table_with_the_columns_of_pstats(
    open_page: OpenPage, training: Server, training_run: pathlib.Path, stepscope: Command
) -> None:
    screen = open_page(training, view="functions")
    assert screen.heads("Functions") == [
        "ncalls", "tottime", "percall", "cumtime", "percall", "filename:lineno(function)",
    ]  # fmt: skip
    printed = rows_of(stepscope, "report", training_run, "--view", "functions", "--limit", 20)
    expected = [
        {
            "ncalls": row["calls"],
            "tottime": row["self"],
            "cumtime": row["total"],
            "filename:lineno(function)": f"{row['location']}({row['name']})"
            if row["location"]
            else row["name"],
        }
        for row in printed
    ]
    assert_same(screen.rows("Functions"), expected, least=5)

    screen.page.get_by_role("columnheader", name="cumtime").get_by_role("button").click()
    screen.wait_for_state(functions__sort="-total_ns")
    by_total = rows_of(
        stepscope, "report", training_run, "--view", "functions", "--sort", "total_ns", "--limit", 3
    )
    wait_until(
        lambda: screen.rows("Functions")[0]["cumtime"] == by_total[0]["total"], "another order"
    )
    screen.page.get_by_role("searchbox", name="Filter Functions").fill("distort")
    wait_until(lambda: len(screen.rows("Functions")) == 1, "one row")
    assert screen.rows("Functions")[0]["ncalls"] == "128"


@pytest.mark.parametrize("style", ["icicle", "flame", "sunburst"])
def test_stacks_are_drawn_and_a_click_zooms(
    open_page: OpenPage, training: Server, style: str
) -> None:
    screen = open_page(training, view="functions", functions__style=style)
    canvas = screen.page.get_by_role("application", name="Stacks of functions")
    canvas.wait_for()
    canvas.scroll_into_view_if_needed()
    wait_until(lambda: is_drawn(screen, canvas), "the picture")
    box = canvas.bounding_box()
    x, y = box["width"] / 2, {"icicle": 28, "flame": box["height"] - 28}.get(style, 0)
    if style == "sunburst":
        screen.page.evaluate("document.querySelector('main').scrollTop = 0")
        x, y = box["width"] / 2 + 140, box["height"] / 2 + 3
    before = screen.picture()
    canvas.click(position={"x": x, "y": y})
    wait_until(lambda: "functions.zoom" in screen.state(), "a zoom in the address")
    screen.page.get_by_role("list", name="Call stack of the zoomed function").wait_for()
    assert screen.picture().tobytes() != before.tobytes()
    screen.page.get_by_role("button", name="Reset zoom").click()
    screen.wait_for_state(functions__zoom=None)
    screen.page.go_back()
    wait_until(lambda: "functions.zoom" in screen.state(), "back in the zoom")


def test_the_flame_graph_is_walked_with_keys_and_says_where_it_is(
    open_page: OpenPage, training: Server
) -> None:
    screen = open_page(training, view="functions")
    canvas = screen.page.get_by_role("application", name="Stacks of functions")
    canvas.focus()
    said = screen.page.locator(".flame [aria-live]")
    screen.page.keyboard.press("ArrowDown")
    wait_until(lambda: "train.py" in said.inner_text(), "the module is told")
    screen.page.keyboard.press("Enter")
    wait_until(lambda: "functions.zoom" in screen.state(), "zoomed in")
    screen.page.keyboard.press("Escape")
    screen.wait_for_state(functions__zoom=None)


def test_lines_are_in_the_place_of_functions_when_asked_for(
    open_page: OpenPage, training: Server, training_run: pathlib.Path, stepscope: Command
) -> None:
    screen = open_page(training, view="functions")
    screen.page.get_by_label("Table of").select_option("lines")
    screen.wait_for_state(functions__table="lines")
    printed = rows_of(stepscope, "report", training_run, "--view", "lines", "--limit", 10)
    expected = [
        {
            "time": row["self"],
            "Python": row["python %"],
            "native": row["native %"],
            "looks": row["samples"],
            "filename:lineno(function)": f"{row['location']}({row['name']})",
        }
        for row in printed
    ]
    assert_same(screen.rows("Lines"), expected, least=2)


def test_callers_and_callees_of_a_function_are_one_sandwich(
    open_page: OpenPage, training: Server
) -> None:
    screen = open_page(training, view="functions", functions__filter="distort")
    canvas = screen.page.get_by_role("application", name="Stacks of functions")
    canvas.wait_for()
    screen.table("Functions").locator(".table-row").first.click()
    wait_until(lambda: "functions.zoom" in screen.state(), "the row's function zoomed")
    stack = screen.page.get_by_role("list", name="Call stack of the zoomed function")
    assert "distort" in stack.inner_text()
    screen.page.get_by_role("button", name="Callers and callees").click()
    screen.wait_for_text("Who calls distort")
    callers = screen.page.get_by_role("application", name="Callers")
    callers.focus()
    screen.page.keyboard.press("ArrowUp")
    said = screen.page.locator(".sandwich [aria-live]").first
    wait_until(lambda: "__getitem__" in said.inner_text(), "the caller")
    screen.page.get_by_role("button", name="Back to all stacks").click()
    canvas.wait_for()


TABLES = [
    ("operators", "Operators", ["--view", "operators"]),
    ("modules", "Modules", ["--view", "modules"]),
    ("steps", "Steps", ["--view", "phases"]),
    ("memory", "Allocations by operator", ["--view", "memory", "--by", "operator"]),
]


@pytest.mark.parametrize(("view", "label", "options"), TABLES)
def test_figures_are_the_commands(
    open_page: OpenPage,
    training: Server,
    training_run: pathlib.Path,
    stepscope: Command,
    view: str,
    label: str,
    options: list[str],
) -> None:
    screen = open_page(training, view=view, size=(1280, 1400))
    expected = rows_of(stepscope, "report", training_run, *options, "--limit", 0)
    shown = screen.rows(label)
    if view in ("operators", "memory"):
        # Rows of equal figures may be in another order.
        by_name = {row["name"]: row for row in expected}
        expected = [by_name[row["name"]] for row in shown]
    assert_same(shown, expected, least=5)
    if view != "memory":
        assert len(shown) == len(expected) or len(shown) >= 20


def test_operators_by_shape_tell_inputs_apart(
    open_page: OpenPage, two_runs: Server, gpu_traces: list[pathlib.Path], stepscope: Command
) -> None:
    screen = open_page(two_runs, view="operators")
    screen.table("Operators")
    screen.page.get_by_role("combobox", name="By").select_option("shape")
    screen.wait_for_state(operators__by="shape")
    wait_until(lambda: "input shapes" in screen.heads("Operators"), "shapes")
    row = next(r for r in screen.rows("Operators") if r["name"] == "aten::linear")
    assert row["input shapes"].replace(" ", "") == "[[8,16],[16,4]]"
    expected = rows_of(
        stepscope, "report", gpu_traces[0], "--view", "operators", "--by", "shape", "--limit", 0
    )
    assert row["self host"] == next(r for r in expected if r["name"] == row["name"])["self host"]


def test_a_step_leads_to_its_range_on_the_timeline(open_page: OpenPage, training: Server) -> None:
    screen = open_page(training, view="steps")
    screen.table("Steps").get_by_role("link", name="3", exact=True).click()
    screen.wait_for_state(view="timeline")
    assert "range" in screen.state()


def test_modules_open_and_close(open_page: OpenPage, training: Server) -> None:
    screen = open_page(training, view="modules")
    count = len(screen.rows("Modules"))
    screen.page.get_by_role("button", name="Close Sequential").click()
    wait_until(lambda: len(screen.rows("Modules")) < count, "fewer rows")
    screen.page.get_by_role("button", name="Open all").click()
    wait_until(lambda: len(screen.rows("Modules")) == count, "all rows")


def test_memory_has_its_peak_a_curve_and_a_map(
    open_page: OpenPage, training: Server, training_run: pathlib.Path, stepscope: Command
) -> None:
    screen = open_page(training, view="memory", size=(1280, 1600))
    overview = rows_of(stepscope, "report", training_run, "--view", "overview")
    peak = next(row["value"] for row in overview if row["name"] == "peak on CPU")
    screen.wait_for_text(f"Peak {peak} at")
    screen.table("Allocations by operator")
    curve = screen.page.locator(".u-wrap canvas")
    memory_map = screen.page.locator(".memory-flow canvas").first
    wait_until(lambda: is_drawn(screen, curve), "the curve")
    wait_until(lambda: is_drawn(screen, memory_map), "the map")


def test_input_shows_the_stages_and_marks_the_bottleneck(
    open_page: OpenPage, training: Server, training_run: pathlib.Path, stepscope: Command
) -> None:
    screen = open_page(training, view="input")
    stages = screen.page.get_by_role("list", name="Stages of the input")
    stages.wait_for()
    assert "Workers" not in screen.text()
    printed = stepscope(
        "report", training_run, "--view", "findings", "--format", "json", check=True
    )
    ids = [finding["id"] for finding in json.loads(printed.stdout)["findings"]]
    about = [i for i in ids if i.startswith(("dataloader-", "dataset-"))]
    assert screen.page.locator(".stage.bottleneck").count() == (1 if about else 0)
    for identifier in about:
        assert identifier in screen.text()


def test_kernels_and_devices_of_a_gpu(
    open_page: OpenPage, two_runs: Server, gpu_traces: list[pathlib.Path], stepscope: Command
) -> None:
    screen = open_page(two_runs, view="kernels")
    expected = rows_of(stepscope, "report", gpu_traces[0], "--view", "kernels")
    assert_same(screen.rows("Kernels"), expected)
    screen.page.get_by_role("link", name="Find gemm on the timeline").click()
    screen.wait_for_state(view="timeline", q="/^gemm$/")
    screen.wait_for_text("1 of 20")
    screen.page.get_by_role("complementary").get_by_text("cudaLaunchKernel").first.wait_for()


def test_another_run_is_chosen_and_back_returns(open_page: OpenPage, two_runs: Server) -> None:
    screen = open_page(two_runs, view="kernels")
    assert screen.rows("Kernels")[0]["total"] == "8.000 ms"
    screen.page.get_by_role("combobox", name="Run").select_option(label="after.json")
    screen.wait_for_state(run="1")
    wait_until(lambda: screen.rows("Kernels")[0]["total"] == "4.000 ms", "the other run's")
    screen.page.go_back()
    wait_until(lambda: screen.rows("Kernels")[0]["total"] == "8.000 ms", "the first run's")


def test_compare_says_what_the_command_says(
    open_page: OpenPage, two_runs: Server, gpu_traces: list[pathlib.Path], stepscope: Command
) -> None:
    screen = open_page(two_runs, view="compare")
    expected = rows_of(stepscope, "diff", *gpu_traces)
    changes = {row["name"]: row for row in screen.rows("Changes")}
    for row in expected:
        name = row.get("name", "")
        if name in changes:
            assert changes[name]["before"] == row["before"]
            assert changes[name]["after"] == row["after"]
    assert "aten::linear" in changes
    canvas = screen.page.get_by_role("application", name="Stacks of both runs")
    wait_until(lambda: is_drawn(screen, canvas), "the picture of both")
    said = stepscope("diff", *gpu_traces, check=True).stdout.splitlines()
    faster = next(line for line in said if line.startswith("Faster: "))
    assert "forward -200.0 us" in faster
    screen.wait_for_text(faster)
    screen.page.get_by_role("button", name="Swap").click()
    screen.wait_for_state(compare__a="1", compare__b="0")
    screen.wait_for_text(faster.replace("Faster", "Slower").replace(" -", " +"))


def test_sql_answers_as_the_command_does(
    open_page: OpenPage, two_runs: Server, gpu_traces: list[pathlib.Path], stepscope: Command
) -> None:
    screen = open_page(two_runs, view="sql")
    statement = (
        "SELECT name, count(*) AS calls, sum(dur_ns) AS total_ns FROM slices"
        " WHERE name NOT LIKE 'Profiler%' GROUP BY name ORDER BY name"
    )
    editor = screen.page.get_by_role("textbox", name="SQL")
    editor.fill(statement)
    editor.press("Control+Enter")
    expected = rows_of(stepscope, "query", gpu_traces[0], statement)
    shown = screen.rows("Result")
    assert [row["name"] for row in shown] == ["aten::linear", "cudaLaunchKernel", "gemm"]
    assert [row["calls"] for row in shown] == [row["calls"] for row in expected] == ["20"] * 3

    screen.page.get_by_role("button", name="Plot").click()
    plot = screen.page.locator(".sql-main canvas").first
    wait_until(lambda: is_drawn(screen, plot), "points of the plot")
    editor.fill("SELECT name FROM nowhere")
    screen.page.get_by_role("button", name="Run (Ctrl+Enter)").click()
    screen.page.locator("main").get_by_role("alert").get_by_text("nowhere").wait_for()
    screen.forgive("400")
    screen.page.go_back()
    wait_until(lambda: "slices" in screen.state().get("sql.q", ""), "the statement before")


def test_a_slice_in_a_result_leads_to_the_timeline(open_page: OpenPage, known: Server) -> None:
    screen = open_page(known, view="sql", sql__q="SELECT * FROM slices WHERE name = 'gamma'")
    screen.table("Result").get_by_role("link").first.click()
    screen.wait_for_state(view="timeline")
    screen.page.get_by_role("complementary").get_by_text("last one").wait_for()


@pytest.mark.parametrize(
    "view", ["operators", "kernels", "gpu", "modules", "steps", "memory", "input"]
)
def test_a_view_with_nothing_to_show_says_so(open_page: OpenPage, known: Server, view: str) -> None:
    screen = open_page(known, view=view)
    wait_until(lambda: "Loading" not in screen.text() and screen.text().strip(), "an answer")
    assert screen.page.locator("main .note").count() == 1
    assert screen.page.get_by_role("alert").count() == 0


def test_a_trace_of_torch_profiler_shows_the_commands_figures(
    open_page: OpenPage,
    serve: Callable[..., Server],
    shared_data: pathlib.Path,
    stepscope: Command,
) -> None:
    trace = next((shared_data / "kineto").glob("resnet50_num_workers_0/*.pt.trace.json*"), None)
    if trace is None:
        pytest.skip("no trace of torch.profiler in ../shared/data/kineto")
    screen = open_page(serve(trace), view="kernels")
    expected = rows_of(stepscope, "report", trace, "--view", "kernels", "--limit", 10)
    assert_same(screen.rows("Kernels"), expected, least=10)
    screen.tab("Steps")
    expected = rows_of(stepscope, "report", trace, "--view", "phases", "--limit", 0)
    assert_same(screen.rows("Steps"), expected)


def test_input_shows_the_iterators_of_tf_data(
    open_page: OpenPage, serve: Callable[..., Server]
) -> None:
    screen = open_page(serve(PROFILE), view="input")
    questions = screen.page.get_by_role("list", name="Questions about the input")
    questions.wait_for()
    lines = questions.get_by_role("listitem").all_inner_texts()
    assert [line[:3] for line in lines] == ["1. ", "2. ", "3. ", "4. "]
    assert "What is slow? Map " in lines[3]
    stages = screen.page.get_by_role("list", name="Pipeline host 0").get_by_role("listitem")
    names = [text.split("\n")[0] for text in stages.all_inner_texts()]
    assert names == ["Range", "Map", "BatchV2", "Prefetch", "Root"]
    assert stages.nth(1).get_by_text("bottleneck").is_visible()
    table = screen.rows("Iterators")
    assert [row["name"] for row in table] == list(reversed(names))
