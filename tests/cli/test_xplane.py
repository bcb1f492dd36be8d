"""Profiles of TensorFlow and JAX on the command line: files, folders of hosts, logs."""

import gzip
import json
import pathlib
import shutil
import subprocess
from collections.abc import Callable

import pytest

DATA = pathlib.Path(__file__).resolve().parents[1] / "data" / "xplane"
JAX = DATA / "jax_sample.xplane.pb.gz"
GUIDE = DATA / "guide_longname_noopt.xplane.pb.gz"
JAX_EVENTS = 277
GUIDE_EVENTS = 332

Stepscope = Callable[..., subprocess.CompletedProcess[str]]


def read_stats(stepscope: Stepscope, path: pathlib.Path | str) -> dict[str, int]:
    result = stepscope("query", path, "SELECT name, value FROM stats", "--format", "json")
    assert result.returncode == 0, result.stderr
    return dict(json.loads(result.stdout)["rows"])


@pytest.fixture
def log_folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """Two runs of TensorBoard's profiler plugin, the older one in train/, and other files."""
    new = tmp_path / "plugins" / "profile" / "2026_02_01_00_00_00"
    old = tmp_path / "train" / "plugins" / "profile" / "2026_01_01_00_00_00"
    for run, profile in [(new, JAX), (old, GUIDE)]:
        run.mkdir(parents=True)
        (run / "vm.xplane.pb").write_bytes(gzip.decompress(profile.read_bytes()))
    (new / "vm.trace.json.gz").write_bytes(gzip.compress(b'{"traceEvents": []}'))
    (tmp_path / "events.out.tfevents.1.vm").write_bytes(b"x")
    return tmp_path


def test_a_profile_is_the_same_plain_and_compressed(
    stepscope: Stepscope, tmp_path: pathlib.Path
) -> None:
    plain = tmp_path / "any name"
    plain.write_bytes(gzip.decompress(JAX.read_bytes()))
    tables = [
        stepscope("query", path, "SELECT name, start_ns, dur_ns FROM slices", check=True).stdout
        for path in (JAX, plain)
    ]
    assert tables[0] == tables[1]
    with plain.open("rb") as file:
        result = stepscope("report", "-", "--view", "tracks", stdin=file)
    assert result.returncode == 0, result.stderr


def test_a_log_folder_stands_for_its_newest_run(
    stepscope: Stepscope, log_folder: pathlib.Path
) -> None:
    assert read_stats(stepscope, log_folder)["events_read"] == JAX_EVENTS
    result = stepscope("report", log_folder)
    assert result.returncode == 0, result.stderr
    assert "is the newest of 2 profiles" in result.stdout + result.stderr
    old = log_folder / "train" / "plugins" / "profile" / "2026_01_01_00_00_00"
    assert str(old) in result.stdout + result.stderr
    assert read_stats(stepscope, old)["events_read"] == GUIDE_EVENTS
    assert read_stats(stepscope, log_folder / "train")["events_read"] == GUIDE_EVENTS


def test_hosts_of_a_folder_are_one_trace(stepscope: Stepscope, tmp_path: pathlib.Path) -> None:
    shutil.copy(JAX, tmp_path / "alpha.xplane.pb.gz")
    shutil.copy(GUIDE, tmp_path / "beta.xplane.pb.gz")
    assert read_stats(stepscope, tmp_path)["events_read"] == JAX_EVENTS + GUIDE_EVENTS
    sql = "SELECT DISTINCT process FROM tracks"
    result = stepscope("query", tmp_path, sql, "--format", "json", check=True)
    assert json.loads(result.stdout)["rows"] == [["alpha /host:CPU"], ["beta /host:CPU"]]


def test_a_cut_profile_says_so_and_keeps_the_rest(
    stepscope: Stepscope, tmp_path: pathlib.Path
) -> None:
    cut = tmp_path / "cut.xplane.pb"
    whole = gzip.decompress(GUIDE.read_bytes())
    cut.write_bytes(whole[: len(whole) // 2])
    stats = read_stats(stepscope, cut)
    assert 0 < stats["events_read"] < GUIDE_EVENTS
    assert stats["bytes_truncated"] > 0


@pytest.mark.parametrize("content", [b"", b"hello", b"\x0a\x05junk", b"\x00" * 100])
def test_what_is_no_profile_is_one_line(
    stepscope: Stepscope, tmp_path: pathlib.Path, content: bytes
) -> None:
    (tmp_path / "bad.xplane.pb").write_bytes(content)
    for path in (tmp_path, tmp_path / "bad.xplane.pb"):
        result = stepscope("report", path)
        assert result.returncode == 1
        assert result.stderr.startswith(f"stepscope: {tmp_path}")
        assert result.stderr.count("\n") == 1


def test_every_view_can_be_made(stepscope: Stepscope) -> None:
    for profile in (JAX, GUIDE):
        result = stepscope("report", profile, "--all")
        assert result.returncode == 0, result.stderr
