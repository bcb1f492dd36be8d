"""Phases and modules of PyTorch as the tracer finds them, with torch itself."""

import json
import os
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from recorded_marks import MODES, module_paths, recording

import stepscope

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch import nn  # noqa: E402

STEPSCOPE = Path(os.environ.get("STEPSCOPE_BIN", Path(sys.executable).parent / "stepscope"))
PACKAGE = Path(__file__).resolve().parent.parent.parent / "python"


def phases(folder: Path) -> dict[str, int]:
    table = stepscope.load(folder).sql("SELECT name FROM slices WHERE category = 'phase'")
    return dict(Counter(name for (name,) in table))


def train(model: Any, batch: Any) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.zero_grad()
    model(batch).sum().backward()
    optimizer.step()


@pytest.mark.parametrize("mode", MODES)
def test_modules_are_those_that_hooks_see_called(mode: str, tmp_path: Path) -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    model = nn.Sequential(nn.Linear(4, 8), nn.TransformerEncoder(layer, 2), nn.Linear(8, 1))
    names = {module: name for name, module in model.named_modules()}
    seen: list[str] = []
    batch = torch.ones(2, 3, 4)

    def see(module: Any, args: Any) -> None:
        name = type(module).__name__
        seen.append(f"{names[module]} ({name})" if names[module] else name)

    with nn.modules.module.register_module_forward_pre_hook(see):
        train(model, batch)
    with recording(tmp_path, mode):
        train(model, batch)
    found = module_paths(tmp_path)
    assert len(seen) > 10
    assert [path.rpartition("/")[2] for path in found] == seen
    # Each within the module that its name says.
    linear = "Sequential/1 (TransformerEncoder)/1.layers.0 (TransformerEncoderLayer)"
    assert f"{linear}/1.layers.0.linear1 (Linear)" in found
    assert phases(tmp_path) == {"backward": 1}


