"""torch.set_default_dtype(float64) at the top of a script makes all of it slow.

Expected: fp64-compute. Fixed: the default is left as it is.
"""

import argparse
import time

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true")
args = parser.parse_args()
if not args.fixed:
    torch.set_default_dtype(torch.float64)


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, 1))

    def forward(self, x):
        query, key, value = self.qkv(x).chunk(3, dim=-1)
        weights = torch.softmax(query @ key.transpose(1, 2) / query.shape[-1] ** 0.5, dim=-1)
        return self.mlp(weights @ value).mean(dim=1)


def train(steps):
    model = Attention(256)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    for step in range(steps):
        if step == 5:
            begin = time.perf_counter()
        x = torch.randn(8, 64, 256)
        loss = (model(x) - x.mean(dim=(1, 2))[:, None]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return (time.perf_counter() - begin) / (steps - 5)


torch.manual_seed(0)
print(f"step: {train(40) * 1000:.2f} ms")
