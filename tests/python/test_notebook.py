"""A trace in a notebook: its HTML, and ``%%stepscope`` in a real IPython shell."""

import json
import os
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

import stepscope

HOSTILE = "<script>alert('x')</script> & \""


def operator(name: str, start: float, dur: float) -> dict[str, object]:
    return {
        "ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": start, "dur": dur,
    }  # fmt: skip


def step(number: int, start: float, dur: float) -> dict[str, object]:
    event = operator(f"ProfilerStep#{number}", start, dur)
    return event | {"cat": "user_annotation"}


@pytest.fixture
def trace(tmp_path: pathlib.Path) -> stepscope.Trace:
    events = [step(i, 1000 * i, 1000) for i in range(1, 5)]
    events += [operator("aten::mm", 1000 * i + 100, 500) for i in range(1, 5)]
    events.append(operator(HOSTILE, 4700, 200))
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return stepscope.load(path)


def test_html_shows_verdict_steps_and_operators(trace: stepscope.Trace) -> None:
    root = ElementTree.fromstring(trace._repr_html_())
    text = " ".join(root.itertext())
    for sentence in trace.verdict():
        assert sentence in text
    tips = [title.text or "" for title in root.iter("title")]
    assert len(tips) == 4
    assert tips[0].startswith("step 1: 1 ms")
    rows = [[cell.text for cell in row] for row in root.iter("tr")]
    assert ["aten::mm", "4", "2 ms", "2 ms"] in rows


def test_html_has_names_as_text(trace: stepscope.Trace) -> None:
    root = ElementTree.fromstring(trace._repr_html_())
    assert not list(root.iter("script"))
    assert HOSTILE in [cell.text for cell in root.iter("td")]


def test_html_of_a_trace_with_nothing_in_it(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "none.json"
    path.write_text('{"traceEvents": []}')
    root = ElementTree.fromstring(stepscope.load(path)._repr_html_())
    assert not list(root.iter("svg"))
    assert "none.json" in "".join(root.itertext())


CELLS = """
import json, os, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("%load_ext stepscope").raise_error()
cell = "%%stepscope --only work\\ndef work(n):\\n    return n + 1\\n"
cell += "for i in range(25): last = work(i)"
trace = shell.run_cell(cell).result
functions = trace.functions()
calls = dict(zip(functions["name"], functions["calls"]))
kept = shell.run_cell(f"%%stepscope -o {sys.argv[1]}\\nwork(1)").result
failed = shell.run_cell("%%stepscope\\n1 / 0")
bad = shell.run_cell("%%stepscope --wrong\\n1")
again = shell.run_cell("%%stepscope\\nwork(1)")
print("\\n" + json.dumps({
    "calls": calls,
    "last": shell.user_ns["last"],
    "html": "work" in trace._repr_html_(),
    "is_gone": not os.path.exists(trace.source),
    "kept": os.path.exists(kept.source),
    "failed": type(failed.error_in_exec).__name__,
    "bad": str(bad.error_in_exec),
    "again": type(again.result).__name__,
}))
"""


def test_magic_profiles_a_cell(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("IPython")
    result = subprocess.run(
        [sys.executable, "-c", CELLS, str(tmp_path / "run")],
        capture_output=True,
        text=True,
        env=os.environ | {"IPYTHONDIR": str(tmp_path / "ipython")},
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    seen = json.loads(result.stdout.splitlines()[-1])
    assert seen["calls"]["work"] == 25
    assert seen["last"] == 25  # the cell's names are the notebook's
    assert seen["html"]
    assert seen["is_gone"]
    assert seen["kept"]
    assert seen["failed"] == "ZeroDivisionError"
    assert seen["bad"].startswith("%%stepscope: unrecognized arguments: --wrong")
    assert seen["again"] == "Trace"  # what failed was stopped
