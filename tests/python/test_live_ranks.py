"""Data-parallel trainings with real processes on gloo, one of them slowed: who, and why?"""

import json
import pathlib
import subprocess
import sys
from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

pytestmark = [pytest.mark.live, pytest.mark.heavy]
PROGRAM = pathlib.Path(__file__).with_name("ddp_program.py")
Command = Callable[..., subprocess.CompletedProcess[str]]


def train(folder: pathlib.Path, world: int, slow: int, how: str) -> None:
    ranks = [
        subprocess.Popen(
            [sys.executable, str(PROGRAM), *map(str, (folder, rank, world, slow, how))],
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(world)
    ]
    for rank in ranks:
        _, errors = rank.communicate(timeout=300)
        assert rank.returncode == 0, errors


@pytest.mark.parametrize(
    ("world", "slow", "how", "causes"),
    [
        (2, 1, "input", {"input"}),
        (4, 2, "input", {"input"}),
        (4, 0, "host", {"host"}),
        (4, 3, "operators", {"more-work", "slow-kernel"}),
    ],
)
def test_the_rank_that_is_slowed_is_found_with_its_cause(
    stepscope: Command, tmp_path: pathlib.Path, world: int, slow: int, how: str, causes: set[str]
) -> None:
    train(tmp_path, world, slow, how)
    result = stepscope("ranks", tmp_path, "--view", "ranks,findings", "-f", "json", check=True)
    ranks, findings = json.loads(result.stdout)
    names = [column["name"] for column in ranks["columns"]]
    rows = [dict(zip(names, row, strict=True)) for row in ranks["rows"]]
    assert [row["rank"] for row in rows] == list(range(world))
    assert [row["rank"] for row in rows if row["straggler"]] == [slow], result.stdout
    assert rows[slow]["cause"] in causes, rows[slow]
    # It is slowed by 80 ms a step; the others wait for it about that long.
    assert rows[slow]["excess_ns"] == pytest.approx(80e6, rel=0.4)
    for row in rows:
        if row["rank"] != slow:
            assert row["wait_ns"] > rows[slow]["wait_ns"] + 30e6
    first = findings["findings"][0]
    assert (first["id"], first["where"]) == ("straggler-rank", f"rank {slow}")
