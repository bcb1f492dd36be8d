"""`stepscope export-html`: what is in the file, read by other means than the page's own."""

import base64
import gzip
import hashlib
import html.parser
import json
import pathlib
import re
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from .conftest import make_events

pytestmark = pytest.mark.usefixtures("page")

Run = Callable[..., subprocess.CompletedProcess[str]]
WriteTrace = Callable[..., pathlib.Path]
VOID = {"meta", "link"}
HOSTILE = '</script><script>alert(1)</script><!-- " & \u202e'


class PageReader(html.parser.HTMLParser):
    """Elements must close in order, and only in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[int, str] = {}
        self.is_inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.is_inside = tag not in VOID
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self.is_inside = False

    def handle_data(self, data: str) -> None:
        if not self.is_inside:
            return
        at = len(self.elements) - 1
        self.texts[at] = self.texts.get(at, "") + data


class Page:
    def __init__(self, path: pathlib.Path) -> None:
        self.text = path.read_text()
        reader = PageReader()
        reader.feed(self.text)
        reader.close()
        assert reader.open == []
        self.elements = [
            (tag, attributes, reader.texts.get(at, ""))
            for at, (tag, attributes) in enumerate(reader.elements)
        ]
        self.index = json.loads(self.block("index"))

    def block(self, name: object) -> bytes:
        [text] = [text for _, attributes, text in self.elements
                  if attributes.get("id") == f"stepscope-{name}"]  # fmt: skip
        return gzip.decompress(base64.b64decode(text, validate=True))

    def find(self, **wanted: Any) -> list[int]:
        return [at for at, entry in enumerate(self.index["blocks"])
                if all(entry.get(name) == value for name, value in wanted.items())]  # fmt: skip

    def answer(self, path: str, **parameters: str) -> Any:
        [block] = self.find(kind="answer", path=path, parameters=parameters)
        return json.loads(self.block(block))


@pytest.fixture
def export(stepscope: Run, tmp_path: pathlib.Path) -> Callable[..., Page]:
    def run(*args: object) -> Page:
        target = tmp_path / "out.html"
        stepscope("export-html", *args[:1], target, *args[1:], check=True)
        return Page(target)

    return run


def crowded_events(slices: int) -> list[dict[str, Any]]:
    return [
        {"ph": "X", "cat": "cpu_op", "name": f"op {i % 3000}", "pid": 1, "tid": 1 + i % 4,
         "ts": 30 * i, "dur": 7 + i % 9, "args": {"at": i * 7919, "text": f"{i:x}" * 4}}
        for i in range(slices)
    ]  # fmt: skip


def test_tables_are_those_of_report(
    export: Callable[..., Page], stepscope: Run, trace: pathlib.Path
) -> None:
    page = export(trace)
    for view in ("operators", "functions", "kernels", "modules", "steps", "phases"):
        printed = stepscope(
            "report", trace, "--view", view, "--limit", 0, "--format", "json", check=True
        ).stdout
        assert page.answer("table", run="0", view=view, limit="0") == json.loads(printed), view


def test_everything_of_a_small_trace_is_in_the_file(
    export: Callable[..., Page], trace: pathlib.Path
) -> None:
    page = export(trace)
    assert page.index["left_out"] == []
    slices = [
        slice
        for block in page.find(kind="slices", run=0)
        for slice in json.loads(page.block(block))
    ]
    assert sorted(slice["id"] for slice in slices) == list(range(9))
    assert page.find(kind="tiles", run=0, level=0)
    labels = [label["name"] for block in page.find(kind="labels", run=0)
              for label in json.loads(page.block(block))["labels"]]  # fmt: skip
    assert {"aten::linear", "aten::addmm"} <= set(labels)
    assert len(labels) == len(set(labels))


def test_policy_allows_the_page_itself_and_no_network(
    export: Callable[..., Page], trace: pathlib.Path
) -> None:
    page = export(trace)
    [policy] = [attributes["content"] for _, attributes, _ in page.elements
                if attributes.get("http-equiv") == "Content-Security-Policy"]  # fmt: skip
    assert policy
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))

    def hash_of(tag: str, type_: str | None) -> str:
        [text] = [text for name, attributes, text in page.elements
                  if name == tag and attributes.get("type") == type_]  # fmt: skip
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    assert rules == {
        "default-src": "'none'",
        "script-src": hash_of("script", "module"),
        "style-src": hash_of("style", None),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    sources = [attributes for _, attributes, _ in page.elements
               if {"src", "href", "data", "action"} & attributes.keys()]  # fmt: skip
    assert sources == [{"rel": "icon", "href": "data:,"}]


@pytest.mark.parametrize(
    ("size", "most"), [("600KB", 600_000), ("1MB", 1_000_000), ("2MB", 2_000_000)]
)
def test_file_is_within_the_budget_and_uses_it(
    stepscope: Run, write_trace: WriteTrace, tmp_path: pathlib.Path, size: str, most: int
) -> None:
    trace = write_trace(events=crowded_events(60_000))
    target = tmp_path / "out.html"
    result = stepscope("export-html", trace, target, "--max-size", size, check=True)
    assert most * 0.8 < target.stat().st_size <= most
    page = Page(target)
    said = re.findall(r"left out (.*)", result.stderr)
    assert said == page.index["left_out"]
    assert any("slices" in line for line in said)


def test_large_recording_fits_the_default(
    stepscope: Run, write_trace: WriteTrace, tmp_path: pathlib.Path
) -> None:
    trace = write_trace("large.json.gz", crowded_events(400_000))
    target = tmp_path / "out.html"
    stepscope("export-html", trace, target, check=True)
    assert target.stat().st_size <= 20_000_000
    assert Page(target).find(kind="tiles", run=0, level=8)


def test_names_cannot_leave_their_place(
    export: Callable[..., Page], write_trace: WriteTrace
) -> None:
    events = [{**event, "name": HOSTILE, "args": {HOSTILE: HOSTILE}} for event in make_events()]
    folder = write_trace("x.json").parent
    trace = write_trace("<script>alert(1)<!--.json", events)
    page = export(trace)
    scripts = [attributes for tag, attributes, _ in page.elements if tag == "script"]
    assert [attributes.get("type") for attributes in scripts].count("module") == 1
    assert {attributes.get("type") for attributes in scripts} == {
        "module",
        "application/octet-stream",
    }
    [title] = [text for tag, _, text in page.elements if tag == "title"]
    assert title.startswith("<script>alert(1)<!--.json")
    assert "alert(1)</script>" not in page.text
    assert folder.is_dir()


def test_several_runs_are_in_one_file(
    stepscope: Run, write_trace: WriteTrace, tmp_path: pathlib.Path
) -> None:
    traces = [write_trace("a.json", make_events(3)), write_trace("b.json", make_events(5))]
    target = tmp_path / "out.html"
    result = stepscope("export-html", *traces, tmp_path / "missing.json", target, check=True)
    assert "missing.json" in result.stderr
    page = Page(target)
    assert [run["name"] for run in page.answer("runs")["runs"]] == ["a.json", "b.json"]
    for run, steps in (("0", 3), ("1", 5)):
        table = page.answer("table", run=run, view="steps", limit="0")
        assert len(table["rows"]) == steps


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["{trace}"], 2, "needs a trace and an output"),
        (["{trace}", "{trace}"], 2, "does not end in .html"),
        (["{trace}", "out.html", "--max-size", "huge"], 2, "--max-size"),
        (["{trace}", "{folder}/out.html", "--max-size", "1KB"], 1, "the page alone takes"),
        (["{folder}/none.json", "{folder}/out.html"], 1, "none.json"),
        (["{trace}", "{folder}"], 1, "is a directory"),
        (["{trace}", "{folder}/no/such/out.html"], 1, "out.html"),
    ],
)
def test_errors_say_why_and_leave_no_file(
    stepscope: Run,
    trace: pathlib.Path,
    tmp_path: pathlib.Path,
    args: list[str],
    code: int,
    said: str,
) -> None:
    names = {"trace": trace, "folder": tmp_path}
    before = trace.read_bytes()
    result = stepscope("export-html", *(arg.format(**names) for arg in args))
    assert result.returncode == code
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == [trace.name]
    assert trace.read_bytes() == before


def test_file_goes_to_standard_output(stepscope: Run, trace: pathlib.Path) -> None:
    result = stepscope("export-html", trace, "-", check=True)
    assert result.stdout.startswith("<!doctype html>")
    assert result.stdout.endswith("</html>\n")


def test_trace_with_nothing_in_it_has_a_page(
    export: Callable[..., Page], write_trace: WriteTrace, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / "empty.json"
    path.write_text('{"traceEvents": []}')
    assert export(path).answer("tracks", run="0")["tracks"] == []
