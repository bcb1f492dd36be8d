"""Traces in Azure's blob store: Azurite, Microsoft's own emulator, on loopback, through adlfs."""

import os
import pathlib
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator

import distributed
import fsspec
import pytest

from .conftest import PACKAGE, free_port, make_job, on_cluster, stepscope

# The account that every Azurite has, documented with it.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
VARIABLE = "AZURE_STORAGE_CONNECTION_STRING"


@pytest.fixture
def store(tmp_path: pathlib.Path) -> Iterator[str]:
    """The connection string of a store that runs for the test."""
    program = pathlib.Path(sys.prefix) / "azurite/node_modules/azurite/dist/src/blob/main.js"
    node = shutil.which("node")
    if node is None or not program.exists():
        pytest.skip("Azurite is not installed (scripts/setup cluster, with npm)")
    port = free_port()
    options = ("--blobHost", "127.0.0.1", "--blobPort", port, "--skipApiVersionCheck", "--silent")
    command = [node, str(program), *map(str, options), "--location", str(tmp_path / "azurite")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}/devstoreaccount1"
    yield (
        "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;"
        f"AccountKey={KEY};BlobEndpoint={address};"
    )
    process.terminate()
    process.wait(30)


def upload(folder: pathlib.Path, connection: str) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            store = fsspec.filesystem(
                "abfs", connection_string=connection, skip_instance_cache=True
            )
            store.mkdir("traces")
            break
        except Exception:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
    for file in sorted(folder.iterdir()):
        store.put_file(str(file), f"traces/job/{file.name}")


def test_traces_in_a_blob_store_give_what_local_ones_give_to_the_byte(
    tmp_path: pathlib.Path, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "job"
    make_job(folder, "--ranks", 6, "--slow-input", 3, "--truncated", 4, "--gzip")
    upload(folder, store)
    views = ("--view", "ranks,collectives,findings", "--limit", 0, "-f", "json")
    local = stepscope("ranks", folder, *views)
    assert local.returncode == 0
    # Where the store is, and who asks: as users tell it to adlfs, here and on the workers.
    monkeypatch.setenv(VARIABLE, store)
    monkeypatch.syspath_prepend(PACKAGE)  # which worker processes take over
    monkeypatch.setenv("PYTHONPATH", PACKAGE)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        command = on_cluster("abfs://traces/job", cluster.scheduler_address, *views)
        remote = stepscope(*command, env=dict(os.environ))
    assert remote.returncode == 0, remote.stderr
    assert remote.stdout == local.stdout
