"""gc.collect() after each step, in the hope of less memory.

Expected: garbage-collection. Fixed: it is left to Python.
"""

import argparse
import gc
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true")
args = parser.parse_args()


def clean_up():
    gc.collect()


torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(512, 2000), nn.ReLU(), nn.Linear(2000, 1000), nn.ReLU(), nn.Linear(1000, 10)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = TensorDataset(torch.randn(10240, 512), torch.randint(10, (10240,)))
ends = []
for x, y in DataLoader(data, batch_size=256):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if not args.fixed:
        clean_up()
    ends.append(time.perf_counter())
print(f"step: {(ends[-1] - ends[4]) / (len(ends) - 5) * 1000:.2f} ms")
