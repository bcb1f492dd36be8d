"""Checks that a layer of src/ includes only the layers below it, and that headers stay our own.

A layer may include itself and what ALLOWED names. Headers below the front ends include no
third-party header, so that a layer's users need none. Prints each breach, exits 1 if there is one.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

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
    "export": BELOW_ANALYSES,
    "advise": BELOW_ADVISE,
    "serve": BELOW_FRONT_ENDS,
    "cli": BELOW_FRONT_ENDS | {"serve", "collect"},
    "python": BELOW_FRONT_ENDS | {"serve", "collect"},
}
FRONT_ENDS = {"serve", "cli", "python"}
THIRD_PARTY = re.compile(
    r"(simdjson|zstd|zdict|xxhash|sqlite3|isa-l|igzip|crc|re2|CLI|fmt|nanobind|gtest|benchmark|Python)\b"
)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def breaches(path: pathlib.Path, layer: str) -> list[str]:
    found = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        bracket, included = match.groups()
        where = f"{path.relative_to(ROOT)}:{number}"
        if bracket == '"':
            target = included.split("/")[0]
            if "/" not in included or target not in ALLOWED:
                found.append(f'{where}: include project headers from src/, as in "base/status.h"')
            elif target != layer and target not in ALLOWED[layer]:
                found.append(f"{where}: {layer} may not include {target}")
        elif path.suffix == ".h" and layer not in FRONT_ENDS and THIRD_PARTY.match(included):
            found.append(f"{where}: a public header includes no third-party header ({included})")
    return found


def main() -> int:
    src = ROOT / "src"
    found = []
    for path in sorted(src.rglob("*")):
        if path.suffix not in {".cc", ".h"}:
            continue
        layer = path.relative_to(src).parts[0]
        if layer not in ALLOWED:
            found.append(f"{path.relative_to(ROOT)}: src/{layer} is not a layer")
        else:
            found += breaches(path, layer)
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
