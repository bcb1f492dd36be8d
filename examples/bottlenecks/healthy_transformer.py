"""A small language model that predicts the next token. Nothing is wrong with it."""

import argparse
import time

import torch
from torch import nn
from torch.nn import functional


class LanguageModel(nn.Module):
    def __init__(self, vocabulary: int, width: int, length: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Parameter(torch.zeros(length, width))
        layer = nn.TransformerEncoderLayer(
            width, nhead=4, dim_feedforward=4 * width, dropout=0.0, batch_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, num_layers=2)
        self.head = nn.Linear(width, vocabulary)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(length))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        hidden = self.tokens(tokens) + self.positions
        return self.head(self.blocks(hidden, mask=self.mask))


def get_batch(text: torch.Tensor, length: int, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    starts = torch.randint(len(text) - length - 1, (size, 1))
    where = starts + torch.arange(length)
    return text[where], text[where + 1]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="there is nothing to fix")
    parser.parse_args()

    torch.manual_seed(0)
    vocabulary, length = 512, 64
    text = torch.randint(vocabulary, (100_000,))
    model = LanguageModel(vocabulary, 128, length)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)

    for step in range(40):
        if step == 5:
            begin = time.perf_counter()
        inputs, targets = get_batch(text, length, 16)
        logits = model(inputs)
        loss = functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    print(f"step: {(time.perf_counter() - begin) / 35 * 1000:.2f} ms")


if __name__ == "__main__":
    main()
