"""Activations go to float64 and back between the layers, to be on the safe side.

Expected: redundant-copy. Fixed: they stay float32.
"""

import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class CarefulLayer(nn.Module):
    def __init__(self, inputs: int, outputs: int, fixed: bool) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)
        self.fixed = fixed

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.linear(x))
        if not self.fixed:
            x = x.double().float()
            x = x.to(torch.float64).to(torch.float32)
        return x


def main(fixed: bool) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        CarefulLayer(16, 512, fixed), CarefulLayer(512, 64, fixed),
        CarefulLayer(64, 512, fixed), nn.Linear(512, 2),
    )  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(
        TensorDataset(torch.randn(40, 1024, 16), torch.randint(2, (40, 1024))), batch_size=None
    )
    ends = []
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        ends.append(time.perf_counter())
    print(f"step: {(ends[-1] - ends[4]) / (len(ends) - 5) * 1000:.2f} ms")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    main(parser.parse_args().fixed)
