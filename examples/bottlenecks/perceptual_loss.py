"""A network that judges pictures is given gradients for the picture that is the target.

Expected: missing-no-grad. Fixed: the target's features are computed under no_grad.
"""

import argparse
import time

import torch
from torch import nn


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(3, 16, 4, stride=4)
        self.up = nn.ConvTranspose2d(16, 3, 4, stride=4)

    def forward(self, x):
        return self.up(torch.relu(self.down(x)))


class Features(nn.Module):
    """Stands for the first layers of a trained network."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 32, 3, padding=1)
        self.conv2 = nn.Conv2d(32, 32, 3, padding=1)

    def forward(self, x):
        return self.conv2(torch.relu(self.conv1(x)))


class Training:
    def __init__(self, fixed):
        self.model, self.features = Autoencoder(), Features().eval()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.fixed = fixed

    def target_features(self, pictures):
        if self.fixed:
            with torch.no_grad():
                return self.features(pictures)
        return self.features(pictures)

    def step(self, pictures):
        target = self.target_features(pictures)
        loss = (self.features(self.model(pictures)) - target).abs().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    training = Training(args.fixed)
    for step in range(40):
        if step == 5:
            begin = time.perf_counter()
        training.step(torch.rand(8, 3, 48, 48))
    print(f"step: {(time.perf_counter() - begin) / 35 * 1000:.2f} ms")
