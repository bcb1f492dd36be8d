"""Functions that take half, a third and less of a thread's time."""

from time import monotonic, thread_time

from truth import Cpu, run


def half(cpu: Cpu) -> None:
    begin = thread_time()
    for i in range(10_000):
        i * i
    cpu["half"] += thread_time() - begin


def third(cpu: Cpu) -> None:
    begin = thread_time()
    for i in range(6_000):
        i * i
    cpu["third"] += thread_time() - begin


def tenth(cpu: Cpu) -> None:
    begin = thread_time()
    for i in range(2_500):
        i * i
    cpu["tenth"] += thread_time() - begin


def little(cpu: Cpu) -> None:
    begin = thread_time()
    for i in range(1_000):
        i * i
    cpu["little"] += thread_time() - begin


def work(cpu: Cpu, end: float) -> None:
    cpu.update(half=0, third=0, tenth=0, little=0)
    while monotonic() < end:
        half(cpu)
        third(cpu)
        tenth(cpu)
        little(cpu)


NAMES = ("half", "third", "tenth", "little")
run([("work_in_thread", "work"), *(("work", name) for name in NAMES)], work)
