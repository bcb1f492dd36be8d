"""Coroutines: tasks that take turns, a gather with a failure in it, async iteration, a queue."""

import asyncio
from collections.abc import AsyncIterator


async def step(log: list[str], name: str, turns: int) -> int:
    for turn in range(turns):
        log.append(f"{name}{turn}")
        await asyncio.sleep(0)
    return turns


async def fail(after: int) -> None:
    for _ in range(after):
        await asyncio.sleep(0)
    raise RuntimeError(f"after {after}")


async def numbers(limit: int) -> AsyncIterator[int]:
    for number in range(limit):
        yield number
        await asyncio.sleep(0)


async def produce(queue: "asyncio.Queue[int]", limit: int) -> None:
    async for number in numbers(limit):
        await queue.put(number)


async def consume(queue: "asyncio.Queue[int]", limit: int) -> int:
    return sum([await queue.get() for _ in range(limit)])


async def work() -> tuple[list[str], list[object], int]:
    log: list[str] = []
    results = await asyncio.gather(
        step(log, "a", 3), step(log, "b", 5), fail(2), step(log, "c", 1), return_exceptions=True
    )
    queue: asyncio.Queue[int] = asyncio.Queue(maxsize=2)
    _, total = await asyncio.gather(produce(queue, 10), consume(queue, 10))
    return log, [str(result) for result in results], total


def main() -> tuple[list[str], list[object], int]:
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(work())
    finally:
        loop.close()


if __name__ == "__main__":
    print(main())
