"""Calls as quick as can be, of functions alike in all but their names: a frame is the same place
for one and, a moment later, for another. Nothing is measured; which pairs there are is known."""

from itertools import pairwise
from time import monotonic

from truth import Cpu, run


def left_leaf(x: int) -> int:
    return x


def left_3(x: int) -> int:
    return left_leaf(x)


def left_2(x: int) -> int:
    return left_3(x)


def left_1(x: int) -> int:
    return left_2(x)


def right_leaf(x: int) -> int:
    return x


def right_3(x: int) -> int:
    return right_leaf(x)


def right_2(x: int) -> int:
    return right_3(x)


def right_1(x: int) -> int:
    return right_2(x)


def fail(x: int) -> int:
    raise ValueError


def fail_within(x: int) -> int:
    return fail(x)


def catch(x: int) -> None:
    try:  # noqa: SIM105 (which would call more functions)
        fail_within(x)
    except ValueError:
        pass


def work(cpu: Cpu, end: float) -> None:
    while monotonic() < end:
        for i in range(100):
            left_1(i)
            right_1(i)
            catch(i)


PAIRS = [("work", "catch"), ("catch", "fail_within"), ("fail_within", "fail")]
for side in ("left", "right"):
    names = ["work", *(f"{side}_{n}" for n in (1, 2, 3)), f"{side}_leaf"]
    PAIRS += pairwise(names)
run([("work_in_thread", "work"), *PAIRS], work)
