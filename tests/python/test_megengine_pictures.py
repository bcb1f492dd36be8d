"""What MegEngine's Profiler writes of a training step, in the programs that people look at it with:
the Perfetto UI and Chromium."""

import json
import pathlib
import shutil
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("torch")

from test_megengine import run
from test_torch_exports import read_with

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
SVG = "{http://www.w3.org/2000/svg}"
MB = 1 << 20


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium")
    with api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


def test_the_timeline_opens_in_perfetto_with_threads_blocks_and_counters(
    tmp_path: pathlib.Path,
) -> None:
    formats = ["chrome_timeline.json", "memory_flow.svg", "sscope", "pt.trace.json"]
    pid, said = run(
        tmp_path,
        f"""
        profiler = profile("out", formats={formats}, sample_rate=1)
        step = profiler(train)
        for _ in range(3):
            step()
        """,
    )
    assert said == ""
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        f"{pid}.{name}" for name in formats
    }
    timeline, kineto = read_with(
        "perfetto",
        tmp_path / "out" / f"{pid}.chrome_timeline.json",
        tmp_path / "out" / f"{pid}.pt.trace.json",
    )
    assert timeline["errors"] == kineto["errors"] == []
    blocks: dict[str, dict[str, int]] = {}
    for thread, name, count in timeline["by_thread"]:
        blocks.setdefault(thread, {})[name] = count
    assert {"interpreter", "worker", "cpu0:0"} <= set(blocks)
    for block in ("conv1", "fc", "backward", "step", "clear_grad"):
        assert blocks["interpreter"][block] == 3, block
    assert blocks["worker"]["aten::conv2d"] == blocks["worker"]["aten::addmm"] == 3
    assert blocks["cpu0:0"]
    assert timeline["flows"] > 0
    counters = dict(timeline["counters"])
    expected = {"nr_op_pending", "nr_alive_tensor", "cpu0:0_alloc_mem", "gpu_usage_ratio"}
    found = {name for name in expected if any(key.startswith(name) for key in counters)}
    assert found == expected, counters
    # The page itself has it open. Its tracks are drawn on a canvas, which has no text.
    assert "Current Trace" in " ".join(timeline["drawn"])


def make_trace(path: pathlib.Path, allocations: int) -> pathlib.Path:
    """As torch.profiler writes memory: each piece is taken within an operator, and given back."""
    events: list[dict[str, Any]] = []
    common = {"pid": 1, "tid": 1}
    for number in range(allocations):
        begin, size = 10.0 * number, 512 * (1 + number % 7)
        address = 0x7F00_0000_0000 + 4096 * (number % 500)
        name = f"aten::operator_{number % 40}"
        events.append({**common, "ph": "X", "cat": "cpu_op", "name": name, "ts": begin, "dur": 8})
        args = {"Addr": address, "Device Type": 0, "Device Id": -1}
        events += [
            {**common, "ph": "i", "s": "t", "name": "[memory]", "cat": "cpu_instant_event",
             "ts": begin + 1, "args": {**args, "Bytes": size}},
            {**common, "ph": "i", "s": "t", "name": "[memory]", "cat": "cpu_instant_event",
             "ts": begin + 4000, "args": {**args, "Bytes": -size}},
        ]  # fmt: skip
    events.sort(key=lambda event: event["ts"])
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


def test_ten_thousand_allocations_are_a_picture_that_a_browser_shows(
    tmp_path: pathlib.Path, stepscope: Callable[..., Any], browser: Any
) -> None:
    trace = make_trace(tmp_path / "trace.json", 10_000)
    picture = tmp_path / "memory_flow.svg"
    stepscope("convert", trace, picture, check=True)
    assert picture.stat().st_size <= 2 * MB
    root = ElementTree.parse(picture).getroot()  # it is well-formed
    assert root.tag == f"{SVG}svg"

    page = browser.new_page(viewport={"width": 1600, "height": 900})
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: complaints.append(request.url))
    page.goto(picture.as_uri())
    assert complaints == [picture.as_uri()]  # itself, and nothing from elsewhere
    assert page.evaluate("document.documentElement.localName") == "svg"
    assert page.evaluate("document.querySelector('parsererror')") is None
    seen = page.evaluate(
        """() => {
          const view = document.documentElement.getBoundingClientRect();
          const inside = (box) => box.width > 0 && box.left >= view.left - 1
            && box.right <= view.right + 1 && box.top >= view.top - 1
            && box.bottom <= view.bottom + 1;
          const texts = [...document.querySelectorAll('text')];
          const names = texts.map((text) => text.textContent);
          return {
            width: view.width,
            boxes: document.querySelectorAll('rect, path').length,
            outside: texts.filter((text) => !inside(text.getBoundingClientRect()))
              .map((text) => text.textContent),
            smallest: Math.min(...texts.map((text) => parseFloat(getComputedStyle(text).fontSize))),
            names,
          };
        }"""
    )
    assert seen["width"] > 600
    assert seen["boxes"] > 1000
    assert seen["outside"] == []
    assert seen["smallest"] >= 9
    assert any("peak" in name for name in seen["names"])
    page.close()
