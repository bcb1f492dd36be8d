"""The view `input` on real profiles of TensorFlow, whose pipelines are known.

What is slow in each is known from its code (README.md beside the profile); calls, times and own
times are held to those of the tf.data analysis that xprof had, on files whose ids it reads rightly.
"""

import collections
import gzip
import json
import pathlib
import re
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]

# By construction: the stage that steps wait for, and what is said of it. None: they do not wait.
DIAGNOSES = {
    "distributed": ("MapAndBatch", "tfdata-slow-parallel-map"),
    "fast_cached": None,
    "guide_example1_noopt": ("Map", "tfdata-slow-map"),
    "guide_example2_noopt": ("ParallelMapV2", "tfdata-slow-parallel-map"),
    "guide_longname_noopt": None,
    "guide_longname_prefetch_noopt": None,
    "keras_fit": ("ParallelMapV2", "tfdata-slow-parallel-map"),
    "noprefetch_map": ("MapAndBatch", "tfdata-slow-parallel-map"),
    "parallel_map_autotune": ("MapAndBatch", "tfdata-slow-parallel-map"),
    "prefetch_seqmap_noopt": ("Map", "tfdata-slow-map"),
    "slow_source": ("TFRecord", "tfdata-slow-source"),
    "slow_source_noopt": ("TFRecord", "tfdata-slow-source"),
}
WITHOUT_PREFETCH = {"guide_example1_noopt", "guide_example2_noopt"}
SEVERAL_INPUTS = {"Zip", "Concatenate", "DirectedInterleave"}


def rows_of(stepscope: Run, path: pathlib.Path) -> tuple[list[dict[str, Any]], list[str]]:
    table = json.loads(
        stepscope("report", path, "--view", "input", "--format", "json", check=True).stdout
    )
    names = [column["name"] for column in table["columns"]]
    return [dict(zip(names, row, strict=True)) for row in table["rows"]], table["verdict"]


def findings_of(stepscope: Run, path: pathlib.Path) -> list[str]:
    printed = stepscope("report", path, "--view", "findings", "--format", "json", check=True).stdout
    return [finding["id"] for finding in json.loads(printed)["findings"]]


@pytest.mark.parametrize("case", DIAGNOSES)
def test_diagnosis_is_that_of_the_pipelines_code(
    stepscope: Run, shared_data: pathlib.Path, case: str
) -> None:
    path = shared_data / "xplane" / case / "trace.xplane.pb.gz"
    rows, answers = rows_of(stepscope, path)
    ids = findings_of(stepscope, path)
    assert len(answers) == 4
    expected = DIAGNOSES[case]
    if expected is None:
        assert "? Yes:" in answers[0]
        assert not [name for name in ids if name.startswith("tfdata")]
        return
    stage, finding = expected
    assert "? No:" in answers[0]
    assert f"What is slow? {stage} " in answers[3]
    assert ids[0] == finding
    assert ("tfdata-no-prefetch" in ids) == (case in WITHOUT_PREFETCH)
    slow = [row["name"] for row in rows if row["is_bottleneck"] and row["pipeline"][:4] == "host"]
    assert slow == [stage]


def test_device_pipeline_is_told_from_the_hosts(stepscope: Run, shared_data: pathlib.Path) -> None:
    rows, _ = rows_of(stepscope, shared_data / "xplane" / "distributed" / "trace.xplane.pb.gz")
    names = collections.defaultdict(list)
    for row in rows:
        names[row["pipeline"]].append(row["name"])
    assert names["device 0"] == ["Root", "Prefetch", "Generator"]
    assert names["host 1"] == ["Root", "Prefetch", "MapAndBatch", "Range"]


def without_instances(long_name: str) -> str:
    """Instances of one stage are one: FlatMap[3]::TFRecord."""
    parts = []
    for part in long_name.split("::"):
        stem = part.split("[")[0]
        parts.append(part if re.sub(r"V\d+$", "", stem) in SEVERAL_INPUTS else stem)
    return "::".join(parts)


@pytest.mark.parametrize("case", DIAGNOSES)
def test_figures_are_those_of_xprof(stepscope: Run, shared_data: pathlib.Path, case: str) -> None:
    folder = shared_data / "xplane" / case
    answer = (folder / "xprof_tf_data_bottleneck_analysis_idfixed.json.gz").read_bytes()
    [host] = json.loads(gzip.decompress(answer))["tf_data_stats"].values()
    theirs: dict[str, list[float]] = collections.defaultdict(lambda: [0, 0, 0])
    for pipeline in host["input_pipelines"].values():
        for request in pipeline["stats"]:
            for iterator, stats in request["iterator_stats"].items():
                sums = theirs[without_instances(host["iterator_metadata"][iterator]["long_name"])]
                sums[0] += int(stats["num_calls"])
                sums[1] += int(stats.get("duration_ps", 0)) / 1e6
                sums[2] += int(stats.get("self_time_ps", 0)) / 1e6
    ours: dict[str, list[float]] = collections.defaultdict(lambda: [0, 0, 0])
    for row in rows_of(stepscope, folder / "trace.xplane.pb.gz")[0]:
        sums = ours[row["long_name"]]
        sums[0] += row["calls"]
        sums[1] += row["total_ns"] / 1e3
        sums[2] += row["self_ns"] / 1e3
    assert ours.keys() == theirs.keys()
    for name, (calls, total_us, self_us) in theirs.items():
        assert ours[name][0] == calls, name
        assert ours[name][1] == pytest.approx(total_us, abs=calls), name
        assert ours[name][2] == pytest.approx(self_us, abs=calls), name
