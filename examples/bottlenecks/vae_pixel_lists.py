"""A variational autoencoder whose pictures are kept as lists of Python numbers.

Expected: tensor-from-python-list. Fixed: they are made one tensor when the data set is made.
"""

import argparse
import random
import time

import torch
from torch import nn, optim
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset


class ListPictures(Dataset):
    """28 x 28 pixels, as json.load() or a CSV file gives them."""

    def __init__(self, pictures):
        self.pictures = pictures

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, index):
        return torch.tensor(self.pictures[index], dtype=torch.float32) / 255


class TensorPictures(Dataset):
    def __init__(self, pictures):
        self.pictures = torch.tensor(pictures, dtype=torch.float32) / 255

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, index):
        return self.pictures[index]


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(784, 128)
        self.fc21 = nn.Linear(128, 16)
        self.fc22 = nn.Linear(128, 16)
        self.fc3 = nn.Linear(16, 128)
        self.fc4 = nn.Linear(128, 784)

    def encode(self, x):
        h1 = functional.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        return mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)

    def decode(self, z):
        return torch.sigmoid(self.fc4(functional.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 784))
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def vae_loss(recon_x, x, mu, logvar):
    bce = functional.binary_cross_entropy(recon_x, x.view(-1, 784), reduction="sum")
    return bce - 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    draw = random.Random(0)
    pictures = [[draw.choices(range(256), k=28) for _ in range(28)] for _ in range(2560)]
    dataset = TensorPictures(pictures) if args.fixed else ListPictures(pictures)
    loader = DataLoader(dataset, batch_size=64, shuffle=True)
    model = VAE()
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    ends = []
    for batch in loader:
        optimizer.zero_grad()
        recon, mu, logvar = model(batch)
        loss = vae_loss(recon, batch, mu, logvar)
        loss.backward()
        optimizer.step()
        ends.append(time.perf_counter())
    print(f"step: {(ends[-1] - ends[4]) / (len(ends) - 5) * 1000:.2f} ms")


if __name__ == "__main__":
    main()
