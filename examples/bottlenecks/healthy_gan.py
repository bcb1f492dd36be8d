"""A GAN that learns a distribution of vectors. Nothing is wrong with it."""

import argparse
import time

import torch
from torch import nn


class Trainer:
    def __init__(self, width: int) -> None:
        self.generator = nn.Sequential(
            nn.Linear(64, width), nn.LeakyReLU(0.2), nn.Linear(width, width), nn.LeakyReLU(0.2),
            nn.Linear(width, 256),
        )  # fmt: skip
        self.discriminator = nn.Sequential(
            nn.Linear(256, width), nn.LeakyReLU(0.2), nn.Linear(width, width), nn.LeakyReLU(0.2),
            nn.Linear(width, 1),
        )  # fmt: skip
        self.loss = nn.BCEWithLogitsLoss()
        self.generator_optimizer = torch.optim.Adam(self.generator.parameters(), 2e-4, fused=True)
        self.discriminator_optimizer = torch.optim.Adam(
            self.discriminator.parameters(), 2e-4, fused=True
        )

    def step(self, real: torch.Tensor) -> None:
        ones, zeros = torch.ones(len(real), 1), torch.zeros(len(real), 1)
        fake = self.generator(torch.randn(len(real), 64))

        self.discriminator_optimizer.zero_grad()
        on_real = self.loss(self.discriminator(real), ones)
        on_fake = self.loss(self.discriminator(fake.detach()), zeros)
        (on_real + on_fake).backward()
        self.discriminator_optimizer.step()

        self.generator_optimizer.zero_grad()
        self.loss(self.discriminator(fake), ones).backward()
        self.generator_optimizer.step()

    def fit(self, steps: int) -> float:
        begin = 0.0
        for i in range(steps):
            if i == 5:
                begin = time.perf_counter()
            self.step(torch.randn(256, 256) * 2 + 1)
        return (time.perf_counter() - begin) / (steps - 5)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="there is nothing to fix")
    parser.parse_args()
    torch.manual_seed(0)
    print(f"step: {Trainer(768).fit(45) * 1000:.2f} ms")
