"""A variational autoencoder on grey pictures that are kept as one tensor. Nothing is wrong."""

import argparse
import time

import torch
from torch import nn, optim
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset


class VAE(nn.Module):
    def __init__(self, latent: int = 20) -> None:
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(784, 800), nn.ReLU(), nn.Linear(800, 400), nn.ReLU())
        self.mean = nn.Linear(400, latent)
        self.log_variance = nn.Linear(400, latent)
        self.decode = nn.Sequential(
            nn.Linear(latent, 400), nn.ReLU(), nn.Linear(400, 800), nn.ReLU(), nn.Linear(800, 784)
        )

    def forward(self, x: torch.Tensor):
        hidden = self.encode(x)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        z = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        return self.decode(z), mean, log_variance


def loss_function(reconstruction, x, mean, log_variance):
    likelihood = functional.binary_cross_entropy_with_logits(reconstruction, x, reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    return likelihood + divergence


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="there is nothing to fix")
    parser.parse_args()
    torch.manual_seed(0)
    pictures = torch.rand(10_240, 1, 28, 28)
    train_loader = DataLoader(TensorDataset(pictures), batch_size=256, shuffle=True)
    model = VAE()
    optimizer = optim.Adam(model.parameters(), lr=1e-3, fused=True)
    ends = []
    for _epoch in range(1):
        model.train()
        for (data,) in train_loader:
            data = data.view(-1, 784)
            optimizer.zero_grad()
            reconstruction, mean, log_variance = model(data)
            loss = loss_function(reconstruction, data, mean, log_variance)
            loss.backward()
            optimizer.step()
            ends.append(time.perf_counter())
    print(f"step: {(ends[-1] - ends[4]) / (len(ends) - 5) * 1000:.2f} ms")


if __name__ == "__main__":
    main()
