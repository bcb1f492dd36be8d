"""A layer of 64 tiny networks, which are called one after the other.

Expected: dispatch-bound. Fixed: their weights are one tensor, multiplied at once.
"""

import argparse
import time

import torch
from torch import nn

EXPERTS, WIDTH = 64, 16


class SlowExperts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 1))
            for _ in range(EXPERTS)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # batch, experts, width
        outputs = [expert(x[:, i]) for i, expert in enumerate(self.experts)]
        return torch.cat(outputs, dim=1)


class BatchedExperts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight1 = nn.Parameter(torch.randn(EXPERTS, WIDTH, WIDTH) / 4)
        self.bias1 = nn.Parameter(torch.zeros(EXPERTS, 1, WIDTH))
        self.weight2 = nn.Parameter(torch.randn(EXPERTS, WIDTH, 1) / 4)
        self.bias2 = nn.Parameter(torch.zeros(EXPERTS, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(torch.baddbmm(self.bias1, x.transpose(0, 1), self.weight1))
        return torch.baddbmm(self.bias2, hidden, self.weight2).squeeze(2).t()


class Model(nn.Module):
    def __init__(self, fixed: bool) -> None:
        super().__init__()
        self.stem = nn.Linear(128, EXPERTS * WIDTH)
        self.experts = BatchedExperts() if fixed else SlowExperts()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.experts(self.stem(x).view(-1, EXPERTS, WIDTH)).mean(dim=1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    model = Model(args.fixed)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, fused=True)
    x, y = torch.randn(60, 128, 128), torch.randn(60, 128)
    for i in range(60):
        if i == 10:
            begin = time.perf_counter()
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x[i]), y[i])
        loss.backward()
        optimizer.step()
    print(f"step: {(time.perf_counter() - begin) / 50 * 1000:.2f} ms")
