"""Adam updates 160 small parameters one after the other.

Expected: single-tensor-optimizer. Fixed: fused=True.
"""

import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.linear = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.relu(self.linear(self.norm(x)))


def train(fixed: bool) -> float:
    torch.manual_seed(0)
    model = nn.Sequential(*(Block(64) for _ in range(40)), nn.Linear(64, 1))
    if fixed:
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    else:
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    data = TensorDataset(torch.randn(1600, 64), torch.randn(1600, 1))
    ends = []
    for x, y in DataLoader(data, batch_size=32):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        ends.append(time.perf_counter())
    return (ends[-1] - ends[9]) / (len(ends) - 10)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    print(f"step: {train(parser.parse_args().fixed) * 1000:.2f} ms")
