"""stepscope run on programs that use PyTorch: they change nothing, and miss nothing."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import stepscope

pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = pytest.mark.live

STEPSCOPE = Path(os.environ.get("STEPSCOPE_BIN", Path(sys.executable).parent / "stepscope"))
PACKAGE = Path(stepscope.__file__).parent
STEPS = 7
# Without the calls inside of libraries, most of which are of imports.
MINE = ("--only", "mine")

TRAIN = f"""
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = torch.nn.Linear(4, 8)
            self.head = torch.nn.Linear(8, 1)

        def forward(self, x):
            return self.head(torch.relu(self.body(x)))

    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = TensorDataset(torch.randn({2 * STEPS}, 4), torch.randn({2 * STEPS}, 1))
    for x, y in DataLoader(data, batch_size=2):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        print(f"{{loss.item():.6f}}")
"""


def write(folder: Path, text: str) -> None:
    (folder / "train.py").write_text(textwrap.dedent(text))


def start(command: list[object], folder: Path) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300)


def plain(folder: Path) -> subprocess.CompletedProcess[str]:
    return start([sys.executable, "train.py"], folder)


def run(folder: Path, *options: str, command: Path = STEPSCOPE) -> subprocess.CompletedProcess[str]:
    """Records into `run`."""
    own = ["--python", sys.executable, "-o", "run"]
    return start([command, "run", *own, *options, "train.py"], folder)


def calls(folder: Path, **options: Any) -> dict[str, int]:
    table = stepscope.load(folder / "run").operators(limit=0, **options)
    return dict(zip(table["name"], table["calls"], strict=True))


def test_an_unchanged_script_gives_steps_phases_operators_modules_and_memory(
    tmp_path: Path,
) -> None:
    write(tmp_path, TRAIN)
    expected = plain(tmp_path)
    done = run(tmp_path)
    assert (done.returncode, done.stdout) == (0, expected.stdout)
    report = done.stderr
    assert re.search(rf"^steps +steps +{STEPS}$", report, re.M), report
    for phase in ("input", "forward", "backward", "optimizer"):
        assert re.search(rf"^ +{phase} +[\d.]+ (us|ms) +<?[\d.]+%", report, re.M), report
    assert re.search(r"^top operators +\S+ +[\d.]+ (us|ms)", report, re.M), report
    assert re.search(r"^memory +peak on CPU +[\d.]+ K?B", report, re.M), report
    assert "the file had faults" not in report
    trace = stepscope.load(tmp_path / "run")
    assert len(trace.phases(limit=0)) == STEPS
    assert calls(tmp_path)["aten::addmm"] == 2 * STEPS
    assert calls(tmp_path)["Optimizer.step#SGD.step"] == STEPS
    modules = trace.view("modules", limit=0)
    names = dict(zip(modules["name"], modules["calls"], strict=True))
    assert {name: names[name] for name in ("Net", "body", "head")} == {
        "Net": STEPS,
        "body": STEPS,
        "head": STEPS,
    }
    assert trace.operators(filter="^aten::addmm$", by="shape")["input_shapes"] == ["[]"]


def test_no_torch_records_functions_alone(tmp_path: Path) -> None:
    write(tmp_path, TRAIN)
    done = run(tmp_path, *MINE, "--no-torch")
    assert done.returncode == 0
    assert not [name for name in calls(tmp_path) if name.startswith("aten::")]
    trace = stepscope.load(tmp_path / "run")
    assert "Net.forward" in trace.functions(limit=0)["name"]
    assert len(trace.sql("SELECT * FROM allocations")) == 0


def test_shapes_are_recorded_when_asked_for(tmp_path: Path) -> None:
    write(tmp_path, TRAIN)
    assert run(tmp_path, *MINE, "--shapes").returncode == 0
    table = stepscope.load(tmp_path / "run").operators(by="shape", limit=0)
    shapes = {
        shape: count
        for name, shape, count in zip(
            table["name"], table["input_shapes"], table["calls"], strict=True
        )
        if name == "aten::addmm"
    }
    assert shapes == {
        "[[8], [2, 4], [4, 8], [], []]": STEPS,
        "[[1], [2, 8], [8, 1], [], []]": STEPS,
    }


def test_no_memory_leaves_out_allocations_alone(tmp_path: Path) -> None:
    write(tmp_path, TRAIN)
    done = run(tmp_path, *MINE, "--no-memory")
    assert "peak on CPU" not in done.stderr
    assert len(stepscope.load(tmp_path / "run").sql("SELECT * FROM allocations")) == 0
    assert calls(tmp_path)["aten::addmm"] == 2 * STEPS


def test_sampled_operators_are_estimates_and_are_said_to_be(tmp_path: Path) -> None:
    # Two seconds, of which windows of 2 ms see a fifth.
    write(
        tmp_path,
        """
        import time, torch
        x = torch.ones(64, 64)
        end = time.monotonic() + 2
        count = 0
        while time.monotonic() < end:
            torch.mm(x, x)
            count += 1
        print(count)
        """,
    )
    done = run(tmp_path, *MINE, "--sampling", "0.2")
    table = stepscope.load(tmp_path / "run").operators()
    assert re.search(r"operators were recorded in [\d.]+ % of the time: .* estimates", str(table))
    recorded = stepscope.load(tmp_path / "run").sql(
        "SELECT count(*) FROM slices WHERE name = 'aten::mm'"
    )
    real = int(done.stdout)
    assert 0.05 * real < next(iter(recorded))[0] < 0.5 * real
    assert 0.6 * real < calls(tmp_path)["aten::mm"] < 1.6 * real


def test_without_a_collector_the_program_runs_as_ever_and_a_line_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(
        PACKAGE, tmp_path / "stepscope", ignore=shutil.ignore_patterns("_torch-*", "lib", "bin")
    )
    (tmp_path / "stepscope/bin").mkdir()
    command = shutil.copy(STEPSCOPE.resolve(), tmp_path / "stepscope/bin/stepscope")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write(tmp_path, textwrap.dedent(TRAIN) + "raise SystemExit(3)")
    expected = plain(tmp_path)
    done = run(tmp_path, *MINE, command=Path(command))
    assert (done.returncode, done.stdout) == (expected.returncode, expected.stdout)
    advice = (
        r"^stepscope: there is no collector of operators for torch \S+; "
        r"`stepscope doctor --build-torch` builds it$"
    )
    assert len(re.findall(advice, done.stderr, re.M)) == 1, done.stderr
    trace = stepscope.load(tmp_path / "run")
    assert trace.sql("SELECT count(*) FROM slices WHERE name = 'backward'")["count(*)"] == [STEPS]


PROFILED = """
    import torch
    from torch.profiler import profile

    def work():
        x = torch.ones(8, 8, requires_grad=True)
        torch.relu(x @ x).sum().backward()

    for _ in range(2):
        work()
        with profile(profile_memory=True, record_shapes=True) as p:
            work()
        for row in sorted(p.key_averages(), key=lambda row: row.key):
            print(row.key, row.count, row.self_cpu_memory_usage)
    work()
