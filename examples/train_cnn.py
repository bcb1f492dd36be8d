"""Trains a small CNN on random pictures and records a few steps with the names of torch.profiler.

python examples/train_cnn.py outputs/demo
stepscope report outputs/demo/train_cnn.pt.trace.json --view phases
"""

import argparse
import pathlib

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from stepscope.torch import ProfilerActivity, profile, record_function, schedule


class RandomPictures(Dataset[tuple[torch.Tensor, int]]):
    """Ten classes of noise, as large as CIFAR's pictures."""

    def __len__(self) -> int:
        return 640

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        generator = torch.Generator().manual_seed(index)
        return torch.rand(3, 32, 32, generator=generator), index % 10


def build_model() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(32, 10),
    )


def train(trace_path: pathlib.Path) -> None:
    torch.manual_seed(0)
    model = build_model()
    loss_function = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    loader = DataLoader(RandomPictures(), batch_size=64)

    def save(profiler: profile) -> None:
        print(profiler.key_averages().table(sort_by="self_cpu_time_total", row_limit=8))
        profiler.export_chrome_trace(str(trace_path))

    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=1, warmup=1, active=5, repeat=1),
        on_trace_ready=save,
        record_shapes=True,
        profile_memory=True,
    ) as profiler:
        for pictures, labels in loader:
            with record_function("forward"):
                loss = loss_function(model(pictures), labels)
            with record_function("backward"):
                loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            profiler.step()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="where the trace is written")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    trace_path = folder / "train_cnn.pt.trace.json"
    train(trace_path)
    print(f"{trace_path}: {trace_path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
