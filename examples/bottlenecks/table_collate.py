"""A collate function gathers each column of a table with Python loops over the rows.

Expected: dataloader-slow-collate. Fixed: it stacks the rows at once.
"""

import argparse
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader

COLUMNS = 96


class Table:
    def __init__(self, rows):
        self.values = np.random.default_rng(0).normal(size=(rows, COLUMNS)).astype(np.float32)

    def __len__(self):
        return len(self.values)

    def __getitem__(self, row):
        return self.values[row]


def scaled(value, low=-4.0, high=4.0):
    return (min(max(float(value), low), high) - low) / (high - low)


class ColumnCollator:
    """Scales to [0, 1], column by column, row by row."""

    def __call__(self, rows):
        columns = []
        for column in range(COLUMNS):
            columns.append(torch.tensor([scaled(row[column]) for row in rows]))
        return torch.stack(columns, dim=1)


class StackCollator:
    def __call__(self, rows):
        return (torch.from_numpy(np.stack(rows)).clamp(-4, 4) + 4) / 8


def main(fixed):
    torch.manual_seed(0)
    loader = DataLoader(
        Table(2000), batch_size=50, collate_fn=StackCollator() if fixed else ColumnCollator()
    )
    model = nn.Sequential(nn.Linear(COLUMNS, 800), nn.SiLU(), nn.Linear(800, COLUMNS))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step, rows in enumerate(loader):
        if step == 5:
            begin = time.perf_counter()
        loss = (model(rows) - rows).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"step: {(time.perf_counter() - begin) / (step - 4) * 1000:.2f} ms")


if __name__ == "__main__":
    cli = argparse.ArgumentParser()
    cli.add_argument("--fixed", action="store_true")
    main(cli.parse_args().fixed)
