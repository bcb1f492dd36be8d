"""Names are turned into one-hot vectors letter by letter, with a tensor for each.

Expected: dataset-slow-item. Fixed: letters are looked up once and made one-hot at once.
"""

import argparse
import random
import string
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

LETTERS = string.ascii_lowercase
LENGTH = 40


def one_hot(letter):
    vector = torch.zeros(len(LETTERS))
    vector[LETTERS.index(letter)] = 1.0
    return vector


class Names(Dataset):
    def __init__(self, count):
        draw = random.Random(3)
        self.names = ["".join(draw.choices(LETTERS, k=LENGTH)) for _ in range(count)]

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        name = self.names[index]
        return torch.stack([one_hot(letter) for letter in name]), index % 8


class EncodedNames(Names):
    def __init__(self, count):
        super().__init__(count)
        codes = [[LETTERS.index(letter) for letter in name] for name in self.names]
        self.codes = torch.tensor(codes)

    def __getitem__(self, index):
        return nn.functional.one_hot(self.codes[index], len(LETTERS)).float(), index % 8


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(len(LETTERS), 48, batch_first=True)
        self.head = nn.Linear(48, 8)

    def forward(self, names):
        return self.head(self.gru(names)[0][:, -1])


def train(dataset):
    model = Classifier()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    durations = []
    begin = time.perf_counter()
    for names, origins in DataLoader(dataset, batch_size=32, shuffle=True):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(names), origins)
        loss.backward()
        optimizer.step()
        durations.append(time.perf_counter() - begin)
        begin = time.perf_counter()
    return sum(durations[5:]) / (len(durations) - 5)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    torch.manual_seed(0)
    dataset = EncodedNames(1280) if parser.parse_args().fixed else Names(1280)
    print(f"step: {train(dataset) * 1000:.2f} ms")
