"""After each step a metric is counted in Python, prediction by prediction.

Expected: python-hotspot. Fixed: the same counts from one tensor operation.
"""

import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

CLASSES = 20


class ConfusionMatrix:
    def __init__(self):
        self.counts = [[0] * CLASSES for _ in range(CLASSES)]

    def update(self, predicted, expected):
        for p, e in zip(predicted.tolist(), expected.tolist(), strict=True):
            for row in range(CLASSES):
                for column in range(CLASSES):
                    if row == e and column == p:
                        self.counts[row][column] += 1


class TensorConfusionMatrix:
    def __init__(self):
        self.counts = torch.zeros(CLASSES, CLASSES, dtype=torch.long)

    def update(self, predicted, expected):
        pairs = torch.bincount(expected * CLASSES + predicted, minlength=CLASSES * CLASSES)
        self.counts += pairs.view(CLASSES, CLASSES)


def fit(model, loader, metric):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    ends = []
    for x, y in loader:
        logits = model(x)
        loss = nn.functional.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        metric.update(logits.argmax(dim=1), y)
        ends.append(time.perf_counter())
    return (ends[-1] - ends[4]) / (len(ends) - 5)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(40 * 512, 64), torch.randint(CLASSES, (40 * 512,)))
    net = nn.Sequential(nn.Linear(64, 1024), nn.ReLU(), nn.Linear(1024, CLASSES))
    metric = TensorConfusionMatrix() if args.fixed else ConfusionMatrix()
    seconds = fit(net, DataLoader(data, batch_size=512), metric)
    print(f"step: {seconds * 1000:.2f} ms")
