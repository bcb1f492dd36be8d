"""Help that teaches, exit codes, and what is said about wrong usage."""

import pathlib
import subprocess
from collections.abc import Callable

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]

VIEWS = [
    "overview",
    "steps",
    "phases",
    "input",
    "operators",
    "modules",
    "kernels",
    "devices",
    "ranks",
    "collectives",
    "memory",
    "tree",
    "functions",
    "callers",
    "callees",
    "tracks",
]
COMMANDS = ["report", "ranks", "query", "convert", "doctor"]


def test_version_is_one_line(stepscope: Run) -> None:
    result = stepscope("--version", check=True)
    assert result.stdout.startswith("stepscope ")
    assert result.stdout.count("\n") == 1


def test_help_starts_with_examples_and_lists_the_commands(stepscope: Run) -> None:
    text = stepscope("--help", check=True).stdout
    assert 5 <= text.count("\n  stepscope ") <= 8
    assert text.index("stepscope report trace.json") < text.index("--version")
    for command in COMMANDS:
        assert f"\n  {command}" in text


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_examples(stepscope: Run, command: str) -> None:
    text = stepscope(command, "--help", check=True).stdout
    assert "Examples:" in text
    assert f"stepscope {command}" in text


def test_help_fits_100_columns(stepscope: Run) -> None:
    for arguments in [["--help"], *([command, "--help"] for command in COMMANDS)]:
        for line in stepscope(*arguments, check=True).stdout.splitlines():
            assert len(line) <= 100, line


def test_report_help_lists_the_views(stepscope: Run) -> None:
    text = stepscope("report", "--help", check=True).stdout
    for view in VIEWS:
        assert f"\n  {view} " in text


def test_without_a_command_the_help_goes_to_stderr(stepscope: Run) -> None:
    result = stepscope()
    assert (result.returncode, result.stdout) == (2, "")
    assert "Examples:" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["reprot", "a.json"], "unknown command 'reprot'; did you mean 'report'?"),
        (["report"], "PATH"),
        (
            ["report", "a.json", "--veiw", "steps"],
            "unknown option '--veiw'; did you mean '--view'?",
        ),
        (
            ["report", "a.json", "--view", "nonsense"],
            "unknown view 'nonsense'; there are: overview",
        ),
        (["report", "a.json", "--format", "xml"], "unknown format 'xml'"),
        (["report", "a.json", "--limit", "-3"], "--limit"),
        (["report", "a.json", "--limit", "many"], "--limit"),
        (["report", "a.json", "--range", "5..6"], "needs a unit"),
        (["report", "a.json", "--range", "2s..1s"], "ends before it begins"),
        (["report", "a.json", "--filter", "a("], "regular expression"),
        (["report", "a.json", "--track", "*"], "regular expression"),
        (["report", "a.json", "--by", "colour"], "--by"),
        (["report", "a.json", "--all", "--format", "csv"], "one table"),
        (["query", "a.json"], "SQL"),
        (["query", "a.json", "SELECT 1", "more"], "one argument too many: 'more'"),
        (["convert", "a.json"], "needs an input and an output"),
        (["convert", "a.json", "b.dat"], "does not tell the format"),
        (["convert", "a.json", "b.dat", "--to", "pdf"], "unknown format 'pdf'"),
        (["doctor", "--fix"], "unknown option '--fix'"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(
    stepscope: Run, arguments: list[str], said: str
) -> None:
    result = stepscope(*arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("stepscope: ")
    assert result.stderr.count("\n") == 1
    assert said in result.stderr
    assert "--help)" in result.stderr


def test_unknown_column_to_sort_by_is_wrong_usage(stepscope: Run, trace: pathlib.Path) -> None:
    result = stepscope("report", trace, "--view", "operators", "--sort", "nonsense")
    assert (result.returncode, result.stdout) == (2, "")
    assert "nonsense" in result.stderr
    assert result.stderr.count("\n") == 1


def test_doctor_says_ok_or_warns_with_advice(stepscope: Run) -> None:
    lines = stepscope("doctor", check=True).stdout.splitlines()
    names = [line.split()[1] for line in lines if not line.startswith(" ")]
    assert {"stepscope", "simdjson", "processors", "clock", "disk", "terminal"} <= set(names)
    for number, line in enumerate(lines):
        assert line.startswith(("ok ", "warn ", " "))
        if line.startswith("warn"):
            assert lines[number + 1].strip().startswith("->")


def test_output_that_can_not_be_written_is_exit_1(
    stepscope_bin: pathlib.Path, trace: pathlib.Path
) -> None:
    for arguments in (["report", str(trace)], ["--help"], ["doctor"]):
        with open("/dev/full", "w") as full:
            result = subprocess.run(
                [stepscope_bin, *arguments], stdout=full, stderr=subprocess.PIPE, text=True
            )
        assert result.returncode == 1
        assert result.stderr == "stepscope: standard output: write: No space left on device\n"


def test_closed_standard_output_is_an_error_and_no_file_is_harmed(
    stepscope_bin: pathlib.Path, trace: pathlib.Path
) -> None:
    before = trace.read_bytes()
    result = subprocess.run(
        ["sh", "-c", f"'{stepscope_bin}' report '{trace}' >&-"], capture_output=True, text=True
    )
    assert result.returncode == 1
    assert "standard output" in result.stderr
    assert trace.read_bytes() == before


def test_head_of_a_long_output_is_quiet(stepscope_bin: pathlib.Path, trace: pathlib.Path) -> None:
    command = f"'{stepscope_bin}' convert '{trace}' - --to chrome | head -c 10"
    result = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")


def test_output_folder_that_is_missing_is_exit_1(stepscope: Run, trace: pathlib.Path) -> None:
    for arguments in (
        ["report", trace, "-o", "no/such/a.txt"],
        ["convert", trace, "no/such/a.json"],
    ):
        result = stepscope(*arguments, cwd=trace.parent)
        assert result.returncode == 1
        assert "no such folder" in result.stderr
        assert result.stderr.count("\n") == 1
