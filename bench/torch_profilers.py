"""What profilers of PyTorch cost: CPU time added to training steps, and what follows the loop.

`make bench` runs it; alone: `.venv/bin/python bench/torch_profilers.py`. All in one process and on
one thread: rounds go through all cases one after the other, so that a busy machine disturbs all
alike. A case's figure is the 10th percentile of all its single steps, less that of the plain loop:
a busy machine makes steps slower and never faster. Nothing is asserted.

  BENCH_TORCH_ROUNDS   rounds (15)
  BENCH_TORCH_STEPS    steps of a case in a round (30)
  BENCH_TORCH_EVENTS   events for the time after the loop (1000000; torch.profiler has a tenth)
"""

import contextlib
import gc
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

try:
    import torch
except ImportError:
    sys.exit("bench: torch is not installed; profilers of PyTorch are not measured")
import torch.profiler
from torch import nn

import stepscope.torch

ROUNDS = int(os.environ.get("BENCH_TORCH_ROUNDS", "15"))
STEPS = int(os.environ.get("BENCH_TORCH_STEPS", "30"))
EVENTS = int(os.environ.get("BENCH_TORCH_EVENTS", "1000000"))

OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "shapes": {"record_shapes": True},
    "memory": {"profile_memory": True},
    "stack": {"with_stack": True},
    "all": {
        "record_shapes": True,
        "profile_memory": True,
        "with_stack": True,
        "with_modules": True,
        "with_flops": True,
    },
}
# Of what torch.profiler adds with the same options.
GOALS = {"default": 0.5, "shapes": 0.55, "memory": 0.6, "stack": 0.3, "all": 0.45, "sampled": 0.1}
AFTER_GOAL_US = 1.5
MEMORY_GOAL_BYTES = 80


def tiny_mlp() -> Callable[[], None]:
    """Many operators of a microsecond each: the worst case."""
    layers = [layer for _ in range(20) for layer in (nn.Linear(16, 16), nn.Tanh())]
    return make_step(nn.Sequential(*layers, nn.Linear(16, 4)), torch.randn(8, 16))


def transformer() -> Callable[[], None]:
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    return make_step(
        nn.Sequential(encoder, nn.Flatten(), nn.Linear(64 * 16, 4)), torch.randn(8, 16, 64)
    )


def conv_net() -> Callable[[], None]:
    layers: list[nn.Module] = []
    for inner, outer in ((3, 16), (16, 32), (32, 32)):
        layers += [nn.Conv2d(inner, outer, 3, padding=1), nn.BatchNorm2d(outer), nn.ReLU()]
    return make_step(
        nn.Sequential(*layers, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, 4)),
        torch.randn(8, 3, 16, 16),
    )


def make_step(model: nn.Module, batch: torch.Tensor) -> Callable[[], None]:
    labels = torch.randint(0, 4, (len(batch),))
    update = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9, foreach=False)

    def step() -> None:
        update.zero_grad()
        nn.functional.cross_entropy(model(batch), labels).backward()
        update.step()

    return step


def make_cases() -> dict[tuple[str, str], Callable[[], Any]]:
    """Profilers by (option, tool)."""
    cases: dict[tuple[str, str], Callable[[], Any]] = {}
    for name, options in OPTIONS.items():
        for tool, module in (("torch", torch.profiler), ("stepscope", stepscope.torch)):
            cases[name, tool] = lambda module=module, options=options: module.profile(
                activities=[torch.profiler.ProfilerActivity.CPU], **options
            )
    cases["sampled", "stepscope"] = lambda: stepscope.torch.profile(sampling=0.02)
    return cases


def time_steps(step: Callable[[], None], profiler: Any) -> list[float]:
    """Microseconds of this thread, for each step."""
    times = []
    with profiler:
        step()
        for _ in range(STEPS):
            begin = time.thread_time_ns()
            step()
            times.append((time.thread_time_ns() - begin) / 1000)
    return times


def quiet(times: list[float]) -> float:
    return statistics.quantiles(times, n=10)[0]


def measure_steps(name: str, step: Callable[[], None]) -> None:
    for _ in range(5):
        step()
    cases = make_cases()
    plain: list[float] = []
    times: dict[tuple[str, str], list[float]] = {case: [] for case in cases}
    for round_number in range(ROUNDS + 1):
        base = time_steps(step, contextlib.nullcontext())
        for case, make in cases.items():
            took = time_steps(step, make())
            if round_number > 0:  # the first one warms up
                times[case] += took
        if round_number > 0:
            plain += base
        gc.collect()
    print(f"\n{name}: plain {quiet(plain):.0f} us per step, {ROUNDS} rounds")
    print("options    torch.profiler adds    stepscope adds    ratio    goal")
    added = {case: quiet(steps) - quiet(plain) for case, steps in times.items()}
    for option, goal in GOALS.items():
        theirs = added["default" if option == "sampled" else option, "torch"]
        ours = added[option, "stepscope"]
        ratio = ours / theirs
        verdict = "met" if ratio <= goal else "not met"
        print(f"{option:10} {theirs:16.0f} us {ours:14.0f} us {ratio:8.2f} {goal:7.2f} {verdict}")


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def measure_after(tool: str, make: Callable[[], Any], events: int) -> None:
    """From the end of the loop to the printed table."""
    vector = torch.ones(4)
    gc.collect()
    before = resident_bytes()
    profiler = make()
    profiler.start()
    for _ in range(events):
        vector.add(1)
    begin = time.process_time_ns()
    profiler.stop()
    table = profiler.key_averages().table(sort_by="self_cpu_time_total", row_limit=10)
    took_us = (time.process_time_ns() - begin) / 1000
    grown = resident_bytes() - before
    assert "aten::add" in table
    line = f"{tool:15} {events:9,} events: {took_us / events:7.2f} us, {grown / events:6.0f} bytes"
    if tool == "stepscope":
        is_met = took_us / events <= AFTER_GOAL_US and grown / events <= MEMORY_GOAL_BYTES
        line += f"   goal {AFTER_GOAL_US} us, {MEMORY_GOAL_BYTES} bytes: "
        line += "met" if is_met else "not met"
    print(line)


def main() -> None:
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, Python {sys.version.split()[0]}")
    for make_workload in (tiny_mlp, transformer, conv_net):
        measure_steps(make_workload.__name__.replace("_", " "), make_workload())
    print("\nafter the loop: stop and the operator table, CPU time and memory per event")
    measure_after("stepscope", stepscope.torch.profile, EVENTS)
    measure_after("torch.profiler", torch.profiler.profile, EVENTS // 10)


if __name__ == "__main__":
    main()
