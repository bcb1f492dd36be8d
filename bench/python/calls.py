"""Python calls and little else: recursion and tiny methods."""

from workload import run_as_script

SIZE = 100


class Point:
    def __init__(self, x: int, y: int) -> None:
        self.x = x
        self.y = y

    def get_x(self) -> int:
        return self.x

    def get_y(self) -> int:
        return self.y

    def plus(self, other: "Point") -> "Point":
        return Point(self.get_x() + other.get_x(), self.get_y() + other.get_y())


def fibonacci(n: int) -> int:
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def ackermann(m: int, n: int) -> int:
    if m == 0:
        return n + 1
    return ackermann(m - 1, 1 if n == 0 else ackermann(m, n - 1))


def walk(steps: int) -> int:
    place, step = Point(0, 0), Point(1, 2)
    for _ in range(steps):
        place = place.plus(step)
    return place.get_y()


def run(size: int) -> int:
    return sum(fibonacci(18) + ackermann(2, 30) + walk(6_000) for _ in range(size))


if __name__ == "__main__":
    run_as_script(run, SIZE)
