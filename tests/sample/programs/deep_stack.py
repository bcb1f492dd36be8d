"""Work at the end of 500 calls, whose frames come and go all the time. It takes as long on any
machine."""

import sys
from time import monotonic, thread_time

from truth import Cpu, run

DEPTH = 500


def near(cpu: Cpu) -> None:
    begin = now = thread_time()
    while now < begin + 1e-3:
        now = thread_time()
    cpu["near"] += now - begin


def far(cpu: Cpu) -> None:
    begin = now = thread_time()
    while now < begin + 2e-3:
        now = thread_time()
    cpu["far"] += now - begin


def even(cpu: Cpu, depth: int) -> None:
    if depth == 0:
        far(cpu)
    else:
        odd(cpu, depth - 1)


def odd(cpu: Cpu, depth: int) -> None:
    if depth == 0:
        near(cpu)
    else:
        even(cpu, depth - 1)


def work(cpu: Cpu, end: float) -> None:
    cpu.update(near=0, far=0)
    while monotonic() < end:
        even(cpu, DEPTH)
        odd(cpu, DEPTH)


sys.setrecursionlimit(2 * DEPTH)
run(
    [
        ("work_in_thread", "work"),
        ("work", "even"),
        ("work", "odd"),
        ("even", "odd"),
        ("odd", "even"),
        ("even", "far"),
        ("odd", "near"),
    ],
    work,
)
