"""stepscope.torch.profile against torch.profiler.profile, in one process, on the same steps."""

import collections
import gzip
import json
import multiprocessing
import os
import pathlib
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch_models import MODELS, make_step  # noqa: E402

import stepscope.torch  # noqa: E402
from stepscope import _torch_collector  # noqa: E402

Counts = collections.Counter


@pytest.fixture(autouse=True, scope="module")
def collector() -> None:
    _torch_collector.load()  # where it was not built that is a failure, not a reason to skip


def counts_of(profiler: Any, **grouping: Any) -> Counts:
    """Calls by name, and by shape where asked for."""
    counts: Counts = Counts()
    for event in profiler.key_averages(**grouping):
        counts[event.key, str(event.input_shapes), event.is_user_annotation] += event.count
    return counts


def both(run: Callable[[], Any], **options: Any) -> tuple[Any, Any]:
    """The same with Stepscope and with torch.profiler. Each is run twice: what the first run leaves
    behind (sizes of memory blocks) is then the same for both."""
    profilers = []
    for module in (stepscope.torch, torch.profiler) * 2:
        with module.profile(activities=[torch.profiler.ProfilerActivity.CPU], **options) as prof:
            run()
        profilers.append(prof)
    return profilers[2], profilers[3]


@pytest.mark.parametrize("model", MODELS)
def test_names_and_counts_are_those_of_torch_profiler(model: str) -> None:
    ours, theirs = both(make_step(model))
    assert len(counts_of(theirs)) > 20
    assert counts_of(ours) == counts_of(theirs)


@pytest.mark.parametrize("model", MODELS)
def test_shapes_memory_and_flops_are_those_of_torch_profiler(model: str) -> None:
    ours, theirs = both(make_step(model), record_shapes=True, profile_memory=True, with_flops=True)
    by_shape = {"group_by_input_shape": True}
    assert counts_of(ours, **by_shape) == counts_of(theirs, **by_shape)

    def figures(profiler: Any) -> Counts:
        return Counts(
            (event.key, event.cpu_memory_usage, event.self_cpu_memory_usage)
            for event in profiler.key_averages()
        )

    def flops(profiler: Any) -> dict[str, int]:
        return {event.key: event.flops for event in profiler.key_averages() if event.flops > 0}

    assert figures(ours) == figures(theirs)
    # torch counts seven operators; we count more, and those alike.
    assert flops(theirs)
    assert flops(theirs).items() <= flops(ours).items()


@pytest.mark.parametrize("model", MODELS)
def test_arguments_arrows_and_allocations_are_those_of_kinetos_file(
    model: str, tmp_path: pathlib.Path
) -> None:
    # Adam's factors change with each step.
    step = make_step(model, torch.optim.SGD)
    ours, theirs = both(step, record_shapes=True, profile_memory=True)
    traces = []
    for name, profiler in (("ours", ours), ("theirs", theirs)):
        path = tmp_path / f"{name}.pt.trace.json"
        profiler.export_chrome_trace(str(path))
        traces.append(json.loads(path.read_text())["traceEvents"])

    def operators(events: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
        chosen = [e for e in events if e.get("cat") in {"cpu_op", "user_annotation"}]
        chosen.sort(key=lambda e: (e["ts"], -e["dur"]))
        keys = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")
        return [(e["name"], *(e.get("args", {}).get(key) for key in keys)) for e in chosen]

    mine, kinetos = map(operators, traces)
    assert len(kinetos) > 50
    for one, other in zip(mine, kinetos, strict=True):
        assert one == other

    def arrows(events: list[dict[str, Any]]) -> int:
        return sum(e.get("cat") == "fwdbwd" and e["ph"] == "f" for e in events)

    assert arrows(traces[0]) == arrows(traces[1]) > 3

    def allocations(events: list[dict[str, Any]]) -> Counts:
        return Counts(e["args"]["Bytes"] for e in events if e["name"] == "[memory]")

    assert allocations(traces[0]) == allocations(traces[1])
    assert sum(allocations(traces[0]).values()) > 20


def test_times_agree_once_the_profilers_own_are_small() -> None:
    left, right = torch.randn(1, 200_000), torch.randn(200_000, 1)  # on one thread

    def run() -> None:
        for _ in range(5):
            torch.mm(left, right)

    run()
    times: dict[str, list[float]] = {}
    for _ in range(30):  # the machine is noisy: the best of many
        for module in (stepscope.torch, torch.profiler):
            with module.profile() as profiler:
                run()
            rows = {event.key: event.cpu_time_total for event in profiler.key_averages()}
            times.setdefault(module.__name__, []).append(rows["aten::mm"])
    ours, theirs = map(min, times.values())
    assert ours == pytest.approx(theirs, rel=0.1)


def test_compiled_model_has_the_same_operators() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    batch = torch.randn(4, 8)

    def run() -> None:
        compiled(batch).sum().backward()

    run()
    ours, theirs = both(run)
    assert counts_of(ours) == counts_of(theirs)


def run_rank(rank: int, port: int, folder: str) -> None:
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(16, 4))
    update = torch.optim.SGD(model.parameters(), lr=0.1)

    def step() -> None:
        model(torch.ones(8, 16)).sum().backward()
        update.step()
        update.zero_grad()

    for _ in range(3):
        step()
    ours, theirs = both(step)
    counts = [
        sorted([*key, calls] for key, calls in counts_of(profiler).items())
        for profiler in (ours, theirs)
    ]
    info = ours.trace.sql("select value from metadata where key = 'distributedInfo'")
    pathlib.Path(folder, f"{rank}.json").write_text(json.dumps([*counts, info["value"]]))
    torch.distributed.destroy_process_group()


