"""A training run with PyTorch whose data comes from worker processes, sampled from outside."""

import pathlib
import subprocess
import sys
import textwrap

import pytest

from .recorded import Recorder, Recording

pytestmark = pytest.mark.live

TRAINING = """
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Pictures(Dataset):
        def __len__(self):
            return 32

        def __getitem__(self, i):
            return decode(i)

    def decode(i):
        for j in range(20_000):
            j * j
        return torch.ones(8)

    def train_step(model, optimizer, batch):
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()

    def main():
        torch.set_num_threads(1)
        model = torch.nn.Linear(8, 8)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        print("up", flush=True)
        input()
        for epoch in range(3):  # two workers each
            for batch in DataLoader(Pictures(), batch_size=2, num_workers=2):
                for _ in range(20):
                    train_step(model, optimizer, batch)
        print("trained")

    if __name__ == "__main__":
        main()
"""


def test_workers_of_a_training_run_are_seen(
    stepscope_bin: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    pytest.importorskip("torch")
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(TRAINING))
    path = tmp_path / "run"
    program = subprocess.Popen(
        [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert program.stdout is not None
        assert program.stdout.readline() == "up\n"
        options = ("--subprocesses", "--hz", 500, "-o", path)
        with Recorder(stepscope_bin, program.pid, *options) as recorder:
            out, _ = program.communicate("\n", 300)
            assert (out, program.returncode) == ("trained\n", 0)
            said = recorder.wait()
    finally:
        program.kill()
        program.communicate()
    assert "decode" in said
    recording = Recording(stepscope_bin, path)
    names = {row["name"] for row in recording.functions()}
    assert {"decode", "Pictures.__getitem__", "_worker_loop", "train_step"} <= names
    # The training's process, and workers of three epochs.
    processes = recording.query(
        "SELECT DISTINCT t.pid FROM samples s JOIN tracks t ON s.track_id = t.id"
    )
    assert [program.pid] in processes
    assert len(processes) >= 4
