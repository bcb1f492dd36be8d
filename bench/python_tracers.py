"""What profilers of Python cost: CPU time added to the workloads of bench/python, on each Python.

`make bench` ends with it; alone: `.venv/bin/python bench/python_tracers.py`. A workload measures
its own CPU time while a profiler runs it: that of its thread, and beside it that of the process's
other threads (a recorder's). Runs are interleaved, so that a busy machine disturbs all alike;
medians are shown, and the time added as a ratio to what cProfile adds. Nothing is asserted.

  BENCH_TRACER_REPEATS   runs of each case (7)
  BENCH_TRACER_PYTHONS   versions (3.11 3.12 3.13, those that have a .venv)
  BENCH_TRACER_SCALE     factor to the workloads' sizes (1)
"""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORKLOADS = ROOT / "bench/python"
NAMES = ("calls", "mix", "ccalls", "loop")
REPEATS = int(os.environ.get("BENCH_TRACER_REPEATS", "7"))
PYTHONS = os.environ.get("BENCH_TRACER_PYTHONS", "3.11 3.12 3.13").split()
SCALE = float(os.environ.get("BENCH_TRACER_SCALE", "1"))

# Of what cProfile adds: the most that a tool may add, by version and workload.
GOALS = {
    ("stepscope run", "3.11"): {"calls": 0.15, "mix": 0.15},
    ("stepscope run", "3.12"): {"calls": 0.40, "mix": 0.40},
    ("stepscope run", "3.13"): {"calls": 1 / 3, "mix": 1 / 3},
    ("stepscope run --c-calls", "3.11"): {"calls": 0.9, "mix": 0.7, "ccalls": 0.7},
}
LOOP_GOAL = 1.03  # of the plain time: no more than noise
REPORT_GOAL_US = 0.3
FILE_GOAL_BYTES = 8


@dataclass(frozen=True)
class Tool:
    """A profiler's command. {python}, {stepscope}, {peers} and {out} are filled in."""

    name: str
    command: tuple[str, ...]
    sees_c_calls: bool = True
    output: str = ""  # where its file is, if it keeps every call
    keeps: float = float("inf")  # calls, the newest

    def argv(self, version: str, out: Path, script: list[str]) -> list[str]:
        suffix = "" if version == "3.11" else f"-{version}"
        places = {
            "python": ROOT / f".venv{suffix}/bin/python",
            "stepscope": ROOT / f".venv{suffix}/bin/stepscope",
            "peers": ROOT / f".venv-peers{suffix}/bin/python",
            "out": out,
        }
        return [part.format(**places) for part in self.command] + script


TOOLS = (
    Tool("plain", ("{python}",)),
    Tool("cProfile", ("{python}", "-m", "cProfile", "-s", "tottime")),
    Tool("stepscope.cprofile", ("{python}", "-m", "stepscope", "-s", "tottime")),
    Tool("stepscope run", ("{stepscope}", "run", "-o", "{out}/run"), False, "run"),
    Tool(
        "stepscope run --c-calls",
        ("{stepscope}", "run", "--c-calls", "-o", "{out}/run"),
        output="run",
    ),
    # Keeps the newest calls: all of them would take it a minute to save.
    Tool(
        "viztracer",
        ("{peers}", "-m", "viztracer", "--tracer_entries", "200000", "-o", "{out}/viz.json"),
        output="viz.json",
        keeps=200_000,
    ),
    # Its usual clock, CPU time, is a system call for every event.
    Tool("yappi, wall clock", ("{peers}", "-m", "yappi", "-c", "wall")),
    Tool("pyinstrument", ("{peers}", "-m", "pyinstrument")),
)


@dataclass
class Run:
    thread_s: float
    other_threads_s: float
    report_s: float  # from the end of the workload to the end of the process
    file_bytes: int


@dataclass
class Case:
    """One tool on one workload with one Python."""

    tool: Tool
    workload: str
    version: str
    runs: list[Run] = field(default_factory=list)
    failure: str = ""

    def median(self, name: str) -> float:
        return statistics.median(getattr(run, name) for run in self.runs)

    def measure(self) -> None:
        if self.failure:
            return
        try:
            self.runs.append(run_once(self.tool, self.workload, self.version))
        except (OSError, RuntimeError, subprocess.TimeoutExpired) as error:
            self.failure = str(error).splitlines()[0]


