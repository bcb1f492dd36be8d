"""Rows of a CSV file are parsed again, field by field, whenever they are needed.

Expected: dataset-slow-item. Fixed: they are parsed once, when the data set is made.
"""

import argparse
import random
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def write_lines(count: int) -> list[str]:
    draw = random.Random(0)
    return [",".join(f"{draw.gauss(0, 1):.5f}" for _ in range(120)) for _ in range(count)]


def parse_field(text: str) -> float:
    text = text.strip()
    if not text:
        return 0.0
    return float(text)


def parse_line(line: str) -> torch.Tensor:
    row = torch.zeros(120)
    for column, field in enumerate(line.split(",")):
        row[column] = parse_field(field)
    return row


class LinesOfFile(Dataset):
    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, index: int) -> torch.Tensor:
        return parse_line(self.lines[index])


class ParsedLines(Dataset):
    def __init__(self, lines: list[str]) -> None:
        self.rows = torch.stack([parse_line(line) for line in lines])

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.rows[index]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    lines = write_lines(2560)
    dataset = ParsedLines(lines) if args.fixed else LinesOfFile(lines)
    autoencoder = nn.Sequential(
        nn.Linear(120, 1500), nn.ReLU(), nn.Linear(1500, 500), nn.ReLU(), nn.Linear(500, 1500),
        nn.ReLU(), nn.Linear(1500, 120),
    )  # fmt: skip
    optimizer = torch.optim.SGD(autoencoder.parameters(), lr=0.01)
    steps = 0
    for batch in DataLoader(dataset, batch_size=64):
        if steps == 5:
            begin = time.perf_counter()
        loss = nn.functional.mse_loss(autoencoder(batch), batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        steps += 1
    print(f"step: {(time.perf_counter() - begin) / (steps - 5) * 1000:.2f} ms")


if __name__ == "__main__":
    main()
