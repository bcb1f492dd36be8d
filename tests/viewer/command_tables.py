"""Tables as the command prints them: the figures that the page must show, text for text."""

import html
import re
import subprocess
from collections.abc import Callable

Rows = list[dict[str, str]]


def rows_of(stepscope: Callable[..., subprocess.CompletedProcess[str]], *args: object) -> Rows:
    """The first Markdown table of `stepscope ARGS --format md`: title of the column -> text."""
    printed = stepscope(*args, "--format", "md", check=True).stdout
    lines = [line for line in printed.splitlines() if line.startswith("|")]
    heads, _, *rows = [cells_of(line) for line in lines]
    return [dict(zip(heads, row, strict=True)) for row in rows]


def cells_of(line: str) -> list[str]:
    cells = re.split(r"(?<!\\)\|", line.strip("|\n"))
    return [html.unescape(re.sub(r"\\(.)", r"\1", cell.strip())) for cell in cells]


def assert_same(shown: Rows, expected: Rows, *, least: int = 1) -> None:
    """Rows in sight are the first ones; columns that both have are the same in each."""
    assert len(shown) >= min(least, len(expected)) > 0
    columns = [column for column in expected[0] if column in shown[0]]
    assert len(columns) >= 3, (list(expected[0]), list(shown[0]))
    for row, wanted in zip(shown, expected, strict=False):
        texts, wanted_texts = ({c: r[c] for c in columns} for r in (row, wanted))
        assert texts == wanted_texts, f"{texts} is not {wanted_texts}"
