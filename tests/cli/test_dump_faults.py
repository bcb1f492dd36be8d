"""stepscope dump: what can not be read, wrong usage, hostile names, programs that end meanwhile."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from .dumped import LIMIT_S, Run, dump_until, live, python, running

pytestmark = live

__all__ = ["python"]


def test_names_can_not_steer_the_terminal(stepscope: Run, python: str) -> None:
    script = r"""
import threading, time
code = compile("def f():\n    time.sleep(1000)\n", "bad\x1b[2J\nname.py", "exec")
exec(code)
threading.Thread(target=f, name="evil\x1b]0;title\x07\r\u202e", daemon=True).start()
print("ready", flush=True)
time.sleep(1000)
"""
    with running(python, script) as program:
        dump_until(
            stepscope,
            program.pid,
            lambda p: len(p["threads"]) == 2 and bool(p["threads"][1]["frames"]),
        )
        text = stepscope("dump", program.pid, check=True).stdout
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", text)
    assert "evil␛]0;title" in text
    assert "bad␛[2J␊name.py:2 f" in text


def test_colours_are_for_terminals_and_no_color_is_obeyed(stepscope_bin: Path, python: str) -> None:
    script = "import time; print('ready', flush=True); time.sleep(1000)"
    with running(python, script) as program:
        command = f"{stepscope_bin} dump {program.pid}"
        for no_color, has_color in [("", True), ("1", False)]:
            environment = os.environ | {"TERM": "xterm", "NO_COLOR": no_color}
            result = subprocess.run(
                ["script", "-qec", command, "/dev/null"],
                env=environment,
                capture_output=True,
                text=True,
                stdin=subprocess.DEVNULL,
                check=True,
            )
            assert ("\x1b[1m" in result.stdout) == has_color


def test_what_can_not_be_read_is_a_line_each_and_the_others_are_shown(
    stepscope: Run, python: str
) -> None:
    script = "import time; print('ready', flush=True); time.sleep(1000)"
    gone = subprocess.Popen(["true"])
    gone.wait()
    with running(python, script) as program, subprocess.Popen(["sleep", "1000"]) as sleep:
        try:
            result = stepscope("dump", gone.pid, program.pid, sleep.pid)
            as_json = stepscope("dump", gone.pid, program.pid, sleep.pid, "--json")
        finally:
            sleep.kill()
    assert (result.returncode, as_json.returncode) == (1, 1)
    assert result.stderr.splitlines() == [
        f"stepscope: process {gone.pid}: there is no such process",
        f"stepscope: process {sleep.pid} (sleep): not a Python program",
    ]
    assert f"Thread {program.pid} MainThread" in result.stdout
    faults = json.loads(as_json.stdout)["faults"]
    assert [fault["pid"] for fault in faults] == [gone.pid, sleep.pid]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["abc"], "'abc' is no process id"),
        (["-5"], "'-5' is no process id"),
        (["0"], "'0' is no process id"),
        (["99999999999999999999"], "is no process id"),
        ([], "PID"),
        (["1", "--loclas"], "did you mean '--locals'?"),
    ],
)
def test_wrong_usage_is_told_in_one_line(stepscope: Run, arguments: list[str], said: str) -> None:
    result = stepscope("dump", *arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert said in result.stderr


def test_without_permission_it_says_what_to_do(stepscope_bin: Path, python: str) -> None:
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root, with setpriv, can become another user")
    become = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]
    if subprocess.run([*become, str(stepscope_bin), "--version"], check=False).returncode != 0:
        pytest.skip("nobody can not run the command here")
    script = "import time; print('ready', flush=True); time.sleep(1000)"
    with running(python, script) as program:
        result = subprocess.run(
            [*become, str(stepscope_bin), "dump", str(program.pid)],
            capture_output=True,
            text=True,
            check=False,
        )
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.count("\n") == 1
    assert "no permission" in result.stderr
    assert "CAP_SYS_PTRACE" in result.stderr


@pytest.mark.heavy
@pytest.mark.parametrize("option", ["--locals", "--pause", "--native"])
def test_programs_that_end_meanwhile_do_no_harm(stepscope: Run, python: str, option: str) -> None:
    """The target ends at another moment of each look: it is shown, or said to be over."""
    script = "import sys, time; print('ready', flush=True); time.sleep(float(sys.argv[1]))"
    shown = 0
    for i in range(40):
        with running(python, script, str(i * 0.004)) as program:
            result = stepscope("dump", program.pid, option)
            assert result.returncode in (0, 1), result.stderr
            shown += result.returncode == 0
            if result.returncode == 1:
                assert result.stderr.count("\n") == 1
                assert re.search(
                    r"has ended|no such process|not a Python|another program|can not be read",
                    result.stderr,
                )
            assert program.wait(LIMIT_S) == 0
    assert shown > 0
