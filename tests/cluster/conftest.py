"""`stepscope ranks --cluster` on a real Dask cluster, and on Azure's blob store by Azurite.

Runs with the Python of the environment that has them (scripts/setup cluster).
"""

import importlib.util
import os
import pathlib
import socket
import subprocess
import sys
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = ROOT / ".venv/bin/stepscope"
# The package is used from the checkout, by this Python.
PACKAGE = str(ROOT / "python")
ENVIRONMENT = os.environ | {"PYTHONPATH": PACKAGE}
WITHOUT_PACKAGE = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}


def stepscope(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(COMMAND), *map(str, arguments)],
        **{"capture_output": True, "text": True, "timeout": 300, "env": ENVIRONMENT} | options,
    )


def on_cluster(path: object, scheduler: str, *options: object) -> list[str]:
    address = "dask://" + scheduler.removeprefix("tcp://")
    return [
        *map(str, ("ranks", path, "--cluster", address, "--python", sys.executable)),
        *map(str, options),
    ]


def make_job(folder: pathlib.Path, *options: object) -> None:
    spec = importlib.util.spec_from_file_location("make_job", ROOT / "bench" / "make_job.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.make_job(module.parse([str(folder), *map(str, options)]))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
