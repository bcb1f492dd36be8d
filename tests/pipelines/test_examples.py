"""The examples for pipelines and trainers, run as a user would."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
from typing import Any

import pytest

from .conftest import ROOT, Tracking, check_run, environment, functions_of, stepscope

EXAMPLES = ROOT / "examples"
FOLDER = pathlib.Path("outputs/profiler_results")


def run_command(words: list[str], folder: pathlib.Path, env: dict[str, str]) -> str:
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stderr


def count(folder: pathlib.Path, condition: str) -> int:
    sql = f"select count(*) from slices where {condition}"
    done = stepscope("query", folder, sql, "--format", "json")
    assert done.returncode == 0, done.stderr
    return int(json.loads(done.stdout)["rows"][0][0])


@pytest.mark.parametrize("trainer", ["lightning", "transformers"])
def test_the_callback_records_the_steps_that_were_asked_for(
    tmp_path: pathlib.Path, trainer: str
) -> None:
    pytest.importorskip(trainer, reason=f"{trainer} is not installed (scripts/setup pipelines)")
    script = EXAMPLES / "callbacks" / f"{trainer}_callback.py"
    env = environment(HF_HUB_OFFLINE="1")
    said = run_command([sys.executable, str(script)], tmp_path, env)
    assert "stepscope:" not in said
    assert count(tmp_path / FOLDER, "kind = 'step'") == 4
    assert count(tmp_path / FOLDER, "name = 'aten::addmm'") > 4
    name = "on_train_batch_end" if trainer == "lightning" else "on_step_end"
    # Counted by the trainer: the last recorded step ends within it.
    assert functions_of(tmp_path / FOLDER)[f"StepscopeCallback.{name}"] >= 4


def read_pipeline() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml")
    pipeline: dict[str, Any] = yaml.safe_load((EXAMPLES / "azureml/pipeline.yml").read_text())
    return pipeline


def azure_command(**inputs: str) -> list[str]:
    """The step's command, as Azure ML makes it of the pipeline's inputs."""
    pipeline = read_pipeline()
    given = {name: str(value).lower() for name, value in pipeline["inputs"].items()} | inputs
    step = pipeline["jobs"]["train"]
    assert step["inputs"] == {name: f"${{{{parent.inputs.{name}}}}}" for name in given}
    text = re.sub(r"\$\{\{inputs\.(\w+)\}\}", lambda match: given[match[1]], step["command"])
    return [sys.executable if word == "python" else word for word in text.split()]


def test_the_pipelines_step_is_profiled_by_its_parameter(
    tracking: Tracking, tmp_path: pathlib.Path
) -> None:
    folder = shutil.copytree(EXAMPLES / "azureml", tmp_path / "code")
    run = tracking.make_run()
    env = tracking.environment(run)
    assert run_command(azure_command(), folder, env) == ""
    assert not (folder / "outputs").exists()
    said = run_command(azure_command(profile="true"), folder, env)
    assert f"stepscope: mlflow://{run}/profiler_results: 2 files" in said  # PyTorch may warn before
    check_run(folder / FOLDER)
    assert count(folder / FOLDER, "kind = 'step'") == 3
    assert count(folder / FOLDER, "name = 'aten::addmm'") == 6
    assert functions_of(f"mlflow://{run}", env) == functions_of(folder / FOLDER)


def test_azures_own_reader_takes_the_pipeline() -> None:
    ml = pytest.importorskip("azure.ai.ml", reason="azure-ai-ml is not installed")
    job = ml.load_job(EXAMPLES / "azureml/pipeline.yml")
    assert set(job.jobs) == {"train"}
    assert {name: value._data for name, value in job.inputs.items()} == {
        "steps": 20,
        "profile": False,
    }