def test_ranks_of_a_distributed_step_have_the_same_operators(tmp_path: pathlib.Path) -> None:
    with torch.multiprocessing.get_context("spawn").Pool(1):
        pass  # spawn works here
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    context = multiprocessing.get_context("spawn")
    ranks = [context.Process(target=run_rank, args=(rank, port, str(tmp_path))) for rank in (0, 1)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join(120)
        assert process.exitcode == 0
    for rank in (0, 1):
        ours, theirs, info = json.loads((tmp_path / f"{rank}.json").read_text())
        assert ours == theirs
        assert any("gloo:all_reduce" in name for name, *_ in ours)
        assert json.loads(info[0])["rank"] == rank


RECIPE = """
import torch
from stepscope.torch import (
    ProfilerActivity, profile, record_function, schedule, tensorboard_trace_handler)

model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 36, 10))
inputs = torch.randn(5, 3, 8, 8)

with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
    with record_function("model_inference"):
        model(inputs)
print(prof.key_averages().table(sort_by="cpu_time_total", row_limit=10))
print(prof.key_averages(group_by_input_shape=True).table(sort_by="cpu_time_total", row_limit=10))

with profile(activities=[ProfilerActivity.CPU], profile_memory=True, record_shapes=True) as prof:
    model(inputs)
print(prof.key_averages().table(sort_by="self_cpu_memory_usage", row_limit=10))

with profile(activities=[ProfilerActivity.CPU]) as prof:
    model(inputs)
prof.export_chrome_trace("trace.json")

with profile(activities=[ProfilerActivity.CPU], with_stack=True) as prof:
    model(inputs)
print(prof.key_averages(group_by_stack_n=5).table(sort_by="self_cpu_time_total", row_limit=2))
prof.export_stacks("stacks.txt", "self_cpu_time_total")

def trace_handler(p):
    output = p.key_averages().table(sort_by="self_cpu_time_total", row_limit=10)
    print(output)
    p.export_chrome_trace("trace_" + str(p.step_num) + ".json")

with profile(
    activities=[ProfilerActivity.CPU],
    schedule=schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=2),
    on_trace_ready=trace_handler,
) as p:
    for _ in range(12):
        model(inputs)
        p.step()

with profile(
    schedule=schedule(wait=1, warmup=1, active=2, repeat=1),
    on_trace_ready=tensorboard_trace_handler("log", worker_name="worker", use_gzip=True),
) as p:
    for _ in range(6):
        model(inputs)
        p.step()
"""


def test_recipe_of_pytorch_runs_with_only_the_import_changed(tmp_path: pathlib.Path) -> None:
    result = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", RECIPE],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    assert "model_inference" in result.stdout
    assert "CPU Mem" in result.stdout
    assert "Source Location" in result.stdout
    assert "[[5, 3, 8, 8]" in result.stdout
    steps = [json.loads((tmp_path / f"trace_{n}.json").read_text()) for n in (5, 9)]
    for trace, numbers in zip(steps, ((3, 4), (7, 8)), strict=True):
        names = {event["name"] for event in trace["traceEvents"]}
        assert {f"ProfilerStep#{number}" for number in numbers} <= names
    assert (tmp_path / "stacks.txt").read_text().count(";") > 3
    (log,) = (tmp_path / "log").iterdir()
    assert log.name.startswith("worker.")
    assert log.name.endswith(".pt.trace.json.gz")
    with gzip.open(log) as file:
        assert json.load(file)["traceEvents"]


def test_table_has_the_columns_and_the_layout_of_torchs() -> None:
    ours, theirs = both(make_step("mlp"), record_shapes=True, profile_memory=True)

    def layout(profiler: Any) -> list[str]:
        text = profiler.key_averages(group_by_input_shape=True).table(
            sort_by="count", row_limit=-1, time_unit="us"
        )
        return text.splitlines()

    mine, torchs = layout(ours), layout(theirs)
    assert mine[:3] == torchs[:3]  # rules and titles
    assert len(mine) == len(torchs)
    assert mine[-1].startswith("Self CPU time total:")


def test_events_are_objects_of_torch() -> None:
    ours, theirs = both(make_step("mlp"), record_shapes=True, profile_memory=True)

    def figures(profiler: Any) -> Counts:
        return Counts((e.name, str(e.input_shapes), e.cpu_memory_usage) for e in profiler.events())

    assert figures(ours) == figures(theirs)
    by_both = {"group_by_input_shape": True, "group_by_stack_n": 3}
    assert sum(e.count for e in ours.key_averages(**by_both)) == len(ours.events())


def test_backward_operators_have_the_stack_of_their_forward_operator() -> None:
    def model(batch: Any) -> Any:
        return torch.nn.functional.softplus(batch).sum()

    with stepscope.torch.profile(with_stack=True) as profiler:
        model(torch.randn(8, requires_grad=True)).backward()
    stacks = {e.key: e.stack for e in profiler.key_averages(group_by_stack_n=3)}
    assert any("model" in frame for frame in stacks["aten::softplus"])
    assert any("model" in frame for frame in stacks["aten::softplus_backward"])


def test_handler_without_its_folder_warns_and_writes(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.warns(UserWarning, match="lacks its folder"):
        profiler = stepscope.torch.profile(on_trace_ready=stepscope.torch.tensorboard_trace_handler)
    with profiler:
        torch.ones(3) + 1
    (file,) = (tmp_path / "outputs/profiler_results").iterdir()
    assert "aten::add" in file.read_text()


@pytest.mark.parametrize(
    ("steps", "calls_step", "advice"),
    [(2, True, "begins to record at step 5"), (9, False, r"call its step\(\)")],
)
def test_schedule_that_never_records_says_what_to_do(
    steps: int, calls_step: bool, advice: str
) -> None:
    schedule = stepscope.torch.schedule(wait=4, warmup=1, active=2)
    profiler = stepscope.torch.profile(schedule=schedule)
    profiler.start()
    for _ in range(steps):
        torch.ones(3) + 1
        if calls_step:
            profiler.step()
    with pytest.warns(UserWarning, match=advice):
        profiler.stop()
    with pytest.raises(RuntimeError, match="nothing was recorded yet"):
        profiler.key_averages()


def test_exception_in_the_loop_goes_through_and_what_was_done_is_there() -> None:
    profiler = stepscope.torch.profile()

    def run() -> None:
        with profiler:
            torch.ones(3) + 1
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run()
    assert counts_of(profiler)["aten::add", "", False] == 1
    with stepscope.torch.profile() as profiler:
        torch.ones(3) * 2
    assert counts_of(profiler)["aten::mul", "", False] == 1


def test_running_torch_profiler_keeps_its_memory_and_both_see_the_operators() -> None:
    with torch.profiler.profile(profile_memory=True) as theirs:
        with stepscope.torch.profile(profile_memory=True) as ours:
            torch.ones(3) + 1
        assert torch.autograd._profiler_enabled()
    assert ("aten::add", "", False) in counts_of(ours)
    assert ("aten::add", "", False) in counts_of(theirs)
    assert any(event.cpu_memory_usage for event in theirs.key_averages())


def test_memory_is_recorded_without_seeming_to_be_torch_profiler() -> None:
    with stepscope.torch.profile(profile_memory=True) as ours:
        assert not torch.autograd._profiler_enabled()
        kept = torch.ones(1000)
    assert any(event.self_cpu_memory_usage >= 4 * len(kept) for event in ours.key_averages())


def test_child_that_is_forked_meanwhile_has_its_own_file(tmp_path: pathlib.Path) -> None:
    script = textwrap.dedent("""
        import os, torch, stepscope.torch
        with stepscope.torch.profile(path="run", sampling=1.0) as prof:
            torch.ones(3) + 1
            if os.fork() == 0:
                torch.ones(3) * 2
                os._exit(0)
            os.wait()
            torch.ones(3) - 1
        names = {event.key for event in prof.key_averages()}
        assert "aten::sub" in names and "aten::mul" not in names, names
        assert "aten::mul" in set(prof.trace.operators(limit=0)["name"])
    """)
    result = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, timeout=120)
    assert result.returncode == 0
    assert len(list((tmp_path / "run").glob("*.sscope"))) == 2


def test_missing_collector_means_kineto_and_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_torch_collector, "_module", None)
    monkeypatch.setattr(_torch_collector, "find", lambda version: None)
    with pytest.warns(UserWarning, match="doctor --build-torch"):
        profiler = stepscope.torch.profile()
    with profiler:
        torch.ones(3) + 1
    assert counts_of(profiler)["aten::add", "", False] == 1


