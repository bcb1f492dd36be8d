"""An LSTM that predicts the next value of a series. Nothing is wrong with it."""

import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Series(Dataset):
    def __init__(self, length: int, window: int) -> None:
        angles = torch.linspace(0, 300, length)
        self.values = torch.stack([angles.sin(), angles.cos(), (3 * angles).sin()], dim=1)
        self.window = window

    def __len__(self) -> int:
        return len(self.values) - self.window

    def __getitem__(self, i: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self.values[i : i + self.window], self.values[i + self.window]


class Forecaster(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(3, width, num_layers=2, batch_first=True)
        self.head = nn.Linear(width, 3)

    def forward(self, series: torch.Tensor) -> torch.Tensor:
        states, _ = self.lstm(series)
        return self.head(states[:, -1])


def train() -> None:
    torch.manual_seed(1)
    loader = DataLoader(Series(1400, 40), batch_size=32, shuffle=True, drop_last=True)
    model = Forecaster(128)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    times = []
    last = time.perf_counter()
    for series, target in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(series), target)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        now = time.perf_counter()
        times.append(now - last)
        last = now
    print(f"step: {sum(times[5:]) / len(times[5:]) * 1000:.2f} ms")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--fixed", action="store_true", help="there is nothing to fix")
    arguments.parse_args()
    train()
