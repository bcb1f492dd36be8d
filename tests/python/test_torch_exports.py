"""Our .pt.trace.json in the tools that people open it with: the TensorBoard plugin, HTA and the
Perfetto UI. torch.profiler's file of the same loop says what each of them makes of a good file."""

import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import stepscope.torch  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PEERS = ROOT / ".venv-peers/bin/python"
READERS = pathlib.Path(__file__).with_name("peer_readers.py")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

MISSING = 3  # what peer_readers.py ends with where the tool is not installed

Figures = dict[str, Any]

pytestmark = pytest.mark.live


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU())
        self.head = torch.nn.Linear(8 * 36, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(images).flatten(1))


def train(workers: int, end_step: Callable[[], Any] = lambda: None) -> None:
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    data = torch.utils.data.TensorDataset(torch.randn(48, 3, 8, 8), torch.randint(0, 10, (48,)))
    for images, classes in torch.utils.data.DataLoader(data, batch_size=8, num_workers=workers):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), classes).backward()
        optimizer.step()
        end_step()


def record(module: Any, workers: int, folder: pathlib.Path, **options: Any) -> pathlib.Path:
    """The file that a profiler writes of three steps."""
    with module.profile(
        record_shapes=True,
        profile_memory=True,
        with_stack=True,
        schedule=module.schedule(wait=1, warmup=1, active=3, repeat=1),
        on_trace_ready=module.tensorboard_trace_handler(str(folder)),
        **options,
    ) as profiler:
        train(workers, profiler.step)
    (path,) = folder.glob("*.pt.trace.json")
    return path


class Recordings:
    """The same loop, by Stepscope's profiler, `stepscope run` and torch.profiler."""

    def __init__(self, workers: int, folder: pathlib.Path, stepscope_bin: pathlib.Path) -> None:
        self.workers = workers
        train(workers)  # what is done once is done
        self.run = folder / "profiled"
        self.ours = record(stepscope.torch, workers, folder / "ours", path=self.run)
        self.theirs = record(torch.profiler, workers, folder / "theirs")
        self.whole_run = folder / "run"
        self.of_run = folder / "run.pt.trace.json.gz"
        script = f"import {__name__} as program; program.train({workers})"
        for command in (
            ["run", "--python", sys.executable, "--only", "mine", "-q", "-o", self.whole_run,
             "-c", script],
            ["convert", self.whole_run, self.of_run],
        ):  # fmt: skip
            path = os.pathsep.join([str(READERS.parent), str(ROOT / "python")])
            subprocess.run(
                [stepscope_bin, *command], check=True, env=os.environ | {"PYTHONPATH": path}
            )


@pytest.fixture(scope="module", params=[0, 2])
def recordings(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    stepscope_bin: pathlib.Path,
) -> Recordings:
    return Recordings(request.param, tmp_path_factory.mktemp("exports"), stepscope_bin)


def read_with(tool: str, *paths: pathlib.Path) -> list[Figures]:
    if not PEERS.exists():
        pytest.skip("no .venv-peers (scripts/setup peers)")
    if tool == "perfetto" and CHROMIUM is None:
        pytest.skip("no Chromium")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    result = subprocess.run(
        [PEERS, READERS, tool, *paths],
        env=environment | {"CHROMIUM": CHROMIUM or ""},
        capture_output=True,
        text=True,
        timeout=300,
    )
    if result.returncode == MISSING:
        pytest.skip(f"{result.stderr.splitlines()[-1]} in .venv-peers (scripts/setup peers)")
    assert result.returncode == 0, result.stderr[-3000:]
    assert "should not intersect" not in result.stderr  # how the plugin says that it drops events
    lines = [line for line in result.stdout.splitlines() if line.startswith("{")]
    return [json.loads(line) for line in lines]


def operators_of(run: pathlib.Path) -> dict[str, Figures]:
    table = stepscope.load(run).operators(limit=0)
    rows = (dict(zip(table.columns, row, strict=True)) for row in table)
    return {row["name"]: row for row in rows if row["kind"] == "operator"}


def test_tensorboard_plugin_shows_our_figures_and_torchs_counts(recordings: Recordings) -> None:
    ours, theirs, run = read_with(
        "tensorboard", recordings.ours, recordings.theirs, recordings.of_run
    )
    for figures, folder in ((ours, recordings.run), (run, recordings.whole_run)):
        rows = operators_of(folder)
        assert figures["operators"].keys() == rows.keys()
        assert len(rows) > 40
        for name, (calls, total_us, self_us) in figures["operators"].items():
            assert calls == rows[name]["calls"], name
            assert 1000 * total_us == pytest.approx(rows[name]["total_host_ns"], abs=10), name
            assert 1000 * self_us == pytest.approx(rows[name]["self_host_ns"], abs=10), name
            own, _, _, with_children, *_ = figures["memory"].get(name, [0] * 7)
            assert own == rows[name]["self_memory_bytes"], name
            assert with_children == rows[name]["memory_bytes"], name

    # Workers' batches come when they come, and are unpacked then.
    if recordings.workers == 0:
        assert ours["operators"].keys() == theirs["operators"].keys()
        for name in ours["operators"]:
            assert ours["operators"][name][0] == theirs["operators"][name][0], name
            assert ours["memory"].get(name) == theirs["memory"].get(name), name
    assert ours["views"] == theirs["views"]
    assert {"overall", "operator", "trace", "memory", "module"} <= set(ours["views"])


