"""A log line is written through to the disk in each step, and so is a file with the last state.

Expected: blocking-io-in-step. Fixed: the system writes them when it likes to.
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


def to_disk(file):
    file.flush()
    if not args.fixed:
        os.fsync(file.fileno())


def log_step(log, record):
    log.write(json.dumps(record) + "\n")
    to_disk(log)
    with open(log.name + ".last", "w") as last:
        json.dump(record, last)
        to_disk(last)


torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(1, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, 4)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

with tempfile.TemporaryDirectory(dir=".") as folder, open(folder + "/log.jsonl", "w") as log:
    for step in range(60):
        if step == 5:
            begin = time.perf_counter()
        pictures = torch.rand(8, 1, 16, 16)
        labels = torch.randint(4, (8,))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(pictures), labels)
        loss.backward()
        optimizer.step()
        log_step(log, {"step": step, "loss": loss.item()})
    print(f"step: {(time.perf_counter() - begin) / 55 * 1000:.2f} ms")
