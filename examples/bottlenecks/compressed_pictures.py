"""Pictures are unpacked in the training process while the model waits.

Expected: dataloader-in-process. Fixed: two workers unpack them, on both cores, and the tiny
model does with one thread.
"""

import argparse
import lzma
import struct
import time

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
            pixels = random.integers(0, 40, (3, 80, 80), dtype=np.uint8)
            header = struct.pack("<HHH", i % 10, 80, 80)
            self.records.append(header + lzma.compress(pixels.tobytes(), preset=0))

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        record = self.records[index]
        label, height, width = struct.unpack_from("<HHH", record)
        pixels = np.frombuffer(lzma.decompress(record[6:]), dtype=np.uint8)
        thumbnail = pixels.reshape(3, height, width)[:, ::8, ::8]
        return torch.from_numpy(thumbnail.astype(np.float32) / 255), label


class SmallNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(300, 64)
        self.head = nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.hidden(x.flatten(1))))


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
    return (ends[-1] - ends[9]) / (len(ends) - 10)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    dataset = RecordFile(1920)
    if args.fixed:
        torch.set_num_threads(1)
        loader = DataLoader(dataset, batch_size=32, num_workers=2, persistent_workers=True)
    else:
        loader = DataLoader(dataset, batch_size=32)
    print(f"step: {train(loader) * 1000:.2f} ms")
