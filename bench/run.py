"""Measures against peers, limits and the project's goals; `make bench` runs it.

Prints a table of loading traces, one of recording, and those of bench/viewer.py, bench/xplane.py,
bench/python_tracers.py, bench/samplers.py and bench/torch_profilers.py. CPU time is user + system
of the whole process (of other Python tools: of the load alone, without imports), the median of
interleaved runs, so that a busy machine disturbs all alike. Nothing is asserted.

  BENCH_MB             size of the generated trace (300)
  BENCH_REPEATS        runs of stepscope and of the bare simdjson pass (5)
  BENCH_PEER_REPEATS   runs of the slow peers (2)
  BENCH_PAIRS          millions of begin/end pairs that are recorded (20)
  BENCH_DIR            where the generated traces are kept (build/bench)
"""

import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import python_tracers

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / "build/release/bin"
STEPSCOPE = ROOT / ".venv/bin/stepscope"
PEERS = ROOT / ".venv-peers/bin/python"
RESNET50 = (
    ROOT / "../shared/data/kineto/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz"
)
DIR = Path(os.environ.get("BENCH_DIR", ROOT / "build/bench"))
MEGABYTES = float(os.environ.get("BENCH_MB", "300"))
REPEATS = int(os.environ.get("BENCH_REPEATS", "5"))
PEER_REPEATS = int(os.environ.get("BENCH_PEER_REPEATS", "2"))
PAIRS = int(os.environ.get("BENCH_PAIRS", "20"))
PEER_MEGABYTES = 35
VIEWER_MEGABYTES = 2750  # 10 M events
OPERATORS = ("--view", "operators")


@dataclass
class Run:
    cpu_s: float
    wall_s: float
    peak_rss_bytes: int


@dataclass
class Case:
    """One command on one file."""

    name: str
    file: Path
    command: list[str]
    self_timed: bool = False  # the command prints its own figures
    runs: list[Run] = field(default_factory=list)
    failure: str = ""

    @property
    def cpu_s(self) -> float:
        return statistics.median(run.cpu_s for run in self.runs)

    @property
    def wall_s(self) -> float:
        return statistics.median(run.wall_s for run in self.runs)

    @property
    def peak_rss_bytes(self) -> float:
        return statistics.median(run.peak_rss_bytes for run in self.runs)

    def measure(self) -> None:
        if self.failure:
            return
        try:
            self.runs.append(run_once(self.command, self.self_timed))
        except (OSError, RuntimeError) as error:
            self.failure = str(error)


def run_once(command: list[str], self_timed: bool) -> Run:
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        output = process.stdout.read()
        assert process.stderr
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall_s = time.perf_counter() - start
    if process.returncode != 0:
        lines = errors.decode(errors="replace").strip().splitlines()
        raise RuntimeError(lines[-1] if lines else f"exit code {process.returncode}")
    if self_timed:
        own = json.loads(output.splitlines()[-1])
        return Run(own["cpu_s"], own["wall_s"], own["peak_rss_bytes"])
    return Run(usage.ru_utime + usage.ru_stime, wall_s, usage.ru_maxrss * 1024)


def generate(megabytes: float) -> Path:
    """A trace of that size, made anew when the generator is newer."""
    DIR.mkdir(parents=True, exist_ok=True)
    path = DIR / f"kineto-{megabytes:g}mb.json"
    program = BIN / "generate_kineto"
    if not path.exists() or path.stat().st_mtime < program.stat().st_mtime:
        print(f"bench: writing {path.name}", file=sys.stderr)
        part = path.with_suffix(".part")
        subprocess.run([program, part, "--mb", str(megabytes)], check=True)
        part.rename(path)
    return path


def generate_packed(megabytes: float) -> Path:
    """The same as .sscope; the JSON does not stay."""
    path = DIR / f"kineto-{megabytes:g}mb.sscope"
    program = BIN / "generate_kineto"
    if not path.exists() or path.stat().st_mtime < program.stat().st_mtime:
        plain = generate(megabytes)
        subprocess.run([STEPSCOPE, "convert", plain, path], check=True, capture_output=True)
        plain.unlink()
    return path


