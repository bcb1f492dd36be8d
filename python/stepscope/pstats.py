"""Python's pstats with the work done in C++: the same names, files and output, only faster.

>>> from stepscope.pstats import SortKey, Stats
>>> Stats("program.prof").strip_dirs().sort_stats(SortKey.TIME).print_stats(10)

Files are read by a decoder of our own, which executes nothing; other traces that Stepscope knows
are taken as well. Every name of the standard module is here; what is not faster is its own.
"""

from __future__ import annotations

import os
import pstats as _pstats
import re
import time
from pstats import FunctionProfile, SortKey, StatsProfile
from typing import IO, Any

from stepscope import _core

__all__ = ["FunctionProfile", "SortKey", "Stats", "StatsProfile"]

_OLD_SORT_KEYS = {-1: "stdname", 0: "calls", 1: "time", 2: "cumulative"}
# What a subclass may have changed about the output: then the standard module's own code prints.
_PRINTERS = (
    "eval_print_amount",
    "get_print_list",
    "print_call_heading",
    "print_call_line",
    "print_line",
    "print_title",
)


def __getattr__(name: str) -> Any:
    """Functions of the standard module: add_callers, func_std_string, …"""
    return getattr(_pstats, name)


class Stats(_pstats.Stats):
    """pstats.Stats. The profile lies in C++ until a program looks at it.

    Once a program has seen ``stats``, ``fcn_list`` or ``all_callees``, it may change them: from
    then on these objects are what counts, and C++ reads them anew each time. Where they hold what
    no profiler writes, the standard module does the work.
    """

    files: list[str]
    stream: IO[str]
    total_calls: int
    prim_calls: int
    total_tt: float
    max_name_len: int
    top_level: set[Any]
    sort_type: str

    _native: _core.CallStats
    _dict: dict[Any, Any] | None
    _order: Any  # CallRows, or what a program has seen or set as fcn_list
    _callees: dict[Any, Any] | None
    _has_own_printers = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._has_own_printers = any(getattr(cls, n) is not getattr(Stats, n) for n in _PRINTERS)

    def __getstate__(self) -> dict[str, Any]:
        seen = {"_dict": self.stats, "_order": self.fcn_list, "_callees": self.all_callees}
        return {**{key: self.__dict__[key] for key in self.__dict__.keys() - {"_native"}}, **seen}

    # The profile: _dict where a program has seen it, else _native.

    @property
    def stats(self) -> dict[Any, Any]:
        """{(file, line, name): (primitive calls, calls, self, total, callers)}, in seconds."""
        if self._dict is None:
            self._order = self.fcn_list
            self._dict = self._native.to_dict()
        return self._dict

    @stats.setter
    def stats(self, stats: dict[Any, Any]) -> None:
        self._order = self.fcn_list
        self._dict = stats

    @property
    def fcn_list(self) -> Any:
        """The functions in the order of sort_stats(); None or 0 where they are not sorted."""
        if isinstance(self._order, _core.CallRows):
            self._order = self._native.keys(self._order)
        return self._order

    @fcn_list.setter
    def fcn_list(self, functions: Any) -> None:
        self._order = functions

    @property
    def all_callees(self) -> dict[Any, Any] | None:
        """{function: {function that it called: figures}}; None before they are needed."""
        if self._callees is None and self._dict is None and self._native.has_callees:
            self._callees = self._native.callees_to_dict()
        return self._callees

    @all_callees.setter
    def all_callees(self, callees: dict[Any, Any] | None) -> None:
        self._callees = callees
        if callees is None and hasattr(self, "_native"):
            self._native.drop_callees()

    def _set_native(self, core: _core.CallStats) -> None:
        self._native = core
        self._dict = None

    def _find_core(self) -> _core.CallStats | None:
        """The profile in C++; None where it is nothing that a profiler writes."""
        if self._dict is None:
            return self._native
        try:
            return _core.CallStats.from_dict(self._dict)
        except (TypeError, OverflowError):
            return None

    # Loading and saving.

    def load_stats(self, arg: Any) -> None:
        """Takes over the profile of a file or of an object with create_stats()."""
        if arg is None:
            self._set_native(_core.CallStats.from_dict({}))
            return
        if isinstance(arg, (str, os.PathLike)):
            path = os.fspath(arg)
            self._set_native(_load(path))
            self.files = [f"{time.ctime(os.stat(path).st_mtime)}    {path}"]
            arg = self.files[0]
        elif hasattr(arg, "create_stats"):
            arg.create_stats()
            self._adopt(arg.stats)
            arg.stats = {}
        elif isinstance(arg, _pstats.Stats):
            self._adopt(dict(arg.stats))  # type: ignore[attr-defined]
        if not (len(self._native) if self._dict is None else self._dict):
            raise TypeError(f"Cannot create or construct a {type(self)!r} object from {arg!r}")

    def _adopt(self, stats: dict[Any, Any]) -> None:
        self.stats = stats
        core = self._find_core()
        if core is not None:
            self._set_native(core)

    def get_top_level_stats(self) -> None:
        """Adds up the figures of all functions."""
        core = self._find_core()
        if core is None:
            return super().get_top_level_stats()
        calls, primitive_calls, self_s, name_width, top_level = core.totals()
        self.total_calls += calls
        self.prim_calls += primitive_calls
        self.total_tt += self_s
        self.max_name_len = max(self.max_name_len, name_width)
        self.top_level.update(top_level)
        return None

    def add(self, *arg_list: Any) -> Stats:
        """Adds other profiles: file names, profilers or Stats."""
        for arg in reversed(arg_list):
            item = arg if type(arg) is type(self) else Stats(arg)
            self.files += item.files
            self.total_calls += item.total_calls
            self.prim_calls += item.prim_calls
            self.total_tt += item.total_tt
            for function in item.top_level:  # one by one: the order of a set depends on it
                self.top_level.add(function)
            self.max_name_len = max(self.max_name_len, item.max_name_len)
            self._order = None
            core, other = self._find_core(), item._find_core()
            if core is None or other is None:
                for function, figures in item.stats.items():
                    old = self.stats.get(function, (0, 0, 0, 0, {}))
                    self.stats[function] = __getattr__("add_func_stats")(old, figures)
                continue
            core.add(other)
            if self._dict is not None:
                self._dict.update(core.to_dict())
        return self

    def dump_stats(self, filename: Any) -> None:
        """Writes a file that pstats, snakeviz, gprof2dot and flameprof read."""
        core = self._find_core()
        if core is None:
            return super().dump_stats(filename)
        with open(filename, "wb") as file:
            file.write(core.encode())
        return None

    # Order.

    def sort_stats(self, *field: Any) -> Stats:
        """Sorts by fields: names, their unique beginnings, SortKey, or one of the old numbers."""
        core = self._find_core()
        if not field or core is None:
            return super().sort_stats(*field)
        if len(field) == 1 and isinstance(field[0], int):
            field = (_OLD_SORT_KEYS[field[0]],)
        if any(type(word) is not type(field[0]) for word in field):
            raise TypeError("Can't have mixed argument type")
        known = self.get_sort_arg_defs()
        words = [word.value if isinstance(word, SortKey) else word for word in field]
        self.sort_type = ", ".join(known[word][1] for word in words)
        rows = core.sort([key for word in words for key in known[word][0]])
        self._order = rows if self._dict is None else core.keys(rows)
        return self

    def reverse_order(self) -> Stats:
        """Turns the order round."""
        if self._order:
            self._order.reverse()
        return self

    def strip_dirs(self) -> Stats:
        """Takes the folders off file names; functions that are then the same become one."""
        core = self._find_core()
        if core is None:
            return super().strip_dirs()
        self._set_native(core.without_folders())
        self._order = self._callees = None
        self.max_name_len = self._native.width(self._native.rows())
        strip = __getattr__("func_strip_path")
        self.top_level = {strip(function) for function in self.top_level}
        return self

    def calc_callees(self) -> None:
        """Works out all_callees, unless it is known already."""
        if self._dict is not None or self._callees is not None:
            return super().calc_callees()
        return self._native.calc_callees()

    # Output.

    def _find_rows(self, core: _core.CallStats) -> _core.CallRows | None:
        """The functions in the order of sort_stats(); None where they are not sorted."""
        if not self._order:
            return None
        return (
            self._order if isinstance(self._order, _core.CallRows) else core.find_rows(self._order)
        )

    def _restrict(
        self, core: _core.CallStats, rows: _core.CallRows, amount: Any
    ) -> tuple[_core.CallRows, str]:
        """The rows that a restriction leaves, and what is to be said about it."""
        kept = rows
        if isinstance(amount, str):
            try:
                pattern = re.compile(amount)
            except re.error:
                return rows, f"   <Invalid regular expression {amount!r}>\n"
            names = core.names(rows)
            kept = rows.take([i for i, name in enumerate(names) if pattern.search(name)])
        elif isinstance(amount, float) and 0.0 <= amount < 1.0:
            kept = rows.head(int(len(rows) * amount + 0.5))
        elif isinstance(amount, int) and 0 <= amount < len(rows):
            kept = rows.head(amount)
        if len(kept) == len(rows):
            return kept, ""
        restriction = f"restriction <{amount!r}>"
        return kept, f"   List reduced from {len(rows)} to {len(kept)} due to {restriction}\n"

    def _select(
        self, core: _core.CallStats, amounts: tuple[Any, ...]
    ) -> tuple[int, _core.CallRows]:
        """The rows to print and the width of their column of names; says how they were chosen."""
        rows = self._find_rows(core)
        if rows is None:
            rows = core.rows()
            message = "   Random listing order was used\n"
        else:
            message = f"   Ordered by: {self.sort_type}\n"
        for amount in amounts:
            rows, remark = self._restrict(core, rows, amount)
            message += remark
        if not rows:
            return 0, rows
        print(message, file=self.stream)
        width = self.max_name_len if len(rows) >= len(core) else core.width(rows)
        return width + 2, rows

    def get_stats_profile(self) -> StatsProfile:
        """The figures that print_stats() would print, by the name of the function."""
        core = self._find_core()
        if core is None:
            return super().get_stats_profile()
        rows = self._find_rows(core) or core.rows()
        if not rows:
            return StatsProfile(0, {})
        profiles = {name: FunctionProfile(*rest) for name, *rest in core.profiles(rows)}
        return StatsProfile(float(f"{self.total_tt:.3f}"), profiles)

    def print_stats(self, *amount: Any) -> Stats:
        """Prints the functions that the restrictions (number, fraction, pattern) leave."""
        core = self._find_core()
        if core is None or self._has_own_printers:
            return super().print_stats(*amount)
        lines = [*self.files, ""] if self.files else []
        lines += [f"         {function[2]}" for function in self.top_level]
        primitive = ""
        if self.total_calls != self.prim_calls:
            primitive = f"({self.prim_calls} primitive calls) "
        lines.append(
            f"         {self.total_calls} function calls {primitive}in {self.total_tt:.3f} seconds"
        )
        print(*lines, "", sep="\n", file=self.stream)
        _, rows = self._select(core, amount)
        if rows:
            self.print_title()
            print(core.format_stats(rows), end="\n\n", file=self.stream)
        return self

    def print_callers(self, *amount: Any) -> Stats:
        """Prints who called the functions that the restrictions leave."""
        core = self._find_core()
        if core is None or self._has_own_printers:
            return super().print_callers(*amount)
        width, rows = self._select(core, amount)
        if rows:
            print(core.format_callers(rows, width), end="\n\n", file=self.stream)
        return self

    def print_callees(self, *amount: Any) -> Stats:
        """Prints whom the functions that the restrictions leave have called."""
        is_seen = self._dict is not None or self._callees is not None
        if is_seen or self._has_own_printers:
            return super().print_callees(*amount)
        width, rows = self._select(self._native, amount)
        if rows:
            print(self._native.format_callees(rows, width), end="\n\n", file=self.stream)
        return self


def _load(path: str) -> _core.CallStats:
    try:
        if not os.path.isdir(path):
            with open(path, "rb") as file:
                head = file.read(16)
                if _core.looks_like_prof(head) or not head:
                    return _core.CallStats.decode(head + file.read(), path)
        return _core.CallStats.from_trace(_core.load(path))
    except _core.TraceError as error:
        raise ValueError(str(error)) from None