def test_tensorboard_plugin_shows_steps_and_modules(recordings: Recordings) -> None:
    ours, theirs = read_with("tensorboard", recordings.ours, recordings.theirs)
    assert list(ours["steps"]) == list(theirs["steps"]) == ["2", "3", "4"]
    steps = stepscope.load(recordings.run).steps()
    for duration_us, duration_ns in zip(ours["steps"].values(), steps["dur_ns"], strict=True):
        assert 1000 * duration_us == pytest.approx(duration_ns, abs=10)

    def shape(modules: list[Any]) -> list[Any]:  # without the names, which are paths here
        return [[calls, operators, shape(inner)] for _, calls, operators, inner in modules]

    assert shape(ours["modules"]) == shape(theirs["modules"])
    body = ["body (Sequential)", 3, 0, [["body.0 (Conv2d)", 3, 3, []], ["body.1 (ReLU)", 3, 3, []]]]
    assert ours["modules"] == [["Net", 3, 3, [body, ["head (Linear)", 3, 3, []]]]]


def test_hta_reads_what_it_reads_of_torchs_file(recordings: Recordings) -> None:
    ours, theirs, run = read_with("hta", recordings.ours, recordings.theirs, recordings.of_run)
    if recordings.workers == 0:  # workers' batches come when they come
        assert ours["events"]["cpu_op"] == theirs["events"]["cpu_op"]
    assert ours["steps"] == theirs["steps"]
    assert ours["outcomes"] == theirs["outcomes"]
    for figures, folder in ((ours, recordings.run), (run, recordings.whole_run)):
        kinds = stepscope.load(folder).sql("select kind from slices")["kind"]
        counts = collections.Counter(kinds)
        assert figures["events"]["cpu_op"] == counts["operator"]
        assert figures["events"]["python_function"] == counts["python"]
        scopes = counts["annotation"] + counts["step"]
        marks = figures["events"].get("phase", 0)
        assert figures["events"]["user_annotation"] + marks == scopes
        ids = figures["external_ids"]
        assert len(ids) == len(set(ids)) == counts["operator"] + scopes


def test_perfetto_imports_every_slice_without_an_error(recordings: Recordings) -> None:
    ours, run = read_with("perfetto", recordings.ours, recordings.of_run)
    for figures, folder in ((ours, recordings.run), (run, recordings.whole_run)):
        trace = stepscope.load(folder)
        assert figures["errors"] == []
        slices = trace.sql("select count(*) as n from slices")["n"][0]
        allocations = trace.sql("select count(*) as n from allocations")["n"][0]
        assert figures["slices"].pop("Trace") == 1
        assert figures["slices"].pop("cpu_instant_event") == allocations > 0
        assert sum(figures["slices"].values()) == slices
        scopes = trace.sql(
            "select name, max(dur_ns) as dur_ns from slices"
            " where kind in ('annotation', 'step') group by name"
        )
        for name, duration_ns in zip(scopes["name"], scopes["dur_ns"], strict=True):
            assert figures["longest"][name] == duration_ns, name
        assert figures["flows"] == trace.sql("select count(*) as n from flows")["n"][0] > 0


def test_file_keeps_to_the_rules_of_chrome_tracing(recordings: Recordings) -> None:
    events = json.loads(recordings.ours.read_text())["traceEvents"]
    names = {event["name"] for event in events if event["ph"] == "M"}
    assert {"process_name", "process_labels", "process_sort_index", "thread_name"} <= names
    for event in events:
        assert isinstance(event["name"], str)
        if event["ph"] == "X":
            assert event["dur"] >= 0
            assert event["cat"]
        if event["ph"] != "M":
            assert isinstance(event["ts"], int | float)


def test_steps_that_the_program_marks_are_steps_in_the_file(tmp_path: pathlib.Path) -> None:
    with stepscope.profile(tmp_path / "run"):
        train(0, stepscope.step)
    trace = stepscope.load(tmp_path / "run")
    path = tmp_path / "steps.pt.trace.json"
    trace._core.save(str(path), "kineto")
    steps = trace.steps()["dur_ns"]
    assert stepscope.load(path).steps()["dur_ns"] == pytest.approx(steps, abs=1)
    assert len(steps) == 6
    (tensorboard,) = read_with("tensorboard", path)
    assert len(tensorboard["steps"]) == 6
    (perfetto,) = read_with("perfetto", path)
    assert perfetto["errors"] == []
