"""An agent's replay buffer keeps observations as lists; each step makes tensors of them.

Expected: tensor-from-python-list. Fixed: the buffer is a tensor, and batches are indexed from it.
"""

import argparse
import random
import time

import torch
from torch import nn

OBSERVATION = 400


class ListBuffer:
    def __init__(self, size):
        draw = random.Random(0)
        self.entries = [
            ([draw.random() for _ in range(OBSERVATION)], draw.randrange(4), draw.random())
            for _ in range(size)
        ]

    def sample(self, count):
        chosen = random.sample(self.entries, count)
        observations = torch.tensor([entry[0] for entry in chosen])
        actions = torch.tensor([entry[1] for entry in chosen])
        rewards = torch.tensor([entry[2] for entry in chosen])
        return observations, actions, rewards


class TensorBuffer:
    def __init__(self, size):
        self.observations = torch.rand(size, OBSERVATION)
        self.actions = torch.randint(4, (size,))
        self.rewards = torch.rand(size)

    def sample(self, count):
        chosen = torch.randint(len(self.rewards), (count,))
        return self.observations[chosen], self.actions[chosen], self.rewards[chosen]


class Agent:
    def __init__(self, buffer):
        self.buffer = buffer
        self.network = nn.Sequential(nn.Linear(OBSERVATION, 256), nn.ReLU(), nn.Linear(256, 4))
        self.optimizer = torch.optim.RMSprop(self.network.parameters(), lr=1e-3)

    def learn(self):
        observations, actions, rewards = self.buffer.sample(128)
        values = self.network(observations).gather(1, actions[:, None]).squeeze(1)
        loss = nn.functional.smooth_l1_loss(values, rewards)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    agent = Agent(TensorBuffer(1000) if args.fixed else ListBuffer(1000))
    for step in range(60):
        if step == 8:
            begin = time.perf_counter()
        agent.learn()
    print(f"step: {(time.perf_counter() - begin) / 52 * 1000:.2f} ms")