def size_of(workload: str) -> int:
    text = (WORKLOADS / f"{workload}.py").read_text()
    size = re.search(r"^SIZE = (\d+)$", text, re.MULTILINE)
    assert size
    return max(1, round(int(size[1]) * SCALE))


def bytes_in(path: Path) -> int:
    if path.is_dir():
        return sum(bytes_in(entry) for entry in path.iterdir())
    return path.stat().st_size if path.exists() else 0


def run_once(tool: Tool, workload: str, version: str) -> Run:
    script = [str(WORKLOADS / f"{workload}.py"), str(size_of(workload))]
    with tempfile.TemporaryDirectory() as out:
        argv = tool.argv(version, Path(out), script)
        env = os.environ | {"PYTHONPATH": str(ROOT / "python")}
        done = subprocess.run(argv, capture_output=True, text=True, timeout=600, env=env)
        exit_s = time.monotonic()
        line = re.search(r"^workload (\{.*\})$", done.stdout, re.MULTILINE)
        if done.returncode != 0 or line is None:
            said = (done.stderr.strip() or done.stdout.strip()).splitlines()
            raise RuntimeError(said[-1] if said else f"exit code {done.returncode}")
        figures = json.loads(line[1])
        return Run(
            thread_s=figures["thread_s"],
            other_threads_s=figures["process_s"] - figures["thread_s"],
            report_s=exit_s - figures["end_s"],
            file_bytes=bytes_in(Path(out) / tool.output) if tool.output else 0,
        )


def count_calls(workload: str, version: str) -> tuple[int, int]:
    """Calls of Python functions and of all functions, as cProfile counts them."""
    program = (
        "import cProfile, sys; sys.path.insert(0, sys.argv[1]);"
        "run = __import__(sys.argv[2]).run; profile = cProfile.Profile();"
        "profile.runcall(run, int(sys.argv[3])); stats = profile.getstats();"
        "print(sum(e.callcount for e in stats if not isinstance(e.code, str)),"
        "      sum(e.callcount for e in stats))"
    )
    argv = Tool("", ("{python}", "-c", program)).argv(
        version, Path(), [str(WORKLOADS), workload, str(size_of(workload))]
    )
    output = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    python_calls, all_calls = map(int, output.split())
    return python_calls, all_calls


def measure(version: str) -> dict[tuple[str, str], Case]:
    cases = {
        (tool.name, workload): Case(tool, workload, version) for workload in NAMES for tool in TOOLS
    }
    for repeat in range(REPEATS):
        for case in cases.values():
            what = f"{repeat + 1}/{REPEATS} {case.tool.name}, {case.workload}, {version}"
            print(f"bench: {what}", file=sys.stderr)
            case.measure()
    return cases


def added_ratio(cases: dict[tuple[str, str], Case], tool: str, workload: str) -> float | None:
    """What the tool adds to the workload's thread, in parts of what cProfile adds."""
    plain, reference = cases["plain", workload], cases["cProfile", workload]
    case = cases[tool, workload]
    if not (plain.runs and reference.runs and case.runs):
        return None
    plain_s = plain.median("thread_s")
    return (case.median("thread_s") - plain_s) / (reference.median("thread_s") - plain_s)


def slowdown_cell(cases: dict[tuple[str, str], Case], tool: str, workload: str) -> str:
    plain_s = cases["plain", workload].median("thread_s")
    cell = f"{cases[tool, workload].median('thread_s') / plain_s:9.2f}"
    ratio = added_ratio(cases, tool, workload)
    # Where cProfile adds next to nothing, as to a loop on Python 3.12, a ratio to it says nothing.
    is_told = ratio is not None and cases["cProfile", workload].median("thread_s") > 1.1 * plain_s
    return cell + (f" ({ratio:5.2f})" if is_told and tool != "plain" else " " * 8)


