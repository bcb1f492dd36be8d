"""Trains on DataLoaders of all kinds, with timers of its own around what is waited for and loaded.

    python loading_program.py TIMERS [FOLDER [stack]]

Each timer is a line "case pid what begin_ns end_ns" of the file TIMERS. With FOLDER the program
records itself with the drop-in; without, somebody else may.
"""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

ITEM_S = 0.02
COLLATE_S = 0.03
ITEMS = 8  # of an epoch
BATCH = 2
EPOCHS = 2

current_case = ""


@contextlib.contextmanager
def timer(what: str) -> Iterator[None]:
    begin = time.perf_counter_ns()
    try:
        yield
    finally:
        end = time.perf_counter_ns()
        line = f"{current_case} {os.getpid()} {what} {begin} {end}\n"
        # Appended in one piece, and there whatever becomes of the process.
        file = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, line.encode())
        os.close(file)


class Samples(Dataset):  # type: ignore[misc]
    def __len__(self) -> int:
        return ITEMS

    def __getitem__(self, at: int) -> Any:
        with timer("item"):
            time.sleep(ITEM_S)
            return torch.full((4,), float(at))


class Deadly(Samples):
    """The third one kills its process."""

    def __getitem__(self, at: int) -> Any:
        item = super().__getitem__(at)
        if at == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return item


class Stream(IterableDataset):  # type: ignore[misc]
    def __iter__(self) -> Iterator[Any]:
        worker = get_worker_info()
        first, stride = (worker.id, worker.num_workers) if worker else (0, 1)
        for at in range(first, ITEMS, stride):
            with timer("item"):
                time.sleep(ITEM_S)
                item = torch.full((4,), float(at))
            yield item


def stack(items: list[Any]) -> Any:
    with timer("collate"):
        time.sleep(COLLATE_S)
        return torch.stack(items)


CASES: dict[str, Callable[[], Any]] = {
    "in_process": lambda: DataLoader(Samples(), BATCH),
    "in_process_own_collate": lambda: DataLoader(Samples(), BATCH, collate_fn=stack),
    "in_process_stream": lambda: DataLoader(Stream(), BATCH, collate_fn=stack),
    "workers": lambda: DataLoader(Samples(), BATCH, num_workers=2),
    "workers_own_collate": lambda: DataLoader(Samples(), BATCH, num_workers=2, collate_fn=stack),
    "workers_persistent": lambda: DataLoader(
        Samples(), BATCH, num_workers=2, persistent_workers=True, collate_fn=stack
    ),
    "workers_stream": lambda: DataLoader(Stream(), BATCH, num_workers=2, collate_fn=stack),
}


def train(loader: Any) -> None:
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(EPOCHS):
        batches = iter(loader)
        while True:
            try:
                with timer("next"):
                    batch = next(batches)
            except StopIteration:
                break
            optimizer.zero_grad()
            model(batch).sum().backward()
            optimizer.step()


def main() -> None:
    global current_case
    for current_case, make_loader in CASES.items():  # noqa: B007
        train(make_loader())
    current_case = "killed"
    try:
        for _ in DataLoader(Deadly(), BATCH, num_workers=1):
            pass
    except RuntimeError as error:
        print("killed:", "exited unexpectedly" in str(error) or "Killed" in str(error))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        import stepscope.torch

        with stepscope.torch.profile(path=sys.argv[2], with_stack="stack" in sys.argv):
            main()
    else:
        main()
