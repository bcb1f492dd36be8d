"""A step of an Azure ML pipeline that is profiled where its parameter says so.

python train.py --profile true --profile-steps 2,1,3,1    # here, as the pipeline would run it
stepscope report outputs/profiler_results
"""

import argparse

import torch
from torch import nn

import stepscope


def train(args: argparse.Namespace) -> float:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    loss = torch.zeros(())
    for _ in range(args.steps):
        features, classes = torch.randn(256, 64), torch.randint(0, 10, (256,))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(features), classes)
        loss.backward()
        optimizer.step()
        stepscope.step()  # costs nothing to speak of without --profile
    return loss.item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--steps", type=int, default=20)
    stepscope.add_arguments(parser)  # --profile, --profile-steps, --upload, --mlflow, ...
    args = parser.parse_args()
    with stepscope.from_args(args):
        print(f"loss {train(args):.3f}")


if __name__ == "__main__":
    main()