@pytest.mark.parametrize("model", MODELS)
def test_kineto_backend_gives_the_same_operators(model: str) -> None:
    step = make_step(model)
    profilers = []
    for backend in ("stepscope", "kineto"):
        with stepscope.torch.profile(backend=backend, record_shapes=True) as profiler:
            step()
        profilers.append(profiler)
    by_shape = {"group_by_input_shape": True}
    assert counts_of(profilers[0], **by_shape) == counts_of(profilers[1], **by_shape)


def test_metadata_is_in_the_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "trace.json.gz"
    profiler = stepscope.torch.profile(with_stack=True)
    profiler.preset_metadata_json("preset", '{"a": [1, 2]}')
    with profiler:
        torch.ones(3) + 1
        profiler.add_metadata("quoted", 'say "hello"')
    profiler.add_metadata_json("late", "3")
    profiler.export_chrome_trace(str(path))
    with gzip.open(path) as file:
        trace = json.load(file)
    assert trace["preset"] == {"a": [1, 2]}
    assert trace["quoted"] == 'say "hello"'
    assert trace["late"] == 3
    assert trace["with_stack"] == 1


def test_collection_can_be_switched_off_and_on() -> None:
    cpu = [stepscope.torch.ProfilerActivity.CPU]
    with stepscope.torch.profile() as profiler:
        torch.ones(3) + 1
        profiler.toggle_collection_dynamic(False, cpu)
        torch.ones(3) * 2
        profiler.toggle_collection_dynamic(True, cpu)
        torch.ones(3) - 1
    names = {event.key for event in profiler.key_averages()}
    assert {"aten::add", "aten::sub"} <= names
    assert "aten::mul" not in names


