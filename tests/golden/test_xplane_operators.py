"""The view `operators` on real profiles of TensorFlow against xprof's framework_op_stats."""

import collections
import gzip
import json
import pathlib
import subprocess
from collections.abc import Callable

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]

NO_OPERATORS = {"IDLE", "Dataset"}


def read_xprof(path: pathlib.Path) -> dict[str, tuple[int, float]]:
    """Calls and own time in us by type of operator."""
    table = json.loads(gzip.decompress(path.read_bytes()))[0]
    names = [column["id"] for column in table["cols"]]
    sums: dict[str, list[float]] = collections.defaultdict(lambda: [0, 0])
    for row in table["rows"]:
        known = dict(zip(names, (cell["v"] for cell in row["c"]), strict=True))
        if known["type"] not in NO_OPERATORS:
            sums[known["type"]][0] += known["occurrences"]
            sums[known["type"]][1] += known["total_self_time"]
    return {name: (int(calls), self_us) for name, (calls, self_us) in sums.items()}


def test_operators_are_those_of_xprof(stepscope: Run, shared_data: pathlib.Path) -> None:
    files = sorted(shared_data.glob("xplane/*/xprof_framework_op_stats.json.gz"))
    if not files:
        pytest.skip("no profiles in ../shared/data/xplane")
    for file in files:
        trace = file.parent / "trace.xplane.pb.gz"
        printed = stepscope(
            "report", trace, "--view", "operators", "--limit", 0, "--format", "json", check=True
        ).stdout
        table = json.loads(printed)
        names = [column["name"] for column in table["columns"]]
        ours = {}
        for row in table["rows"]:
            known = dict(zip(names, row, strict=True))
            ours[known["name"]] = (known["calls"], known["self_host_ns"] / 1e3)
        theirs = read_xprof(file)
        assert ours.keys() == theirs.keys(), trace
        for name, (calls, self_us) in theirs.items():
            assert ours[name] == (calls, pytest.approx(self_us, abs=calls)), (trace, name)
