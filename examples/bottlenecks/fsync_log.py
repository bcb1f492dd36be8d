"""A log line is written through to the disk in each step.

Expected: blocking-io-in-step. Fixed: the file is written when its buffer is full.
"""

import argparse
import json
import os
import tempfile
import time

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true")
args = parser.parse_args()


def write_safely(file, record):
    file.write(json.dumps(record) + "\n")
    file.flush()
    os.fsync(file.fileno())


def write_buffered(file, record):
    file.write(json.dumps(record) + "\n")


write = write_buffered if args.fixed else write_safely
torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(1, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, 4)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

with tempfile.NamedTemporaryFile("w", suffix=".jsonl", dir=".") as log:
    for step in range(60):
        if step == 5:
            begin = time.perf_counter()
        pictures = torch.rand(8, 1, 16, 16)
        labels = torch.randint(4, (8,))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(pictures), labels)
        loss.backward()
        optimizer.step()
        write(log, {"step": step, "loss": loss.item()})
    print(f"step: {(time.perf_counter() - begin) / 55 * 1000:.2f} ms")
