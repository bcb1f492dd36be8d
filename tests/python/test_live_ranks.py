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


LAUNCHED = """
import time
import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

torch.set_num_threads(1)
torch.distributed.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(64, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
for batch in DataLoader(torch.randn(96, 64), batch_size=8, num_workers=1):
    model(batch).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    if torch.distributed.get_rank() == 1:
        time.sleep(0.05)
torch.distributed.destroy_process_group()
"""


def test_a_run_that_torchrun_started_knows_its_ranks(
    stepscope: Command, tmp_path: pathlib.Path
) -> None:
    script = tmp_path / "train.py"
    script.write_text(LAUNCHED)
    launch = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    stepscope("run", "-o", tmp_path / "job", *launch, script, check=True)
    for command in (("ranks",), ("report", "--view", "ranks")):
        result = stepscope(*command, tmp_path / "job", "-f", "json", check=True)
        ranks = json.loads(result.stdout)
        names = [column["name"] for column in ranks["columns"]]
        rows = [dict(zip(names, row, strict=True)) for row in ranks["rows"]]
        assert [row["rank"] for row in rows] == [0, 1], result.stdout
        assert [row["rank"] for row in rows if row["straggler"]] == [1], result.stdout
        # The launcher and the workers of the DataLoaders are no ranks.
        assert any("taken for no rank" in note for note in ranks["stats"]["notes"])
