"""Is the diagnosis right? Runs the scripts of examples/bottlenecks and compares.

Each script has one planted problem, which manifest.toml names, and runs without it under --fixed.
Both ways run unprofiled, interleaved, and the smaller of their step times count; then the script
runs once under `stepscope run`. Right is: the expected finding comes first, and the share of the
step that it puts at stake is near what the fix really saves. A healthy script gets no warning.

  make zoo                                        all
  .venv/bin/python scripts/zoo.py --only mlp vae  those with these words in their names
  .venv/bin/python scripts/zoo.py --format md     the table of the README

Exits 1 where a total misses its goal. Takes about 15 s for each script, and wants a quiet machine:
rows that others' work disturbed have a star. There, OMP_WAIT_POLICY=PASSIVE helps: threads of
PyTorch then sleep while they wait for each other.
"""

import argparse
import functools
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parent.parent
ZOO = ROOT / "examples" / "bottlenecks"
BUILD = ROOT / "build"
STEPSCOPE = pathlib.Path(sys.executable).with_name("stepscope")

HEALTHY = "healthy"
RIGHT_GOAL = 0.95
GAIN_GOAL = 0.85
# What the real gain may be, for a predicted one.
LEAST_OF_PREDICTED = 0.5
MOST_OF_PREDICTED = 1.2
MOST_BEYOND = 0.05

MOST_OTHERS_CORES = 0.1
TIMEOUT_S = 300
STEP_LINE = re.compile(r"^step: ([0-9.]+) ms$", re.MULTILINE)


class OthersUse:
    """How much of the machine others used, in cores, from its making on."""

    def __init__(self) -> None:
        self.begin_s = time.monotonic()
        self.machine_s, self.own_s = self.machine_use_s(), self.own_use_s()

    @staticmethod
    def machine_use_s() -> float:
        with open("/proc/stat") as file:
            user, nice, system = map(int, file.readline().split()[1:4])
        return (user + nice + system) / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def own_use_s() -> float:
        times = os.times()
        return sum(times[:4])

    def cores(self) -> float:
        machine_s = self.machine_use_s() - self.machine_s
        own_s = self.own_use_s() - self.own_s
        return max(0.0, machine_s - own_s) / (time.monotonic() - self.begin_s)


class ScriptError(Exception):
    """A script, or Stepscope on it, failed."""


@dataclass(frozen=True)
class Script:
    name: str
    expected: str  # a finding's id, or "healthy"
    about: str
    also: tuple[str, ...] = ()  # ids that are as right
    is_timed: bool = True  # false: the fix saves something else than time

    @property
    def path(self) -> pathlib.Path:
        return ZOO / f"{self.name}.py"

    @property
    def is_healthy(self) -> bool:
        return self.expected == HEALTHY

    def needs_torch(self) -> bool:
        return re.search(r"^(import|from) torch\b", self.path.read_text(), re.MULTILINE) is not None


@dataclass(frozen=True)
class Finding:
    id: str
    severity: str
    at_stake_fraction: float


@dataclass(frozen=True)
class Result:
    script: Script
    real_gain: float | None  # of the step's time; nothing for a healthy one
    findings: tuple[Finding, ...]  # most important first
    others_cores: float  # that other programs used meanwhile

    @property
    def is_disturbed(self) -> bool:
        return self.others_cores > MOST_OTHERS_CORES

    @property
    def first(self) -> Finding | None:
        return self.findings[0] if self.findings else None

    @property
    def warnings(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.severity != "info"]

    @property
    def is_right(self) -> bool:
        if self.script.is_healthy:
            return not self.warnings
        return self.first is not None and self.first.id in (
            self.script.expected,
            *self.script.also,
        )

    @property
    def predicted_gain(self) -> float | None:
        """Of the expected finding, wherever it stands, else of one that is as right."""
        for wanted in (self.script.expected, *self.script.also):
            for finding in self.findings:
                if finding.id == wanted:
                    return finding.at_stake_fraction
        return None

    @property
    def is_gain_right(self) -> bool | None:
        """Nothing where no time is to be won."""
        if self.real_gain is None or not self.script.is_timed:
            return None
        predicted = self.predicted_gain
        if predicted is None:
            return False
        most = MOST_OF_PREDICTED * predicted + MOST_BEYOND
        return LEAST_OF_PREDICTED * predicted <= self.real_gain <= most

    def cells(self) -> list[str]:
        predicted = self.predicted_gain
        return [
            self.script.name + (" *" if self.is_disturbed else ""),
            self.script.expected,
            self.first.id if self.first else "none",
            format_verdict(self.is_right),
            "" if predicted is None else f"{predicted:.0%}",
            "" if self.real_gain is None else f"{self.real_gain:.0%}",
            format_verdict(self.is_gain_right),
        ]


COLUMNS = ("script", "expected", "first finding", "right", "predicted", "real gain", "within")


def format_verdict(verdict: bool | None) -> str:
    return {True: "yes", False: "NO", None: ""}[verdict]


def read_manifest() -> list[Script]:
    with (ZOO / "manifest.toml").open("rb") as file:
        entries = tomllib.load(file)["script"]
    scripts = [
        Script(
            name=entry["name"],
            expected=entry["expected"],
            about=entry["about"],
            also=tuple(entry.get("also", ())),
            is_timed=entry.get("timed", True),
        )
        for entry in entries
    ]
    named = {script.name for script in scripts}
    there = {path.stem for path in ZOO.glob("*.py")}
    if named != there:
        raise ScriptError(f"manifest.toml and the folder differ: {sorted(named ^ there)}")
    return scripts


