"""Whatever the input is: one clear line and exit 1, or the trace with its faults counted."""

import gzip
import json
import marshal
import os
import pathlib
import random
import shutil
import subprocess
from collections.abc import Callable

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]
WriteTrace = Callable[..., pathlib.Path]


def expect_one_line(result: subprocess.CompletedProcess[str], *words: object) -> None:
    assert result.returncode == 1, (result.returncode, result.stdout, result.stderr)
    assert result.stdout == ""
    assert result.stderr.startswith("stepscope: ")
    assert result.stderr.count("\n") == 1, result.stderr
    for word in words:
        assert str(word) in result.stderr


def load_stats(stepscope: Run, path: pathlib.Path) -> dict[str, object]:
    result = stepscope("report", path, "--view", "tracks", "--format", "json", check=True)
    stats: dict[str, object] = json.loads(result.stdout)["stats"]
    return stats


def test_missing_file_is_named(stepscope: Run, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "no.json"
    expect_one_line(stepscope("report", path), f"{path}: no such file")
    expect_one_line(stepscope("ranks", path), f"{path}: no such file")


def test_empty_file_is_said_to_be_empty(stepscope: Run, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "empty.json"
    path.touch()
    expect_one_line(stepscope("report", path), f"{path}: the file is empty")


@pytest.mark.parametrize("content", [b" \n\t \n", b"\xef\xbb\xbf", b"\0"])
def test_file_with_nothing_to_read_is_refused(
    stepscope: Run, tmp_path: pathlib.Path, content: bytes
) -> None:
    path = tmp_path / "blank.json"
    path.write_bytes(content)
    expect_one_line(stepscope("report", path), path)


def test_folder_without_traces_is_said_to_have_none(stepscope: Run, tmp_path: pathlib.Path) -> None:
    (tmp_path / "notes.txt").write_text("no trace")
    expect_one_line(stepscope("report", tmp_path), f"{tmp_path}: no trace files in this folder")


def test_binary_junk_is_refused(stepscope: Run, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "junk.json"
    path.write_bytes(b"\x7fELF" + random.Random(1).randbytes(100_000))
    expect_one_line(stepscope("report", path), path, "not a trace")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("magic", [b"\x1f\x8b\x08\0", b"\x28\xb5\x2f\xfd", b"{", b"[", b"SSCOPE"])
def test_junk_after_a_promising_start_never_crashes(
    stepscope: Run, tmp_path: pathlib.Path, magic: bytes, seed: int
) -> None:
    path = tmp_path / "junk"
    path.write_bytes(magic + random.Random(seed).randbytes(5_000))
    result = stepscope("report", path)
    assert result.returncode in (0, 1)
    assert result.stderr.count("\n") <= 1


def test_file_without_read_permission_is_named(
    stepscope_bin: pathlib.Path, write_trace: WriteTrace
) -> None:
    path = write_trace()
    path.chmod(0)
    command = [str(stepscope_bin), "report", str(path)]
    if os.geteuid() == 0:
        # Root may read everything: ask as another user.
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            pytest.skip("run by root, and there is no setpriv to become another user")
        for folder in path.parents:
            if folder.owner() == "root" and folder != pathlib.Path("/") and folder.name != "tmp":
                folder.chmod(folder.stat().st_mode | 0o055)
        command = [setpriv, "--reuid", "65534", "--regid", "65534", "--clear-groups", *command]
        probe = subprocess.run([*command[:-2], "--version"], capture_output=True, text=True)
        if probe.returncode != 0:
            pytest.skip("another user can not run the command from this checkout")
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    expect_one_line(result, f"{path}: no permission to read it")


def test_json_that_is_no_trace_is_refused(stepscope: Run, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "package.json"
    path.write_text('{"name": "x", "version": [1, 2, 3]}')
    expect_one_line(stepscope("report", path), path, "traceEvents")


def test_control_character_in_a_name_is_counted_and_the_rest_is_loaded(
    stepscope: Run, write_trace: WriteTrace
) -> None:
    path = write_trace()
    text = path.read_bytes().replace(b"aten::addmm", b"aten::\x01addmm", 1)
    path.write_bytes(text)
    result = stepscope("report", path, "--view", "operators", "--format", "json", check=True)
    table = json.loads(result.stdout)
    calls = {row[0]: row[1] for row in table["rows"]}
    assert calls["aten::linear"] == 3
    assert calls["aten::addmm"] == 2
    stats = table["stats"]
    assert stats.get("events_mended", 0) + stats.get("events_skipped", 0) >= 1
    said = stepscope("report", path, check=True).stdout
    assert "mended" in said or "skipped" in said or "replaced" in said


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_deep_nesting_is_survived(stepscope: Run, tmp_path: pathlib.Path, opening: str) -> None:
    closing = {"[": "]", '{"a":': "}"}[opening]
    deep = opening * 10_000 + "1" + closing * 10_000
    good = '{"ph":"X","name":"good","pid":1,"tid":1,"ts":1,"dur":1}'
    path = tmp_path / "deep.json"

    path.write_text(deep)
    result = stepscope("report", path)
    assert result.returncode in (0, 1)
    assert result.stderr.count("\n") <= 1

    event = '{"ph":"X","name":"deep","pid":1,"tid":1,"ts":2,"dur":1,"args":{"x":' + deep + "}}"
    path.write_text(f'{{"traceEvents":[{good},{event},{good}]}}')
    table = json.loads(
        stepscope("query", path, "SELECT name, count(*) FROM slices GROUP BY name", "-f", "json",
                  check=True).stdout
    )  # fmt: skip
    assert ["good", 2] in table["rows"]


def test_cut_gzip_gives_what_is_before_the_cut_and_says_so(
    stepscope: Run, write_trace: WriteTrace
) -> None:
    events = [
        {"ph": "X", "name": f"op {i * 7919 % 1000}", "pid": 1, "tid": 1, "ts": i, "dur": 1}
        for i in range(20_000)
    ]
    path = write_trace("cut.json.gz", events)
    whole = path.read_bytes()
    counts = []
    for share in (0.3, 0.6, 0.999):
        path.write_bytes(whole[: int(len(whole) * share)])
        result = stepscope("query", path, "SELECT count(*) FROM slices", "-f", "json", check=True)
        table = json.loads(result.stdout)
        assert table["stats"]["bytes_truncated"] > 0
        counts.append(table["rows"][0][0])
    assert 0 < counts[0] < counts[1] < counts[2] <= 20_000
    said = stepscope("report", path, check=True).stdout
    assert "cut" in said or "early" in said or "truncated" in said


@pytest.mark.parametrize("keep", [1, 2, 3, 9, 10, 11, 18])
def test_gzip_cut_in_its_header_is_refused(
    stepscope: Run, write_trace: WriteTrace, keep: int
) -> None:
    path = write_trace("cut.json.gz")
    path.write_bytes(path.read_bytes()[:keep])
    expect_one_line(stepscope("report", path), path)


def test_damaged_gzip_is_said_to_be_damaged(stepscope: Run, write_trace: WriteTrace) -> None:
    path = write_trace("bad.json.gz", [{"ph": "X", "name": str(i), "pid": 1, "tid": 1, "ts": i,
                                        "dur": 1} for i in range(5_000)])  # fmt: skip
    data = bytearray(path.read_bytes())
    data[-6] ^= 0xFF  # the checksum
    path.write_bytes(data)
    result = stepscope("report", path)
    assert result.returncode == 0
    assert "damaged" in result.stdout


def make_prof() -> bytes:
    functions = [(f"/home/user/module_{i % 7}.py", i, f"function_{i}") for i in range(60)]
    return marshal.dumps(
        {key: (1, i, 0.5, 1.5, dict.fromkeys(functions[:i % 5], (1, 1, 0.25, 0.5)))
         for i, key in enumerate(functions)}
    )  # fmt: skip


@pytest.mark.parametrize("cut", [1, 2, 100, 3000])
def test_prof_without_its_end_is_refused(stepscope: Run, tmp_path: pathlib.Path, cut: int) -> None:
    path = tmp_path / "cut.prof"
    path.write_bytes(make_prof()[:-cut])
    expect_one_line(stepscope("report", path), path, "byte ")


def test_prof_of_something_else_is_refused(stepscope: Run, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "other.prof"
    for content in ({("a", 1, "f"): (1, 1)}, {("a", 1, "f"): None}, {("a", "b", "f"): (1,) * 5}):
        path.write_bytes(marshal.dumps(content))
        expect_one_line(stepscope("report", path), path, "byte ", "expected")


def test_damaged_prof_never_crashes(stepscope: Run, tmp_path: pathlib.Path) -> None:
    rng = random.Random(5)
    path = tmp_path / "damaged.prof"
    for _ in range(40):
        data = bytearray(make_prof())
        for _ in range(rng.choice([1, 3, 30])):
            data[rng.randrange(8, len(data))] = rng.randrange(256)
        path.write_bytes(data)
        result = stepscope("report", path, "--view", "callers")
        if result.returncode != 0:
            expect_one_line(result, path)


@pytest.mark.parametrize("cut", [20, 200, 700, 1500])
def test_json_without_its_end_is_loaded_up_to_there(
    stepscope: Run, write_trace: WriteTrace, cut: int
) -> None:
    path = write_trace()
    path.write_bytes(path.read_bytes()[:-cut])
    assert load_stats(stepscope, path)["bytes_truncated"] > 0  # type: ignore[operator]


def test_bare_list_without_its_end_is_a_whole_trace(stepscope: Run, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "bare.json"
    path.write_text('[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1},\n')
    stats = load_stats(stepscope, path)
    assert "events_skipped" not in stats


@pytest.mark.parametrize(
    "value",
    ["1e400", "-1e400", "99999999999999999999", '"x"', "null", "[]", "-5", "1e18", "0.0000001"],
)
def test_absurd_times_are_survived(stepscope: Run, tmp_path: pathlib.Path, value: str) -> None:
    good = '{"ph":"X","name":"good","pid":1,"tid":1,"ts":1,"dur":1}'
    path = tmp_path / "times.json"
    for field in ("ts", "dur"):
        event = {"ts": "1", "dur": "1"} | {field: value}
        path.write_text(
            f'[{good},{{"ph":"X","name":"odd","pid":1,"tid":1,"ts":{event["ts"]},'
            f'"dur":{event["dur"]}}},{good}]'
        )
        result = stepscope("report", path, "--all", "--format", "json")
        assert result.returncode == 0, result.stderr
        json.loads(result.stdout)


def test_several_inputs_go_on_after_a_bad_one(stepscope: Run, write_trace: WriteTrace) -> None:
    good = write_trace("good.json")
    bad = good.with_name("no.json")
    result = stepscope("report", bad, good)
    assert result.returncode == 1
    assert result.stderr == f"stepscope: {bad}: no such file\n"
    assert str(good) in result.stdout


def test_line_stays_one_line_whatever_the_name(stepscope: Run, tmp_path: pathlib.Path) -> None:
    expect_one_line(stepscope("report", tmp_path / "two\nlines\x1b[31m.json"), "no such file")


def test_gzip_of_nothing_is_said_to_be_empty(stepscope: Run, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "nothing.json.gz"
    path.write_bytes(gzip.compress(b""))
    expect_one_line(stepscope("report", path), f"{path}: the compressed file is empty")


def test_stdin_that_gives_nothing_is_refused(stepscope: Run) -> None:
    expect_one_line(stepscope("report", "-", stdin=subprocess.DEVNULL), "standard input")
