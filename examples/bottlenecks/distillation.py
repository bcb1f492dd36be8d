"""A frozen teacher is run with gradients, which backward then computes in vain.

Expected: missing-no-grad. Fixed: torch.no_grad() around the teacher.
"""

import argparse
import time

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset


def make_net(width: int) -> nn.Module:
    return nn.Sequential(
        nn.Linear(256, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10)
    )


def distillation_loss(student_logits, teacher_logits, labels, temperature=4.0):
    soft = functional.kl_div(
        functional.log_softmax(student_logits / temperature, dim=1),
        functional.softmax(teacher_logits / temperature, dim=1),
        reduction="batchmean",
    )
    return soft + functional.cross_entropy(student_logits, labels)


def train(fixed: bool) -> float:
    teacher, student = make_net(1200), make_net(600)
    teacher.eval()
    optimizer = torch.optim.SGD(student.parameters(), lr=0.05)
    data = TensorDataset(torch.randn(5120, 256), torch.randint(10, (5120,)))
    ends = []
    for x, labels in DataLoader(data, batch_size=128):
        if fixed:
            with torch.no_grad():
                teacher_logits = teacher(x)
        else:
            teacher_logits = teacher(x)
        loss = distillation_loss(student(x), teacher_logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ends.append(time.perf_counter())
    return (ends[-1] - ends[4]) / (len(ends) - 5)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    print(f"step: {train(args.fixed) * 1000:.2f} ms")
