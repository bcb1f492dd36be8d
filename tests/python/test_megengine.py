"""stepscope.megengine: MegEngine's Profiler on a training step of PyTorch."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap
import warnings
import xml.etree.ElementTree as ElementTree
from collections import Counter
from typing import Any

import pytest

torch = pytest.importorskip("torch")

PROGRAM = """
import sys
import torch
from torch import nn
from stepscope.megengine import Profiler, profile

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1)
        self.fc = nn.Linear(8 * 16 * 16, 10)

    def forward(self, x):
        return self.fc(torch.relu(self.conv1(x)).flatten(1))

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

def train():
    loss = nn.functional.cross_entropy(net(torch.randn(4, 3, 16, 16)), torch.zeros(4).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def run(tmp_path: pathlib.Path, body: str, code: int = 0) -> tuple[int, str]:
    """The program's pid and what it said."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM + textwrap.dedent(body)],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    said = process.communicate(timeout=120)[1]
    assert process.returncode == code, said
    return process.pid, said


def timeline(path: pathlib.Path) -> list[dict[str, Any]]:
    loaded = json.loads(path.read_text())
    assert loaded["metadata"]["localTime"].isdigit()
    events: list[dict[str, Any]] = loaded["traceEvents"]
    return events


def names(events: list[dict[str, Any]], phase: str, tid: int | None = None) -> Counter[str]:
    return Counter(
        event["name"]
        for event in events
        if event["ph"] == phase and (tid is None or event["tid"] == tid)
    )


def test_every_call_of_a_decorated_step_is_in_the_timeline(tmp_path: pathlib.Path) -> None:
    pid, said = run(
        tmp_path,
        """
        step = profile()(train)
        for _ in range(3):
            step()
        """,
    )
    assert said == ""
    assert os.listdir(tmp_path) == ["profile"]
    assert os.listdir(tmp_path / "profile") == [f"{pid}.chrome_timeline.json"]
    events = timeline(tmp_path / "profile" / f"{pid}.chrome_timeline.json")
    threads = {
        event["args"]["name"]: event["tid"]
        for event in events
        if event["ph"] == "M" and event["name"] == "thread_name"
    }
    assert {"interpreter", "worker", "cpu0:0"} <= set(threads)
    blocks = names(events, "X", threads["interpreter"])
    for block in ("conv1", "fc", "backward", "step", "clear_grad"):
        assert blocks[block] == 3, block
    operators = names(events, "X", threads["worker"])
    assert operators["aten::conv2d"] == operators["aten::addmm"] == 3
    kernels = names(events, "X", threads["cpu0:0"])
    assert kernels
    assert set(kernels) <= set(operators)
    for end in "sf":
        assert names(events, end)["KernelLaunch"] == kernels.total()
    counters = names(events, "C")
    assert {"gpu_usage_ratio", "train_time_ratio", "nr_op_pending"} <= set(counters)


def test_all_formats_at_once(tmp_path: pathlib.Path) -> None:
    formats = ["chrome_timeline.json", "memory_flow.svg", "speedscope", "flamegraph.svg", "sscope"]
    pid, said = run(
        tmp_path,
        f"""
        with profile("out", formats={formats}, sample_rate=1) as profiler:
            train()
            profiler.step()
        """,
    )
    assert said == ""
    expected = ["chrome_timeline.json", "memory_flow.svg", "speedscope.json", "flamegraph.svg"]
    assert set(os.listdir(tmp_path / "out")) == {f"{pid}.{name}" for name in [*expected, "sscope"]}
    picture = ElementTree.parse(tmp_path / "out" / f"{pid}.memory_flow.svg").getroot()
    titles = [title.text or "" for title in picture.iter("{http://www.w3.org/2000/svg}title")]
    assert any("aten::" in title and " at " in title for title in titles)
    events = timeline(tmp_path / "out" / f"{pid}.chrome_timeline.json")
    ratios = [e["args"]["value"] for e in events if e["name"] == "train_time_ratio"]
    assert all(0 < ratio <= 100 for ratio in ratios)


def test_memory_has_the_more_points_the_smaller_the_sample_rate(tmp_path: pathlib.Path) -> None:
    points = {}
    for rate in (0, 10, 1):
        pid, _ = run(
            tmp_path,
            f"""
            with Profiler("rate{rate}", sample_rate={rate}):
                for _ in range(10):
                    train()
            """,
        )
        events = timeline(tmp_path / f"rate{rate}" / f"{pid}.chrome_timeline.json")
        points[rate] = names(events, "C")["cpu0:0_alloc_mem"]
    assert points[0] <= 4
    assert 5 * points[10] < points[1] < 20 * points[10]


def test_without_the_device_there_is_nothing_of_it(tmp_path: pathlib.Path) -> None:
    pid, _ = run(
        tmp_path,
        """
        with Profiler(profile_device=False):
            train()
        """,
    )
    events = timeline(tmp_path / "profile" / f"{pid}.chrome_timeline.json")
    assert not any(event.get("cat") == "Kernel" for event in events)
    assert "gpu_usage_ratio" not in names(events, "C")


def test_files_are_written_when_the_program_fails(tmp_path: pathlib.Path) -> None:
    pid, said = run(
        tmp_path,
        """
        @profile()
        def fails():
            train()
            raise RuntimeError("on purpose")
        fails()
        """,
        code=1,
    )
    assert "RuntimeError: on purpose" in said
    assert names(timeline(tmp_path / "profile" / f"{pid}.chrome_timeline.json"), "X")["backward"]


def test_what_was_profiled_is_there_when_the_program_is_killed(
    tmp_path: pathlib.Path, stepscope: Any
) -> None:
    pid, _ = run(
        tmp_path,
        """
        import os, signal
        profiler = Profiler()
        profiler.start()
        train()
        os.kill(os.getpid(), signal.SIGKILL)
        """,
        code=-9,
    )
    made = tmp_path / "after.chrome_timeline.json"
    stepscope("convert", tmp_path / "profile" / f"{pid}.recording", made, check=True)
    assert names(timeline(made), "X")["backward"] == 1


def test_dump_writes_at_once_and_the_profiler_goes_on(tmp_path: pathlib.Path) -> None:
    pid, _ = run(
        tmp_path,
        """
        import os
        profiler = Profiler(format="chrome_timeline.json")
        profiler.start()
        train()
        profiler.dump()
        assert os.listdir("profile") == [f"{os.getpid()}.chrome_timeline.json"]
        """,
    )
    assert timeline(tmp_path / "profile" / f"{pid}.chrome_timeline.json")


def make_net() -> Any:
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(8 * 16 * 16, 10),
    )


@pytest.mark.parametrize("way", ["module", "jit", "fx"])
def test_a_static_profile_has_the_flops_that_one_counts_by_hand(way: str) -> None:
    from stepscope.megengine import trace

    batch = torch.randn(4, 3, 16, 16)
    net: Any = make_net()
    if way == "jit":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            net = torch.jit.trace(net, batch)
    elif way == "fx":
        net = torch.fx.symbolic_trace(net)
    step = trace(net, profiling=True)
    for _ in range(2):
        expected = step(batch)
    assert expected.shape == (4, 10)
    profile = step.get_profile()
    operators = profile["graph_exec"]["operator"]
    footprints = profile["profiler"]["opr_footprint"]
    flops = {operators[i]["type"]: footprints[i]["computation"] for i in operators}
    name = "aten::_convolution" if way == "jit" else "aten::conv2d"
    assert flops[name] == 2 * (4 * 8 * 16 * 16) * 3 * 3 * 3
    assert flops["aten::addmm"] == 2 * 4 * (8 * 16 * 16) * 10
    convolution = next(i for i in operators if operators[i]["type"] == name)
    assert footprints[convolution]["in_shapes"] == [[4, 3, 16, 16], [8, 3, 3, 3], [8]]
    assert footprints[convolution]["out_shapes"] == [[4, 8, 16, 16]]
    inputs = [profile["graph_exec"]["var"][i] for i in operators[convolution]["input"]]
    assert {var["mem_plan"]["layout"]["dtype"] for var in inputs} == {"Float32"}
    for times in profile["profiler"]["device"][convolution].values():
        assert times["start"] <= times["kern"] <= times["end"]


def test_a_static_profile_is_analyzed_like_megengines_own(
    tmp_path: pathlib.Path, stepscope: Any
) -> None:
    from stepscope.megengine import trace

    @trace(symbolic=True, profiling=True)  # type: ignore[misc]
    def forward(batch: Any) -> Any:
        return net(batch)

    net = make_net()
    forward(torch.randn(4, 3, 16, 16))
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(forward.get_profile()))
    printed = stepscope(
        "analyze", path, "--type", "aten::conv2d", "--input-dtype", "Float32", check=True
    ).stdout
    assert "442.37" in printed
    assert "{4,8,16,16}" in printed


def test_what_was_not_profiled_has_no_profile() -> None:
    from stepscope.megengine import trace

    plain = trace(lambda: 7)
    assert plain() == 7
    with pytest.raises(RuntimeError, match="profiling=True"):
        plain.get_profile()


def test_bad_arguments_are_named() -> None:
    from stepscope.megengine import Profiler

    with pytest.raises(ValueError, match="unknown format 'colours'; there are: sscope"):
        Profiler(format="colours")
    with pytest.raises(ValueError, match="one format"):
        Profiler(format="sscope", formats=["sscope"])
    with pytest.raises(ValueError, match="sample_rate"):
        Profiler(sample_rate=-1)
