"""What the programs of this folder share. Each knows what it does, apart from any profiler:

  PROGRAM SECONDS

prints "ready", waits for a line, works for SECONDS, and prints one Python literal: `cpu_s`, the CPU
seconds that functions measured of themselves; `total_cpu_s`, those of all its threads; `pairs`, the
callers and callees that can follow each other on a stack ("" calls what is outermost), where #
stands for one number in both.

Nothing but functions of the program is ever on a stack: no module of Python's own that is written
in Python is called between "ready" and the end."""

import _thread
import os
import sys
from collections.abc import Callable
from time import monotonic, thread_time

Cpu = dict[str, float]
Pair = tuple[str, str]
Work = Callable[[Cpu, float], None]

MAIN: list[Pair] = [("", "<module>"), ("<module>", "run"), ("run", "work_in_thread")]
THREAD: list[Pair] = [("", "work_in_thread")]


def work_in_thread(work: Work, cpu: Cpu, end: float, done: _thread.LockType) -> None:
    begin = thread_time()
    work(cpu, end)
    cpu["total"] = thread_time() - begin
    done.release()


def run(pairs: list[Pair], main: Work, *others: Work) -> None:
    """The first function runs in the main thread, each of the others in one of its own."""
    seconds = float(sys.argv[1])
    os.write(1, b"ready\n")
    os.read(0, 1)
    end = monotonic() + seconds
    measured: list[Cpu] = []
    locks = []
    for work in others:
        cpu: Cpu = {}
        done = _thread.allocate_lock()
        done.acquire()
        measured.append(cpu)
        locks.append(done)
        _thread.start_new_thread(work_in_thread, (work, cpu, end, done))
    cpu = {}
    measured.append(cpu)
    done = _thread.allocate_lock()
    done.acquire()
    work_in_thread(main, cpu, end, done)
    for done in locks:
        done.acquire()
    sums: Cpu = {}
    for cpu in measured:
        for name in cpu:
            sums[name] = sums.get(name, 0) + cpu[name]
    total = sums.pop("total")
    pairs = MAIN + THREAD + pairs
    os.write(1, repr({"cpu_s": sums, "total_cpu_s": total, "pairs": pairs}).encode() + b"\n")
    os._exit(0)
