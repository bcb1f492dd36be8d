"""Calls of functions written in C: methods of lists, dicts and strings, builtins, sorts."""

from workload import run_as_script

SIZE = 16


def gather(count: int) -> int:
    numbers: list[int] = []
    for n in range(count):
        numbers.append(abs(n - 500))
        if isinstance(n, int) and len(numbers) > 64:
            numbers.pop()
    return max(numbers) + min(numbers) + sum(numbers)


def count_words(count: int) -> int:
    counts: dict[str, int] = {}
    text = "the quick brown fox jumps over the lazy dog"
    for n in range(count):
        for word in text.split(" "):
            counts[word] = counts.get(word, 0) + ord(word[0])
        if text.startswith("the") and not text.endswith("cat"):
            counts.setdefault(str(n % 10), hash(n))
    return len(counts)


def sort_texts(count: int) -> str:
    texts = [f"{n * 7919 % count:06d}".strip() for n in range(count)]
    texts.sort(key=str.upper)
    return "".join(sorted(texts, key=len))


def run(size: int) -> int:
    return sum(gather(30_000) + count_words(3_000) + len(sort_texts(10_000)) for _ in range(size))


if __name__ == "__main__":
    run_as_script(run, SIZE)
