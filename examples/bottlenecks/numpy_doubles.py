"""NumPy's data are float64, so the model was made float64 as well.

Expected: fp64-compute. Fixed: both are float32.
"""

import argparse
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def load_data(dtype):
    random = np.random.default_rng(0)
    x = random.normal(size=(5120, 300))
    y = (x @ random.normal(size=(300, 1))) / 17
    return TensorDataset(torch.from_numpy(x).to(dtype), torch.from_numpy(y).to(dtype))


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(300, 1000), nn.ReLU(), nn.Linear(1000, 1000), nn.ReLU(), nn.Linear(1000, 1)
        )

    def forward(self, x):
        return self.layers(x)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    dtype = torch.float32 if args.fixed else torch.float64
    loader = DataLoader(load_data(dtype), batch_size=128, shuffle=True)
    model = Regressor().to(dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    ends = []
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        ends.append(time.perf_counter())
    print(f"step: {(ends[-1] - ends[4]) / (len(ends) - 5) * 1000:.2f} ms")
