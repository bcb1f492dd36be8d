"""Calls of modules are named by their path in the model, on every Python: a Module of our own here,
torch's in test_torch_marks.py."""

import contextlib
import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from recorded_marks import MODES, module_paths, paths, recording

import stepscope
from stepscope import _core


class Module:
    """As torch.nn.Module, as far as the tracer goes."""

    def __init__(self, **modules: Any) -> None:
        self._modules: Any = modules

    def __call__(self, *args: Any) -> Any:
        return self._call_impl(*args)

    def _call_impl(self, *args: Any) -> Any:
        def inner() -> Any:  # so that self lies in a cell
            return self.forward(*args)

        return inner()

    def forward(self, *args: Any) -> Any:
        for module in self._modules.values():
            module(*args)


class Linear(Module):
    pass


class Net(Module):
    pass


_core.mark_module_calls(Module._call_impl.__code__)


def record_names(folder: Path, *models: Module, mode: str = "all calls") -> list[str]:
    with recording(folder, mode):
        for model in models:
            model()
    return module_paths(folder)


@pytest.mark.parametrize("mode", MODES)
def test_modules_have_their_paths_and_nest_as_they_call(mode: str, tmp_path: Path) -> None:
    block = Module(**{"0": Linear(), "1": Linear()})
    net = Net(encoder=block, head=Linear())
    expected = [
        "Net",
        "Net/encoder (Module)",
        "Net/encoder (Module)/encoder.0 (Linear)",
        "Net/encoder (Module)/encoder.1 (Linear)",
        "Net/head (Linear)",
    ]
    assert record_names(tmp_path, net, net, mode=mode) == expected * 2


def test_the_function_is_inside_its_modules_slice(tmp_path: Path) -> None:
    net = Net()
    with recording(tmp_path):
        net()
    assert paths(tmp_path) == ["/nn.Module: Net"]
    table = stepscope.load(tmp_path).sql(
        "SELECT inner.name FROM slices AS inner JOIN slices AS outer ON inner.parent_id = outer.id"
        " WHERE outer.category = 'nn_module'"
    )
    assert [name.rpartition("): ")[2] for (name,) in table] == ["Module._call_impl"]
    functions = stepscope.load(tmp_path).functions(limit=0).to_dict()["name"]
    assert "Module._call_impl" in functions
    assert not any("nn.Module" in name for name in functions)


def test_a_shared_module_has_its_first_path(tmp_path: Path) -> None:
    shared = Linear()
    net = Net(a=Module(x=shared), b=Module(y=shared))
    assert record_names(tmp_path, net)[2::2] == [
        "Net/a (Module)/a.x (Linear)",
        "Net/b (Module)/a.x (Linear)",
    ]


def test_a_module_of_two_models_keeps_the_name_of_the_first(tmp_path: Path) -> None:
    shared = Linear()
    found = record_names(tmp_path, Net(first=shared), Net(second=shared), shared)
    assert found == ["Net", "Net/first (Linear)"] * 2 + ["first (Linear)"]


def test_a_model_that_is_part_of_another_gets_that_ones_names(tmp_path: Path) -> None:
    part = Module(layer=Linear())
    whole = Net(part=part)
    assert record_names(tmp_path, part, whole, part) == [
        "Module",
        "Module/layer (Linear)",
        "Net",
        "Net/part (Module)",
        "Net/part (Module)/part.layer (Linear)",
        "part (Module)",
        "part (Module)/part.layer (Linear)",
    ]


def test_a_module_that_comes_later_is_named(tmp_path: Path) -> None:
    net = Net(a=Linear())
    with recording(tmp_path):
        net()
        net._modules["b"] = Module(c=Linear())
        net()
    assert module_paths(tmp_path)[2:] == [
        "Net",
        "Net/a (Linear)",
        "Net/b (Module)",
        "Net/b (Module)/b.c (Linear)",
    ]


def test_a_module_that_belongs_to_no_model_has_its_classs_name(tmp_path: Path) -> None:
    class Loose(Net):
        def forward(self, *args: Any) -> Any:
            for _ in range(50):
                Linear()()

    assert record_names(tmp_path, Loose()) == ["Loose", *["Loose/Linear"] * 50]


