"""Threads that run at once: each recurses, uses a generator, and shares a queue with the others."""

import queue
import threading

THREADS = 4
ITEMS = 60


def collatz(n: int) -> int:
    return 0 if n == 1 else 1 + collatz(n // 2 if n % 2 == 0 else 3 * n + 1)


def even(limit: int) -> object:
    for n in range(limit):
        if n % 2 == 0:
            yield n


def work(items: "queue.SimpleQueue[int | None]", results: list[int]) -> None:
    while (item := items.get()) is not None:
        results.append(collatz(item) + sum(even(item)))


def main() -> int:
    items: queue.SimpleQueue[int | None] = queue.SimpleQueue()
    results: list[int] = []
    workers = [threading.Thread(target=work, args=(items, results)) for _ in range(THREADS)]
    for worker in workers:
        worker.start()
    for item in [*range(1, ITEMS + 1), *[None] * THREADS]:
        items.put(item)
    for worker in workers:
        worker.join()
    return sum(results)


if __name__ == "__main__":
    print(main())
