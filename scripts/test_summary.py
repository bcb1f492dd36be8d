"""Sums up the JUnit files of a test run: `test_summary.py FOLDER`. Exits 1 if a test failed."""

import collections
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree


def main(folder: pathlib.Path) -> int:
    total: collections.Counter[str] = collections.Counter()
    skipped: collections.Counter[str] = collections.Counter()
    for report in sorted(folder.glob("*.xml")):
        counts: collections.Counter[str] = collections.Counter()
        for case in ElementTree.parse(report).iter("testcase"):
            outcome = "passed"
            if case.find("failure") is not None or case.find("error") is not None:
                outcome = "failed"
            elif (skip := case.find("skipped")) is not None:
                outcome = "skipped"
                skipped[f"{report.stem}: {skip_reason(case, skip)}"] += 1
            counts[outcome] += 1
        print(f"{report.stem:16} {format_counts(counts)}")
        total += counts
    notes = folder / "skipped"  # one line for each suite that was left out as a whole
    if notes.exists():
        skipped.update(notes.read_text().splitlines())
    if skipped:
        print("skipped:")
        for reason, count in sorted(skipped.items()):
            print(f"  {reason}" + (f" ({count} tests)" if count > 1 else ""))
    print(format_counts(total))
    return 1 if total["failed"] else 0


def skip_reason(case: ElementTree.Element, skip: ElementTree.Element) -> str:
    """What pytest says, or what GoogleTest printed after `file:line: Skipped`."""
    printed = re.search(r": Skipped\n(.+)", case.findtext("system-out") or "")
    return printed[1] if printed else skip.get("message") or str(case.get("name"))


def format_counts(counts: collections.Counter[str]) -> str:
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in ("passed", "failed", "skipped"))


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
