"""A program whose CPU time goes to hot(), cool() and main() itself as 30 to 10 to 4.

  top_program.py [SECONDS [CHILDREN]]

One more thread waits all the while. It says "ready" once all of this has begun. A child does
nothing but child_work()."""

import os
import sys
import threading
import time


def spin(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for _ in range(100):
            pass


def hot() -> None:
    spin(0.03)


def cool() -> None:
    spin(0.01)


def child_work() -> None:
    while os.getppid() == PARENT:
        spin(0.01)


def wait_for_nothing() -> None:
    threading.Event().wait()


PARENT = os.getpid()


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 600.0
    for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 0):
        if os.fork() == 0:
            child_work()
            os._exit(0)
    threading.Thread(target=wait_for_nothing, name="waiter", daemon=True).start()
    print("ready", flush=True)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        hot()
        cool()
        own_end = time.thread_time() + 0.004
        while time.thread_time() < own_end:
            pass


main()
