"""A search tree of many small objects is built in each step; the garbage collector goes through
all that is alive, PyTorch's own objects too, again and again.

Expected: garbage-collection. Fixed: gc.freeze() sets aside what stays, and it runs less often.
"""

import argparse
import gc
import random
import time

import torch
from torch import nn


class Node:
    def __init__(self, parent: "Node | None", depth: int) -> None:
        self.parent = parent
        self.depth = depth
        self.children: list[Node] = []
        self.values: dict[str, float] = {"prior": random.random()}


def grow(size: int) -> list[Node]:
    nodes = [Node(None, 0)]
    while len(nodes) < size:
        parent = nodes[random.randrange(len(nodes))]
        child = Node(parent, parent.depth + 1)
        parent.children.append(child)
        nodes.append(child)
    return nodes


def describe(nodes: list[Node]) -> tuple[torch.Tensor, torch.Tensor]:
    picked = random.sample(nodes, 64)
    features = torch.tensor([[node.depth / 20, node.values["prior"]] for node in picked])
    return features, torch.tensor([len(node.children) / 4 for node in picked])[:, None]


def train(fixed: bool) -> float:
    value_net = nn.Sequential(nn.Linear(2, 256), nn.ReLU(), nn.Linear(256, 1))
    optimizer = torch.optim.SGD(value_net.parameters(), lr=0.01)
    if fixed:
        gc.collect()
        gc.freeze()
        gc.set_threshold(100_000, 20, 20)
    begin = 0.0
    for step in range(50):
        if step == 5:
            begin = time.perf_counter()
        features, targets = describe(grow(12_000))
        loss = nn.functional.mse_loss(value_net(features), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return (time.perf_counter() - begin) / 45


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    print(f"step: {train(args.fixed) * 1000:.2f} ms")
