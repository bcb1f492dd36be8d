"""A language model is run once for its loss and once more for its perplexity.

Expected: duplicate-forward. Fixed: the perplexity comes from the loss.
"""

import argparse
import math
import time

import torch
from torch import nn


class CharModel(nn.Module):
    def __init__(self, letters: int = 80, width: int = 160) -> None:
        super().__init__()
        self.embedding = nn.Embedding(letters, width)
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.decoder = nn.Linear(width, letters)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        states, _ = self.lstm(self.embedding(text))
        return self.decoder(states)


@torch.no_grad()
def perplexity(model, criterion, text, target) -> float:
    return math.exp(criterion(model(text).flatten(0, 1), target.flatten()).item())


def train(model: nn.Module, steps: int, fixed: bool) -> float:
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    history = []
    begin = 0.0
    for step in range(steps):
        if step == 5:
            begin = time.perf_counter()
        text = torch.randint(80, (32, 33))
        inputs, targets = text[:, :-1], text[:, 1:]
        loss = criterion(model(inputs).flatten(0, 1), targets.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if fixed:
            history.append(math.exp(loss.item()))
        else:
            history.append(perplexity(model, criterion, inputs, targets))
    return (time.perf_counter() - begin) / (steps - 5)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    print(f"step: {train(CharModel(), 40, args.fixed) * 1000:.2f} ms")
