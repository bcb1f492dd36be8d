"""One thread that works among some that wait: for time, for a lock, for bytes, for each other."""

import _thread
import os
from time import monotonic, sleep, thread_time

from truth import Cpu, run

LOCK = _thread.allocate_lock()
READ, WRITE = os.pipe()


def burn(cpu: Cpu) -> None:
    begin = thread_time()
    for i in range(8_000):
        i * i
    cpu["burn"] += thread_time() - begin


def smoulder(cpu: Cpu) -> None:
    begin = thread_time()
    for i in range(2_000):
        i * i
    cpu["smoulder"] += thread_time() - begin


def work(cpu: Cpu, end: float) -> None:
    cpu.update(burn=0, smoulder=0)
    while monotonic() < end:
        burn(cpu)
        smoulder(cpu)
    LOCK.release()
    os.write(WRITE, b"x")


def sleep_long(cpu: Cpu, end: float) -> None:
    cpu["sleep_long"] = 0
    sleep(end - monotonic())


def sleep_often(cpu: Cpu, end: float) -> None:
    begin = thread_time()
    while monotonic() < end:
        sleep(0.02)
    cpu["sleep_often"] = thread_time() - begin


def wait_for_lock(cpu: Cpu, end: float) -> None:
    cpu["wait_for_lock"] = 0
    LOCK.acquire()


def wait_for_bytes(cpu: Cpu, end: float) -> None:
    cpu["wait_for_bytes"] = 0
    os.read(READ, 1)


LOCK.acquire()
WORKS = (work, sleep_long, sleep_often, wait_for_lock, wait_for_bytes)
run(
    [("work", "burn"), ("work", "smoulder"), *(("work_in_thread", f.__name__) for f in WORKS)],
    *WORKS,
)
