"""The standard library's re: patterns compiled anew, scanned, split, substituted by a function."""

import re

TEXT = "let alpha = 3.5e2; let beta2 = alpha * (14 - 0x1F); // note: 2024-05-17 or 1999-12-31\n" * 4


def next_year(match: "re.Match[str]") -> str:
    return f"{int(match['year']) + 1}{match['rest']}"


def main() -> tuple[int, int, str]:
    re.purge()
    tokens = re.compile(
        r"(?P<number>0x[0-9A-F]+|\d+(?:\.\d+)?(?:e\d+)?)|(?P<word>[a-z]\w*)|(?P<sign>[-=*();])"
    )
    kinds = [match.lastgroup for match in tokens.finditer(TEXT)]
    dated = re.sub(r"(?P<year>\d{4})(?P<rest>-\d\d-\d\d)", next_year, TEXT)
    pieces = re.split(r"\s*;\s*", TEXT)
    try:
        re.compile("(unbalanced")
    except re.error as error:
        return len(kinds), len(pieces), f"{dated[-12:-1]} {error.msg}"
    return 0, 0, ""


if __name__ == "__main__":
    print(main())
