"""A loop without any call: what a profiler costs where it has nothing to see."""

from workload import run_as_script

SIZE = 12


def run(size: int) -> int:
    # Its own loop within one call: `while` needs no iterator.
    total, outer = 0, size * 200_000
    while outer > 0:
        if outer & 3:
            total = (total * 31 + outer) % 65_521
        else:
            total ^= outer >> 2
        outer -= 1
    return total


if __name__ == "__main__":
    run_as_script(run, SIZE)
