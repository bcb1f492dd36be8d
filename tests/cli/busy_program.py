"""A busy program with threads and children that publishes, apart from any profiler, what it did.

  busy_program.py FILE [SECONDS]

Each of its workers, three threads here and two in each of two children, calls work() over and over
and then counts the call in a place of its own in FILE, which a kill does not take back."""

import mmap
import os
import sys
import threading
import time

THREADS = 3
CHILDREN = 2
PLACES = THREADS * (CHILDREN + 1)


def work(i: int) -> int:
    return inner(i) + inner(i + 1)


def inner(i: int) -> int:
    return i


def loop(places: memoryview, place: int, end: float) -> None:
    i = 0
    while time.monotonic() < end:
        work(i)
        i += 1
        places[place] = i


def run_threads(places: memoryview, process: int, end: float) -> None:
    threads = [
        threading.Thread(
            target=loop,
            args=(places, process * THREADS + i, end),
            name=f"worker-{process * THREADS + i}",
        )
        for i in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main() -> None:
    end = time.monotonic() + float(sys.argv[2] if len(sys.argv) > 2 else 60)
    with open(sys.argv[1], "r+b") as file:
        # struct.pack_into() would write zeros first, for a kill to find.
        places = memoryview(mmap.mmap(file.fileno(), 8 * PLACES)).cast("q")
    children = []
    for child in range(1, CHILDREN + 1):
        pid = os.fork()
        if pid == 0:
            run_threads(places, child, end)
            os._exit(0)
        children.append(pid)
    run_threads(places, 0, end)
    for pid in children:
        os.waitpid(pid, 0)


main()
