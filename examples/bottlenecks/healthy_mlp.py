"""A classifier of table rows. Nothing is wrong with it."""

import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true", help="there is nothing to fix")
parser.parse_args()

torch.manual_seed(0)
features = torch.randn(24_576, 512)
labels = features[:, :10].argmax(dim=1)
loader = DataLoader(TensorDataset(features, labels), batch_size=512, shuffle=True)

model = nn.Sequential(
    nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

ends = []
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    ends.append(time.perf_counter())

print(f"step: {(ends[-1] - ends[4]) / (len(ends) - 5) * 1000:.2f} ms")
