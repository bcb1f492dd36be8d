"""torch.set_num_threads(1), from a cluster's template, with large products.

Expected: too-few-threads. Fixed: PyTorch uses all cores, as it does by itself.
"""

import argparse
import time

import torch
from torch import nn


def train() -> float:
    model = nn.Sequential(
        nn.Linear(1024, 2048), nn.ReLU(), nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 100)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    criterion = nn.CrossEntropyLoss()
    ends = []
    for _ in range(36):
        x, y = torch.randn(256, 1024), torch.randint(100, (256,))
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ends.append(time.perf_counter())
    return (ends[-1] - ends[5]) / (len(ends) - 6)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    if not args.fixed:
        torch.set_num_threads(1)
    print(f"step: {train() * 1000:.2f} ms")