def test_sampled_calls_are_scaled_up_and_said_to_be() -> None:
    vector = torch.ones(16)
    calls = 200_000
    with stepscope.torch.profile(sampling=0.3) as profiler:
        for _ in range(calls):
            vector.add(1)
    averages = {event.key: event.count for event in profiler.key_averages()}
    assert 0.5 * calls < averages["aten::add"] < 2 * calls
    table = profiler.trace.operators()
    assert any("estimates of the whole" in note for note in table.notes)


def test_memory_every_so_many_operators_is_a_counter() -> None:
    with stepscope.torch.profile(profile_memory=True, sample_rate=5) as profiler:
        kept = [torch.ones(1000) for _ in range(50)]
    values = profiler.trace.sql("select value from counters where name like 'memory of tensors%'")
    assert len(kept) == 50
    assert 10 <= len(values) <= 50
    assert len(profiler.trace.sql("select * from allocations")) == 0


def test_profiler_inside_of_a_recording_warns_and_the_program_goes_on(
    tmp_path: pathlib.Path,
) -> None:
    profiler = stepscope.torch.profile()
    with stepscope.profile(tmp_path / "run"):
        with pytest.warns(UserWarning, match="recordings cannot be nested"):
            profiler.start()
        assert torch.ones(3).sum() == 3
        profiler.stop()
