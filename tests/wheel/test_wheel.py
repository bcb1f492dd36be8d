"""The built wheel in an environment of its own, as a user would have it. Run by `make test`."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What the manylinux tag lets a wheel take from the system.
SYSTEM = (
    "linux-vdso",
    "/lib64/ld-",
    "libc.",
    "libm.",
    "libpthread.",
    "libdl.",
    "libgcc_s.",
    "libstdc++.",
    "libz.",
)


def run(*command: object, **environment: str) -> str:
    result = subprocess.run(
        list(map(str, command)),
        cwd="/",
        env={"PATH": "/usr/bin:/bin", "HOME": os.environ.get("HOME", "/")} | environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert result.returncode == 0, result.stdout
    return result.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A fresh environment that has the wheel of dist/ and nothing else."""
    wheels = list((ROOT / "dist").glob("*.whl"))
    if not wheels:
        pytest.skip("no wheel in dist/ (make wheel)")
    folder = tmp_path_factory.mktemp("wheel") / "env"
    run(sys.executable, "-m", "venv", folder)
    run(folder / "bin/python", "-m", "pip", "install", "-q", "--no-index", wheels[0])
    return folder


def test_wheel_brings_its_shared_libraries_along(installed: pathlib.Path) -> None:
    site = installed / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    extension = next((site / "stepscope").glob("_core*.so"))
    library = site / "stepscope/lib/libstepscope_record.so"
    for binary in (site / "stepscope/bin/stepscope", extension, library):
        listed = run("ldd", binary)
        assert "not found" not in listed
        for line in listed.splitlines():
            if not line.strip().startswith(SYSTEM):
                resolved = pathlib.Path(line.split("=>")[1].split()[0]).resolve()
                assert resolved.is_relative_to(site.resolve()), line


def test_command_runs_without_python(installed: pathlib.Path) -> None:
    trace = run("sh", "-x", installed / "bin/stepscope", "--version")
    assert "find_spec" not in trace
    assert run(installed / "bin/stepscope", "--version").strip()


def test_command_runs_through_a_link(installed: pathlib.Path, tmp_path: pathlib.Path) -> None:
    link = tmp_path / "stepscope"
    link.symlink_to(installed / "bin/stepscope")
    assert run(link, "--version") == run(installed / "bin/stepscope", "--version")


def test_command_is_found_when_its_package_lies_elsewhere(
    installed: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    moved = tmp_path / "stepscope"
    moved.write_bytes((installed / "bin/stepscope").read_bytes())
    moved.chmod(0o755)
    path = f"{installed}/bin:/usr/bin:/bin"
    assert run(moved, "--version", PATH=path) == run(installed / "bin/stepscope", "--version")


def test_package_is_importable(installed: pathlib.Path) -> None:
    found = run(installed / "bin/python", "-c", "import stepscope; print(stepscope.__file__)")
    assert pathlib.Path(found.strip()).is_relative_to(installed)


def test_tensorboard_would_find_the_tab_and_its_page(installed: pathlib.Path) -> None:
    code = """
from importlib.metadata import entry_points
from stepscope import _core
print([point.value for point in entry_points(group="tensorboard_plugins")])
print([name for name, _, content in _core.page_files() if content])
"""
    points, files = run(installed / "bin/python", "-c", code).splitlines()
    assert points == "['stepscope._tensorboard:StepscopePlugin']"
    assert "index.html" in files


def test_cpp_program_builds_and_records_with_what_the_wheel_holds(
    installed: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    ask = "import stepscope; print(stepscope.get_include(), stepscope.get_library())"
    include, library = run(installed / "bin/python", "-c", ask).split()
    program = tmp_path / "cpp_training"
    source = ROOT / "examples/cpp_training.cc"
    rpath = f"-Wl,-rpath,{pathlib.Path(library).parent}"
    run(compiler, "-std=c++17", "-O1", f"-I{include}", source, library, rpath, "-o", program)
    run(program, tmp_path / "run", 3)
    table = run(installed / "bin/stepscope", "report", tmp_path / "run", "--view", "functions")
    assert "train_step" in table


def test_a_program_is_recorded(installed: pathlib.Path, tmp_path: pathlib.Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys\ndef mine(): return sys.prefix\nprint(mine())\n")
    output = run(installed / "bin/stepscope", "run", "-o", tmp_path / "run", script)
    assert str(installed) in output.splitlines()[0], "run by the environment's interpreter"
    table = run(installed / "bin/stepscope", "report", tmp_path / "run", "--view", "functions")
    assert "mine" in table
