"""Small models with a training step each, for comparing profilers: `make_step(name)`."""

from collections.abc import Callable

import torch
from torch import nn

MODELS = ("mlp", "conv", "transformer", "lstm")


class Lstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(8, 16, num_layers=2, batch_first=True)
        self.head = nn.Linear(16, 4)

    def forward(self, sequences: torch.Tensor) -> torch.Tensor:
        return self.head(self.lstm(sequences)[0][:, -1])


def make_model(name: str) -> tuple[nn.Module, torch.Tensor]:
    """A model with four outputs, and a batch for it."""
    if name == "mlp":
        layers = [layer for _ in range(4) for layer in (nn.Linear(16, 16), nn.Tanh())]
        return nn.Sequential(*layers, nn.Linear(16, 4)), torch.randn(8, 16)
    if name == "conv":
        layers = [nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)]
        return nn.Sequential(*layers, nn.Flatten(), nn.Linear(128, 4)), torch.randn(4, 3, 8, 8)
    if name == "transformer":
        encoder = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.1)
        stack = nn.TransformerEncoder(encoder, 2, enable_nested_tensor=False)
        return nn.Sequential(stack, nn.Flatten(), nn.Linear(16 * 5, 4)), torch.randn(4, 5, 16)
    assert name == "lstm"
    return Lstm(), torch.randn(4, 6, 8)


def make_step(name: str, optimizer: type[torch.optim.Optimizer] = torch.optim.Adam) -> Callable:
    """One training step, the same each time that it is called; caches are warm."""
    torch.manual_seed(0)
    model, batch = make_model(name)
    labels = torch.randint(0, 4, (len(batch),))
    update = optimizer(model.parameters(), lr=1e-3)

    def step() -> None:
        update.zero_grad()
        loss = nn.functional.cross_entropy(model(batch), labels)
        loss.backward()
        update.step()

    for _ in range(3):
        step()
    return step
