"""Each item waits for a slow network file system, one after the other.

Expected: dataloader-in-process. Fixed: two workers wait side by side, while the model trains.
"""

import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def read_from_store(key: int) -> torch.Tensor:
    """Stands for a read from object storage: nothing but waiting."""
    time.sleep(0.002)
    return torch.full((256,), key / 1000)


class RemoteRows(Dataset):
    def __len__(self) -> int:
        return 720

    def __getitem__(self, index):
        return read_from_store(index), torch.tensor(index % 4)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    fixed = parser.parse_args().fixed

    torch.manual_seed(0)
    workers = 2 if fixed else 0
    loader = DataLoader(RemoteRows(), batch_size=16, shuffle=True, num_workers=workers)
    model = nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    for step, (rows, targets) in enumerate(loader):
        if step == 6:
            begin = time.perf_counter()
        loss = nn.functional.cross_entropy(model(rows), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"step: {(time.perf_counter() - begin) / (step - 5) * 1000:.2f} ms")


if __name__ == "__main__":
    main()
