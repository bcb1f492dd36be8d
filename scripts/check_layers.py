"""Checks that a layer of src/ includes only the layers below it, and that its face is our own.

A layer may include itself and what ALLOWED names. A header that another layer sees, directly or
through others, includes no third-party header, so that a layer's users need none; headers for tests
may. Prints each breach, exits 1 if there is one.
"""

import pathlib
import re
import sys
from typing import NamedTuple

SRC = pathlib.Path(__file__).resolve().parent.parent / "src"

BELOW_TRACE = {"base", "format"}
BELOW_ANALYSES = BELOW_TRACE | {"trace"}
BELOW_ADVISE = BELOW_ANALYSES | {"ingest", "analyze", "export"}
BELOW_FRONT_ENDS = BELOW_ADVISE | {"advise"}

ALLOWED = {
    "base": set(),
    "format": {"base"},
    "trace": BELOW_TRACE,
    "collect": BELOW_TRACE,
    "ingest": BELOW_ANALYSES,
    "analyze": BELOW_ANALYSES,
    "export": BELOW_ANALYSES | {"analyze"},
    "advise": BELOW_ADVISE,
    "serve": BELOW_FRONT_ENDS,
    "cli": BELOW_FRONT_ENDS | {"serve", "collect"},
    "python": BELOW_FRONT_ENDS | {"serve", "collect"},
}
THIRD_PARTY = re.compile(
    r"(simdjson|zstd|zdict|xxhash|sqlite3|isa-l|igzip|crc|re2|protozero|CLI|fmt|nanobind|gtest|benchmark|httplib|Python)\b"
)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


class Include(NamedTuple):
    where: str
    is_ours: bool
    path: str


def layer_of(path: str) -> str:
    return path.split("/")[0]


def read_includes() -> dict[str, list[Include]]:
    """The includes of every source, by its path below src/."""
    includes: dict[str, list[Include]] = {}
    for source in sorted(SRC.rglob("*")):
        if source.suffix in {".cc", ".h"}:
            name = source.relative_to(SRC).as_posix()
            includes[name] = [
                Include(f"src/{name}:{number}", match[1] == '"', match[2])
                for number, line in enumerate(source.read_text().splitlines(), 1)
                if (match := INCLUDE.match(line))
            ]
    return includes


def upward_includes(includes: dict[str, list[Include]]) -> list[str]:
    found = []
    for name, lines in includes.items():
        layer = layer_of(name)
        if layer not in ALLOWED:
            found.append(f"src/{name}: {layer} is not a layer")
            continue
        for line in lines:
            target = layer_of(line.path)
            if line.is_ours and target not in ALLOWED:
                found.append(f'{line.where}: include from src/, as in "base/status.h"')
            elif line.is_ours and target not in ALLOWED[layer] | {layer}:
                found.append(f"{line.where}: {layer} may not include {target}")
    return found


def public_headers(includes: dict[str, list[Include]]) -> set[str]:
    """Headers that a file of another layer includes, and what those include in turn."""
    public: set[str] = set()
    waiting = [
        line.path
        for name, lines in includes.items()
        for line in lines
        if line.is_ours and layer_of(line.path) != layer_of(name)
    ]
    while waiting:
        header = waiting.pop()
        if header not in public:
            public.add(header)
            waiting += [line.path for line in includes.get(header, []) if line.is_ours]
    return public


def foreign_faces(includes: dict[str, list[Include]]) -> list[str]:
    return [
        f"{line.where}: other layers see this header; it includes no third-party one ({line.path})"
        for header in sorted(public_headers(includes))
        if not header.endswith("_for_tests.h")
        for line in includes.get(header, [])
        if not line.is_ours and THIRD_PARTY.match(line.path)
    ]


def main() -> int:
    includes = read_includes()
    found = upward_includes(includes) + foreign_faces(includes)
    print("".join(f"{breach}\n" for breach in found), end="")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
