"""A measure is kept with its graph, and each graph keeps a batch's errors.

Expected: memory-growth. Fixed: its value is kept. No time is won, but memory is.
"""

import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def train(fixed: bool) -> float:
    torch.manual_seed(0)
    pictures = TensorDataset(torch.rand(10240, 784))
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 784), nn.Sigmoid())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    mean_errors, ends = [], []
    for (batch,) in DataLoader(pictures, batch_size=256):
        reconstruction = model(batch)
        loss = nn.functional.mse_loss(reconstruction, batch)
        mean_error = (reconstruction - batch).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if fixed:
            mean_errors.append(mean_error.item())
        else:
            mean_errors.append(mean_error)
        ends.append(time.perf_counter())
    return (ends[-1] - ends[4]) / (len(ends) - 5)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    print(f"step: {train(parser.parse_args().fixed) * 1000:.2f} ms")
