"""A single worker unpacks spectrograms, and cannot keep up with the model.

Expected: dataloader-too-few-workers. Fixed: two workers.
"""

import argparse
import bz2
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Spectrograms(Dataset):
    def __init__(self, count: int) -> None:
        random = np.random.default_rng(0)
        clips = [random.normal(0, 20, (64, 200)).astype(np.int8) for _ in range(40)]
        self.files = [bz2.compress(clips[i % 40].tobytes()) for i in range(count)]

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        raw = bz2.decompress(self.files[index])
        clip = np.frombuffer(raw, dtype=np.int8).reshape(64, 200)
        return torch.from_numpy(clip.astype(np.float32) / 64), index % 12


class KeywordSpotter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(64, 48, 8, stride=8)
        self.out = nn.Linear(48, 12)

    def forward(self, clips: torch.Tensor) -> torch.Tensor:
        return self.out(torch.relu(self.conv(clips)).mean(dim=2))


def run(workers: int) -> float:
    loader = DataLoader(Spectrograms(1600), batch_size=32, num_workers=workers)
    model = KeywordSpotter()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    ends = []
    for clips, words in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(clips), words).backward()
        optimizer.step()
        ends.append(time.perf_counter())
    return (ends[-1] - ends[9]) / (len(ends) - 10)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    print(f"step: {run(workers=2 if args.fixed else 1) * 1000:.2f} ms")
