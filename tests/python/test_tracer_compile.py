"""The tracer and torch.compile share the frame evaluation hook: neither loses anything."""

from pathlib import Path
from typing import Any

import pytest

import stepscope

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


def helper(x: Any) -> Any:
    return x * 2


def plain(n: int) -> int:
    return sum(item(i) for i in range(n))


def item(i: int) -> int:
    return i


def make_compiled() -> tuple[Any, list[int]]:
    torch._dynamo.reset()
    compiled: list[int] = []

    def backend(module: Any, inputs: Any) -> Any:
        compiled.append(1)
        return module.forward

    @torch.compile(backend=backend)
    def model(x: Any) -> Any:
        return helper(x) + 1

    return model, compiled


def calls(folder: Path) -> dict[str, int]:
    table = stepscope.load(folder).functions(limit=0).to_dict()
    return dict(zip(table["name"], table["calls"], strict=True))


def test_a_model_is_compiled_while_it_is_recorded(tmp_path: Path) -> None:
    model, compiled = make_compiled()
    with stepscope.profile(tmp_path):
        for _ in range(5):
            assert model(torch.ones(2)).tolist() == [3.0, 3.0]
            plain(10)
    assert compiled == [1]
    found = calls(tmp_path)
    assert found["plain"] == 5
    assert found["item"] == 50
    assert "helper" not in found, "it is part of the compiled code"


def test_a_model_that_was_compiled_before_stays_so(tmp_path: Path) -> None:
    model, compiled = make_compiled()
    model(torch.ones(2))
    for i in range(3):
        with stepscope.profile(tmp_path / str(i)):
            model(torch.ones(2))
            plain(10)
        model(torch.ones(2))
        assert calls(tmp_path / str(i))["item"] == 10
    assert compiled == [1]


def test_recording_may_begin_and_end_within_compiled_code(tmp_path: Path) -> None:
    torch._dynamo.reset()
    recording = stepscope.profile(tmp_path)

    @torch._dynamo.disable
    def begin() -> None:
        recording.start()

    @torch._dynamo.disable
    def end() -> None:
        plain(10)
        recording.stop()

    @torch.compile(backend="eager")
    def model(x: Any) -> Any:
        y = helper(x)
        begin()
        y = y + 1
        end()
        return y * 2

    assert model(torch.ones(2)).tolist() == [6.0, 6.0]
    assert calls(tmp_path)["item"] == 10
    for i in range(2):
        with stepscope.profile(tmp_path / str(i)):
            plain(10)
        assert calls(tmp_path / str(i))["item"] == 10
    assert model(torch.ones(2)).tolist() == [6.0, 6.0]


def test_torch_profiler_beside_it_is_told_of(tmp_path: Path) -> None:
    with stepscope.profile(tmp_path), torch.profiler.profile():
        plain(3)
    assert any("torch.profiler ran as well" in note for note in stepscope.load(tmp_path).notes)
