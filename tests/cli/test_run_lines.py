"""stepscope run tells which lines take the time, from looks at the program beside its calls."""

import json
import os
import subprocess
import textwrap
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PYTHON = ROOT / ".venv/bin/python"
STEPSCOPE = str(Path(os.environ.get("STEPSCOPE_BIN", ROOT / ".venv/bin/stepscope")).absolute())

# Prints what its lines took, by its own clock.
PROGRAM = """
    import hashlib, json, time

    DATA = bytes(150_000_000)

    def work():
        begin = time.perf_counter()
        sum(range(5_000_000))                # 7: Python
        python = time.perf_counter()
        hashlib.sha256(DATA).digest()        # 9: native code, without the lock
        native = time.perf_counter()
        time.sleep(0.2)                      # 11: waiting
        return python - begin, native - python, time.perf_counter() - native

    def main():
        sums = [0.0, 0.0, 0.0]
        for _ in range(10):
            for i, part in enumerate(work()):
                sums[i] += part
        print(json.dumps(sums))

    main()
"""


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(textwrap.dedent(PROGRAM).lstrip("\n"))
    command = [STEPSCOPE, "run", "--python", str(PYTHON), "-q", "-o", "run", *options, "program.py"]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, check=True
    )


def report(folder: Path, view: str) -> Any:
    command = [STEPSCOPE, "report", str(folder / "run"), "--view", view, "-f", "json"]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def rows_of(table: Any) -> list[dict[str, Any]]:
    names = [column["name"] for column in table["columns"]]
    return [dict(zip(names, row, strict=True)) for row in table["rows"]]


@pytest.mark.live
def test_lines_have_the_time_that_they_took_and_what_it_was(tmp_path: Path) -> None:
    truth = json.loads(run(tmp_path).stdout)
    by_line = {row["line"]: row for row in rows_of(report(tmp_path, "lines"))}
    expected = {7: "python_fraction", 9: "native_fraction", 11: "waiting_fraction"}
    for (line, state), seconds in zip(expected.items(), truth, strict=True):
        assert by_line[line]["name"] == "work"
        assert by_line[line]["self_ns"] / 1e9 == pytest.approx(seconds, abs=0.1 * sum(truth)), line
        assert by_line[line][state] > 0.7, (line, by_line[line])


@pytest.mark.live
def test_calls_are_counted_as_ever_and_looks_are_no_samples(tmp_path: Path) -> None:
    run(tmp_path)
    functions = report(tmp_path, "functions")
    calls = {row["name"]: row["calls"] for row in rows_of(functions)}
    assert calls["work"] == 10
    assert calls["main"] == 1
    assert "sampler_ticks" not in functions["stats"]
    tracks = rows_of(report(tmp_path, "tracks"))
    assert not any(row["kind"] == "thread" and row["slices"] == 0 for row in tracks), tracks


@pytest.mark.live
def test_without_lines_there_are_none(tmp_path: Path) -> None:
    run(tmp_path, "--no-lines")
    assert not (tmp_path / "run" / "lines.sscope").exists()
    table = report(tmp_path, "lines")
    assert table["rows"] == []


@pytest.mark.live
def test_a_finding_names_the_line(tmp_path: Path) -> None:
    slow = textwrap.dedent("""
        def score(rows):
            total = 0
            for row in rows:
                total += sum([x * x % 7 for x in row])
            return total

        rows = [list(range(1000)) for _ in range(100)]
        for _ in range(200):
            score(rows)
    """).lstrip("\n")
    (tmp_path / "slow.py").write_text(slow)
    command = [STEPSCOPE, "run", "--python", str(PYTHON), "-q", "-o", "run", "slow.py"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    findings = report(tmp_path, "findings")["findings"]
    assert findings[0]["id"] == "python-hotspot"
    assert findings[0]["where"] == "slow.py:1 score"
    assert findings[0]["title"].endswith("most of it in line 4"), findings[0]["title"]
    assert "in line 4" in {figure["name"] for figure in findings[0]["evidence"]["figures"]}
