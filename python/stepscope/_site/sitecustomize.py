"""Starts the recording of a program before its first line; `stepscope run` puts this folder on
PYTHONPATH. Python imports a module of this name whenever it starts, in child processes as well.

Everything else is as without it: the folder leaves sys.path, and the sitecustomize that would have
been imported is."""

import sys


def _start() -> None:
    folder = __file__.rpartition("/")[0]
    package_root = folder.rsplit("/", 2)[0]
    sys.path[:] = [path for path in sys.path if path != folder]
    own = sys.modules.pop(__name__, None)
    try:  # the next one, if there is one
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        if own is not None:
            sys.modules.setdefault(__name__, own)
    sys.path.insert(0, package_root)
    try:
        from stepscope import _start
    finally:
        sys.path.remove(package_root)
    _start.start_from_environment()


_start()
