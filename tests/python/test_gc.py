"""Garbage collections in a recording, against what Python itself counts."""

import gc
from pathlib import Path

import stepscope


def collections_in(folder: Path) -> list[str]:
    trace = stepscope.load(folder)
    rows = trace.sql("SELECT name FROM slices WHERE category = 'gc' ORDER BY start_ns")
    return [name for (name,) in rows]


def test_each_collection_is_a_slice(tmp_path: Path) -> None:
    gc.disable()
    try:
        before = [generation["collections"] for generation in gc.get_stats()]
        with stepscope.profile(tmp_path / "run"):
            gc.collect()
            gc.collect(0)
            gc.collect(1)
        after = [generation["collections"] for generation in gc.get_stats()]
    finally:
        gc.enable()
    found = collections_in(tmp_path / "run")
    assert found == [f"garbage collection {generation}" for generation in (2, 0, 1)]
    counted = [b - a for a, b in zip(before, after, strict=True)]
    assert [found.count(f"garbage collection {i}") for i in range(3)] == counted


def test_the_list_of_callbacks_is_as_before(tmp_path: Path) -> None:
    before = list(gc.callbacks)
    with stepscope.profile(tmp_path / "run"):
        gc.collect()
    assert gc.callbacks == before


def test_a_program_that_empties_the_list_does_no_harm(tmp_path: Path) -> None:
    before = list(gc.callbacks)
    with stepscope.profile(tmp_path / "run"):
        gc.callbacks.clear()
        gc.collect()
    gc.callbacks[:] = before
    assert collections_in(tmp_path / "run") == []
