"""The loss is computed for each sample by itself, then added up.

Expected: dispatch-bound. Fixed: one loss for the whole batch.
"""

import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def contrastive_loss(left, right, same):
    """Of one pair of vectors."""
    distance = (left - right).pow(2).sum()
    return same * distance + (1 - same) * torch.clamp(1 - distance, min=0)


def slow_loss(left, right, same):
    total = 0
    for one_left, one_right, one_same in zip(left, right, same, strict=True):
        total = total + contrastive_loss(one_left, one_right, one_same)
    return total / len(left)


def fixed_loss(left, right, same):
    distance = (left - right).pow(2).sum(dim=1)
    return (same * distance + (1 - same) * torch.clamp(1 - distance, min=0)).mean()


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(200, 800), nn.ReLU(), nn.Linear(800, 32))

    def forward(self, a, b):
        return self.encoder(a), self.encoder(b)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    fixed = parser.parse_args().fixed
    torch.manual_seed(0)
    pairs = TensorDataset(
        torch.randn(2880, 200), torch.randn(2880, 200), torch.randint(2, (2880,)).float()
    )
    model = Siamese()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    ends = []
    for a, b, same in DataLoader(pairs, batch_size=64):
        left, right = model(a, b)
        loss = fixed_loss(left, right, same) if fixed else slow_loss(left, right, same)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ends.append(time.perf_counter())
    print(f"step: {(ends[-1] - ends[4]) / (len(ends) - 5) * 1000:.2f} ms")


if __name__ == "__main__":
    main()
