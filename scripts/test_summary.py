"""Sums up the JUnit files of a test run: `test_summary.py FOLDER`. Exits 1 if a test failed.

A test that failed, but passed when it was run again alone (FOLDER/again, scripts/run_again), counts
as passed, and is named.
"""

import collections
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree


def main(folder: pathlib.Path) -> int:
    total: collections.Counter[str] = collections.Counter()
    skipped: collections.Counter[str] = collections.Counter()
    failed: list[str] = []
    only_alone: list[str] = []
    for report in sorted(folder.glob("*.xml")):
        again = read_outcomes(folder / "again" / report.name)
        counts: collections.Counter[str] = collections.Counter()
        for case in ElementTree.parse(report).iter("testcase"):
            name = full_name(case)
            outcome = find_outcome(case)
            if outcome == "failed" and again.get(name) == "passed":
                outcome = "passed"
                only_alone.append(f"{report.stem}: {name}")
            elif outcome == "failed":
                failed.append(f"{report.stem}: {name}")
            elif outcome == "skipped":
                skipped[f"{report.stem}: {skip_reason(case)}"] += 1
            counts[outcome] += 1
        print(f"{report.stem:18} {format_counts(counts)}")
        total += counts
    notes = folder / "skipped"  # one line for each suite that was left out as a whole
    if notes.exists():
        skipped.update(notes.read_text().splitlines())
    print_list("skipped:", [with_count(*entry) for entry in sorted(skipped.items())])
    print_list("passed only when run again, alone:", only_alone)
    print_list("failed:", failed)
    print(format_counts(total))
    return 1 if failed else 0


def read_outcomes(report: pathlib.Path) -> dict[str, str]:
    if not report.exists():
        return {}
    cases = ElementTree.parse(report).iter("testcase")
    return {full_name(case): find_outcome(case) for case in cases}


def full_name(case: ElementTree.Element) -> str:
    group, name = case.get("classname", ""), str(case.get("name"))
    return name if group == name else f"{group} {name}".strip()


def find_outcome(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    return "skipped" if case.find("skipped") is not None else "passed"


def skip_reason(case: ElementTree.Element) -> str:
    """What pytest says, or what GoogleTest printed after `file:line: Skipped`."""
    printed = re.search(r": Skipped\n(.+)", case.findtext("system-out") or "")
    skip = case.find("skipped")
    message = skip.get("message") if skip is not None else None
    return printed[1] if printed else message or str(case.get("name"))


def with_count(reason: str, count: int) -> str:
    return reason + (f" ({count} tests)" if count > 1 else "")


def print_list(title: str, lines: list[str]) -> None:
    if lines:
        print(title, *lines, sep="\n  ")


def format_counts(counts: collections.Counter[str]) -> str:
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in ("passed", "failed", "skipped"))


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