def print_slowdown(version: str, cases: dict[tuple[str, str], Case]) -> None:
    print(f"\nPython {version}: CPU time of the workload / plain (added / what cProfile adds)")
    print(f"{'':26}" + "".join(f"{name:>17}" for name in NAMES) + f"{'other threads':>16}")
    plain = [cases["plain", name] for name in NAMES]
    for tool in TOOLS:
        own = [cases[tool.name, name] for name in NAMES]
        if failures := [case.failure for case in own + plain if case.failure]:
            print(f"{tool.name:26} not measured: {failures[0]}")
            continue
        others_s = sum(case.median("other_threads_s") for case in own)
        others = others_s / sum(case.median("thread_s") for case in plain)
        cells = "".join(slowdown_cell(cases, tool.name, name) for name in NAMES)
        print(f"{tool.name:26}{cells}{others:16.2f}")


def ends_of(case: Case, counts: tuple[int, int]) -> tuple[float | None, float | None]:
    """From the end of the workload to that of the process, us/call; the file, bytes/call."""
    if case.failure:
        return None, None
    python_calls, all_calls = counts
    kept = min(all_calls if case.tool.sees_c_calls else python_calls, case.tool.keeps)
    file_bytes = case.median("file_bytes") / kept if case.tool.output else None
    return case.median("report_s") * 1e6 / kept, file_bytes


def print_ends(version: str, cases: dict[tuple[str, str], Case]) -> None:
    counts = {name: count_calls(name, version) for name in ("calls", "mix")}
    print(f"\nPython {version}: from the end of the script to that of the process; its file")
    print(f"{'':26}" + "".join(f"{name + ', us/call':>16}{'bytes/call':>12}" for name in counts))
    for tool in TOOLS:
        cells = ""
        for name, count in counts.items():
            report_us, file_bytes = ends_of(cases[tool.name, name], count)
            cells += f"{'-':>16}" if report_us is None else f"{report_us:16.3f}"
            cells += f"{'-':>12}" if file_bytes is None else f"{file_bytes:12.2f}"
        print(f"{tool.name:26}{cells}")
    for tool in TOOLS:
        if not tool.name.startswith("stepscope run"):
            continue
        for name, count in counts.items():
            report_us, file_bytes = ends_of(cases[tool.name, name], count)
            what = f"{tool.name}, {version}, {name}"
            print_goal(f"{what}: end to report, us/call", report_us, REPORT_GOAL_US)
            print_goal(f"{what}: file, bytes/call", file_bytes, FILE_GOAL_BYTES)


def print_goals(version: str, cases: dict[tuple[str, str], Case]) -> None:
    print()
    for (tool, goal_version), goals in GOALS.items():
        if goal_version == version:
            for name, limit in goals.items():
                ratio = added_ratio(cases, tool, name)
                print_goal(f"{tool}, {version}, {name}: added / cProfile's", ratio, limit)
    for name in ("calls", "mix", "ccalls"):
        ratio = added_ratio(cases, "stepscope.cprofile", name)
        print_goal(f"stepscope.cprofile, {version}, {name}: added / cProfile's", ratio, 1)
    loop, plain = cases["stepscope run", "loop"], cases["plain", "loop"]
    times = None
    if loop.runs and plain.runs:
        times = loop.median("thread_s") / plain.median("thread_s")
    print_goal(f"stepscope run, {version}, loop / plain", times, LOOP_GOAL)


def print_goal(what: str, value: float | None, limit: float) -> None:
    if value is None:
        print(f"{what:72} not measured")
    else:
        verdict = "met" if value <= limit else "MISSED"
        print(f"{what:72} {value:8.3f}  goal <= {limit:.3g}  {verdict}")


def main() -> int:
    for version in PYTHONS:
        suffix = "" if version == "3.11" else f"-{version}"
        if not (ROOT / f".venv{suffix}/bin/python").exists():
            print(f"\nPython {version}: not measured: no .venv{suffix} (make test makes it)")
            continue
        cases = measure(version)
        print_slowdown(version, cases)
        print_goals(version, cases)
        print_ends(version, cases)
    return 0


if __name__ == "__main__":
    sys.exit(main())
