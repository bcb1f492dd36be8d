"""The findings of a Kineto trace against the TensorBoard plugin's advice.

`expected_views.jsonl.gz` has what torch_tb_profiler recommended for the same trace: the share of
the step in the DataLoader, and the share of kernel time that Tensor Cores could do and do not.
"""

import gzip
import json
import pathlib
import re
from collections.abc import Callable
from typing import Any

import pytest

Finding = dict[str, Any]


@pytest.fixture(scope="module")
def resnet(shared_data: pathlib.Path) -> pathlib.Path:
    return shared_data / "kineto" / "resnet50_num_workers_0"


@pytest.fixture(scope="module")
def advice(resnet: pathlib.Path) -> str:
    with gzip.open(resnet / "expected_views.jsonl.gz", "rt") as lines:
        overview = json.loads(lines.readline())
    return str(overview["recommendations"])


@pytest.fixture(scope="module")
def find(stepscope: Callable[..., Any]) -> Callable[[pathlib.Path], list[Finding]]:
    def find_in(path: pathlib.Path) -> list[Finding]:
        result = stepscope("report", path, "--view", "findings", "--format", "json")
        assert result.returncode == 0, result.stderr
        found: list[Finding] = json.loads(result.stdout)["findings"]
        return found

    return find_in


@pytest.fixture(scope="module")
def findings(resnet: pathlib.Path, find: Callable[[pathlib.Path], list[Finding]]) -> list[Finding]:
    return find(resnet / "worker0.1623143089861.pt.trace.json.gz")


def figure(finding: Finding, name: str) -> float:
    values = [f["value"] for f in finding["evidence"]["figures"] if f["name"] == name]
    assert len(values) == 1, (name, finding)
    return float(values[0])


def percent_in(pattern: str, advice: str) -> float:
    match = re.search(pattern, advice)
    assert match, advice
    return float(match[1]) / 100


def test_the_dataloader_comes_first_and_then_unused_tensor_cores(findings: list[Finding]) -> None:
    assert [f["id"] for f in findings[:2]] == ["dataloader-in-process", "full-precision-matmul"]
    assert findings[0]["severity"] == "critical"
    assert findings[1]["severity"] == "warning"


def test_shares_are_those_of_the_plugin(findings: list[Finding], advice: str) -> None:
    dataloader = percent_in(r"([\d.]+)% of the step time is in DataLoader", advice)
    assert figure(findings[0], "input") == pytest.approx(dataloader, abs=0.0005)
    eligible = percent_in(r"Kernels with ([\d.]+)% time", advice)
    assert figure(findings[1], "eligible kernel time") == pytest.approx(eligible, abs=0.005)
    assert figure(findings[1], "Tensor Core kernel time") == 0


def test_steps_without_the_causes_are_told(findings: list[Finding]) -> None:
    """The same program was recorded with num_workers=4 too: its steps took 117 to 127 ms there."""
    dataloader, tensor_cores = findings[:2]
    assert figure(dataloader, "step") == pytest.approx(177.6e6, rel=0.001)
    assert 105e6 < figure(dataloader, "step with workers") < 127e6
    assert dataloader["at_stake_fraction"] == pytest.approx(0.33, abs=0.02)
    assert figure(tensor_cores, "step with Tensor Cores") < figure(tensor_cores, "step before")
    assert tensor_cores["at_stake_fraction"] == pytest.approx(0.07, abs=0.03)


def test_all_other_traces_have_findings_without_a_crash(
    shared_data: pathlib.Path, find: Callable[[pathlib.Path], list[Finding]]
) -> None:
    traces = sorted((shared_data / "hta").rglob("*.gz"))
    assert traces
    for trace in traces:
        for finding in find(trace):
            assert 0 <= finding["at_stake_fraction"] <= 1, (trace, finding)


def test_a_gpu_below_half_of_its_time_is_told_with_its_cause(
    shared_data: pathlib.Path, find: Callable[[pathlib.Path], list[Finding]]
) -> None:
    path = shared_data / "hta/nccl_parser_config/nccl_data.json.gz"
    ids = [finding["id"] for finding in find(path)]
    assert ids[0] == "launch-bound"
    assert "gpu-idle" not in ids  # it is the same, seen from the device
    assert "full-precision-matmul" not in ids  # it uses Tensor Cores
