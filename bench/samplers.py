"""What samplers of running Python programs cost: `stepscope record` against py-spy and austin.

`make bench` runs it too; alone: `.venv/bin/python bench/samplers.py`. The target has 1, 20 or 150
threads (bench/python/threads.py). All samplers record every thread, waiting ones too. Shown are CPU
seconds of the sampler per 10,000 looks at all threads, the share of looks that are missing, and the
target's CPU time per unit of work against that without a sampler. Runs are interleaved and medians
are shown. Nothing is asserted.

  BENCH_SAMPLER_ROUNDS    runs of each case (5)
  BENCH_SAMPLER_SECONDS   length of each (5)
  BENCH_SAMPLER_THREADS   (1 20 150)
  BENCH_SAMPLER_HZ        (100 1000)
"""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = ROOT / ".venv/bin/python"
STEPSCOPE = ROOT / ".venv/bin/stepscope"
PEERS = ROOT / ".venv-peers/bin"
ROUNDS = int(os.environ.get("BENCH_SAMPLER_ROUNDS", "5"))
SECONDS = int(os.environ.get("BENCH_SAMPLER_SECONDS", "5"))
THREADS = [int(word) for word in os.environ.get("BENCH_SAMPLER_THREADS", "1 20 150").split()]
RATES = [int(word) for word in os.environ.get("BENCH_SAMPLER_HZ", "100 1000").split()]
CPU_GOAL = 0.1  # of py-spy's, per look
SLOWDOWN_GOAL = 0.01  # at 100 Hz
PLAIN = "plain"
OURS = "stepscope record"
TOOLS = (PLAIN, OURS, "py-spy", "py-spy --nonblocking", "austin")


@dataclass
class Run:
    unit_cpu_s: float  # the target's, per unit of work
    sampler_cpu_s: float = 0
    looks: int = 0
    missed: int = 0


@dataclass
class Case:
    tool: str
    threads: int
    hz: int
    runs: list[Run] = field(default_factory=list)
    failure: str = ""

    def cpu_per_10k(self) -> float:
        return statistics.median(run.sampler_cpu_s / max(1, run.looks) * 1e4 for run in self.runs)

    def missed_fraction(self) -> float:
        looks = sum(run.looks for run in self.runs)
        missed = sum(run.missed for run in self.runs)
        return missed / max(1, looks + missed)

    def unit_cpu_s(self) -> float:
        return statistics.median(run.unit_cpu_s for run in self.runs)