def find_peer_files() -> list[Path]:
    files = [generate(PEER_MEGABYTES)]
    if RESNET50.exists():
        path = DIR / "resnet50.json"
        if not path.exists():
            with gzip.open(RESNET50) as packed, open(path, "wb") as file:
                shutil.copyfileobj(packed, file)
        files.append(path)
    return files


def count_events(path: Path) -> int:
    output = subprocess.run([BIN / "simdjson_pass", path], check=True, capture_output=True).stdout
    return int(json.loads(output)["events"])


def report(path: Path, *views: str) -> list[str]:
    return [str(STEPSCOPE), "report", str(path), *views, "--format", "json"]


def interleave(cases: list[Case], repeats: int) -> None:
    for repeat in range(repeats):
        for case in cases:
            print(f"bench: {repeat + 1}/{repeats} {case.name} ({case.file.name})", file=sys.stderr)
            case.measure()


def megabytes_of(path: Path) -> float:
    return path.stat().st_size / 1e6


def print_cases(cases: list[Case], events: dict[Path, int]) -> None:
    figures = (
        f"{'CPU s':>7} {'wall s':>7} {'MB/s':>7} {'ns/event':>8} {'RSS MB':>7} {'RSS/file':>8}"
    )
    print(f"{'':34} {'file':18} {figures}")
    for case in cases:
        if not case.runs:
            print(f"{case.name:34} {case.file.name:18} not measured: {case.failure}")
            continue
        size = case.file.stat().st_size
        print(
            f"{case.name:34} {case.file.name:18} {case.cpu_s:7.3f} {case.wall_s:7.3f}"
            f" {size / 1e6 / case.cpu_s:7.0f} {case.cpu_s * 1e9 / events[case.file]:8.0f}"
            f" {case.peak_rss_bytes / 1e6:7.0f} {case.peak_rss_bytes / size:8.2f}"
        )


def print_goal(what: str, value: float, limit: float, unit: str, at_most: bool = True) -> None:
    met = value <= limit if at_most else value >= limit
    sign = "<=" if at_most else ">="
    print(f"{what:72} {value:7.2f} {unit:12} goal {sign} {limit:g}{'' if met else '   MISSED'}")


def run_record(threads: int) -> dict[str, float]:
    command = [BIN / "record", str(threads), str(PAIRS), DIR / "recording"]
    output = subprocess.run(command, check=True, capture_output=True).stdout
    figures: dict[str, float] = json.loads(output)
    return figures


def measure_recorder() -> None:
    """What a record costs, on one thread and on two at once."""
    runs: dict[int, list[dict[str, float]]] = {1: [], 2: []}
    for repeat in range(REPEATS):
        for threads, figures in runs.items():
            print(f"bench: {repeat + 1}/{REPEATS} record on {threads} threads", file=sys.stderr)
            figures.append(run_record(threads))
    names = ("clock_ns", "pair_ns", "record_ns", "drain_ns_per_record", "bytes_per_record")
    print(f"\n{'CPU ns':10}" + "".join(f"{name:>22}" for name in (*names, "peak RSS MB")))
    medians = {}
    for threads, figures in runs.items():
        medians[threads] = {
            name: statistics.median(run[name] for run in figures)
            for name in (*names, "peak_rss_bytes")
        }
        row = "".join(f"{medians[threads][name]:22.2f}" for name in names)
        print(f"{threads} threads {row} {medians[threads]['peak_rss_bytes'] / 1e6:21.0f}")
    print()
    for threads, median in medians.items():
        clock_ns = median["clock_ns"]
        on = f", {threads} threads"
        print_goal(
            "a record / a bare read of the clock" + on, median["record_ns"] / clock_ns, 2, "x"
        )
        drain = median["drain_ns_per_record"] / clock_ns
        print_goal("the drain, per record / a bare read of the clock" + on, drain, 2, "x")
        print_goal("sealed" + on, median["bytes_per_record"], 8, "bytes/record")
        print_goal("peak RSS" + on, median["peak_rss_bytes"] / 1e6, 160, "MB")
    output = subprocess.run([BIN / "system_counters"], check=True, capture_output=True, text=True)
    print(f"\nsystem counters: {output.stdout.strip()}")


