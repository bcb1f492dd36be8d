"""An LSTM written out by hand, with eight small products for each moment.

Expected: dispatch-bound. Fixed: nn.LSTM, which computes all gates at once.
"""

import argparse
import time

import torch
from torch import nn
from torch.nn import functional


class HandmadeLSTM(nn.Module):
    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.of_input = nn.ModuleList(nn.Linear(inputs, width) for _ in range(4))
        self.of_state = nn.ModuleList(nn.Linear(width, width) for _ in range(4))

    def forward(self, series: torch.Tensor) -> torch.Tensor:
        hidden = cell = torch.zeros(series.shape[0], self.width)
        for moment in range(series.shape[1]):
            x = series[:, moment]
            gates = [a(x) + b(hidden) for a, b in zip(self.of_input, self.of_state, strict=True)]
            keep, write, read = (torch.sigmoid(gate) for gate in gates[:3])
            cell = keep * cell + write * torch.tanh(gates[3])
            hidden = read * torch.tanh(cell)
        return hidden


class LSTM(nn.Module):
    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(inputs, width, batch_first=True)

    def forward(self, series: torch.Tensor) -> torch.Tensor:
        return self.lstm(series)[0][:, -1]


def train(fixed: bool) -> float:
    encoder = LSTM(32, 128) if fixed else HandmadeLSTM(32, 128)
    model = nn.Sequential(encoder, nn.Linear(128, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    begin = 0.0
    for step in range(40):
        if step == 5:
            begin = time.perf_counter()
        series = torch.randn(32, 24, 32)
        loss = functional.mse_loss(model(series), series.sum(dim=(1, 2))[:, None])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return (time.perf_counter() - begin) / 35


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    print(f"step: {train(args.fixed) * 1000:.2f} ms")
