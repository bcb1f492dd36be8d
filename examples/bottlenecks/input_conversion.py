"""Large pictures are kept as float64 with channels last, and converted in each step.

Expected: input-copy. Fixed: they are kept as the model wants them.
"""

import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true")
args = parser.parse_args()

torch.manual_seed(0)
pictures = torch.rand(40, 8, 128, 128, 3, dtype=torch.float64)
labels = torch.randint(10, (40, 8))
if args.fixed:
    pictures = pictures.permute(0, 1, 4, 2, 3).to(torch.float32).contiguous()

loader = DataLoader(TensorDataset(pictures, labels), batch_size=None)
model = nn.Sequential(
    nn.Conv2d(3, 16, 8, stride=8), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(),
    nn.Linear(256, 10),
)  # fmt: skip
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
ends = []
for x, y in loader:
    if not args.fixed:
        x = x.permute(0, 3, 1, 2).contiguous().to(torch.float32)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ends.append(time.perf_counter())
print(f"step: {(ends[-1] - ends[4]) / (len(ends) - 5) * 1000:.2f} ms")
