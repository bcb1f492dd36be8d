"""One rank of a real data-parallel training on gloo: `ddp_program.py OUT RANK WORLD SLOW HOW`.

Rank SLOW is slowed: HOW is input (its dataset sleeps), operators (it computes more), host (it
sleeps between forward and backward) or none.
"""

import pathlib
import sys
import time

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.data import DataLoader, Dataset

SLOWED_S = 0.08
STEPS = 8


class Samples(Dataset[torch.Tensor]):
    def __init__(self, is_slow: bool) -> None:
        self.is_slow = is_slow

    def __len__(self) -> int:
        return 8 * (STEPS + 4)

    def __getitem__(self, index: int) -> torch.Tensor:
        if self.is_slow:
            time.sleep(SLOWED_S / 8)
        return torch.full((64,), float(index))


def main() -> None:
    folder, rank, world, slow = pathlib.Path(sys.argv[1]), *map(int, sys.argv[2:5])
    how = sys.argv[5] if rank == slow else "none"
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=world
    )
    model = DistributedDataParallel(
        torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8))
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    heavy = torch.randn(512, 512)
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=1, warmup=1, active=STEPS),
        record_shapes=True,
    ) as profiler:
        for batch in DataLoader(Samples(how == "input"), batch_size=8):
            loss = model(batch).square().mean()
            if how == "host":
                time.sleep(SLOWED_S)
            if how == "operators":
                end = time.perf_counter() + SLOWED_S
                while time.perf_counter() < end:
                    heavy = torch.mm(heavy, heavy).tanh()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            profiler.step()
            if profiler.step_num == STEPS + 2:
                break
    profiler.export_chrome_trace(str(folder / f"rank{rank}.json"))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