@pytest.mark.parametrize("mode", MODES)
def test_a_module_at_the_place_of_a_dead_one_has_its_own_name(mode: str, tmp_path: Path) -> None:
    seen = set()
    reused = 0
    with recording(tmp_path, mode):
        for i in range(100):
            net = Net(**{f"layer{i}": Linear()}) if i % 2 else Module(other=Net())
            if i % 10 == 0:
                net._modules["cycle"] = net
                net.forward = lambda: None  # type: ignore[method-assign]
            reused += id(net) in seen
            seen.add(id(net))
            net()
            del net
            if i % 25 == 0:
                gc.collect()
    expected = []
    for i in range(100):
        if i % 2:
            expected += ["Net", f"Net/layer{i} (Linear)"]
        else:
            expected += ["Module"] if i % 10 == 0 else ["Module", "Module/other (Net)"]
    assert reused > 10
    assert module_paths(tmp_path) == expected


def test_odd_models_do_no_harm(tmp_path: Path) -> None:
    class Slots(Module):
        def forward(self, *args: Any) -> Any:
            return 7

    no_dict, none_inside, odd_names, a_list = Slots(), Slots(), Slots(), Slots()
    del no_dict._modules
    none_inside._modules = {"gone": None, "\ud800": Linear()}
    odd_names._modules = {1: Linear(), None: object()}
    a_list._modules = [Linear()]
    with recording(tmp_path):
        for module in (no_dict, none_inside, odd_names, a_list):
            assert module() == 7
        assert Module._call_impl(Slots()) == 7
        with contextlib.suppress(TypeError):
            Module._call_impl()  # type: ignore[call-arg]
    assert module_paths(tmp_path) == ["Slots"] * 5


def test_a_module_that_is_handed_over_marks_no_other(tmp_path: Path) -> None:
    def take(function: Any) -> None:
        function()

    _core.mark_argument(take.__code__, 0, "collate", "phase")
    with recording(tmp_path):
        take(Net())
        Linear()()
    assert paths(tmp_path) == ["/nn.Module: Net", "/nn.Module: Linear"]


def test_an_exception_on_its_way_stays(tmp_path: Path) -> None:
    class Failing(Net):
        def forward(self, *args: Any) -> Any:
            raise ValueError("own")

    class Catching(Net):
        def forward(self, *args: Any) -> Any:
            try:
                Failing()()
            except ValueError as error:
                Linear()()
                seen.append(sys.exc_info()[1] is error)
                raise

    seen: list[bool] = []
    with recording(tmp_path), pytest.raises(ValueError, match="own"):
        Catching()()
    assert seen == [True]
    assert module_paths(tmp_path) == ["Catching", "Catching/Failing", "Catching/Linear"]


def test_a_recording_that_begins_within_a_model_has_its_modules(tmp_path: Path) -> None:
    stack = contextlib.ExitStack()

    class Starting(Linear):
        def forward(self, *args: Any) -> Any:
            stack.enter_context(recording(tmp_path))
            self._modules["late"]()

    Net(a=Starting(late=Linear()), b=Linear())()
    stack.close()
    assert module_paths(tmp_path) == [
        "Net",
        "Net/a (Starting)",
        "Net/a (Starting)/a.late (Linear)",
        "Net/b (Linear)",
    ]


def test_a_forked_child_knows_the_modules(tmp_path: Path) -> None:
    net = Net(a=Linear())
    children: list[int] = []

    class Forking(Net):
        def forward(self, *args: Any) -> Any:
            children.append(os.fork())
            net()

    with recording(tmp_path):
        net()
        Forking()()
        if children == [0]:
            os._exit(0)
    os.waitpid(children[0], 0)
    found = module_paths(tmp_path)
    both = ["Forking", "Forking/Net", "Forking/Net/a (Linear)"]
    assert sorted(found) == sorted(["Net", "Net/a (Linear)", *both, *both])


def test_modules_die_as_they_would(tmp_path: Path) -> None:
    class Watched(Net):
        died = 0

        def __del__(self) -> None:
            Watched.died += 1

    def train() -> Iterator[int]:
        net = Watched(a=Watched())
        net()
        yield Watched.died
        del net
        yield Watched.died

    with recording(tmp_path):
        assert list(train()) == [0, 2]
