"""A C++ program that records itself with stepscope/record.h and the shared library."""

import json
import os
import pathlib
import subprocess
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPSCOPE = pathlib.Path(os.environ.get("STEPSCOPE_BIN", ROOT / ".venv/bin/stepscope")).absolute()
BUILD = STEPSCOPE.resolve().parents[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """What examples/cpp_training recorded of 30 steps."""
    folder = tmp_path_factory.mktemp("cpp") / "run"
    subprocess.run([BUILD / "bin/cpp_training", folder, "30"], check=True, timeout=60)
    return folder


def report(folder: pathlib.Path, view: str) -> list[dict[str, Any]]:
    command = [STEPSCOPE, "report", folder, "--view", view, "--format", "json", "--limit", "0"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    table = json.loads(done.stdout)
    names = [column["name"] for column in table["columns"]]
    return [dict(zip(names, row, strict=True)) for row in table["rows"]]


def test_every_step_is_reported(folder: pathlib.Path) -> None:
    assert [row["step"] for row in report(folder, "steps")] == list(range(30))


def test_scopes_are_functions(folder: pathlib.Path) -> None:
    calls = {row["name"]: row["calls"] for row in report(folder, "functions")}
    names = ("train_step", "make_batch", "forward", "backward", "update")
    assert calls == dict.fromkeys(names, 30)


def test_labels_of_kind_operator_are_operators(folder: pathlib.Path) -> None:
    rows = {row["name"]: row for row in report(folder, "operators")}
    assert rows["multiply"]["calls"] == 5 * 30


def test_counters_and_thread_names_are_kept(folder: pathlib.Path) -> None:
    tracks = report(folder, "tracks")
    loss = [row for row in tracks if row["name"].endswith("loss")]
    assert [row["counter_values"] for row in loss] == [30]
    assert [row for row in tracks if row["kind"] == "thread" and "trainer" in row["name"]]


def test_program_says_where_it_can_not_record(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("")
    command = [BUILD / "bin/cpp_training", tmp_path / "file/run"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "file/run" in done.stderr


def test_library_exports_its_one_function() -> None:
    library = BUILD / "lib/libstepscope_record.so"
    command = ["nm", "--dynamic", "--defined-only", library]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert [line.split()[-1] for line in lines] == ["stepscope_record_table"]
