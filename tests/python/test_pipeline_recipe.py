"""The recipe of docs/pipelines.md: which files a step leaves, and that it goes on in any case."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import stepscope

TRAINING = """
import argparse, sys
import stepscope

def train():
    return sum(range(1000))

parser = argparse.ArgumentParser()
stepscope.add_arguments(parser)
args = parser.parse_args()
with stepscope.from_args(args):
    for _ in range(4):
        train()
        stepscope.step()
sys.exit(3)
"""


def run(folder: pathlib.Path, program: str, *arguments: str, **environment: str) -> tuple[int, str]:
    """The program's pid and what it said; it must end with its own exit code."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        stderr=subprocess.PIPE,
        text=True,
    )
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 3, said
    return process.pid, said


@pytest.mark.parametrize("off", [[], ["--profile", "false"], ["--no-profile"]])
def test_without_the_flag_a_step_leaves_nothing(tmp_path: pathlib.Path, off: list[str]) -> None:
    assert run(tmp_path, TRAINING, *off)[1] == ""
    assert list(tmp_path.iterdir()) == []


def test_with_the_flag_exactly_the_files_of_the_recipe_are_there(tmp_path: pathlib.Path) -> None:
    pid, said = run(tmp_path, TRAINING, "--profile", "true", RANK="2", WORLD_SIZE="8")
    assert said == ""
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    folder = "outputs/profiler_results"
    assert files == {f"{folder}/{pid}.sscope", f"{folder}/index.json"}
    (entry,) = json.loads((tmp_path / folder / "index.json").read_text())["files"]
    assert (entry["file"], entry["rank"], entry["world_size"]) == (f"{pid}.sscope", 2, 8)


def test_each_process_of_a_step_has_its_file(tmp_path: pathlib.Path) -> None:
    forks = TRAINING.replace(
        "        train()\n",
        "        train()\n        if _ == 1:\n            import multiprocessing\n"
        "            child = multiprocessing.get_context('fork').Process(target=train)\n"
        "            child.start(); child.join(); print(child.pid, file=sys.stderr)\n",
    )
    pid, said = run(tmp_path, forks, "--profile")
    folder = tmp_path / "outputs/profiler_results"
    pids = {pid, int(said)}
    assert {path.name for path in folder.iterdir()} == {
        "index.json",
        *(f"{process}.sscope" for process in pids),
    }
    entries = json.loads((folder / "index.json").read_text())["files"]
    assert {entry["pid"] for entry in entries} == pids


def test_a_step_that_can_not_be_recorded_goes_on(tmp_path: pathlib.Path) -> None:
    _, said = run(tmp_path, TRAINING, "--profile", "--profile-dir", "/proc/nowhere")
    assert said.startswith("stepscope: not recorded: ")
    assert said.count("\n") == 1


def test_a_flag_within_a_recording_says_so_and_the_step_goes_on(tmp_path: pathlib.Path) -> None:
    nested = TRAINING.replace("parser = ", "stepscope.profile('outer').start()\nparser = ")
    _, said = run(tmp_path, nested, "--profile")
    assert said.count("\n") == 1
    assert "being recorded already" in said
    assert "concurrent-profilers" in said
    assert not (tmp_path / "outputs").exists()


def has_note(folder: pathlib.Path, name: str) -> bool:
    return any(f"{name} ran as well" in note for note in stepscope.load(folder).notes)


PROFILERS = {
    "cProfile": ("import cProfile; other = cProfile.Profile()", "other.enable()"),
    "torch.profiler": ("import torch; other = torch.profiler.profile()", "other.start()"),
}


