"""Generators: resumed, delegated to, thrown into, closed early, left for the garbage collector."""

from collections.abc import Generator, Iterator


def count(limit: int) -> Iterator[int]:
    yield from range(limit)


def running_mean() -> Generator[float, float, str]:
    total, seen = 0.0, 0
    try:
        value = yield 0.0
        while True:
            total, seen = total + value, seen + 1
            value = yield total / seen
    except ValueError as error:
        return f"{error} after {seen}"


def guarded(log: list[str]) -> Generator[int, None, None]:
    try:
        yield 1
        yield 2
    except KeyError:
        log.append("caught")
        yield 3
    finally:
        log.append("closed")


def delegate(log: list[str]) -> Generator[int, None, str]:
    yield from guarded(log)
    result = yield from running_mean()
    return result


def flatten(tree: object) -> Iterator[int]:
    if isinstance(tree, int):
        yield tree
    else:
        for branch in tree:
            yield from flatten(branch)


def throw_and_close() -> list[str]:
    log: list[str] = []
    first = guarded(log)
    next(first)
    log.append(str(first.throw(KeyError("x"))))
    first.close()

    second = guarded(log)
    next(second)
    second.close()
    second.close()

    third = delegate(log)
    log.append(str([next(third), next(third)]))
    next(third)
    third.send(4.0)
    try:
        third.throw(ValueError("enough"))
    except StopIteration as stop:
        log.append(stop.value)

    never_begun = guarded(log)
    never_begun.close()
    try:
        next(never_begun)
    except StopIteration:
        log.append("stopped")
    abandoned = guarded(log)
    next(abandoned)
    del abandoned
    return log


def main() -> tuple[int, int, list[str], bool]:
    tree = [1, [2, [3, [4, 5]], 6], [[[7]]]]
    squares = sum(x * x for x in count(50))
    return squares, sum(flatten(tree)), throw_and_close(), any(x > 3 for x in count(100))


if __name__ == "__main__":
    print(main())
