"""The model and its optimizer are saved to disk after each step.

Expected: blocking-io-in-step. Fixed: every 20 steps.
"""

import argparse
import pathlib
import tempfile
import time

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset


def save_checkpoint(folder, model, optimizer, step):
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
    torch.save(state, folder / "last.pt")


def train(folder, save_every):
    data = TensorDataset(torch.randn(40 * 200, 300), torch.randn(40 * 200, 300))
    model = nn.Sequential(nn.Linear(300, 600), nn.Tanh(), nn.Linear(600, 300))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    ends = []
    for step, (x, y) in enumerate(DataLoader(data, batch_size=200), 1):
        loss = functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % save_every == 0:
            save_checkpoint(folder, model, optimizer, step)
        ends.append(time.perf_counter())
    return (ends[-1] - ends[4]) / (len(ends) - 5)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        seconds = train(pathlib.Path(folder), save_every=20 if args.fixed else 1)
    print(f"step: {seconds * 1000:.2f} ms")
