"""`phases` against timers placed by hand, for loops that torch.profiler records on the spot.

Each loop marks nothing: its steps have to be found. The timers read the clock around what the loop
does; a step's timers and its phases are compared, and the step in the middle has to agree, so that
what the machine does meanwhile to some of them does not matter.
"""

import json
import pathlib
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch.profiler import ProfilerActivity, profile  # noqa: E402

PHASES = ("input", "forward", "backward", "optimizer")
BATCH = 256
WIDTH = 384
EPOCHS = 2
BATCHES = 6  # of an epoch


class Timers:
    """Seconds by step and phase."""

    def __init__(self) -> None:
        self.steps: list[dict[str, float]] = [defaultdict(float)]

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        self.steps[-1][phase] += time.perf_counter() - begin

    def end_step(self) -> None:
        self.steps.append(defaultdict(float))


class Samples(torch.utils.data.Dataset):  # type: ignore[misc, name-defined]
    def __init__(self, batches: int) -> None:
        self.rows = torch.randn(batches * BATCH, WIDTH)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: int) -> Any:
        return self.rows[at] * 2.0 + 1.0


def make_model() -> Any:
    layers: list[Any] = []
    for _ in range(4):
        layers += [torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers)


def make_optimizer(model: Any) -> Any:
    return torch.optim.Adam(model.parameters(), lr=1e-4, foreach=False)


def make_loader(batches: int = BATCHES) -> Any:
    return torch.utils.data.DataLoader(Samples(batches), batch_size=BATCH)


def fetches(loader: Any, timers: Timers) -> Iterator[Any]:
    batches = iter(loader)
    while True:
        # The fetch that finds nothing left belongs to no step.
        begin = time.perf_counter()
        try:
            batch = next(batches)
        except StopIteration:
            return
        timers.steps[-1]["input"] += time.perf_counter() - begin
        yield batch


def forward_backward(model: Any, batch: Any, timers: Timers) -> None:
    with timers("forward"):
        loss = torch.nn.functional.mse_loss(model(batch), batch)
    with timers("backward"):
        loss.backward()


def optimize(optimizer: Any, timers: Timers) -> None:
    with timers("optimizer"):
        optimizer.step()
        optimizer.zero_grad()


def plain(timers: Timers) -> None:
    model = make_model()
    optimizer = make_optimizer(model)
    loader = make_loader()
    for _ in range(EPOCHS):
        for batch in fetches(loader, timers):
            forward_backward(model, batch, timers)
            optimize(optimizer, timers)
            timers.end_step()


def accumulation(timers: Timers) -> None:
    model = make_model()
    optimizer = make_optimizer(model)
    loader = make_loader()
    for _ in range(EPOCHS):
        for number, batch in enumerate(fetches(loader, timers), start=1):
            forward_backward(model, batch, timers)
            if number % 3 == 0:
                optimize(optimizer, timers)
                timers.end_step()


def two_optimizers(timers: Timers) -> None:
    models = [make_model(), make_model()]
    optimizers = [make_optimizer(model) for model in models]
    for batch in fetches(make_loader(), timers):
        for model, optimizer in zip(models, optimizers, strict=True):
            forward_backward(model, batch, timers)
            optimize(optimizer, timers)
        timers.end_step()


def validation(timers: Timers) -> None:
    model = make_model()
    optimizer = make_optimizer(model)
    loader, held_back = make_loader(3), make_loader(16)
    for _ in range(EPOCHS):
        for batch in fetches(loader, timers):
            forward_backward(model, batch, timers)
            optimize(optimizer, timers)
            timers.end_step()
        with torch.no_grad():
            for batch in held_back:
                torch.nn.functional.mse_loss(model(batch), batch).item()


def no_loader(timers: Timers) -> None:
    model = make_model()
    optimizer = make_optimizer(model)
    rows = torch.randn(BATCH, WIDTH)
    for _ in range(BATCHES):
        forward_backward(model, rows, timers)
        optimize(optimizer, timers)
        timers.end_step()


LOOPS = {
    plain: EPOCHS * BATCHES,
    accumulation: EPOCHS * BATCHES // 3,
    two_optimizers: BATCHES,
    validation: EPOCHS * 3,
    no_loader: BATCHES,
}


def read_phases(stepscope: Callable[..., Any], path: pathlib.Path) -> list[dict[str, float]]:
    arguments = ("--view", "phases", "--limit", "0", "--format", "json")
    result = stepscope("report", path, *arguments)
    assert result.returncode == 0, result.stderr
    table = json.loads(result.stdout)
    assert any("Optimizer.step" in note for note in table["stats"]["notes"])
    names = [column["name"] for column in table["columns"]]
    rows = [dict(zip(names, row, strict=True)) for row in table["rows"]]
    for row in rows:
        parts = [row[name] for name in names if name not in ("step", "start_ns", "dur_ns")]
        assert sum(parts) == row["dur_ns"]
    return [{name.removesuffix("_ns"): row[name] / 1e9 for name in names} for row in rows]


def record(path: pathlib.Path, loop: Any, with_stack: bool) -> list[dict[str, float]]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    timers = Timers()
    try:
        loop(Timers())  # the first calls of all are slow
        with profile(activities=[ProfilerActivity.CPU], with_stack=with_stack) as profiler:
            loop(timers)
    finally:
        torch.set_num_threads(threads)
    profiler.export_chrome_trace(str(path))
    return timers.steps[:-1]


def differences(ours: list[dict[str, float]], theirs: list[dict[str, float]]) -> list[Any]:
    """Phases that are apart by more than 5 % and half a millisecond, in the step in the middle."""
    found: list[Any] = []
    for phase in PHASES:
        apart = [abs(our[phase] - their[phase]) for our, their in zip(ours, theirs, strict=True)]
        expected = statistics.median(their[phase] for their in theirs)
        if statistics.median(apart) > 0.05 * expected + 0.0005:
            found.append((phase, expected, apart))
    # No step holds anything large that the timers do not know, such as the validation.
    total = sum(our["dur"] for our in ours)
    timed = sum(sum(their.values()) for their in theirs)
    if total > 1.2 * timed + 0.01:
        found.append(("all", timed, total))
    return found


@pytest.mark.parametrize("with_stack", [False, True], ids=["operators", "stack"])
@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
def test_steps_are_found_and_their_phases_are_those_of_timers(
    tmp_path: pathlib.Path, stepscope: Callable[..., Any], loop: Any, with_stack: bool
) -> None:
    # A busy machine may stop the program between a timer and the slice that it times.
    for attempt in range(4):
        path = tmp_path / f"{attempt}.pt.trace.json"
        theirs = record(path, loop, with_stack)
        ours = read_phases(stepscope, path)
        assert len(ours) == len(theirs) == LOOPS[loop]
        found = differences(ours, theirs)
        if not found:
            break
    assert found == []
