"""Works and waits on many threads until its standard input is closed, for bench/samplers.py.

Of N threads a tenth, and one at least, computes at a depth of 20 calls; the others wait in a queue
and are woken 20 times a second. Prints "ready", at the end how much it did and its CPU time."""

import queue
import sys
import threading
import time

DEPTH = 20
THREADS = int(sys.argv[1])
BUSY = max(1, THREADS // 10)

stop = False
units = [0] * THREADS


def compute(depth: int) -> int:
    if depth:
        return compute(depth - 1) + 1
    total = 0
    for i in range(2000):
        total += i * i
    return total


def work(number: int) -> None:
    while not stop:
        compute(DEPTH - 3)
        units[number] += 1


def wait(number: int, inbox: "queue.SimpleQueue[int]") -> None:
    while inbox.get():
        units[number] += 0


inboxes: list["queue.SimpleQueue[int]"] = [queue.SimpleQueue() for _ in range(THREADS - BUSY)]
threads = [threading.Thread(target=work, args=(i,)) for i in range(1, BUSY)]
threads += [threading.Thread(target=wait, args=(BUSY + i, box)) for i, box in enumerate(inboxes)]
for thread in threads:
    thread.start()


def serve_input() -> None:
    global stop
    sys.stdin.read()
    stop = True


def wake() -> None:
    while not stop:
        time.sleep(0.05)
        for inbox in inboxes:
            inbox.put(1)
    for inbox in inboxes:
        inbox.put(0)


helpers = [threading.Thread(target=serve_input), threading.Thread(target=wake)]
for helper in helpers:
    helper.start()
print("ready", flush=True)
units_before, cpu_before = sum(units), time.process_time()
work(0)
units_done, cpu_s = sum(units) - units_before, time.process_time() - cpu_before
for thread in threads + helpers:
    thread.join()
print(units_done, cpu_s, flush=True)
