"""Gradients of a large model are filled with zeros, then added to.

Expected: grad-not-none. Fixed: set_to_none=True, the default.
"""

import argparse
import time

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true")
args = parser.parse_args()

torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(512, 3000), nn.ReLU(), nn.Linear(3000, 3000), nn.ReLU(), nn.Linear(3000, 10)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
ends = []
for _ in range(50):
    x, y = torch.randn(4, 512), torch.randint(10, (4,))
    if args.fixed:
        optimizer.zero_grad(set_to_none=True)
    else:
        optimizer.zero_grad(set_to_none=False)
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    ends.append(time.perf_counter())
print(f"step: {(ends[-1] - ends[9]) / 40 * 1000:.2f} ms")
