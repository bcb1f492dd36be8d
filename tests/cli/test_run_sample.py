"""stepscope run --mode sample: the program is as without us, and what it does is seen."""

import json
import os
import signal
import subprocess
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PYTHON = ROOT / ".venv/bin/python"
STEPSCOPE = str(Path(os.environ.get("STEPSCOPE_BIN", ROOT / ".venv/bin/stepscope")).absolute())
BOTTLENECKS = ROOT / "examples/bottlenecks"

pytestmark = pytest.mark.live

# Threads of PyTorch that wait for each other leave the cores to others.
ENVIRONMENT = os.environ | {"OMP_WAIT_POLICY": "PASSIVE"}

SPEND = """
import os, sys, time
def spend(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
def most(): spend(0.09)
def least(): spend(0.03)
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(SPEND + textwrap.dedent(text))
    return path


def sample(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [STEPSCOPE, "run", "--python", str(PYTHON), "--mode", "sample", "-o", "run"]
    return subprocess.run(
        [*command, *arguments],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=300,
    )


def report(folder: Path, view: str) -> dict[str, Any]:
    command = [STEPSCOPE, "report", str(folder), "--view", view, "--format", "json"]
    text = subprocess.run([*command, "--limit", "0"], capture_output=True, check=True).stdout
    result: dict[str, Any] = json.loads(text)
    return result


def columns(folder: Path, view: str) -> dict[str, list[Any]]:
    table = report(folder, view)
    names = [column["name"] for column in table["columns"]]
    return {name: [row[i] for row in table["rows"]] for i, name in enumerate(names)}


def functions(folder: Path, figure: str) -> dict[str, Any]:
    table = columns(folder, "functions")
    return dict(zip(table["name"], table[figure], strict=True))


def warnings(folder: Path) -> list[str]:
    found = report(folder, "findings")["findings"]
    return [finding["id"] for finding in found if finding["severity"] != "info"]


@pytest.mark.parametrize("where", ["outside", "inside"])
@pytest.mark.parametrize(
    "text",
    [
        "sys.exit(3)",
        "os._exit(4)",
        "raise ValueError('no')",
        "os.kill(os.getpid(), 15)",
        "os.abort()",
        "print(sys.argv, __name__, sys.path[0]); print('to stderr', file=sys.stderr)",
    ],
)
def test_a_program_ends_the_same(tmp_path: Path, text: str, where: str) -> None:
    script = write(tmp_path, "script.py", f"spend(0.05)\n{text}\n")
    without = subprocess.run(
        [PYTHON, script.name, "a"], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    inside = ["--inside"] if where == "inside" else []
    with_us = sample(tmp_path, "--quiet", *inside, script.name, "a")
    assert with_us.stdout == without.stdout
    assert with_us.stderr == without.stderr
    assert with_us.returncode == without.returncode


@pytest.mark.parametrize("where", ["outside", "inside"])
def test_shares_are_those_of_the_program(tmp_path: Path, where: str) -> None:
    script = write(
        tmp_path,
        "script.py",
        """
        for _ in range(25):
            most(); least()
            time.sleep(0.01)
        print(os.getpid())
        """,
    )
    inside = ["--inside"] if where == "inside" else []
    result = sample(tmp_path, *inside, script.name)
    assert result.returncode == 0
    names = {path.name for path in (tmp_path / "run").iterdir()}
    pid = result.stdout.strip()
    samples = "samples.sscope" if where == "outside" else f"{pid}.samples.sscope"
    assert names == {f"{pid}.sscope", samples}
    total_ns = functions(tmp_path / "run", "total_cpu_ns")
    assert total_ns["most"] / (total_ns["most"] + total_ns["least"]) == pytest.approx(0.75, abs=0.1)
    assert set(functions(tmp_path / "run", "calls").values()) == {None}
    assert "functions by own CPU time" in result.stderr
    assert "estimated from" in result.stderr


def test_children_are_sampled_however_they_are_started(tmp_path: Path) -> None:
    write(tmp_path, "other.py", "def in_subprocess(): spend(0.5)\nin_subprocess()\n")
    script = write(
        tmp_path,
        "script.py",
        """
        import multiprocessing, subprocess
        def in_fork(): spend(0.5)
        def in_worker(): spend(0.5)
        child = os.fork()
        if child == 0:
            in_fork()
            os._exit(0)
        os.waitpid(child, 0)
        subprocess.run([sys.executable, "other.py"], check=True)
        process = multiprocessing.get_context("fork").Process(target=in_worker)
        process.start()
        process.join()
        """,
    )
    assert sample(tmp_path, "--quiet", script.name).returncode == 0
    total_ns = functions(tmp_path / "run", "total_cpu_ns")
    for name in ("in_fork", "in_subprocess", "in_worker"):
        assert total_ns.get(name, 0) > 0, name


def test_signals_reach_the_program(tmp_path: Path) -> None:
    script = write(
        tmp_path,
        "script.py",
        """
        import signal
        def on_signal(number, frame):
            print("got", number, flush=True)
            sys.exit(6)
        signal.signal(signal.SIGUSR1, on_signal)
        print("ready", flush=True)
        spend(100)
        """,
    )
    command = [STEPSCOPE, "run", "--python", str(PYTHON), "--mode", "sample", "-q", "-o", "run"]
    with subprocess.Popen(
        [*command, script.name], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signal.SIGUSR1)
            assert process.stdout.readline() == f"got {int(signal.SIGUSR1)}\n"
            assert process.wait(60) == 6
        finally:
            process.kill()
    assert columns(tmp_path / "run", "functions")["name"]


def test_a_run_can_be_read_while_it_goes_on(tmp_path: Path) -> None:
    script = write(tmp_path, "script.py", "spend(100)\n")
    command = [STEPSCOPE, "run", "--python", str(PYTHON), "--mode", "sample", "-q", "-o", "run"]
    with subprocess.Popen([*command, script.name], cwd=tmp_path) as process:
        try:
            deadline = time.monotonic() + 60
            seen: list[str] = []
            while "spend" not in seen and time.monotonic() < deadline:
                time.sleep(0.5)
                if (tmp_path / "run/samples.sscope").exists():
                    table = subprocess.run(
                        [STEPSCOPE, "report", "run", "--view", "functions", "--format", "json"],
                        cwd=tmp_path,
                        capture_output=True,
                    )
                    rows = json.loads(table.stdout)["rows"] if table.returncode == 0 else []
                    seen = [row[0] for row in rows]
            assert "spend" in seen
        finally:
            process.kill()


def test_steps_that_the_program_marks_are_told(tmp_path: Path) -> None:
    script = write(
        tmp_path,
        "script.py",
        """
        import stepscope
        def slow_metric(): spend(0.08)
        for _ in range(8):
            slow_metric()
            time.sleep(0.02)
            stepscope.step()
        """,
    )
    assert sample(tmp_path, "--quiet", script.name).returncode == 0
    assert len(columns(tmp_path / "run", "steps")["step"]) == 8
    finding = report(tmp_path / "run", "findings")["findings"][0]
    assert finding["id"] == "python-hotspot"
    assert "spend" in finding["where"] or "slow_metric" in finding["where"]
    assert "calls per step" not in json.dumps(finding)


def test_only_some_steps_are_sampled_from_inside(tmp_path: Path) -> None:
    script = write(
        tmp_path,
        "script.py",
        """
        import stepscope
        for work in (most, most, least, most):
            for _ in range(5): work()
            stepscope.step()
        """,
    )
    assert sample(tmp_path, "--quiet", "--steps", "2,0,1", script.name).returncode == 0
    total_ns = functions(tmp_path / "run", "total_cpu_ns")
    assert total_ns["least"] > 5 * total_ns.get("most", 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--hz", "10"], "--hz: only with --mode sample"),
        (["--inside"], "--inside: only with --mode sample"),
        (["--mode", "sample", "--c-calls"], "--c-calls: only with --mode trace"),
        (["--mode", "sample", "--shapes"], "--shapes: only with --mode trace"),
        (["--mode", "both"], "--mode"),
        (["--mode", "sample", "--hz", "0"], "--hz"),
    ],
)
def test_wrong_usage_is_told(tmp_path: Path, arguments: list[str], message: str) -> None:
    result = subprocess.run(
        [STEPSCOPE, "run", *arguments, "-c", "pass"], cwd=tmp_path, capture_output=True, text=True
    )
    assert result.returncode == 2
    assert message in result.stderr
    assert list(tmp_path.iterdir()) == []


TRAINING = """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Items(Dataset):
    def __len__(self): return 96
    def __getitem__(self, i):
        spend(0.01)
        return torch.randn(16), i % 2

