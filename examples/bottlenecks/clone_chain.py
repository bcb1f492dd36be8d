"""A picture's channels are moved to the end and back, with a copy at each stage.

Expected: redundant-copy. Fixed: the layout stays as it is.
"""

import argparse
import time

import torch
from torch import nn


def to_last(x):
    return x.permute(0, 2, 3, 1).contiguous().clone()


def to_first(x):
    return x.permute(0, 3, 1, 2).contiguous().clone()


class Denoiser(nn.Module):
    def __init__(self, fixed):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 32, 4, stride=4)
        self.middle = nn.ModuleList(nn.Tanh() for _ in range(4))
        self.conv2 = nn.ConvTranspose2d(32, 3, 4, stride=4)
        self.fixed = fixed

    def forward(self, x):
        hidden = self.conv1(x)
        for activation in self.middle:
            hidden = activation(hidden) if self.fixed else to_first(activation(to_last(hidden)))
        return self.conv2(hidden)


parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true")
args = parser.parse_args()

torch.manual_seed(0)
model = Denoiser(args.fixed)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
clean = torch.rand(16, 3, 128, 128)
for step in range(40):
    if step == 5:
        begin = time.perf_counter()
    noisy = clean + 0.1 * torch.randn_like(clean)
    loss = nn.functional.mse_loss(model(noisy), clean)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"step: {(time.perf_counter() - begin) / 35 * 1000:.2f} ms")