def run(command: Sequence[str | pathlib.Path], folder: pathlib.Path) -> str:
    """Its output. In a folder of its own, where scripts may write."""
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise ScriptError(f"{command[-1]}: not done after {TIMEOUT_S} s") from None
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise ScriptError(f"{command[-1]}: exit code {done.returncode}: {said[0]}")
    return done.stdout


def measure_step_ms(script: Script, options: Sequence[str], folder: pathlib.Path) -> float:
    output = run([sys.executable, script.path, *options], folder)
    found = STEP_LINE.findall(output)
    if not found:
        raise ScriptError(f"{script.name}: prints no `step: … ms`")
    return float(found[-1])


def find_findings(
    script: Script, folder: pathlib.Path, keep: pathlib.Path | None
) -> tuple[Finding, ...]:
    recording = (keep or folder) / script.name
    run([STEPSCOPE, "run", "-q", "-o", recording, script.path], folder)
    report = run([STEPSCOPE, "report", recording, "--view", "findings", "--format", "json"], folder)
    return tuple(
        Finding(finding["id"], finding["severity"], finding["at_stake_fraction"])
        for finding in json.loads(report)["findings"]
    )


def examine(script: Script, repeats: int, keep: pathlib.Path | None) -> Result:
    with tempfile.TemporaryDirectory(prefix="zoo-", dir=BUILD) as name:
        folder = pathlib.Path(name)
        others = OthersUse()
        slow_ms, fixed_ms = [], []  # of a healthy one there is nothing to compare
        for _ in range(0 if script.is_healthy else repeats):
            slow_ms.append(measure_step_ms(script, [], folder))
            fixed_ms.append(measure_step_ms(script, ["--fixed"], folder))
        real_gain = 1 - min(fixed_ms) / min(slow_ms) if slow_ms else None
        findings = find_findings(script, folder, keep)
        return Result(script, real_gain, findings, others.cores())


@dataclass(frozen=True)
class Total:
    text: str
    reached: int
    of: int
    goal: float

    @property
    def is_met(self) -> bool:
        return self.reached >= self.goal * self.of

    def __str__(self) -> str:
        verdict = "" if self.is_met else ": MISSED"
        return f"{self.text} in {self.reached} of {self.of} (goal {self.goal:.0%}){verdict}"


def sum_up(results: Sequence[Result]) -> list[Total]:
    planted = [result for result in results if not result.script.is_healthy]
    healthy = [result for result in results if result.script.is_healthy]
    timed = [result for result in planted if result.is_gain_right is not None]
    totals = [
        Total(
            "the right finding first", sum(r.is_right for r in planted), len(planted), RIGHT_GOAL
        ),
        Total(
            "the gain as predicted",
            sum(bool(r.is_gain_right) for r in timed),
            len(timed),
            GAIN_GOAL,
        ),
        Total("no warning on healthy scripts", sum(r.is_right for r in healthy), len(healthy), 1),
    ]
    return [total for total in totals if total.of > 0]


def choose(scripts: Iterable[Script], words: Sequence[str]) -> Iterator[Script]:
    has_torch = importlib.util.find_spec("torch") is not None
    skipped = []
    for script in scripts:
        if words and not any(word in script.name for word in words):
            continue
        if script.needs_torch() and not has_torch:
            skipped.append(script.name)
            continue
        yield script
    if skipped:
        print(f"zoo: PyTorch is not installed; skipped: {', '.join(skipped)}", file=sys.stderr)


def print_text_row(widths: Sequence[int], cells: Sequence[str]) -> None:
    print(
        "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip(),
        flush=True,
    )


def print_markdown(results: Iterable[Result]) -> None:
    print("| " + " | ".join(COLUMNS) + " |")
    print("|---|---|---|---|--:|--:|---|")
    for result in results:
        print("| " + " | ".join(result.cells()) + " |")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="of these names")
    parser.add_argument("--format", choices=("text", "md"), default="text")
    parser.add_argument("--repeats", type=int, default=2, help="of each unprofiled run (2)")
    parser.add_argument(
        "--keep", type=pathlib.Path, metavar="FOLDER", help="leave the recordings in this folder"
    )
    options = parser.parse_args()
    if options.keep is not None:
        options.keep = options.keep.resolve()
        options.keep.mkdir(parents=True, exist_ok=True)

    BUILD.mkdir(exist_ok=True)
    scripts = read_manifest()
    name_width = max(len(script.name) for script in scripts) + 2  # and its star
    id_width = max(len(script.expected) for script in scripts)
    widths = (name_width, id_width, id_width, 5, 9, 9, 6)
    show = functools.partial(print_text_row, widths)
    if options.format == "text":
        show(COLUMNS)
    results, failed = [], []
    for script in choose(scripts, options.only):
        try:
            results.append(examine(script, options.repeats, options.keep))
        except ScriptError as error:
            failed.append(script.name)
            print(f"zoo: {script.name}: {error}", file=sys.stderr)
            continue
        if options.format == "text":
            show(results[-1].cells())
    if options.format == "md":
        print_markdown(results)
    print()
    totals = sum_up(results)
    for total in totals:
        print(f"- {total}" if options.format == "md" else total)
    if disturbed := sum(result.is_disturbed for result in results):
        print(f"{disturbed} of {len(results)} were disturbed (*) by other work on this machine")
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 0 if not failed and all(total.is_met for total in totals) else 1


if __name__ == "__main__":
    sys.exit(main())
