"""A trace of more than 4 GB, made on the spot by the benchmarks' generator."""

import json
import os
import pathlib
import shutil
import subprocess
from collections.abc import Callable

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GENERATOR = ROOT / "build/release/bin/generate_kineto"
MEGABYTES = 4400


@pytest.mark.heavy
def test_a_file_over_4_gb_loads_whole_in_a_fraction_of_its_size(
    stepscope_bin: pathlib.Path,
    stepscope: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: pathlib.Path,
) -> None:
    if not GENERATOR.exists():
        pytest.skip("no generate_kineto (make build-benchmarks)")
    if shutil.disk_usage(tmp_path).free < 6e9:
        pytest.skip("less than 6 GB of free disk")
    trace = tmp_path / "large.json"
    subprocess.run([GENERATOR, trace, "--mb", str(MEGABYTES)], check=True)
    # Every event has one "ph" at the beginning of a line or after its brace: counted by grep, which
    # knows nothing of JSON.
    counted = subprocess.run(["grep", "-c", '"ph": "', trace], capture_output=True, check=True)
    command = [str(stepscope_bin), "report", str(trace), "--view", "operators", "--format", "json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    table = json.loads(process.stdout.read())
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0
    assert trace.stat().st_size > 1 << 32
    assert table["stats"]["events_read"] == int(counted.stdout)
    assert usage.ru_maxrss * 1024 < 1.3 * trace.stat().st_size
    saved = tmp_path / "large.sscope"
    stepscope("convert", trace, saved, check=True)
    streamed = stepscope(*["report", saved, "--view", "operators", "--format", "json", "--stream"])
    assert json.loads(streamed.stdout)["rows"] == table["rows"]
    trace.unlink()
