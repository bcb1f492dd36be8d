"""Recursion to 50,000 with a raised limit: down and back, then up again by an exception."""

import sys

DEPTH = 50_000


class BottomError(Exception):
    pass


def descend(levels: int) -> int:
    return 0 if levels == 0 else 1 + descend(levels - 1)


def fall(levels: int) -> None:
    if levels == 0:
        raise BottomError
    fall(levels - 1)


def main(depth: int = DEPTH) -> int:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, depth + 1_000))
    try:
        reached = descend(depth)
        try:
            fall(depth)
        except BottomError:
            reached += 1
    finally:
        sys.setrecursionlimit(limit)
    return reached


if __name__ == "__main__":
    print(main())
