"""Sequences are padded by a collate function that writes one number at a time.

Expected: dataloader-slow-collate. Fixed: pad_sequence.
"""

import argparse
import time

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset


class Sentences(Dataset):
    def __init__(self, count: int) -> None:
        lengths = torch.randint(20, 60, (count,)).tolist()
        self.sentences = [torch.randint(1, 1000, (length,)) for length in lengths]

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return self.sentences[index], index % 2


def collate_slow(samples):
    longest = max(len(sentence) for sentence, _ in samples)
    batch = torch.zeros(len(samples), longest, dtype=torch.long)
    for i, (sentence, _) in enumerate(samples):
        for j, token in enumerate(sentence):
            batch[i, j] = token
    return batch, torch.tensor([label for _, label in samples])


def collate_fixed(samples):
    sentences, labels = zip(*samples, strict=True)
    return pad_sequence(sentences, batch_first=True), torch.tensor(labels)


class Sentiment(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(1000, 64, padding_idx=0)
        self.lstm = nn.LSTM(64, 64, batch_first=True)
        self.out = nn.Linear(64, 2)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        states, _ = self.lstm(self.embedding(tokens))
        return self.out(states.mean(dim=1))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()

    torch.manual_seed(0)
    collate = collate_fixed if args.fixed else collate_slow
    loader = DataLoader(Sentences(640), batch_size=16, collate_fn=collate)
    model = Sentiment()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    ends = []
    for tokens, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(tokens), labels)
        loss.backward()
        optimizer.step()
        ends.append(time.perf_counter())
    print(f"step: {(ends[-1] - ends[4]) / (len(ends) - 5) * 1000:.2f} ms")
