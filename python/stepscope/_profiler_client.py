"""Asks a profiler server of TensorFlow or JAX for a profile: what `stepscope record
--profiler-server` runs with the user's Python.

    python _profiler_client.py HOST:PORT MILLISECONDS PYTHON_CALLS FOLDER

Run as a script, so that it needs nothing of the package. The profile lands in
FOLDER/plugins/profile/TIME. What fails is one line, and exit code 1."""

import sys

sys.path.pop(0)  # the package's folder, whose torch.py would be found as torch

import os
import socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

ANSWER_WITHIN_S = 5.0
ATTEMPTS = 3  # where nothing happens meanwhile, the client asks again


def find_client() -> "Callable[[str, str, int, dict[str, int]], None] | None":
    """JAX's way (xprof, which is quicker to import), else TensorFlow's."""
    try:
        from xprof.convert import _pywrap_profiler_plugin as plugin

        return lambda server, folder, duration_ms, options: plugin.trace(
            server, folder, "", True, duration_ms, ATTEMPTS, options
        )
    except ImportError:
        pass
    try:
        from tensorflow import profiler

        def trace(server: str, folder: str, duration_ms: int, options: dict[str, int]) -> None:
            profiler.experimental.client.trace(
                f"grpc://{server}",
                folder,
                duration_ms,
                num_tracing_attempts=ATTEMPTS,
                options=profiler.experimental.ProfilerOptions(**options),
            )

        return trace
    except ImportError:
        return None


def check_server(server: str) -> str:
    """Why nothing answers there; the client itself would try for minutes."""
    host, _, port = server.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), ANSWER_WITHIN_S).close()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def fail(message: str) -> "NoReturn":
    sys.stderr.write(f"stepscope: {message}\n")
    sys.exit(1)


def main() -> None:
    server, duration_ms, python_calls, folder = sys.argv[1:]
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if fault := check_server(server):
        fail(f"{server}: no profiler server answers there: {fault}")
    client = find_client()
    if client is None:
        fail(
            f"{sys.executable} has neither xprof (for JAX) nor TensorFlow, and one of them must "
            "ask the profiler server; name another interpreter with --python"
        )
    options = {
        "host_tracer_level": 2,
        "device_tracer_level": 1,
        "python_tracer_level": int(python_calls),
    }
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the client says what it is about to do
    try:
        client(server, folder, int(duration_ms), options)
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        fail(f"{server}: the profiler server gave no profile: {lines[0]}")


if __name__ == "__main__":
    main()
