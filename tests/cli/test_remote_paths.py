"""PATHs that are URLs: brought here by the Python beside the command, and removed afterwards."""

import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable

import pytest

pytestmark = pytest.mark.live  # the sanitized command has no Python beside it

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def url(tmp_path: pathlib.Path) -> str:
    pytest.importorskip("fsspec")
    event = {"ph": "X", "name": "work", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 0, "dur": 5}
    (tmp_path / "trace.json").write_text(json.dumps({"traceEvents": [event]}))
    (tmp_path / "temporary").mkdir()
    return f"file://{tmp_path}/trace.json"


def environment(tmp_path: pathlib.Path, **more: str) -> dict[str, str]:
    given = {"TMPDIR": str(tmp_path / "temporary"), "STEPSCOPE_PYTHON": sys.executable}
    return {**os.environ, **given, **more}


def test_a_url_is_read_like_a_file(stepscope: Run, tmp_path: pathlib.Path, url: str) -> None:
    env = environment(tmp_path)
    words = ["--view", "operators", "--format", "json"]
    remote = stepscope("report", url, *words, env=env)
    assert (remote.returncode, remote.stderr) == (0, "")
    assert remote.stdout == stepscope("report", tmp_path / "trace.json", *words).stdout
    folder = stepscope("report", f"file://{tmp_path}", *words, env=env)
    assert folder.stdout == remote.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["query", "URL", "select count(*) from slices"],
        ["convert", "URL", "OUT.sscope"],
        ["diff", "URL", "URL"],
        ["analyze", "URL"],
    ],
)
def test_commands_of_one_trace_take_urls(
    stepscope: Run, tmp_path: pathlib.Path, url: str, words: list[str]
) -> None:
    given = [word.replace("OUT", f"{tmp_path}/out") for word in words]
    env = environment(tmp_path)
    remote = stepscope(*(word.replace("URL", url) for word in given), env=env)
    local = stepscope(*(word.replace("URL", f"{tmp_path}/trace.json") for word in given), env=env)
    assert (remote.returncode, remote.stderr) == (0, local.stderr)


def test_what_is_not_there_is_one_line(stepscope: Run, tmp_path: pathlib.Path, url: str) -> None:
    missing = url.replace("trace", "missing")
    result = stepscope("report", missing, env=environment(tmp_path))
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert result.stderr.startswith(f"stepscope: {missing}: ")


@pytest.mark.parametrize(
    ("url", "extra"), [("abfs://container/run", "azure"), ("mlflow://RUN/run", "mlflow")]
)
def test_a_python_without_the_library_says_what_to_install(
    stepscope: Run, tmp_path: pathlib.Path, url: str, extra: str
) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    env = {**os.environ, "STEPSCOPE_PYTHON": str(tmp_path / "bare/bin/python")}
    result = stepscope("report", url, env=env)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert result.stderr.startswith(f"stepscope: {url}: needs ")
    assert f"pip install 'stepscope[{extra}]'" in result.stderr


def test_a_python_that_is_none_is_one_line(stepscope: Run, tmp_path: pathlib.Path) -> None:
    false = {**os.environ, "STEPSCOPE_PYTHON": "/bin/false"}
    result = stepscope("report", "abfs://container/run", env=false)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert "/bin/false" in result.stderr


def test_nothing_is_left_behind(stepscope: Run, tmp_path: pathlib.Path, url: str) -> None:
    import time

    stepscope("report", url, env=environment(tmp_path), check=True)
    for _ in range(600):  # whoever removes it outlives the command by a moment
        if not list((tmp_path / "temporary").iterdir()):
            return
        time.sleep(0.05)
    pytest.fail("the download is still there")
