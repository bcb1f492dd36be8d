"""Exceptions that pass through C: a key of sorted, a function of map, a comparison, a hash."""

from collections.abc import Callable


class Moody:
    def __init__(self, value: int) -> None:
        self.value = value

    def __lt__(self, other: "Moody") -> bool:
        if self.value == 13:
            raise ArithmeticError("13")
        return self.value < other.value

    def __hash__(self) -> int:
        raise TypeError("no hash today")


def reject(value: int) -> int:
    if value == 5:
        raise ValueError("5")
    return -value


def attempt(action: Callable[[], object]) -> str:
    try:
        return f"fine: {action()}"
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"


def attempts() -> list[Callable[[], object]]:
    return [
        lambda: sorted(range(10), key=reject),
        lambda: list(map(reject, range(10))),
        lambda: list(map(reject, range(4))),
        lambda: max([Moody(1), Moody(13), Moody(2)], key=lambda moody: moody.value).value,
        lambda: sorted([Moody(3), Moody(13), Moody(2)]),
        lambda: {Moody(1): 1},
        lambda: int("x"),
        lambda: [].pop(),
        lambda: {}.pop("missing"),
        lambda: getattr(3, "absent"),  # noqa: B009
        lambda: len(5),
        lambda: "".join([1]),
        lambda: sum(reject(n) for n in range(7)),
    ]


def main() -> list[str]:
    return [attempt(action) for _ in range(3) for action in attempts()]


if __name__ == "__main__":
    print("\n".join(main()))