def test_hooks_and_their_order_are_as_without_us(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    seen: list[str] = []
    for module in model.modules():
        module.register_forward_hook(lambda *_: seen.append("forward"))
        module.register_full_backward_hook(lambda *_: seen.append("backward"))
    train(model, torch.ones(1, 2, requires_grad=True))
    plain, seen[:] = list(seen), []
    with recording(tmp_path):
        train(model, torch.ones(1, 2, requires_grad=True))
    assert seen == plain
    assert [path.rpartition("/")[2] for path in module_paths(tmp_path)] == [
        "Sequential",
        "0 (Linear)",
        "1 (ReLU)",
    ]


def test_backward_and_checkpoint_are_marked_once_each(tmp_path: Path) -> None:
    weight = torch.ones(3, requires_grad=True)
    with recording(tmp_path):
        (weight * 2).sum().backward()
        torch.autograd.backward((weight * 3).sum())
        torch.save({"weight": weight}, tmp_path / "weight.pt")
    assert phases(tmp_path) == {"backward": 2, "checkpoint": 1}


@pytest.mark.parametrize("mode", MODES)
def test_a_model_compiles_as_one_graph(mode: str, tmp_path: Path) -> None:
    torch._dynamo.reset()
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    graphs = []

    def backend(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    compiled = torch.compile(model, fullgraph=True, backend=backend)
    batch = torch.ones(1, 2)
    with recording(tmp_path, mode):
        for _ in range(3):
            assert torch.equal(compiled(batch), model(batch))
    compiled(batch)
    assert len(graphs) == 1
    found = Counter(path.rpartition("/")[2] for path in module_paths(tmp_path))
    # Inside of the compiled region they do not show; in the plain calls they do.
    assert found["OptimizedModule"] == 3
    assert found["_orig_mod.0 (Linear)"] == 3


PROGRAM = """
    import json, os, sys, time
    import torch
    from torch.utils.data import DataLoader, Dataset, IterableDataset

    class Numbers(Dataset):
        def __len__(self): return 8
        def __getitem__(self, i): return torch.ones(2) * i

    class Stream(IterableDataset):
        def __iter__(self): return iter(torch.ones(8, 2))

    def stack(items): return torch.stack(items)

    def main():
        workers, kind, method = int(sys.argv[1]), sys.argv[2], sys.argv[3]
        options = {"num_workers": workers, "batch_size": 4}
        if workers: options["multiprocessing_context"] = method
        if kind == "own": options["collate_fn"] = stack
        data = Stream() if kind == "stream" else Numbers()
        print(json.dumps([os.getpid(), sum(len(batch) for batch in DataLoader(data, **options))]))

    if __name__ == "__main__": main()
"""


def run(folder: Path, *arguments: str, options: tuple[str, ...] = ()) -> list[int]:
    (folder / "program.py").write_text(textwrap.dedent(PROGRAM))
    done = subprocess.run(
        [
            STEPSCOPE,
            "run",
            "--python",
            sys.executable,
            "-o",
            "run",
            *options,
            "program.py",
            *arguments,
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
    )
    assert done.returncode == 0, done.stderr
    result: list[int] = json.loads(done.stdout.splitlines()[0])
    return result


def fetches(folder: Path, pid: int) -> list[tuple[str, bool, int]]:
    """Phase, whether it was in the process `pid`, and how often, for each process."""
    table = stepscope.load(folder).sql(
        "SELECT slices.name, pid, count(*) FROM slices JOIN tracks ON tracks.id = track_id"
        " WHERE category = 'phase' GROUP BY slices.name, pid"
    )
    return sorted((name, where == pid, calls) for name, where, calls in table)


@pytest.mark.parametrize(
    ("options", "workers", "kind"),
    [
        ((), "0", "map"),
        (("--only", "mine"), "0", "own"),
        (("--only", "mine"), "2", "own"),
        (("--only", "mine", "--c-calls"), "2", "stream"),
    ],
)
def test_fetching_shows_in_the_process_that_does_it(
    options: tuple[str, ...], workers: str, kind: str, tmp_path: Path
) -> None:
    pid, count = run(tmp_path, workers, kind, "fork", options=options)
    assert count == (16 if kind == "stream" else 8)
    # Two batches, of two workers one each. A stream is read by each worker, and has ended when one
    # more fetch finds nothing.
    collated = 1 if workers == "2" and kind != "stream" else 2
    fetched = 3 if kind == "stream" else collated
    expected = [("collate", workers == "0", collated), ("fetch", workers == "0", fetched)]
    assert fetches(tmp_path / "run", pid) == sorted(expected * max(1, int(workers)))


def test_a_spawned_worker_shows_its_fetching(tmp_path: Path) -> None:
    pid, _ = run(tmp_path, "1", "own", "spawn", options=("--only", "mine"))
    assert fetches(tmp_path / "run", pid) == [("collate", False, 2), ("fetch", False, 2)]


def test_torch_is_imported_as_without_us(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import importlib.util, sys\n"
        "found = importlib.util.find_spec('torch')\n"
        "assert found and 'torch' not in sys.modules\n"
        "import torch\n"
        "print(torch.__spec__.origin, sorted(vars(torch.__spec__)), vars(torch.__loader__))\n"
        "print(torch.__loader__ is torch.__spec__.loader, type(torch.__loader__))\n"
        "print([type(finder).__module__ for finder in sys.meta_path])\n"
        "print(torch.nn.Module.__call__.__qualname__, torch.Tensor.backward.__qualname__)\n"
    )
    command = [sys.executable, "program.py"]
    plain = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    # What waits for other frameworks stays until they come.
    options = ["--python", sys.executable, "--no-tensorflow", "--no-jax"]
    command = [str(STEPSCOPE), "run", *options, "-o", "run", "program.py"]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    traced = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert traced.stdout.startswith(plain.stdout)
