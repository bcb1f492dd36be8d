"""Recursion to 50,000 on several threads at once, with stacks of half a megabyte."""

import sys
import threading

DEPTH = 50_000
THREADS = 3


def descend(levels: int) -> int:
    return 0 if levels == 0 else 1 + descend(levels - 1)


def work(results: list[int]) -> None:
    for _ in range(2):
        results.append(descend(DEPTH))


def main() -> int:
    limit, stack_bytes = sys.getrecursionlimit(), threading.stack_size(512 << 10)
    sys.setrecursionlimit(DEPTH + 1_000)
    results: list[int] = []
    try:
        threads = [threading.Thread(target=work, args=(results,)) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        threading.stack_size(stack_bytes)
        sys.setrecursionlimit(limit)
    return sum(results)


if __name__ == "__main__":
    print(main())