def command_of(tool: str, pid: int, hz: int, out: Path) -> list[str]:
    if tool == OURS:
        record = [str(STEPSCOPE), "record", str(pid), "--hz", str(hz), "-q"]
        return [*record, "--duration", f"{SECONDS}s", "-o", str(out / "run.sscope")]
    if tool == "austin":
        austin = [str(PEERS / "austin"), "-i", str(1_000_000 // hz), "-x", str(SECONDS)]
        return [*austin, "-o", str(out / "austin"), "-p", str(pid)]
    py_spy = [str(PEERS / "py-spy"), "record", "-p", str(pid), "-r", str(hz), "-d", str(SECONDS)]
    return [*py_spy, "--idle", "--threads", "-f", "raw", "-o", str(out / "spy"), *tool.split()[1:]]


def count_looks(tool: str, pid: int, hz: int, out: Path) -> tuple[int, int]:
    """Looks, and looks that should have been. Of others: stacks of the main thread."""
    if tool == OURS:
        report = [str(STEPSCOPE), "report", str(out / "run.sscope"), "--format", "json"]
        done = subprocess.run(report, check=True, capture_output=True)
        stats = json.loads(done.stdout)["stats"]
        missed = int(stats.get("ticks_missed", 0))
        return int(stats["sampler_ticks"]) - missed, missed
    if tool == "austin":
        looks = len(re.findall(rf"^P{pid};T\w+:{pid};", (out / "austin").read_text(), re.M))
    else:
        stacks = re.findall(rf"^thread \({pid}\).* (\d+)$", (out / "spy").read_text(), re.M)
        looks = sum(int(count) for count in stacks)
    return looks, max(0, hz * SECONDS - looks)


def run_once(tool: str, threads: int, hz: int) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        target = subprocess.Popen(
            [PYTHON, ROOT / "bench/python/threads.py", str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert target.stdin
        assert target.stdout
        try:
            target.stdout.readline()
            run = Run(0)
            if tool == PLAIN:
                subprocess.run(["sleep", str(SECONDS)], check=True)
            else:
                command = command_of(tool, target.pid, hz, Path(folder))
                with subprocess.Popen(
                    command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
                ) as sampler:
                    assert sampler.stderr
                    said = sampler.stderr.read()
                    _, status, usage = os.wait4(sampler.pid, 0)
                    sampler.returncode = os.waitstatus_to_exitcode(status)
                if sampler.returncode != 0:
                    raise RuntimeError(said.strip().splitlines()[-1] if said.strip() else tool)
                run.sampler_cpu_s = usage.ru_utime + usage.ru_stime
                run.looks, run.missed = count_looks(tool, target.pid, hz, Path(folder))
            target.stdin.close()
            units, cpu_s = target.stdout.readline().split()
            run.unit_cpu_s = float(cpu_s) / int(units)
            return run
        finally:
            target.kill()
            target.wait()


def print_case(case: Case, cases: dict[str, Case]) -> None:
    head = f"{case.threads:7} {case.hz:5}  {case.tool:22}"
    if not case.runs:
        print(f"{head} not measured: {case.failure}")
        return
    slowdown = case.unit_cpu_s() / cases[PLAIN].unit_cpu_s() - 1
    spread = [run.unit_cpu_s / cases[PLAIN].unit_cpu_s() - 1 for run in case.runs]
    figures = f"{'':11} {'':9} {'':9}"
    if case.tool != PLAIN:
        peer = cases["py-spy"]
        ratio = case.cpu_per_10k() / peer.cpu_per_10k() if peer.runs else float("nan")
        figures = f"{case.cpu_per_10k():11.3f} {ratio:9.3f} {case.missed_fraction():9.1%}"
    notes = ""
    if case.tool == OURS:
        missed = [
            "CPU" if cases["py-spy"].runs and ratio > CPU_GOAL else "",
            "slowdown" if case.hz == 100 and slowdown > SLOWDOWN_GOAL else "",
            "ticks" if case.hz == 1000 and case.threads == 20 and case.missed_fraction() else "",
        ]
        notes = "".join(f"  {word} MISSED" for word in missed if word)
    print(f"{head} {figures} {slowdown:9.1%} {min(spread):7.1%}..{max(spread):.1%}{notes}")


def main() -> None:
    print(f"\nsamplers, {SECONDS} s each, medians of {ROUNDS}; goals: CPU 0.1 of py-spy's,")
    print("target slower by 1 % at most at 100 Hz, no look missed at 1,000 Hz with 20 threads")
    print(
        f"{'threads':>7} {'Hz':>5}  {'':22} {'CPU s/10k':>11} {'/ py-spy':>9} {'missed':>9}"
        f" {'target':>9}    spread"
    )
    for threads in THREADS:
        for hz in RATES:
            cases = {tool: Case(tool, threads, hz) for tool in TOOLS}
            for round_number in range(ROUNDS):
                for case in cases.values():
                    what = f"{case.tool}, {threads} threads, {hz} Hz"
                    print(f"bench: {round_number + 1}/{ROUNDS} {what}", file=sys.stderr)
                    try:
                        case.runs.append(run_once(case.tool, threads, hz))
                    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
                        case.failure = str(error)
            for case in cases.values():
                print_case(case, cases)


if __name__ == "__main__":
    main()
