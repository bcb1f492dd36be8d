"""`convert x.timeline.svg`: a picture of the timeline, read back with Python's own XML parser."""

import json
import pathlib
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]
SVG = "{http://www.w3.org/2000/svg}"
SHARED = pathlib.Path(__file__).resolve().parents[3] / "shared" / "data"
MAX_BOXES = 20_000


def find_traces() -> list[pathlib.Path]:
    patterns = ("kineto/*/*.pt.trace.json.gz", "hta/**/*.json.gz", "megengine/*timeline*.json")
    return sorted(path for pattern in patterns for path in SHARED.glob(pattern))


def write_trace(path: pathlib.Path, events: list[dict[str, Any]]) -> pathlib.Path:
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def call(name: str, start: float, dur: float, tid: int = 1) -> dict[str, Any]:
    return {"ph": "X", "name": name, "pid": 1, "tid": tid, "ts": start, "dur": dur}


def boxes_of(root: ElementTree.Element) -> list[ElementTree.Element]:
    return [r for r in root.iter(f"{SVG}rect") if r.get("class", "").startswith("b ")]


def title_of(box: ElementTree.Element) -> str:
    return box.findtext(f"{SVG}title") or ""


def test_boxes_lie_where_the_slices_are(stepscope: Run, tmp_path: pathlib.Path) -> None:
    source = write_trace(
        tmp_path / "a.json", [call("outer", 0, 1000), call("inner", 250, 500), call("b", 0, 100, 2)]
    )
    path = tmp_path / "a.timeline.svg"
    stepscope("convert", source, path, check=True)
    boxes = {title_of(b).split("\n")[0]: b for b in boxes_of(ElementTree.parse(path).getroot())}
    assert set(boxes) == {"outer", "inner", "b"}
    outer, inner = boxes["outer"], boxes["inner"]
    left, width = float(outer.get("x", 0)), float(outer.get("width", 0))
    assert float(inner.get("x", 0)) == pytest.approx(left + width / 4, abs=0.02)
    assert float(inner.get("width", 0)) == pytest.approx(width / 2, abs=0.02)
    assert float(inner.get("y", 0)) > float(outer.get("y", 0))
    assert "500 us at 250 us" in title_of(inner)


def test_names_are_text_whatever_is_in_them(stepscope: Run, tmp_path: pathlib.Path) -> None:
    name = "<script>alert(1)</script> & \"'\u0001"
    source = write_trace(tmp_path / "a.json", [call(name, 0, 1000)])
    path = tmp_path / "timeline.svg"
    stepscope("convert", source, path, check=True)
    root = ElementTree.parse(path).getroot()
    assert not list(root.iter(f"{SVG}script"))
    (box,) = boxes_of(root)
    assert title_of(box).startswith("<script>alert(1)</script> & \"'\ufffd")


def test_short_slices_are_merged_and_counted(stepscope: Run, tmp_path: pathlib.Path) -> None:
    events = [call("whole", 0, 1_000_000)]
    events += [call("tiny", 10 * i, 5) for i in range(50_000)]
    path = tmp_path / "a.timeline.svg"
    source = write_trace(tmp_path / "a.json", events)
    result = stepscope("convert", source, path, check=True)
    root = ElementTree.parse(path).getroot()
    boxes = boxes_of(root)
    assert 100 < len(boxes) < 2_000
    counts = [int(title_of(b).split()[0]) for b in boxes if "slices, the longest" in title_of(b)]
    assert sum(counts) == 50_000
    assert "50000 slices" in "".join(root.itertext())
    assert "left out the times of 50000 slices" in result.stderr


def test_samples_are_drawn_as_calls(stepscope: Run, tmp_path: pathlib.Path) -> None:
    source = tmp_path / "a.collapsed"
    source.write_text("main;work 30\nmain;rest 10\n")
    path = tmp_path / "a.timeline.svg"
    stepscope("convert", source, path, check=True)
    boxes = {title_of(b).split("\n")[0]: b for b in boxes_of(ElementTree.parse(path).getroot())}
    assert set(boxes) == {"main", "work", "rest"}
    width = {name: float(box.get("width", 0)) for name, box in boxes.items()}
    assert width["work"] == pytest.approx(3 * width["rest"], rel=0.01)
    assert width["main"] == pytest.approx(width["work"] + width["rest"], rel=0.01)


def test_trace_without_a_timeline_is_refused(stepscope: Run, tmp_path: pathlib.Path) -> None:
    source = write_trace(tmp_path / "none.json", [])
    result = stepscope("convert", source, tmp_path / "a.timeline.svg")
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert "no timeline" in result.stderr
    assert not (tmp_path / "a.timeline.svg").exists()


@pytest.mark.parametrize("to", ["flamegraph.svg", "timeline.svg", "flamegraph", "timeline"])
def test_format_may_be_named_as_its_files_are(
    stepscope: Run, tmp_path: pathlib.Path, to: str
) -> None:
    source = write_trace(tmp_path / "a.json", [call("f", 0, 10)])
    result = stepscope("convert", source, "-", "--to", to, check=True)
    assert ElementTree.fromstring(result.stdout).tag == f"{SVG}svg"
    assert ("<script>" in result.stdout) == to.startswith("flamegraph")


@pytest.mark.skipif(not find_traces(), reason="the shared sample traces are not there")
def test_pictures_of_real_traces_are_xml(stepscope: Run, tmp_path: pathlib.Path) -> None:
    for source in find_traces():
        path = tmp_path / "real.timeline.svg"
        stepscope("convert", source, path, check=True)
        root = ElementTree.parse(path).getroot()
        assert 0 < len(boxes_of(root)) <= MAX_BOXES, source
        path.unlink()
