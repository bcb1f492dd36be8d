"""What it takes to read a large profile of TensorFlow and to analyse its input pipeline.

`make bench` runs it; alone: `.venv/bin/python bench/xplane.py`. The profile is made once, by a loop
of small tf.data elements under TensorFlow's own profiler (bench/make_xplane.py), and kept in
build/bench. Measured are a bare walk of all events and stats with protozero (bench/xplane_pass.cc),
`stepscope report --view input`, and xprof's input_pipeline_analyzer. Nothing is asserted.

  BENCH_XPLANE_MB   size of the profile (120)
  BENCH_REPEATS, BENCH_PEER_REPEATS, BENCH_DIR   as in bench/run.py
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import run

MEGABYTES = float(os.environ.get("BENCH_XPLANE_MB", "120"))
PASS = run.BIN / "xplane_pass"


def find_python() -> Path | None:
    """The one that has TensorFlow; None where there is none, and none can be made."""
    setup = subprocess.run(
        [run.ROOT / "scripts/setup", "tensorflow"], stdout=subprocess.PIPE, text=True
    )
    return Path(setup.stdout.strip()) / "bin/python" if setup.returncode == 0 else None


def make_profile(python: Path) -> Path:
    path = run.DIR / f"tf-{MEGABYTES:g}mb.xplane.pb"
    if not path.exists():
        print(f"bench: writing {path.name}", file=sys.stderr)
        run.DIR.mkdir(parents=True, exist_ok=True)
        command = [python, run.ROOT / "bench/make_xplane.py", path, str(MEGABYTES)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return path


def main() -> int:
    python = find_python()
    if python is None:
        print("bench: no environment with TensorFlow; reading profiles of it is not measured")
        return 0
    path = make_profile(python)
    walk = run.Case("bare protozero walk", path, [str(PASS), str(path)])
    ours = run.Case("stepscope, input", path, run.report(path, "--view", "input"))
    peer = [str(python), str(run.ROOT / "bench/peers.py"), "xprof", str(path)]
    theirs = run.Case("xprof input_pipeline_analyzer", path, peer, self_timed=True)
    run.interleave([walk, ours], run.REPEATS)
    run.interleave([ours, theirs, ours], run.PEER_REPEATS)

    counted = json.loads(subprocess.run([PASS, path], check=True, capture_output=True).stdout)
    size = path.stat().st_size
    contents = f"{counted['events']} events, {counted['stats']} stats"
    print(f"\n{path.name}: {size / 1e6:.0f} MB, {contents}\n")
    run.print_cases([walk, ours, theirs], {path: counted["events"]})
    print()
    if walk.runs and ours.runs:
        run.print_goal("XPlane, input analysis / bare walk, CPU", ours.cpu_s / walk.cpu_s, 3, "x")
        run.print_goal("XPlane, peak RSS / file", ours.peak_rss_bytes / size, 2, "x")
    if theirs.runs and ours.runs:
        ratio = theirs.cpu_s / ours.cpu_s
        run.print_goal("xprof / XPlane, input analysis, CPU", ratio, 25, "x", at_most=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
