"""What the tests of the sampler share: programs that know what they do, and recordings of them.

with Program(python, "threads.py", 2) as program:
    with Recorder(stepscope_bin, program.pid, "-o", folder) as recorder:
        truth = program.work()
        recorder.wait()
recording = Recording(stepscope_bin, folder)
assert recording.illegal_pairs(truth) == []
"""

import ast
import json
import pathlib
import re
import signal
import subprocess
from collections import Counter
from typing import Any

PROGRAMS = pathlib.Path(__file__).parent / "programs"
PATIENCE_S = 120.0  # of a machine that has much else to do

Row = list[Any]


class Truth:
    """What a program says of itself (programs/truth.py)."""

    def __init__(self, line: str) -> None:
        said = ast.literal_eval(line)
        self.functions = int(said["cpu_s"].pop("functions", 0))
        self.total_cpu_s = float(said["total_cpu_s"])
        self.shares = {n: s / said["total_cpu_s"] for n, s in said["cpu_s"].items()}
        self.pairs = {tuple(pair) for pair in said["pairs"]}

    def is_legal(self, caller: str, callee: str) -> bool:
        if (caller, callee) in self.pairs:
            return True
        # A number stands for itself in both.
        numbers = {n for name in (caller, callee) for n in re.findall(r"_(\d+)$", name)}
        general = tuple(re.sub(r"_\d+$", "_#", name) for name in (caller, callee))
        return len(numbers) == 1 and general in self.pairs


class Program:
    """One of programs/, up to the point where it waits to be told to work."""

    def __init__(self, python: pathlib.Path, name: str, seconds: float) -> None:
        self.process = subprocess.Popen(
            [python, PROGRAMS / name, str(seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = self.process.pid

    def __enter__(self) -> "Program":
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def work(self) -> Truth:
        """Until its end."""
        out, _ = self.process.communicate("\n", PATIENCE_S)
        assert self.process.returncode == 0
        return Truth(out)


class Recorder:
    """`stepscope record`, up to the point where it samples."""

    def __init__(self, stepscope: pathlib.Path, *args: object) -> None:
        self.process = subprocess.Popen(
            [stepscope, "record", *map(str, args)], stderr=subprocess.PIPE, text=True
        )

    def __enter__(self) -> "Recorder":
        assert self.process.stderr is not None
        self.first_line = self.process.stderr.readline()
        assert "recording" in self.first_line, self.first_line + self.process.stderr.read()
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def stop(self, by: signal.Signals = signal.SIGINT) -> str:
        self.process.send_signal(by)
        return self.wait()

    def wait(self) -> str:
        """What it says when it has ended well."""
        _, said = self.process.communicate(timeout=PATIENCE_S)
        assert self.process.returncode == 0, said
        return said


class Recording:
    """A recording as the command tells of it."""

    def __init__(self, stepscope: pathlib.Path, path: pathlib.Path) -> None:
        self.stepscope = stepscope
        self.path = path

    def run(self, *args: object) -> Any:
        command = [str(self.stepscope), *map(str, args), "--format", "json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def query(self, sql: str) -> list[Row]:
        rows: list[Row] = self.run("query", self.path, sql)["rows"]
        return rows

    def functions(self, *options: object) -> list[dict[str, Any]]:
        table = self.run("report", self.path, "--view", "functions", "--limit", 0, *options)
        names = [column["name"] for column in table["columns"]]
        return [dict(zip(names, row, strict=True)) for row in table["rows"]]

    def stats(self) -> dict[str, Any]:
        stats: dict[str, Any] = self.run("query", self.path, "SELECT 1")["stats"]
        return stats

    def sampling(self) -> dict[str, Any]:
        [[text]] = self.query("SELECT value FROM metadata WHERE key = 'sampling'")
        sampling: dict[str, Any] = json.loads(text)
        return sampling

    def shares(self) -> Counter[str]:
        """Of CPU time, by function; those that end with a number count together."""
        shares: Counter[str] = Counter()
        rows = self.functions()
        total = sum(row["self_cpu_ns"] for row in rows)
        for row in rows:
            name = re.sub(r"(?<=outer_|inner_)\d+$", "", row["name"])
            shares[name] += row["self_cpu_ns"] / total
        return shares

    def pairs(self) -> set[tuple[str, str]]:
        """Who called whom, on any stack."""
        names = dict(self.query("SELECT id, name FROM frames"))
        stacks = self.query("SELECT id, parent_id, frame_id FROM stacks")
        frames = {stack: names[frame] for stack, _, frame in stacks}
        return {
            ("" if parent is None else frames[parent], names[frame]) for _, parent, frame in stacks
        }

    def illegal_pairs(self, truth: Truth) -> list[tuple[str, str]]:
        return sorted(pair for pair in self.pairs() if not truth.is_legal(*pair))
