"""Each step reports its loss to a tracking server and waits for the answer.

Expected: blocking-io-in-step. Fixed: values are collected and sent once in 25 steps.
"""

import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Tracker:
    def post(self, values):
        time.sleep(0.015)  # the way there and back

    def log(self, **values):
        self.post([values])


class BatchedTracker(Tracker):
    def __init__(self):
        self.waiting = []

    def log(self, **values):
        self.waiting.append(values)
        if len(self.waiting) == 25:
            self.post(self.waiting)
            self.waiting.clear()


def train(model, loader, tracker):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    ends = []
    for step, (x, y) in enumerate(loader):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tracker.log(step=step, loss=loss.item())
        ends.append(time.perf_counter())
    return (ends[-1] - ends[4]) / (len(ends) - 5)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(7040, 256), torch.randint(10, (7040,)))
    model = nn.Sequential(nn.Linear(256, 1500), nn.ReLU(), nn.Linear(1500, 10))
    tracker = BatchedTracker() if args.fixed else Tracker()
    print(f"step: {train(model, DataLoader(data, batch_size=128), tracker) * 1000:.2f} ms")
