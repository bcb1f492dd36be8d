"""Functions that call themselves through others and through C: callers differ from call to call."""


def is_even(n: int) -> bool:
    return n == 0 or is_odd(n - 1)


def is_odd(n: int) -> bool:
    return n != 0 and is_even(n - 1)


def depth(tree: object) -> int:
    return 1 + widest(tree) if isinstance(tree, tuple) else 0


def widest(tree: tuple[object, ...]) -> int:
    return max(map(depth, tree), default=0)


def build(levels: int) -> tuple[object, ...]:
    return () if levels == 0 else (build(levels - 1), levels, build(levels - 1))


def main() -> int:
    return depth(build(7)) + sum(is_even(n) for n in range(40))


if __name__ == "__main__":
    print(main())
