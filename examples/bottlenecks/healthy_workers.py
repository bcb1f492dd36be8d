"""A CNN on compressed pictures that two workers unpack while it trains. Nothing is wrong."""

import argparse
import time
import zlib

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class CompressedPictures(Dataset):
    def __init__(self, count: int) -> None:
        random = np.random.default_rng(0)
        self.files = [
            zlib.compress(random.integers(0, 32, (3, 48, 48), dtype=np.uint8).tobytes())
            for _ in range(count)
        ]

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int):
        pixels = np.frombuffer(zlib.decompress(self.files[index]), dtype=np.uint8)
        return torch.from_numpy(pixels.reshape(3, 48, 48).astype(np.float32) / 31), index % 5


def build_model() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 32, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(4),
        nn.Flatten(),
        nn.Linear(1024, 5),
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="there is nothing to fix")
    parser.parse_args()
    torch.manual_seed(0)
    model = build_model()
    loader = DataLoader(
        CompressedPictures(1280), batch_size=32, num_workers=2, persistent_workers=True
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step, (pictures, labels) in enumerate(loader):
        if step == 5:
            begin = time.perf_counter()
        loss = nn.functional.cross_entropy(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"step: {(time.perf_counter() - begin) / (step - 4) * 1000:.2f} ms")


if __name__ == "__main__":
    main()
