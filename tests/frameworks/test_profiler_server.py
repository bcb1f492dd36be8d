"""`stepscope record --profiler-server`: a program that runs already is asked for what it does."""

import contextlib
import pathlib
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator

import pytest

from .conftest import ENVIRONMENT, ROOT, Recorded, stepscope

JAX = """
    import sys, time, jax, jax.numpy as jnp
    jax.profiler.start_server(int(sys.argv[1]))
    square = jax.jit(lambda x: (x @ x).sum())
    x = jnp.ones((64, 64))
    print("up", flush=True)
    while True:
        square(x).block_until_ready()
        time.sleep(0.002)
"""
TENSORFLOW = """
    import sys, time, tensorflow as tf
    tf.profiler.experimental.server.start(int(sys.argv[1]))
    print("up", flush=True)
    for x in tf.data.Dataset.range(10**9).map(lambda x: x + 1).batch(4):
        time.sleep(0.002)
"""


def find_free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextlib.contextmanager
def serve(text: str) -> Iterator[str]:
    """The address of a program with a profiler server."""
    port = find_free_port()
    program = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(text), str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=ENVIRONMENT,
    )
    try:
        assert program.stdout is not None
        assert program.stdout.readline() == b"up\n"
        yield f"localhost:{port}"
        assert program.poll() is None
    finally:
        program.kill()
        program.wait()


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("text", "found"),
    [(JAX, "category = 'xla_op'"), (TENSORFLOW, "name = 'Iterator::Root'")],
    ids=["jax", "tensorflow"],
)
def test_running_program_is_recorded(tmp_path: pathlib.Path, text: str, found: str) -> None:
    folder = tmp_path / "run"
    with serve(text) as server:
        python = ["--python", sys.executable]
        options = ["--duration", "1s", "-o", folder, *python]
        done = stepscope("record", "--profiler-server", server, *options)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "the run is in" in done.stderr
    run = Recorded(folder, done.returncode, done.stdout, done.stderr)
    ((count, span),) = run.query(
        f"select count(*), max(start_ns) - min(start_ns) from slices where {found}"
    )
    assert count >= 20
    assert 0.5e9 < span < 2e9


@pytest.mark.heavy
def test_server_that_is_not_there_is_told_of_in_one_line(tmp_path: pathlib.Path) -> None:
    server = f"localhost:{find_free_port()}"
    options = ["-o", tmp_path / "run", "--python", sys.executable]
    done = stepscope("record", "--profiler-server", server, *options)
    assert done.returncode == 1
    assert (
        done.stderr
        == f"stepscope: {server}: no profiler server answers there: Connection refused\n"
    )
    assert not (tmp_path / "run").exists()


@pytest.mark.heavy
def test_missing_framework_is_told_of_in_one_line(tmp_path: pathlib.Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = f"127.0.0.1:{listening.getsockname()[1]}"
        options = ["-o", tmp_path / "run", "--python", ROOT / ".venv/bin/python"]
        done = stepscope("record", "--profiler-server", server, *options)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "has neither xprof (for JAX) nor TensorFlow" in done.stderr


@pytest.mark.parametrize("server", ["localhost", ":80", "localhost:", "localhost:http"])
def test_address_without_a_port_is_wrong_usage(server: str) -> None:
    done = stepscope("record", "--profiler-server", server)
    assert done.returncode == 2
    assert "expected HOST:PORT" in done.stderr
