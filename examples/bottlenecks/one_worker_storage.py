"""A single worker waits for slow storage, item by item.

Expected: dataloader-too-few-workers. Fixed: two workers wait at the same time.
"""

import argparse
import time

import torch
from torch.utils.data import DataLoader, Dataset


class Archive:
    """A database far away: an answer takes 3 ms."""

    def fetch(self, key):
        time.sleep(0.003)
        return torch.arange(64, dtype=torch.float32) * key


class Samples(Dataset):
    def __init__(self, archive):
        self.archive = archive

    def __len__(self):
        return 400

    def __getitem__(self, key):
        values = self.archive.fetch(key)
        return values / 400, values.mean().reshape(1)


parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true")
args = parser.parse_args()

if args.fixed:
    loader = DataLoader(Samples(Archive()), batch_size=10, num_workers=2)
else:
    loader = DataLoader(Samples(Archive()), batch_size=10, num_workers=1)

model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.Tanh(), torch.nn.Linear(128, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
times = []
for x, y in loader:
    optimizer.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
    times.append(time.time())
print(f"step: {(times[-1] - times[7]) / (len(times) - 8) * 1000:.2f} ms")
