"""Convolutions have biases that the batch norm after them takes away again.

Expected: conv-bias-before-batchnorm. Fixed: bias=False.
"""

import argparse
import time

import torch
from torch import nn


def conv_block(inputs: int, outputs: int, bias: bool) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 1, bias=bias), nn.BatchNorm2d(outputs), nn.ReLU()
    )


def build(bias: bool) -> nn.Module:
    return nn.Sequential(
        conv_block(3, 32, bias),
        conv_block(32, 32, bias),
        conv_block(32, 32, bias),
        conv_block(32, 32, bias),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(32, 10),
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    model = build(bias=not args.fixed)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    ends = []
    for _ in range(40):
        pictures, labels = torch.rand(16, 3, 32, 32), torch.randint(10, (16,))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(pictures), labels)
        loss.backward()
        optimizer.step()
        ends.append(time.perf_counter())
    print(f"step: {(ends[-1] - ends[9]) / 30 * 1000:.2f} ms")


if __name__ == "__main__":
    main()
