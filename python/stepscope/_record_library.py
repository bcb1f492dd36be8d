"""Where C and C++ programs find the recorder that comes with the package."""

import pathlib

_PACKAGE = pathlib.Path(__file__).resolve().parent


def get_include() -> str:
    """The folder to give to a C++ compiler for `#include <stepscope/record.h>`.

    >>> import pathlib, stepscope
    >>> (pathlib.Path(stepscope.get_include()) / "stepscope/record.h").exists()
    True
    """
    return str(_PACKAGE / "include")


def get_library() -> str:
    """The shared library that a C++ program with `stepscope/record.h` links.

    An extension module of Python does not link it: it takes the table of the capsule
    `stepscope._core.record_table`, so that the process has one recorder.

    >>> import pathlib, stepscope
    >>> pathlib.Path(stepscope.get_library()).exists()
    True
    """
    return str(_PACKAGE / "lib" / "libstepscope_record.so")
