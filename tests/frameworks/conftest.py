"""Programs with TensorFlow or JAX, recorded by the command and read back.

Runs with the Python of the environment that has both (scripts/setup tensorflow).
"""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COMMAND = pathlib.Path(os.environ.get("STEPSCOPE_BIN", ROOT / ".venv/bin/stepscope")).absolute()
# What the frameworks log of themselves, and what they do not find, is none of the tests' business.
ENVIRONMENT = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu"}


def stepscope(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(COMMAND), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        env=ENVIRONMENT,
        **options,
    )


@dataclasses.dataclass
class Recorded:
    """A program that ran under `stepscope run`."""

    folder: pathlib.Path
    code: int
    output: str
    errors: str

    @property
    def profiles(self) -> list[pathlib.Path]:
        return sorted(self.folder.glob("*/plugins/profile/*/*.xplane.pb"))

    def view(self, name: str, *options: str) -> dict[str, list[Any]]:
        """A table of the run by its columns."""
        report = stepscope(
            "report", self.folder, "--view", name, "--format", "json", "--limit", 0, *options
        )
        assert report.returncode == 0, report.stderr
        table = json.loads(report.stdout)
        names = [column["name"] for column in table["columns"]]
        return {name: [row[i] for row in table["rows"]] for i, name in enumerate(names)}

    def query(self, sql: str) -> list[list[Any]]:
        answer = stepscope("query", self.folder, sql, "--format", "json")
        assert answer.returncode == 0, answer.stderr
        rows: list[list[Any]] = json.loads(answer.stdout)["rows"]
        return rows

    def steps(self) -> list[str]:
        """The names of the step scopes, in order."""
        sql = "select name from slices where kind = 'step' order by start_ns"
        return [name for (name,) in self.query(sql)]


Record = Callable[..., Recorded]


@pytest.fixture
def record(tmp_path: pathlib.Path) -> Record:
    """Runs a program's text: `record(text, "--steps", "2,0,3")`."""

    def run(text: str, *options: str, name: str = "program.py") -> Recorded:
        (tmp_path / name).write_text(textwrap.dedent(text))
        folder = tmp_path / f"run{len(list(tmp_path.glob('run*')))}"
        done = stepscope(
            "run", "--quiet", "--python", sys.executable, "-o", folder, *options, name, cwd=tmp_path
        )
        return Recorded(folder, done.returncode, done.stdout, done.stderr)

    return run


def run_plainly(folder: pathlib.Path, name: str = "program.py") -> subprocess.CompletedProcess[str]:
    """The same without us."""
    return subprocess.run(
        [sys.executable, name],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        env=ENVIRONMENT,
    )
