"""AdamW reads and writes large weights once for each of its small operations.

Expected: single-tensor-optimizer. Fixed: fused=True, which passes over them once.
"""

import argparse
import time

import torch
from torch import nn
from torch.nn import functional


class Encoder(nn.Module):
    def __init__(self, layers: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(2000, 192)
        layer = nn.TransformerEncoderLayer(192, 4, 768, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, layers)
        self.head = nn.Linear(192, 2000)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(self.embed(tokens)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    fixed = parser.parse_args().fixed
    torch.manual_seed(0)
    model = Encoder(layers=4)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.1, fused=fixed)
    for step in range(40):
        if step == 5:
            begin = time.perf_counter()
        tokens = torch.randint(2000, (2, 24))
        logits = model(tokens)
        loss = functional.cross_entropy(logits.flatten(0, 1), tokens.roll(-1, 1).flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"step: {(time.perf_counter() - begin) / 35 * 1000:.2f} ms")


if __name__ == "__main__":
    main()
