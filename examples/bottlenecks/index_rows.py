"""Rows of a matrix are gathered one by one in a loop.

Expected: for-loop-indexing. Fixed: one index_select.
"""

import argparse
import time

import torch
from torch import nn


class GraphLayer(nn.Module):
    """Each node gets the mean of its neighbours' features."""

    def __init__(self, width: int, fixed: bool) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.fixed = fixed

    def forward(self, nodes: torch.Tensor, neighbours: torch.Tensor) -> torch.Tensor:
        if self.fixed:
            gathered = nodes[neighbours].mean(dim=1)
        else:
            gathered = torch.zeros_like(nodes)
            for i in range(nodes.shape[0]):
                gathered[i] = nodes[neighbours[i]].mean(dim=0)
        return torch.relu(self.linear(gathered))


class GraphNet(nn.Module):
    def __init__(self, width: int, fixed: bool) -> None:
        super().__init__()
        self.layer = GraphLayer(width, fixed)
        self.head = nn.Linear(width, 3)

    def forward(self, nodes: torch.Tensor, neighbours: torch.Tensor) -> torch.Tensor:
        return self.head(self.layer(nodes, neighbours))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    nodes, neighbours = torch.randn(200, 128), torch.randint(200, (200, 6))
    kinds = torch.randint(3, (200,))
    model = GraphNet(128, args.fixed)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    ends = []
    for _ in range(50):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(nodes, neighbours), kinds)
        loss.backward()
        optimizer.step()
        ends.append(time.perf_counter())
    print(f"step: {(ends[-1] - ends[9]) / 40 * 1000:.2f} ms")


if __name__ == "__main__":
    main()
