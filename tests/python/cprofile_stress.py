"""Threads that share profilers and treat them badly: a program for test_cprofile_stress.

Each thread, at random, enables, disables, clears and reads one of a few profilers, whose timers
fail, give way to other threads or call back into the profiler, and in between runs code of all
kinds. Then each of many threads, one after the other, profiles itself. It prints how often what was
refused.
"""

import collections
import contextlib
import random
import sys
import threading
import time

from stepscope.cprofile import Profile, label

SHARED = 4
THREADS = 6


class BadTimer:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.profiler: Profile | None = None

    def __call__(self) -> object:
        dice = self.random.random()
        if dice < 0.02:
            raise ValueError("no time")
        if dice < 0.04:
            time.sleep(0)
        if dice < 0.05 and self.profiler:
            getattr(self.profiler, self.random.choice(["clear", "disable", "getstats", "enable"]))()
        return "late" if dice > 0.99 else dice


def recurse(n: int) -> int:
    return 0 if n == 0 else 1 + recurse(n - 1)


def generate(n: int) -> object:
    try:
        yield from range(n)
    except KeyError:
        yield -1


def do_work(dice: random.Random) -> None:
    recurse(dice.randrange(60))
    generator = generate(5)
    next(generator)
    if dice.random() < 0.5:
        generator.throw(KeyError())
    with contextlib.suppress(ZeroDivisionError):
        sorted(range(10), key=lambda n: 1 // (n - 5))
    # Code that lives no longer than this: entries must hold it.
    namespace: dict = {}
    exec(f"def short_lived(): return {dice.random()}\nshort_lived()", namespace)


def mistreat(
    profilers: list[Profile], seed: int, until_s: float, refused: collections.Counter
) -> None:
    dice = random.Random(seed)
    while time.monotonic() < until_s:
        profiler = dice.choice(profilers)
        action = dice.choice(["enable", "enable", "disable", "clear", "getstats", "create_stats"])
        try:
            getattr(profiler, action)()
        except (ValueError, RuntimeError) as error:
            refused[str(error)] += 1
        do_work(dice)
    sys.setprofile(None)


def profile_itself(counts: list[int]) -> None:
    profiler = Profile()
    profiler.runcall(recurse, 20)
    calls = {label(entry.code)[2]: entry.callcount for entry in profiler.getstats()}
    counts.append(calls["recurse"])


def main() -> None:
    sys.unraisablehook = lambda report: None
    sys.setswitchinterval(1e-5)
    timers = [BadTimer(seed) for seed in range(SHARED // 2)]
    profilers = [Profile(timer) for timer in timers] + [Profile() for _ in range(SHARED // 2)]
    for timer, profiler in zip(timers, profilers, strict=False):
        timer.profiler = profiler
    refused: collections.Counter = collections.Counter()
    until_s = time.monotonic() + float(sys.argv[1])
    threads = [
        threading.Thread(target=mistreat, args=(profilers, seed, until_s, refused))
        for seed in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for profiler in profilers:
        profiler.disable()
        profiler.create_stats()

    counts: list[int] = []
    for _ in range(int(sys.argv[2])):
        thread = threading.Thread(target=profile_itself, args=(counts,))
        thread.start()
        thread.join()
    # From Python 3.12 on the events of all threads come, also the ends of calls in which the main
    # thread waited before: as in cProfile, such an end closes whatever call is open.
    least = 21 if sys.version_info < (3, 12) else 1
    assert all(least <= count <= 21 for count in counts), collections.Counter(counts)
    profile_itself(counts)
    assert counts[-1] == 21
    print(f"survived; refused: {dict(refused)}")


if __name__ == "__main__":
    main()
