"""cProfile, drop-in: the same names, figures and files, at less cost.

>>> from stepscope.cprofile import Profile
>>> with Profile() as profile:
...     sorted(range(1000), key=str)
>>> profile.print_stats("cumulative")        # or dump_stats("out.prof"), which pstats loads

Differences: times are taken from the CPU's counter where it runs evenly; functions of one name on
one line are added up in `stats` (cProfile keeps one of them); a timer may not disable or clear its
profiler on any version; a script profiled by the command line is the module `__main__`.
"""

from __future__ import annotations

import importlib.machinery
import io
import marshal
import os
import sys
import types
from types import CodeType
from typing import Any, TypeAlias

from stepscope import pstats
from stepscope._core import CallProfiler

__all__ = ["Profile", "run", "runctx"]

Sort: TypeAlias = str | int | tuple[str | int, ...]
Label: TypeAlias = tuple[str, int, str]
Totals: TypeAlias = tuple[int, int, float, float]
Stats: TypeAlias = dict[Label, tuple[int, int, float, float, dict[Label, Totals]]]


class Profile(CallProfiler):
    """Profile(timer=None, timeunit=0.0, subcalls=True, builtins=True)

    Profiles with the given timer; the default one is real time. For timers that return integers,
    timeunit says how many seconds one is.
    """

    stats: Stats

    def print_stats(self, sort: Sort = -1) -> None:
        keys: Any = sort if isinstance(sort, tuple) else (sort,)
        profile: Any = self
        pstats.Stats(profile).strip_dirs().sort_stats(*keys).print_stats()

    def dump_stats(self, file: str | os.PathLike[str]) -> None:
        with open(file, "wb") as output:
            self.create_stats()
            marshal.dump(self.stats, output)

    def create_stats(self) -> None:
        self.disable()
        self.snapshot_stats()

    def snapshot_stats(self) -> None:
        entries = [(label(entry.code), entry) for entry in self.getstats()]
        stats: Stats = {}
        callers_of: dict[int, dict[Label, Totals]] = {}
        for function, entry in entries:
            calls, own_s, total_s = entry.callcount, entry.inlinetime, entry.totaltime
            primitive_calls = calls - entry.reccallcount
            callers: dict[Label, Totals] = {}
            if same := stats.get(function):
                primitive_calls, calls = primitive_calls + same[0], calls + same[1]
                own_s, total_s, callers = own_s + same[2], total_s + same[3], same[4]
            stats[function] = primitive_calls, calls, own_s, total_s, callers
            callers_of[id(entry.code)] = callers
        for function, entry in entries:
            for callee in entry.calls or ():
                if (edges := callers_of.get(id(callee.code))) is None:
                    continue
                before = edges.get(function, (0, 0, 0.0, 0.0))
                edges[function] = (
                    before[0] + callee.callcount,
                    before[1] + callee.callcount - callee.reccallcount,
                    before[2] + callee.inlinetime,
                    before[3] + callee.totaltime,
                )
        self.stats = stats

    def run(self, cmd: str | CodeType) -> Profile:
        import __main__

        return self.runctx(cmd, __main__.__dict__, __main__.__dict__)

    def runctx(
        self, cmd: str | CodeType, globals: dict[str, Any], locals: dict[str, Any] | None
    ) -> Profile:
        self.enable()
        try:
            exec(cmd, globals, locals)
        finally:
            self.disable()
        return self

    def runcall(self, func: Any, /, *args: Any, **kw: Any) -> Any:
        self.enable()
        try:
            return func(*args, **kw)
        finally:
            self.disable()

    def __enter__(self) -> Profile:
        self.enable()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.disable()


def label(code: str | CodeType) -> Label:
    """What pstats calls a function: file, line and name; a built-in one has no file."""
    if isinstance(code, str):
        return ("~", 0, code)
    return (code.co_filename, code.co_firstlineno, code.co_name)


def run(statement: str | CodeType, filename: str | None = None, sort: Sort = -1) -> None:
    """Profiles a statement in the namespace of `__main__`; prints its statistics or, with a file
    name, writes them to that file."""
    import __main__

    runctx(statement, __main__.__dict__, __main__.__dict__, filename, sort)


def runctx(
    statement: str | CodeType,
    globals: dict[str, Any],
    locals: dict[str, Any] | None,
    filename: str | None = None,
    sort: Sort = -1,
) -> None:
    """As run(), in the given namespaces."""
    profile = Profile()
    try:
        profile.runctx(statement, globals, locals)
    except SystemExit:
        pass
    finally:
        if filename is not None:
            profile.dump_stats(filename)
        else:
            profile.print_stats(sort)


def main() -> None:
    """cProfile's command line, as `python -m stepscope`."""
    # Here, since the profiled program may not expect them to be imported.
    import optparse
    import runpy

    parser = optparse.OptionParser(
        prog="python -m stepscope",
        usage="%prog [-o output_file_path] [-s sort] [-m module | scriptfile] [arg] ...",
    )
    parser.allow_interspersed_args = False
    parser.add_option("-o", "--outfile", help="Save stats to <outfile>", default=None)
    parser.add_option(
        "-s",
        "--sort",
        help="Sort order when printing to stdout, based on pstats.Stats class",
        default=2,
        choices=sorted(pstats.Stats.sort_arg_dict_default),
    )
    parser.add_option(
        "-m", dest="module", action="store_true", help="Profile a library module", default=False
    )
    options, args = parser.parse_args()
    if not args:
        parser.print_usage()
        sys.exit(2)
    sys.argv[:] = args
    # The program may change its folder.
    outfile = None if options.outfile is None else os.path.abspath(options.outfile)
    code: str | CodeType
    if options.module:
        code = "run_module(modname, run_name='__main__')"
        namespace = {"run_module": runpy.run_module, "modname": args[0]}
    else:
        sys.path.insert(0, os.path.dirname(args[0]))
        with io.open_code(args[0]) as file:
            code = compile(file.read(), args[0], "exec")
        namespace = become_main(args[0])
    try:
        runctx(code, namespace, None, outfile, options.sort)
    except BrokenPipeError as error:
        sys.stdout = None  # or its flush at exit would fail once more
        sys.exit(error.errno)


def become_main(script: str) -> dict[str, Any]:
    """The namespace of a new module `__main__`, which stands for the script."""
    spec = importlib.machinery.ModuleSpec(name="__main__", loader=None, origin=script)
    module = types.ModuleType(spec.name)
    sys.modules[spec.name] = module
    module.__dict__.update(__spec__=spec, __file__=script, __package__=None, __cached__=None)
    return module.__dict__


if __name__ == "__main__":
    main()
