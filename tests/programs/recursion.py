"""Plain recursion: one function that calls itself once and one that calls itself twice."""


def factorial(n: int) -> int:
    return 1 if n < 2 else n * factorial(n - 1)


def fibonacci(n: int) -> int:
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def main() -> int:
    return factorial(60) % 1_000_007 + fibonacci(15)


if __name__ == "__main__":
    print(main())
