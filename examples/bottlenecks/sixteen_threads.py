"""torch.set_num_threads(16), right for another machine, on one with fewer cores.

Expected: thread-oversubscription. Fixed: as many threads as cores, PyTorch's own choice.
"""

import argparse
import time

import torch
from torch import nn


class MixerBlock(nn.Module):
    def __init__(self, patches: int, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.tokens = nn.Linear(patches, patches)
        self.channels = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.tokens(self.norm(x).transpose(1, 2)).transpose(1, 2)
        return x + torch.nn.functional.gelu(self.channels(x))


def train(steps: int) -> float:
    model = nn.Sequential(*(MixerBlock(64, 128) for _ in range(4)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    begin = 0.0
    for step in range(steps):
        if step == 5:
            begin = time.perf_counter()
        x = torch.randn(16, 64, 128)
        loss = (model(x) - x.roll(1, 0)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return (time.perf_counter() - begin) / (steps - 5)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    if not args.fixed:
        torch.set_num_threads(16)
    print(f"step: {train(40) * 1000:.2f} ms")
