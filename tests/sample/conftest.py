"""The Pythons of this machine whose programs are sampled."""

import pathlib
import shutil
import subprocess
import sys

import pytest

VERSIONS = ("3.11", "3.12", "3.13")


def find_python(version: str) -> pathlib.Path | None:
    """python3.X on the path or in a version manager's folder, if it runs."""
    name = f"python{version}"
    found = [str(p) for p in pathlib.Path.home().glob(f".pyenv/versions/{version}.*/bin/{name}")]
    for path in filter(None, [sys.executable, *found, shutil.which(name)]):
        told = subprocess.run(
            [path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
            capture_output=True,
            text=True,
        )
        if told.returncode == 0 and told.stdout.strip() == version:
            return pathlib.Path(path)
    return None


@pytest.fixture(scope="session", params=VERSIONS)
def python(request: pytest.FixtureRequest) -> pathlib.Path:
    path = find_python(request.param)
    if path is None:
        pytest.skip(f"no Python {request.param} here")
    return path
