"""A small CNN on pictures that are stored as one tensor. Nothing is wrong with it."""

import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __init__(self, count: int) -> None:
        self.pictures = torch.rand(count, 3, 32, 32)
        self.labels = torch.randint(0, 10, (count,))

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int):
        return self.pictures[index], self.labels[index]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 32, 3, padding=1, bias=False),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1, bias=False),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(4),
        )
        self.head = nn.Linear(64 * 16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(x).flatten(1))


def train(epochs: int) -> float:
    loader = DataLoader(Pictures(1280), batch_size=64, shuffle=True)
    model = Net()
    loss_function = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    steps, begin = 0, 0.0
    for _ in range(epochs):
        for pictures, labels in loader:
            loss = loss_function(model(pictures), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            steps += 1
            if steps == 5:
                begin = time.perf_counter()
    return (time.perf_counter() - begin) / (steps - 5)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="there is nothing to fix")
    parser.parse_args()
    torch.manual_seed(0)
    print(f"step: {train(epochs=2) * 1000:.2f} ms")