def main() -> int:
    for program in (BIN / "generate_kineto", BIN / "simdjson_pass", BIN / "record", STEPSCOPE):
        if not program.exists():
            print(
                f"bench: {program.relative_to(ROOT)} is missing: run `make bench`", file=sys.stderr
            )
            return 1
    big = generate(MEGABYTES)
    peer_files = find_peer_files()
    packed = DIR / "converted.sscope"
    packed.unlink(missing_ok=True)

    bare = Case("(a) bare simdjson pass", big, [str(BIN / "simdjson_pass"), str(big)])
    full = Case("(b) stepscope, operators", big, report(big, *OPERATORS))
    convert = Case(
        "stepscope convert to .sscope", big, [str(STEPSCOPE), "convert", str(big), str(packed)]
    )
    convert.measure()  # also makes the file for the next cases
    packed_one = Case("stepscope .sscope, operators", packed, report(packed, *OPERATORS))
    packed_all = Case("stepscope .sscope, all tables", packed, report(packed, "--all"))
    json_all = Case("stepscope, all tables", big, report(big, "--all"))
    cases = [bare, full, json_all, convert, packed_one, packed_all]
    interleave(cases, REPEATS)

    peers_script = str(ROOT / "bench/peers.py")
    slow = [Case("(c) Python json", big, [sys.executable, peers_script, "json", str(big)], True)]
    ours, theirs, turns = [], [], list(slow)
    for file in peer_files:
        own = Case("(b) stepscope, operators", file, report(file, *OPERATORS))
        ours.append(own)
        for tool in ("torch_tb_profiler", "hta"):
            command = [str(PEERS), peers_script, tool, str(file)]
            theirs.append(Case(f"(d) {tool}", file, command, True))
            turns += [own, theirs[-1], own]
    interleave(turns, PEER_REPEATS)

    events = {file: count_events(file) for file in [big, *peer_files]}
    events[packed] = events[big]
    print(f"\n{big.name}: {megabytes_of(big):.0f} MB, {events[big]} events\n")
    shown = [*cases, *slow, *ours, *theirs]
    print_cases([case for case in shown if case.file.exists()], events)

    print()
    if bare.runs and full.runs:
        print_goal("(b) / (a), CPU", full.cpu_s / bare.cpu_s, 2.0, "x")
        print_goal("(b) peak RSS / file", full.peak_rss_bytes / big.stat().st_size, 1.3, "x")
    for other in theirs:
        for own in [full, *ours]:
            same_shape = own is full and other.file == peer_files[0]
            if (same_shape or own.file == other.file) and own.runs and other.runs:
                name = f"{other.name} {other.file.name} / (b) {own.file.name}, CPU per MB"
                ratio = other.cpu_s / megabytes_of(other.file) * megabytes_of(own.file) / own.cpu_s
                print_goal(name, ratio, 40, "x", at_most=False)
    if packed.exists() and full.runs:
        print_goal(".sscope", packed.stat().st_size / events[big], 8, "bytes/event")
        for ours_packed, ours_json, what in (
            (packed_one, full, "operators"),
            (packed_all, json_all, "all tables"),
            (packed_all, full, "all tables / JSON operators"),
        ):
            if ours_packed.runs and ours_json.runs:
                ratio = ours_packed.cpu_s / ours_json.cpu_s
                print_goal(f".sscope / JSON, {what}, CPU", ratio, 0.1, "x")
    measure_recorder()
    sys.stdout.flush()
    packed_events = generate_packed(VIEWER_MEGABYTES)
    subprocess.run([PEERS, ROOT / "bench/viewer.py", STEPSCOPE, packed_events, big])
    status = subprocess.run([sys.executable, ROOT / "bench/xplane.py"]).returncode
    status = python_tracers.main() or status
    sys.stdout.flush()
    status = subprocess.run([sys.executable, ROOT / "bench/samplers.py"]).returncode or status
    torch_bench = [STEPSCOPE.parent / "python", "-W", "ignore", ROOT / "bench/torch_profilers.py"]
    return subprocess.run(torch_bench).returncode or status


if __name__ == "__main__":
    sys.exit(main())
