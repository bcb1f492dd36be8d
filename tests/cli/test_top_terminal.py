"""`stepscope top` on a terminal: a real one, whose screen pyte keeps."""

import contextlib
import fcntl
import itertools
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator

import pyte
import pytest

pytestmark = pytest.mark.live

PROGRAM = pathlib.Path(__file__).parent / "top_program.py"
PATIENCE_S = 120.0


def be_started_by_a_shell() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup


class Terminal:
    """A terminal with `stepscope top` on it, and what stood there before."""

    def __init__(self, command: list[str], environment: dict[str, str], size: tuple[int, int]):
        columns, rows = size
        self.master, self.slave = pty.openpty()
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.written = b""
        self.resize(columns, rows)
        self.modes = termios.tcgetattr(self.slave)
        os.write(self.slave, b"$ stepscope top\r\n")
        self.process = subprocess.Popen(
            command,
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            env=environment,
            start_new_session=True,
            preexec_fn=be_started_by_a_shell,
        )

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def read(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.master], [], [], left)[0]:
                return
            data = os.read(self.master, 65536)
            self.written += data
            self.stream.feed(data)

    def lines(self) -> list[str]:
        return [line.rstrip() for line in self.screen.display]

    def text(self) -> str:
        return "\n".join(self.lines())

    def wait_for(self, what: str | Callable[[], bool]) -> str:
        """Until the pattern is on the screen, or the condition holds."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if what() if callable(what) else re.search(what, self.text()):
                return self.text()
            self.read(0.1)
        pytest.fail(f"never seen: {what}\n{self.text()}")

    def wait_for_end(self) -> int:
        end = time.monotonic() + PATIENCE_S
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.05)
        self.read(0.2)
        return self.process.wait(1)

    def check_that_it_is_as_before(self) -> None:
        assert termios.tcgetattr(self.slave) == self.modes
        on, off = self.written.rfind(b"\x1b[?1049h"), self.written.rfind(b"\x1b[?1049l")
        assert 0 <= on < off
        assert self.written.rfind(b"\x1b[?25l") < self.written.rfind(b"\x1b[?25h")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)


@contextlib.contextmanager
def program(*arguments: object, python: str = sys.executable) -> Iterator[subprocess.Popen[str]]:
    command = [python, str(PROGRAM), *map(str, arguments)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture
def target() -> Iterator[subprocess.Popen[str]]:
    with program() as process:
        yield process


Open = Callable[..., Terminal]


@pytest.fixture
def open_top(stepscope_bin: pathlib.Path) -> Iterator[Open]:
    """`open_top(pid, "--hz", 50, columns=80, rows=24, NO_COLOR="1")`"""
    terminals: list[Terminal] = []

    def start(*arguments: object, columns: int = 80, rows: int = 24, **more: str) -> Terminal:
        kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS", "LC_ALL")}
        environment = kept | {"TERM": "xterm-256color", "LANG": "C.UTF-8"} | more
        command = [str(stepscope_bin), "top", *map(str, arguments)]
        terminals.append(Terminal(command, environment, (columns, rows)))
        return terminals[-1]

    yield start
    for terminal in terminals:
        terminal.close()


def find_python(version: str) -> str | None:
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    pyenv = pathlib.Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}")
    return next(map(str, pyenv), None) or shutil.which(f"python{version}")


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_header_functions_and_threads_appear(open_top: Open, version: str) -> None:
    python = find_python(version)
    if python is None:
        pytest.skip(f"no Python {version} here")
    with program(python=python) as target:
        top = open_top(target.pid)
        text = top.wait_for(r"\d%  hot ")
    assert re.search(rf"^stepscope top   {target.pid}  .* Python {version}$", text, re.M)
    assert re.search(r"^CPU [\d.]+%   GIL held [\d.]+%   threads 2: ", text, re.M)
    assert re.search(r"^100 Hz   [\d.]+ s   \d+ samples   \d+ ticks? missed", text, re.M)
    assert re.search(r"MainThread +\S+ ", text)
    assert top.lines()[23].startswith("q quit")


def test_q_gives_the_terminal_back(open_top: Open, target: subprocess.Popen[str]) -> None:
    top = open_top(target.pid)
    top.wait_for(r"\d%  hot ")
    assert termios.tcgetattr(top.slave) != top.modes
    top.type(b"q")
    assert top.wait_for_end() == 0
    top.check_that_it_is_as_before()
    assert target.poll() is None


@pytest.mark.parametrize("how", ["Ctrl-C", "SIGTERM", "SIGHUP"])
def test_other_ends_give_the_terminal_back_too(
    open_top: Open, target: subprocess.Popen[str], how: str
) -> None:
    top = open_top(target.pid)
    top.wait_for(r"\d%  hot ")
    if how == "Ctrl-C":
        top.type(b"\x03")
    else:
        top.process.send_signal(getattr(signal, how))
    assert top.wait_for_end() == 0
    top.check_that_it_is_as_before()


def test_the_end_of_the_program_leaves_what_was_known_of_it(open_top: Open) -> None:
    with program(4) as target:
        top = open_top(target.pid)
        assert top.wait_for_end() == 0
    top.check_that_it_is_as_before()
    rest = top.written[top.written.rfind(b"\x1b[?1049l") :].decode()
    assert f"stepscope: process {target.pid} has ended" in rest
    assert re.search(r"%  hot ", rest)


def test_keys_change_the_order(open_top: Open, target: subprocess.Popen[str]) -> None:
    top = open_top(target.pid)
    top.wait_for(r"\*own  total    own  total")
    for key, heading in (
        (b"2", r" own \*total    own  total"),
        (b"3", r" own  total   \*own  total"),
        (b"4", r" own  total    own \*total"),
        (b"1", r"\*own  total    own  total"),
    ):
        top.type(key)
        top.wait_for(heading)


def first_function(top: Terminal) -> str:
    """The name in the row below the headings of the functions."""
    lines = top.lines()
    for line, below in itertools.pairwise(lines):
        if "function" in line and "own" in line and "%  " in below:
            return below.split()[4]
    return ""


def test_the_order_is_followed(open_top: Open, target: subprocess.Popen[str]) -> None:
    top = open_top(target.pid)
    top.wait_for(lambda: first_function(top) == "spin")
    top.type(b"2")
    top.wait_for(lambda: first_function(top) in ("main", "<module>"))


def test_a_pause_lets_the_display_stand_still(
    open_top: Open, target: subprocess.Popen[str]
) -> None:
    top = open_top(target.pid, "--interval", "100ms")
    top.wait_for(r"\d%  hot ")
    top.type(b" ")
    top.wait_for("PAUSED")
    before = top.text()
    top.read(1)
    assert top.text() == before
    top.type(b"2")  # what is known can still be looked at
    top.wait_for(r" own \*total")
    top.type(b" ")
    top.wait_for(lambda: "PAUSED" not in top.text())
    top.wait_for(lambda: top.lines()[2] != before.splitlines()[2])


def test_keys_switch_what_counts(open_top: Open, target: subprocess.Popen[str]) -> None:
    top = open_top(target.pid)
    top.wait_for("shares of CPU time")
    top.type(b"i")
    top.wait_for("shares of all threads' time, waiting too")
    top.wait_for(r"%  wait_for_nothing ")
    top.type(b"g")
    top.wait_for("shares of the time with the GIL")
    top.type(b"g")
    top.wait_for("shares of CPU time")
    assert "MainThread" in top.text()
    top.type(b"t")
    top.wait_for(lambda: "MainThread" not in top.text())


def test_reset_and_help(open_top: Open, target: subprocess.Popen[str]) -> None:
    top = open_top(target.pid, "--interval", "300ms")
    top.wait_for(r"Hz   [2-9]\.\d s")
    top.type(b"r")
    top.wait_for(r"Hz   [01]\.\d s")
    top.type(b"?")
    top.wait_for("sort by own share now")
    top.type(b"?")
    top.wait_for(r"\d%  hot ")


def test_arrows_scroll_the_functions(open_top: Open, target: subprocess.Popen[str]) -> None:
    top = open_top(target.pid, "--idle", rows=10)
    top.wait_for(lambda: first_function(top) != "")
    top.type(b" ")
    top.wait_for("PAUSED")
    first = first_function(top)
    top.type(b"\x1b[")  # in two pieces
    top.read(0.2)
    top.type(b"B")
    top.wait_for(lambda: first_function(top) not in ("", first))
    top.type(b"\x1b[5~")
    top.wait_for(lambda: first_function(top) == first)


def test_a_resize_leaves_no_line_too_long(open_top: Open, target: subprocess.Popen[str]) -> None:
    top = open_top(target.pid, columns=120, rows=40)
    top.wait_for(lambda: "q quit" in top.lines()[39])
    for columns, rows in ((80, 24), (40, 10), (100, 30)):
        top.resize(columns, rows)
        top.written = b""
        top.process.send_signal(signal.SIGWINCH)
        top.wait_for(lambda: len(top.lines()) > rows - 1 and "q quit" in top.lines()[rows - 1])  # noqa: B023
        top.wait_for(r"%  spin")
        # A line that was too long would have gone on in the next row, or beyond the last one.
        drawn = re.findall(rb"\x1b\[(\d+);1H([^\x1b]*(?:\x1b\[[\d;]*m[^\x1b]*)*)", top.written)
        assert drawn
        for row, line in drawn:
            assert int(row) <= rows
            assert len(re.sub(rb"\x1b\[[\d;]*m", b"", line).decode()) <= columns


def test_ctrl_z_gives_the_terminal_to_the_shell_for_a_while(
    open_top: Open, target: subprocess.Popen[str]
) -> None:
    top = open_top(target.pid)
    top.wait_for(r"\d%  hot ")
    top.type(b"\x1a")
    # The kernel does not stop an orphaned process group: then it goes on at once.
    top.wait_for(lambda: b"\x1b[?1049l" in top.written)
    os.kill(top.process.pid, signal.SIGCONT)
    top.wait_for(lambda: top.written.count(b"\x1b[?1049h") == 2)
    top.type(b"q")
    assert top.wait_for_end() == 0
    top.check_that_it_is_as_before()


def test_no_color_is_obeyed(open_top: Open, target: subprocess.Popen[str]) -> None:
    plain = open_top(target.pid, NO_COLOR="1")
    plain.wait_for(r"\d%  hot ")
    assert not re.search(rb"\x1b\[[1-9][\d;]*m", plain.written)
    colored = open_top(target.pid)
    colored.wait_for(r"\d%  hot ")
    assert b"\x1b[7m" in colored.written


def test_a_terminal_without_utf8_gets_ascii(open_top: Open, target: subprocess.Popen[str]) -> None:
    top = open_top(target.pid, columns=60, LANG="C")
    top.wait_for(r"\d%  hot ")
    assert top.written.isascii()


def test_a_dumb_terminal_gets_snapshots(open_top: Open, target: subprocess.Popen[str]) -> None:
    top = open_top(target.pid, "--once", TERM="dumb")
    assert top.wait_for_end() == 0
    assert b"\x1b" not in top.written
    assert re.search(rb"%  hot ", top.written)


def test_a_terminal_that_hangs_up_ends_it(open_top: Open, target: subprocess.Popen[str]) -> None:
    top = open_top(target.pid)
    top.wait_for(r"\d%  hot ")
    os.close(top.slave)
    os.close(top.master)
    assert top.process.wait(PATIENCE_S) in (0, -signal.SIGHUP)
    top.master, top.slave = os.pipe()


def count_before(word: str, top: Terminal) -> int:
    found = re.search(rf"([\d,]+) {word}", top.text())
    return int(found[1].replace(",", "")) if found else 0


def test_a_stuck_terminal_does_not_hold_up_the_sampler(
    open_top: Open, target: subprocess.Popen[str]
) -> None:
    top = open_top(target.pid, "--interval", "100ms", columns=200, rows=60)
    top.wait_for(r"\d%  hot ")
    before = count_before("samples", top)
    time.sleep(5)  # nobody reads what it writes
    # Two threads at 100 Hz. A sampler that had stood still would have missed most of 500 ticks.
    top.wait_for(lambda: count_before("samples", top) > before + 600)
    assert count_before("ticks? missed", top) < 250
    top.type(b"q")
    assert top.wait_for_end() == 0
