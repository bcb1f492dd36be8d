"""Three threads that work in functions of their own and in one that they share."""

from time import monotonic, thread_time

from truth import Cpu, run


def shared(cpu: Cpu) -> None:
    begin = thread_time()
    for i in range(2_000):
        i * i
    cpu["shared"] += thread_time() - begin


def mine_0(cpu: Cpu) -> None:
    begin = thread_time()
    for i in range(6_000):
        i * i
    cpu["mine_0"] += thread_time() - begin


def mine_1(cpu: Cpu) -> None:
    begin = thread_time()
    for i in range(3_000):
        i * i
    cpu["mine_1"] += thread_time() - begin


def mine_2(cpu: Cpu) -> None:
    begin = thread_time()
    for i in range(1_000):
        i * i
    cpu["mine_2"] += thread_time() - begin


def work_0(cpu: Cpu, end: float) -> None:
    cpu.update(shared=0, mine_0=0)
    while monotonic() < end:
        mine_0(cpu)
        shared(cpu)


def work_1(cpu: Cpu, end: float) -> None:
    cpu.update(shared=0, mine_1=0)
    while monotonic() < end:
        mine_1(cpu)
        shared(cpu)


def work_2(cpu: Cpu, end: float) -> None:
    cpu.update(shared=0, mine_2=0)
    while monotonic() < end:
        mine_2(cpu)
        shared(cpu)


PAIRS = []
for n in range(3):
    PAIRS += [("work_in_thread", f"work_{n}"), (f"work_{n}", f"mine_{n}"), (f"work_{n}", "shared")]
run(PAIRS, work_0, work_1, work_2)