if __name__ == "__main__":
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in DataLoader(Items(), batch_size=8, num_workers=int(sys.argv[1])):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
"""


@pytest.fixture
def training(tmp_path: Path) -> Path:
    has_torch = subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode == 0
    if not has_torch:
        pytest.skip("no PyTorch in the environment")
    (tmp_path / "train.py").write_text(SPEND + TRAINING)
    return tmp_path


def test_a_training_has_steps_phases_and_a_verdict(training: Path) -> None:
    result = sample(training, "train.py", "0")
    assert result.returncode == 0
    phases = columns(training / "run", "phases")
    assert len(phases["step"]) == 12
    assert sum(phases["input_ns"]) > sum(phases["dur_ns"]) / 2
    assert sum(phases["backward_ns"]) > 0
    assert warnings(training / "run")[0] == "dataloader-in-process"
    assert "is bound by input" in result.stderr
    assert "Told from samples" in result.stderr
    finding = report(training / "run", "findings")["findings"][0]
    assert "spend" in finding["where"] or "__getitem__" in finding["where"]
    slices = finding["evidence"]["slices"]
    query = f"select name from slices where id in ({', '.join(map(str, slices))})"
    names = subprocess.run(
        [STEPSCOPE, "query", "run", query, "--format", "json"],
        cwd=training,
        capture_output=True,
        check=True,
    ).stdout
    assert {row[0].partition("#")[0] for row in json.loads(names)["rows"]} == {
        "enumerate(DataLoader)"
    }


def test_no_operator_is_recorded(training: Path) -> None:
    assert sample(training, "--quiet", "train.py", "0").returncode == 0
    tracks = columns(training / "run", "operators")
    assert set(tracks["kind"]) <= {"annotation", "step"}


def test_workers_of_a_loader_are_in_the_run(training: Path) -> None:
    assert sample(training, "--quiet", "train.py", "1").returncode == 0
    table = columns(training / "run", "tracks")
    assert (
        len({pid for pid, count in zip(table["pid"], table["samples"], strict=True) if count}) >= 2
    )
    assert functions(training / "run", "total_cpu_ns")["Items.__getitem__"] > 0
    assert warnings(training / "run")[:1] != ["dataloader-in-process"]
    assert len(columns(training / "run", "phases")["step"]) == 12


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("slow_storage", "dataloader-in-process"),
        ("compressed_pictures", "dataloader-in-process"),
        ("edit_distance", "python-hotspot"),
        ("checkpoint_each_step", "blocking-io-in-step"),
        ("padding_collate", "dataloader-slow-collate"),
        ("plain_python", "python-hotspot"),
    ],
)
def test_bottlenecks_are_found(tmp_path: Path, script: str, expected: str) -> None:
    assert sample(tmp_path, "--quiet", str(BOTTLENECKS / f"{script}.py")).returncode == 0
    assert warnings(tmp_path / "run")[:1] == [expected]


@pytest.mark.heavy
@pytest.mark.parametrize("script", ["healthy_mlp", "healthy_transformer", "healthy_gan"])
def test_healthy_programs_get_no_warning(tmp_path: Path, script: str) -> None:
    assert sample(tmp_path, "--quiet", str(BOTTLENECKS / f"{script}.py")).returncode == 0
    assert warnings(tmp_path / "run") == []
