"""`convert --to megengine.json`: a static profile of MegEngine comes out as it went in."""

import gzip
import json
import pathlib
import subprocess
from collections.abc import Callable

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]

DATA = pathlib.Path(__file__).parents[1] / "data" / "megengine"


@pytest.mark.parametrize("name", ["static_train", "static_infer"])
def test_times_and_footprints_are_those_of_the_original(
    stepscope: Run, tmp_path: pathlib.Path, name: str
) -> None:
    path = DATA / f"{name}.json.gz"
    made_path = tmp_path / f"{name}.megengine.json"
    stepscope("convert", path, made_path, check=True)
    made = json.loads(made_path.read_text())
    with gzip.open(path) as file:
        original = json.load(file)
    for place in ("device", "host"):
        assert made["profiler"][place] == original["profiler"][place]
    for number, footprint in original["profiler"]["opr_footprint"].items():
        expected = {key: value for key, value in footprint.items() if key != "computation"}
        found = dict(made["profiler"]["opr_footprint"][number])
        assert (found.pop("computation") or 0) == (footprint["computation"] or 0)
        assert found == expected
    for number in made["graph_exec"]["operator"]:
        for key in ("name", "type", "id"):
            assert (
                made["graph_exec"]["operator"][number][key]
                == original["graph_exec"]["operator"][number][key]
            )


def test_the_analysis_of_what_came_out_is_the_same(stepscope: Run, tmp_path: pathlib.Path) -> None:
    path = DATA / "static_train.json.gz"
    made = tmp_path / "made.megengine.json"
    stepscope("convert", path, made, check=True)
    options = ("-t", 0, "--show-host")
    expected = stepscope("analyze", path, *options, check=True).stdout
    assert stepscope("analyze", made, *options, check=True).stdout == expected
