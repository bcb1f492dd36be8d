"""A new DataLoader, with new workers, is made for each epoch.

Expected: dataloader-worker-restart. Fixed: one loader, whose workers stay.
"""

import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_loader(data, **options):
    return DataLoader(data, batch_size=40, num_workers=2, shuffle=True, **options)


def train_one_epoch(model, loader, optimizer):
    for x, y in loader:
        loss = nn.functional.l1_loss(model(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    return len(loader)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    fixed = parser.parse_args().fixed

    torch.manual_seed(0)
    data = TensorDataset(torch.randn(160, 300), torch.randn(160, 1))
    model = nn.Sequential(nn.Linear(300, 700), nn.ReLU(), nn.Linear(700, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    if fixed:
        loader = make_loader(data, persistent_workers=True)
        train_one_epoch(model, loader, optimizer)
    begin, steps = time.perf_counter(), 0
    for _epoch in range(12):
        if not fixed:
            loader = make_loader(data)
        steps += train_one_epoch(model, loader, optimizer)
    print(f"step: {(time.perf_counter() - begin) / steps * 1000:.2f} ms")


if __name__ == "__main__":
    main()
