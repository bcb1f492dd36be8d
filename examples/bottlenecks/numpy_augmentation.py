"""Pictures are blurred, cropped and made noisy with NumPy, between two steps of the model.

Expected: dataloader-in-process. Fixed: the same in two workers, which keep both cores busy, so that
the small model gets one thread.
"""

import argparse
import time

import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset


class AugmentedPictures(Dataset):
    def __init__(self, size, transform):
        self.pictures = np.random.default_rng(1).random((size, 112, 112), dtype=np.float32)
        self.transform = transform

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, i):
        return torch.from_numpy(self.transform(self.pictures[i]))[None], i % 2


class Augment:
    def __init__(self, size):
        self.size = size
        self.random = np.random.default_rng()

    def __call__(self, picture):
        y, x = self.random.integers(0, 112 - self.size, 2)
        picture = picture[y : y + self.size, x : x + self.size]
        spectrum = np.fft.rfft2(picture)
        spectrum *= self.random.normal(1, 0.1, spectrum.shape)
        picture = np.fft.irfft2(spectrum, picture.shape)
        picture = picture + self.random.normal(0, 0.05, picture.shape)
        return np.clip(picture[::4, ::4], 0, 1).astype(np.float32)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    options = parser.parse_args()

    torch.manual_seed(0)
    data = AugmentedPictures(2800, Augment(96))
    if options.fixed:
        torch.set_num_threads(1)
        loader = DataLoader(data, batch_size=56, num_workers=2, persistent_workers=True)
    else:
        loader = DataLoader(data, batch_size=56, num_workers=0)
    net = nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(64, 2),
    )  # fmt: skip
    optimizer = optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    loss_function = nn.CrossEntropyLoss()
    count = 0
    for pictures, labels in loader:
        loss = loss_function(net(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        count += 1
        if count == 10:
            begin = time.perf_counter()
    print(f"step: {(time.perf_counter() - begin) / (count - 10) * 1000:.2f} ms")
