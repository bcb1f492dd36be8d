"""What the tests share: the command, the sample traces beside the checkout, `--update-golden`."""

import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Callable

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the output as expected")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(scope="session")
def stepscope_bin() -> pathlib.Path:
    """The command under test: $STEPSCOPE_BIN, else the one beside this Python."""
    default = pathlib.Path(sys.executable).parent / "stepscope"
    return pathlib.Path(os.environ.get("STEPSCOPE_BIN", default)).absolute()


@pytest.fixture(scope="session")
def stepscope(stepscope_bin: pathlib.Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the command from the checkout's root: `stepscope("report", path, check=True).stdout`."""

    def run(*args: object, **kwargs: object) -> subprocess.CompletedProcess[str]:
        command = [str(stepscope_bin), *map(str, args)]
        options = {"cwd": ROOT, "text": True, "capture_output": True, "timeout": 600} | kwargs
        return subprocess.run(command, **options)  # type: ignore[call-overload, no-any-return]

    return run


@pytest.fixture(scope="session")
def page(stepscope: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """For tests of the page: skipped where there was no Node.js to build it with."""
    result = stepscope("export-html", "-", "-", input="[]")
    if "was built without its page" in result.stderr:
        if shutil.which("npm") and shutil.which("node"):
            pytest.fail(f"Node.js is here, but the page was not built: {result.stderr}")
        pytest.skip("the page was not built: Node.js is missing")


@pytest.fixture(scope="session")
def shared_data() -> pathlib.Path:
    """The sample traces beside the checkout, ../shared/data; the test is skipped without them."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no sample traces in ../shared/data")
    return folder


@pytest.fixture(scope="session")
def job_folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Traces of 8 ranks: rank 2 is slow to load, rank 5 has slow kernels, clocks are skewed."""
    folder = tmp_path_factory.mktemp("job")
    command = [sys.executable, ROOT / "bench/make_job.py", folder, "--ranks", "8", "--steps", "6"]
    subprocess.run([*command, "--slow-input", "2", "--slow-kernel", "5"], check=True, timeout=60)
    return folder
