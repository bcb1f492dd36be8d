"""Many ranks: `stepscope ranks` against HTA's TraceAnalysis; and memory by the number of ranks.

    python bench/ranks.py --ranks 256 --megabytes 20 --peer-ranks 4

The job is made by bench/make_job.py and kept in build/bench. CPU is user + system of the process
and its children, per rank; of HTA it is the reading of the traces, the temporal breakdown and the
overlap of communication and computation (imports are not counted), on a subset that it can take.
Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import time

import make_job

ROOT = pathlib.Path(__file__).resolve().parent.parent
STEPSCOPE = ROOT / ".venv/bin/stepscope"
PEERS = ROOT / ".venv-peers/bin/python"
DIR = pathlib.Path(os.environ.get("BENCH_DIR", ROOT / "build/bench"))
STEPS = 6


def generate(ranks: int, megabytes: float) -> pathlib.Path:
    """A job of that many ranks with files of about that size."""
    folder = DIR / f"job-{ranks}x{megabytes:g}mb"
    if (folder / "truth.txt").exists():
        return folder
    print(f"bench: writing {folder.name}", file=sys.stderr)
    # Three events of some 600 bytes together for each piece of a layer.
    layers = make_job.FORWARD + make_job.BACKWARD
    pieces = max(1, round(megabytes * 1e6 / (STEPS * layers * 640)))
    shutil.rmtree(folder, ignore_errors=True)
    options = ("--ranks", ranks, "--steps", STEPS, "--pieces", pieces, "--slow-input", 1)
    # Its memory grows with the job, this process's must not.
    script = str(ROOT / "bench/make_job.py")
    subprocess.run([sys.executable, script, str(folder), *map(str, options)], check=True)
    return folder


def run(command: list[str]) -> tuple[float, float, int, str]:
    """CPU and wall seconds, peak RSS in bytes, output."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{command[0]}: exit code {process.returncode}")
    wall = time.perf_counter() - start
    return usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * 1024, output


def some_ranks(folder: pathlib.Path, count: int) -> list[str]:
    return [str(file) for file in sorted(folder.glob("rank*.json"))[:count]]


def peer(folder: str, count: int) -> None:
    """HTA, in its own environment: prints what it took."""
    import logging

    from hta.trace_analysis import TraceAnalysis  # type: ignore[import-not-found]

    logging.disable(logging.WARNING)
    files = dict(enumerate(some_ranks(pathlib.Path(folder), count)))
    before = resource.getrusage(resource.RUSAGE_SELF)
    start = time.perf_counter()
    analysis = TraceAnalysis(trace_files=files, trace_dir=folder)
    analysis.get_temporal_breakdown(visualize=False)
    analysis.get_comm_comp_overlap(visualize=False)
    wall = time.perf_counter() - start
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = own.ru_utime + own.ru_stime - before.ru_utime - before.ru_stime
    cpu += children.ru_utime + children.ru_stime
    peak = max(own.ru_maxrss, children.ru_maxrss) * 1024
    print(json.dumps({"cpu_s": cpu, "wall_s": wall, "peak_rss_bytes": peak}))


def row(name: str, ranks: int, cpu: float, wall: float, peak: float) -> str:
    return (
        f"| {name} | {ranks} | {1000 * cpu / ranks:,.0f} ms | {ranks / wall:,.1f} | "
        f"{peak / 1e6:,.0f} MB |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ranks", type=int, default=256)
    parser.add_argument("--megabytes", type=float, default=20)
    parser.add_argument("--peer-ranks", type=int, default=4)
    parser.add_argument("--peer", nargs=2, metavar=("FOLDER", "RANKS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        peer(options.peer[0], int(options.peer[1]))
        return
    folder = generate(options.ranks, options.megabytes)
    size = sum(file.stat().st_size for file in folder.glob("rank*")) / options.ranks
    print(f"## Many ranks: {options.ranks} of {size / 1e6:.1f} MB\n")
    print("| | ranks | CPU per rank | ranks per second | peak memory |")
    print("|---|---|---|---|---|")
    counts = sorted({options.peer_ranks, min(options.ranks, 4 * options.peer_ranks), options.ranks})
    ours = {}
    for count in counts:
        paths = [str(folder)] if count == options.ranks else some_ranks(folder, count)
        command = [str(STEPSCOPE), "ranks", *paths, "-f", "json", "-o", os.devnull]
        cpu, wall, peak, _ = run(command)
        ours[count] = cpu / count
        print(row("stepscope ranks", count, cpu, wall, peak))
    if not PEERS.exists():
        print("\nno .venv-peers (scripts/setup peers): HTA is not measured")
        return
    command = [str(PEERS), __file__, "--peer", str(folder), str(options.peer_ranks)]
    _, _, _, output = run(command)
    figures = json.loads(output.splitlines()[-1])
    print(
        row(
            "HTA's TraceAnalysis",
            options.peer_ranks,
            figures["cpu_s"],
            figures["wall_s"],
            figures["peak_rss_bytes"],
        )
    )
    ratio = figures["cpu_s"] / options.peer_ranks / ours[options.ranks]
    print(f"\n{ratio:.0f} times less CPU per rank than HTA (goal: 40)")


if __name__ == "__main__":
    main()
