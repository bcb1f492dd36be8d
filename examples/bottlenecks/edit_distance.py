"""The edit distance of each answer is worked out in Python, in each step.

Expected: python-hotspot. Fixed: it is done every 20th step, which is enough for a log.
"""

import argparse
import time

import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self, tokens: int, width: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(tokens, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, tokens)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.rnn(self.embed(x))[0])


def edit_distance(a: list[int], b: list[int]) -> int:
    previous = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        current = [i]
        for j, right in enumerate(b, 1):
            best = previous[j - 1] + (left != right)
            if previous[j] + 1 < best:
                best = previous[j] + 1
            if current[j - 1] + 1 < best:
                best = current[j - 1] + 1
            current.append(best)
        previous = current
    return previous[-1]


def error_rate(logits: torch.Tensor, target: torch.Tensor) -> float:
    answers = logits.argmax(dim=-1).tolist()
    distances = [edit_distance(a, b) for a, b in zip(answers, target.tolist(), strict=True)]
    return sum(distances) / target.numel()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    model = Tagger(60, 96)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, fused=True)
    for step in range(45):
        if step == 5:
            begin = time.perf_counter()
        x = torch.randint(60, (24, 40))
        y = x.flip(1)
        logits = model(x)
        loss = nn.functional.cross_entropy(logits.transpose(1, 2), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if args.fixed:
            if step % 20 == 0:
                error_rate(logits, y)
        else:
            error_rate(logits, y)
    print(f"step: {(time.perf_counter() - begin) / 40 * 1000:.2f} ms")


if __name__ == "__main__":
    main()
