"""OMP_NUM_THREADS=1 was set for another library, and holds for PyTorch too.

Expected: too-few-threads. Fixed: it is not set.
"""

import argparse
import os
import time

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true")
args = parser.parse_args()
if not args.fixed:
    os.environ["OMP_NUM_THREADS"] = "1"

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402


class ConvNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv2d(3, 48, 3), nn.Conv2d(48, 48, 3)])
        self.head = nn.Linear(48, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for conv in self.convs:
            x = torch.relu(conv(x))
        return self.head(x.mean(dim=(2, 3)))


def main() -> None:
    torch.manual_seed(0)
    data = TensorDataset(torch.rand(1280, 3, 32, 32), torch.randint(10, (1280,)))
    model = ConvNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step, (pictures, labels) in enumerate(DataLoader(data, batch_size=32)):
        if step == 5:
            begin = time.perf_counter()
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(pictures), labels).backward()
        optimizer.step()
    print(f"step: {(time.perf_counter() - begin) / (step - 4) * 1000:.2f} ms")


main()
