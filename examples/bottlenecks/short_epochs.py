"""Epochs are short, and each of them starts the workers anew.

Expected: dataloader-worker-restart. Fixed: persistent_workers=True.
"""

import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class FewShots(Dataset):
    def __init__(self, count: int) -> None:
        self.pictures = torch.rand(count, 3, 32, 32)

    def __len__(self) -> int:
        return len(self.pictures)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        picture = self.pictures[index]
        if torch.rand(()) < 0.5:
            picture = picture.flip(2)
        return picture, index % 5


def train(epochs: int, persistent: bool) -> float:
    loader = DataLoader(
        FewShots(256), batch_size=64, shuffle=True, num_workers=2, persistent_workers=persistent
    )
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3, stride=2), nn.ReLU(),
        nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(256, 5),
    )  # fmt: skip
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    steps = 0
    for epoch in range(epochs):
        if epoch == 1:
            begin = time.perf_counter()
            steps = 0
        for pictures, labels in loader:
            optimizer.zero_grad()
            criterion(model(pictures), labels).backward()
            optimizer.step()
            steps += 1
    return (time.perf_counter() - begin) / steps


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    print(f"step: {train(12, persistent=args.fixed) * 1000:.2f} ms")