"""


def test_a_program_that_uses_torch_profiler_gets_the_same_from_it(tmp_path: Path) -> None:
    write(tmp_path, PROFILED)
    expected = plain(tmp_path)
    assert "aten::mm" in expected.stdout
    done = run(tmp_path, *MINE)
    assert (done.returncode, done.stdout) == (0, expected.stdout)
    assert calls(tmp_path)["aten::relu"] == 5, "ours go on"


def test_an_exception_ends_the_program_as_without_us(tmp_path: Path) -> None:
    write(tmp_path, textwrap.dedent(TRAIN) + "model(torch.ones(3))\n")
    expected = plain(tmp_path)
    done = run(tmp_path, *MINE)
    assert expected.returncode == 1
    assert (done.returncode, done.stdout) == (1, expected.stdout)
    assert done.stderr.startswith(expected.stderr)
    assert len(stepscope.load(tmp_path / "run").phases(limit=0)) == STEPS
    assert calls(tmp_path)["aten::addmm"] == 2 * STEPS + 1, "with the one that raised it"


def test_an_exception_in_the_middle_of_a_step_leaves_the_steps_before_it(tmp_path: Path) -> None:
    failing = textwrap.dedent(TRAIN).replace(
        "    loss.backward()",
        "    if x is not None and len(losses) == 3: raise KeyError(x)\n"
        "    losses.append(1)\n    loss.backward()",
    )
    write(tmp_path, failing.replace("torch.manual_seed(0)", "torch.manual_seed(0)\nlosses = []"))
    done = run(tmp_path, *MINE)
    assert done.returncode == 1
    assert "KeyError" in done.stderr
    assert calls(tmp_path)["Optimizer.step#SGD.step"] == 3


def test_the_exit_code_is_the_programs(tmp_path: Path) -> None:
    write(tmp_path, textwrap.dedent(TRAIN) + "import sys\nsys.exit(3)\n")
    done = run(tmp_path, *MINE)
    assert done.returncode == 3
    assert calls(tmp_path)["aten::addmm"] == 2 * STEPS


def test_a_fork_in_the_middle_records_both_processes(tmp_path: Path) -> None:
    write(
        tmp_path,
        """
        import os, torch
        x = torch.ones(8, 8)
        for _ in range(5):
            torch.mm(x, x)
        child = os.fork()
        for _ in range(3 if child else 4):
            torch.mm(x, x)
        if child == 0:
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), os.getpid(), child)
        """,
    )
    done = run(tmp_path, *MINE)
    status, parent, child = map(int, done.stdout.split())
    assert (done.returncode, status) == (0, 0)
    rows = stepscope.load(tmp_path / "run").sql(
        "SELECT pid, count(*) FROM slices JOIN tracks ON tracks.id = track_id"
        " WHERE slices.name = 'aten::mm' GROUP BY pid"
    )
    assert dict(rows) == {parent: 8, child: 4}
