"""Each picture is normalised pixel by pixel, in Python.

Expected: dataset-slow-item. Fixed: one operation for the whole picture.
"""

import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __init__(self, count: int, fixed: bool) -> None:
        self.raw = torch.randint(0, 256, (count, 24, 24), dtype=torch.uint8)
        self.fixed = fixed

    def __len__(self) -> int:
        return len(self.raw)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        if self.fixed:
            picture = (self.raw[index] / 255 - 0.5) / 0.25
        else:
            picture = torch.empty(24, 24)
            for row in range(24):
                for column in range(24):
                    picture[row, column] = normalise(self.raw[index, row, column])
        return picture.unsqueeze(0), index % 10


def normalise(pixel: torch.Tensor) -> float:
    return (int(pixel) / 255 - 0.5) / 0.25


def train(fixed: bool) -> None:
    loader = DataLoader(Pictures(320, fixed), batch_size=8, shuffle=True)
    model = nn.Sequential(
        nn.Conv2d(1, 64, 3), nn.ReLU(), nn.Conv2d(64, 64, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2),
        nn.Flatten(), nn.Linear(256, 10),
    )  # fmt: skip
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters())
    ends = []
    for pictures, labels in loader:
        loss = criterion(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ends.append(time.perf_counter())
    print(f"step: {(ends[-1] - ends[4]) / (len(ends) - 5) * 1000:.2f} ms")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    torch.manual_seed(0)
    train(parser.parse_args().fixed)