@pytest.mark.parametrize("place", ["before", "within"])
@pytest.mark.parametrize("other", PROFILERS)
def test_two_profilers_at_once_are_warned_of_once(
    tmp_path: pathlib.Path, other: str, place: str
) -> None:
    make, start = PROFILERS[other]
    if other == "torch.profiler":
        pytest.importorskip("torch")
    program = TRAINING.replace("import argparse", f"{make}\nimport argparse")
    if place == "before":
        program = program.replace("with stepscope", f"{start}\nwith stepscope")
    else:
        program = program.replace("        train()\n", f"        _ or {start}\n        train()\n")
    # Where nobody stops torch.profiler, it crashes at the end of the program by itself.
    program = program.replace("sys.exit(3)", "getattr(other, 'stop', int)()\nsys.exit(3)")
    _, said = run(tmp_path, program, "--profile")
    ours = [line for line in said.splitlines() if "runs as well" in line]
    assert len(ours) == 1, said
    assert ours[0].startswith(f"stepscope: {other} runs as well")
    assert ours[0].endswith("(concurrent-profilers)")
    folder = tmp_path / "outputs/profiler_results"
    assert has_note(folder, other)
    findings = stepscope.load(folder).findings()
    assert "concurrent-profilers" in {finding.id for finding in findings}


def test_one_profiler_alone_is_not_warned_of(tmp_path: pathlib.Path) -> None:
    unused = "import cProfile; cProfile.Profile()\n"
    program = TRAINING.replace("import argparse", f"{unused}import argparse")
    assert run(tmp_path, program, "--profile")[1] == ""
    folder = tmp_path / "outputs/profiler_results"
    assert "concurrent-profilers" not in {f.id for f in stepscope.load(folder).findings()}


def test_options_of_the_same_name_stay_the_programs_own(tmp_path: pathlib.Path) -> None:
    import argparse

    parser = argparse.ArgumentParser()
    parser.add_argument("--upload", default="mine")
    stepscope.add_arguments(parser)
    args = parser.parse_args(["--profile-upload", "file:///x", "--mlflow", "true"])
    assert (args.upload, args.profile_upload, args.profile_mlflow) == ("mine", "file:///x", True)


def test_a_run_is_sent_to_a_url_and_read_from_there(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("fsspec")
    url = f"file://{tmp_path}/store/run"
    pid, said = run(tmp_path, TRAINING, "--profile", "--upload", url)
    assert said.startswith(f"stepscope: {url}: 2 files of the run uploaded, ")
    assert said.count("\n") == 1
    local, sent = tmp_path / "outputs/profiler_results", tmp_path / "store/run"
    assert {path.name for path in sent.iterdir()} == {f"{pid}.sscope", "index.json"}
    for path in sent.iterdir():
        assert path.read_bytes() == (local / path.name).read_bytes()
    functions = stepscope.load(url).functions(limit=0).to_dict()
    assert dict(zip(functions["name"], functions["calls"], strict=True))["train"] == 4


def test_what_can_not_be_sent_is_told_in_a_line_and_stays(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("fsspec")
    url = "file:///proc/nowhere/run"
    pid, said = run(tmp_path, TRAINING, "--profile", "--upload", url, STEPSCOPE_UPLOAD_TIMEOUT="3")
    assert said.startswith(f"stepscope: {url}: not uploaded: ")
    assert said.count("\n") == 1
    folder = tmp_path / "outputs/profiler_results"
    assert said.endswith(f"; the run is in {folder}\n")
    assert {path.name for path in folder.iterdir()} == {f"{pid}.sscope", "index.json"}


def test_names_that_a_store_gives_stay_within_the_folder() -> None:
    from stepscope import _transfer

    for name in ("../x.sscope", "a/../../x.sscope", "/etc/x.sscope", "a\nb.sscope", "..\\x.json"):
        assert not _transfer.is_safe(name), name
    assert _transfer.is_safe("node-1/4321.sscope")


def test_secrets_in_a_url_are_not_shown() -> None:
    from stepscope import _transfer

    assert _transfer.shown("https://user:word@host/run?sig=abc") == "https://user@host/run"
    assert _transfer.shown("abfs://container@account.dfs.core.windows.net/run") == (
        "abfs://container@account.dfs.core.windows.net/run"
    )
