"""stepscope verify: whether one command is faster than another."""

import pathlib
import re
import subprocess
from collections.abc import Callable

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_a_faster_command_is_found(stepscope: Run) -> None:
    result = stepscope("verify", "--runs", "6", "--", "sleep", "0.3", "---", "sleep", "0.03")
    assert result.returncode == 0, result.stderr
    assert re.search(r"^first +\S+ m?s +sleep 0\.3$", result.stdout, re.MULTILINE)
    ratio = re.search(
        r"takes ([\d.]+) of the time of the first \(([\d.]+) to ([\d.]+)", result.stdout
    )
    assert ratio is not None
    assert 0 < float(ratio[2]) <= float(ratio[1]) <= float(ratio[3]) < 1
    assert "% less" in result.stdout


def test_few_pairs_are_not_called_certain(stepscope: Run) -> None:
    result = stepscope("verify", "--runs", "2", "--", "sleep", "0.1", "---", "true")
    assert "too few pairs" in result.stdout


def test_words_of_the_commands_are_theirs(stepscope: Run, tmp_path: pathlib.Path) -> None:
    """Options, quotes and blanks reach the programs, which have an empty input."""
    (tmp_path / "say.sh").write_text('printf "%s|" "$@" >> "$OUT"; cat\n')
    command = [
        "env",
        f"OUT={tmp_path}/out",
        "sh",
        str(tmp_path / "say.sh"),
        "-v",
        "a b",
        "--runs=3",
    ]
    result = stepscope("verify", "--runs", "1", "--no-warm-up", "--", *command, "---", "true")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "out").read_text() == "-v|a b|--runs=3|"


def test_a_command_that_fails_is_shown_with_its_last_words(stepscope: Run) -> None:
    result = stepscope("verify", "--", "true", "---", "sh", "-c", "echo no luck >&2; exit 3")
    assert result.returncode == 1
    assert "exit code 3: no luck" in result.stderr
    killed = stepscope("verify", "--", "sh", "-c", "kill -9 $$", "---", "true")
    assert "killed by signal 9" in killed.stderr
    missing = stepscope("verify", "--", "no-such-program", "---", "true")
    assert missing.returncode == 1
    assert "no-such-program: No such file" in missing.stderr


def test_usage(stepscope: Run, trace: pathlib.Path) -> None:
    assert stepscope("verify", "--", "true").returncode == 2
    assert stepscope("verify", "--runs", "0", "--", "a", "---", "b").returncode == 2
    unknown = stepscope("verify", "--finding", f"{trace}:gpu-idle", "--", "true", "---", "true")
    assert unknown.returncode == 1
    assert "no finding 'gpu-idle'" in unknown.stderr
