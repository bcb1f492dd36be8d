"""CPython's own tests of cProfile, of this interpreter, pass with stepscope.cprofile."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

import stepscope

PROGRAM = pathlib.Path(__file__).with_name("cpython_cprofile_tests.py")


def has_cpython_tests() -> bool:
    try:
        return importlib.util.find_spec("test.test_cprofile") is not None
    except ImportError:
        return False


@pytest.mark.skipif(not has_cpython_tests(), reason="this Python comes without its test package")
def test_cpythons_tests_of_cprofile_pass(tmp_path: pathlib.Path) -> None:
    package_folder = pathlib.Path(stepscope.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, PROGRAM],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(package_folder)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    ran = re.search(r"^Ran (\d+) tests", done.stderr, re.MULTILINE)
    assert ran
    assert int(ran[1]) >= 10
    assert "skipped" not in done.stderr
