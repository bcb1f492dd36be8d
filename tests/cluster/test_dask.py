import os
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import distributed
import pytest

from .conftest import (
    COMMAND,
    ENVIRONMENT,
    PACKAGE,
    WITHOUT_PACKAGE,
    free_port,
    make_job,
    on_cluster,
    stepscope,
)

FACTS = ["--slow-input", "3", "--slow-kernel", "7", "--missing", "5", "--truncated", "9", "--gzip"]
VIEWS = ("--view", "ranks,collectives,findings", "--limit", 0, "-f", "json")


@contextmanager
def local_cluster() -> Iterator[distributed.LocalCluster]:
    sys.path.insert(0, PACKAGE)  # which worker processes take over
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        yield cluster
    sys.path.remove(PACKAGE)


def test_the_result_is_that_of_a_local_run_to_the_byte(tmp_path: pathlib.Path) -> None:
    make_job(tmp_path, "--ranks", 12, *FACTS)
    (tmp_path / "rank0002.pt.trace.json").write_bytes(b"no trace")
    local = stepscope("ranks", tmp_path, *VIEWS)
    assert local.returncode == 0
    assert '"straggler"' in local.stdout
    with local_cluster() as cluster:
        address = cluster.scheduler_address
        for path in (tmp_path, f"file://{tmp_path}"):
            remote = stepscope(*on_cluster(path, address, *VIEWS))
            assert remote.returncode == 0, remote.stderr
            assert remote.stdout == local.stdout
            assert "stepscope: rank0002.pt.trace.json: " in remote.stderr


def test_a_worker_that_is_killed_in_the_middle_changes_nothing(tmp_path: pathlib.Path) -> None:
    make_job(tmp_path, "--ranks", 24, "--pieces", 12, *FACTS)
    local = stepscope("ranks", tmp_path, *VIEWS)
    with local_cluster() as cluster:
        with distributed.Client(cluster) as client:
            pids = list(client.run(os.getpid).values())
        command = [str(COMMAND), *on_cluster(tmp_path, cluster.scheduler_address, *VIEWS)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
        ) as remote:
            done = seen = 0
            deadline = time.monotonic() + 120
            while time.monotonic() < deadline and remote.poll() is None:
                states = [task.state for task in list(cluster.scheduler.tasks.values())]
                seen = max(seen, len(states))
                done = seen - sum(state in ("processing", "queued") for state in states)
                if seen and done >= 2:
                    break
                time.sleep(0.01)
            assert remote.poll() is None, "it was over before a worker could be killed"
            os.kill(pids[0], signal.SIGKILL)
            stdout, stderr = remote.communicate(timeout=200)
        assert remote.returncode == 0, stderr
        assert stdout == local.stdout


def start(module: str, *arguments: object, env: dict[str, str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", module, *map(str, arguments)]
    return subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.mark.parametrize("has_package", [True, False])
def test_a_scheduler_needs_no_stepscope_and_workers_without_it_say_so(
    tmp_path: pathlib.Path, has_package: bool
) -> None:
    make_job(tmp_path, "--ranks", 4)
    scheduler = f"127.0.0.1:{free_port()}"
    worker_env = dict(ENVIRONMENT if has_package else WITHOUT_PACKAGE)
    options = ("--host", "127.0.0.1", "--port", scheduler.split(":")[1], "--no-dashboard")
    processes = [
        start("distributed.cli.dask_scheduler", *options, env=WITHOUT_PACKAGE),
        start("distributed.cli.dask_worker", scheduler, "--no-dashboard", env=worker_env),
    ]
    try:
        with distributed.Client(scheduler, timeout=60) as client:
            client.wait_for_workers(1, timeout=60)
        result = stepscope(*on_cluster(tmp_path, scheduler, *VIEWS))
    finally:
        for process in processes:
            process.terminate()
            process.wait(30)
    if has_package:
        assert result.returncode == 0, result.stderr
        assert result.stdout == stepscope("ranks", tmp_path, *VIEWS).stdout
    else:
        assert result.returncode == 1
        lines = [line for line in result.stderr.splitlines() if line.startswith("stepscope: ")]
        assert len(lines) == 1
        assert "a worker has no stepscope" in lines[0]


def test_a_cluster_that_is_not_there_is_one_line(tmp_path: pathlib.Path) -> None:
    make_job(tmp_path, "--ranks", 2)
    result = stepscope(*on_cluster(tmp_path, f"127.0.0.1:{free_port()}"))
    assert result.returncode == 1
    assert "stepscope: dask://127.0.0.1:" in result.stderr
    assert result.stdout == ""
