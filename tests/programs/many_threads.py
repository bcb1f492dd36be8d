"""2,000 threads, one after the other and some at once; each makes the same 21 calls of `leaf`."""

import threading

THREADS = 2_000
AT_ONCE = 8


def leaf(n: int) -> int:
    return n


def work(results: list[int]) -> None:
    results.append(sum(leaf(n) for n in range(21)))


def main(threads: int = THREADS) -> int:
    results: list[int] = []
    for _ in range(threads // AT_ONCE):
        group = [threading.Thread(target=work, args=(results,)) for _ in range(AT_ONCE)]
        for thread in group:
            thread.start()
        for thread in group:
            thread.join()
    return sum(results)


if __name__ == "__main__":
    print(main())
