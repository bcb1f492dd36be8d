"""Trains a small CNN on random pictures, with a data set that is slower than it need be.

stepscope run --only mine examples/train_slow.py
stepscope report outputs/profiler_results/train_slow-* --view phases
"""

import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class SlowPictures(Dataset[tuple[torch.Tensor, int]]):
    """Ten classes of noise, as large as CIFAR's pictures."""

    def __len__(self) -> int:
        return 3200

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return augment(torch.rand(3, 32, 32)), index % 10


def augment(picture: torch.Tensor) -> torch.Tensor:
    """What a vectorised operation would do at once, pixel by pixel."""
    for row in range(32):
        picture[:, row] += jitter() * 0.1
    return picture


def jitter() -> float:
    return sum(random.random() for _ in range(32)) / 32


def train() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(256, 10)
    )
    loss_function = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for pictures, labels in DataLoader(SlowPictures(), batch_size=64):
        loss = loss_function(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    train()
