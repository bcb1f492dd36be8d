"""Work in generators, in a generator that hands on to another, and in coroutines that await. Each
takes as long on any machine."""

from collections.abc import Generator, Iterable
from time import monotonic, thread_time

from truth import Cpu, run


def numbers(cpu: Cpu) -> Generator[int, None, None]:
    while True:
        begin = now = thread_time()
        while now < begin + 240e-6:
            now = thread_time()
        cpu["numbers"] += now - begin
        yield 1


def squares(cpu: Cpu, source: Iterable[int]) -> Generator[int, None, None]:
    for x in source:
        begin = now = thread_time()
        while now < begin + 120e-6:
            now = thread_time()
        cpu["squares"] += now - begin
        yield x


def delegated(cpu: Cpu) -> Generator[int, None, None]:
    for _ in range(5):
        begin = now = thread_time()
        while now < begin + 160e-6:
            now = thread_time()
        cpu["delegated"] += now - begin
        yield 1


def delegate(cpu: Cpu) -> Generator[int, None, None]:
    while True:
        yield from delegated(cpu)


class Pause:
    def __await__(self) -> Generator[None, None, None]:
        yield


async def bottom(cpu: Cpu) -> None:
    begin = now = thread_time()
    while now < begin + 200e-6:
        now = thread_time()
    cpu["bottom"] += now - begin
    await Pause()


async def middle(cpu: Cpu) -> None:
    await bottom(cpu)


async def top(cpu: Cpu) -> None:
    while True:
        await middle(cpu)


def take_squares(values: Generator[int, None, None]) -> None:
    next(values)


def take_delegated(values: Generator[int, None, None]) -> None:
    next(values)


def work(cpu: Cpu, end: float) -> None:
    cpu.update(numbers=0, squares=0, delegated=0, bottom=0)
    pipeline = squares(cpu, numbers(cpu))
    handed_on = delegate(cpu)
    task = top(cpu)
    while monotonic() < end:
        take_squares(pipeline)
        take_delegated(handed_on)
        task.send(None)


run(
    [
        ("work_in_thread", "work"),
        # A generator is on the stack for a moment when it is made, too.
        ("work", "squares"),
        ("work", "numbers"),
        ("work", "delegate"),
        ("work", "take_squares"),
        ("take_squares", "squares"),
        ("squares", "numbers"),
        ("work", "take_delegated"),
        ("take_delegated", "delegate"),
        ("delegate", "delegated"),
        ("work", "top"),
        ("top", "middle"),
        ("middle", "bottom"),
        ("bottom", "Pause.__await__"),
    ],
    work,
)
