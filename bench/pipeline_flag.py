"""What `stepscope.from_args` and `stepscope.step()` cost a training whose `--profile` is off.

  .venv/bin/python bench/pipeline_flag.py

Prints the time of an empty step's call, of a block per step, and the limit (1 us per step), the
median of repeated loops; the loop itself is taken off. Nothing is asserted.
"""

import argparse
import contextlib
import statistics
import time
from collections.abc import Callable

import stepscope

LIMIT_NS = 1000
STEPS = 200_000
REPEATS = 9


def time_ns(loop: Callable[[], None]) -> float:
    """Of one step of the loop."""
    begin = time.perf_counter_ns()
    loop()
    return (time.perf_counter_ns() - begin) / STEPS


def main() -> None:
    parser = argparse.ArgumentParser()
    stepscope.add_arguments(parser)
    args = parser.parse_args(["--profile", "false"])

    def bare() -> None:
        for _ in range(STEPS):
            pass

    def one_block() -> None:
        """As a training has it: one block around all steps, a call at the end of each."""
        with stepscope.from_args(args):
            for _ in range(STEPS):
                stepscope.step()

    def block_per_step() -> None:
        for _ in range(STEPS):
            with stepscope.from_args(args):
                pass

    def nullcontext_per_step() -> None:
        for _ in range(STEPS):
            with contextlib.nullcontext():
                pass

    loops = (bare, one_block, block_per_step, nullcontext_per_step)
    times: dict[str, list[float]] = {loop.__name__: [] for loop in loops}
    for _ in range(REPEATS):
        for loop in loops:
            times[loop.__name__].append(time_ns(loop))
    bare_ns = statistics.median(times["bare"])
    print(f"{'--profile off':<32} {'ns per step':>12} {'of the limit':>13}")
    for name, title in (
        ("one_block", "from_args once, step() in each"),
        ("block_per_step", "from_args in each"),
        ("nullcontext_per_step", "(contextlib.nullcontext in each)"),
    ):
        cost_ns = statistics.median(times[name]) - bare_ns
        print(f"{title:<32} {cost_ns:>12.0f} {cost_ns / LIMIT_NS:>12.2f}x")


if __name__ == "__main__":
    main()
