"""CPython's own tests of cProfile with stepscope in its place; test_cprofile_cpython.py runs this.

The modules `cProfile` and `_lsprof` are ours before the tests are imported, and where the tests
start `python -m cProfile` they start `python -m stepscope`.
"""

import os
import sys
import types
import unittest

from test.support import script_helper

import stepscope.cprofile
from stepscope import _core

PACKAGE_FOLDER = os.path.dirname(os.path.dirname(stepscope.__file__))
STANDS_FOR = {"cProfile": "stepscope", "stepscope.cprofile": "stepscope"}


def start_ours(assertion):
    def assert_python(*args, **env):
        # Isolated mode would not see a package that PYTHONPATH leads to.
        env |= {"__isolated": False, "PYTHONPATH": PACKAGE_FOLDER}
        started = [STANDS_FOR.get(arg, arg) for arg in args]
        assert started[:2] == ["-m", "stepscope"], started
        return assertion(*started, **env)

    return assert_python


def main() -> None:
    script_helper.assert_python_ok = start_ours(script_helper.assert_python_ok)
    script_helper.assert_python_failure = start_ours(script_helper.assert_python_failure)
    lsprof = types.ModuleType("_lsprof")
    lsprof.Profiler = _core.CallProfiler
    sys.modules |= {"_lsprof": lsprof, "cProfile": stepscope.cprofile}

    from test import test_cprofile

    assert test_cprofile.CProfileTest.profilerclass is stepscope.cprofile.Profile
    cases = unittest.TestSuite(
        unittest.defaultTestLoader.loadTestsFromTestCase(case)
        for case in (test_cprofile.CProfileTest, test_cprofile.TestCommandLine)
    )
    result = unittest.TextTestRunner(verbosity=2).run(cases)
    sys.exit(not result.wasSuccessful())


if __name__ == "__main__":
    main()
