"""Pictures are unpacked in the training process while the model waits.

Expected: dataloader-in-process. Fixed: two workers unpack them.
"""

import argparse
import struct
import time
import zlib

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class RecordFile(Dataset):
    """Records of a header (label, height, width) and compressed pixels."""

    def __init__(self, count: int) -> None:
        random = np.random.default_rng(0)
        self.records = []
        for i in range(count):
            pixels = random.integers(0, 40, (3, 96, 96), dtype=np.uint8)
            header = struct.pack("<HHH", i % 10, 96, 96)
            self.records.append(header + zlib.compress(pixels.tobytes()))

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        record = self.records[index]
        label, height, width = struct.unpack_from("<HHH", record)
        pixels = np.frombuffer(zlib.decompress(record[6:]), dtype=np.uint8)
        picture = pixels.reshape(3, height, width).astype(np.float32) / 255
        return torch.from_numpy(picture), label


class SmallNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 5, stride=4)
        self.head = nn.Linear(16 * 16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = nn.functional.relu(self.conv(x))
        x = nn.functional.adaptive_avg_pool2d(x, 4)
        return self.head(x.flatten(1))


def train(loader: DataLoader) -> float:
    model = SmallNet()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    ends = []
    for pictures, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(pictures), labels)
        loss.backward()
        optimizer.step()
        ends.append(time.perf_counter())
    return (ends[-1] - ends[4]) / (len(ends) - 5)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    dataset = RecordFile(2880)
    if args.fixed:
        loader = DataLoader(dataset, batch_size=64, num_workers=2, persistent_workers=True)
    else:
        loader = DataLoader(dataset, batch_size=64)
    print(f"step: {train(loader) * 1000:.2f} ms")
