"""Stepscope finds out where the time and memory of machine-learning code go.

>>> import stepscope
>>> trace = stepscope.load("trace.json")        # Kineto, Chrome, viztracer, MegEngine, .sscope
>>> trace.operators(limit=3)                    # a table: prints itself, exports Arrow
>>> trace.sql("select name, sum(dur_ns) from slices group by name")
"""

from stepscope._core import TraceError, __version__
from stepscope._record_library import get_include, get_library
from stepscope._table import Table
from stepscope._trace import Slices, Trace, load

__all__ = [
    "Slices",
    "Table",
    "Trace",
    "TraceError",
    "__version__",
    "get_include",
    "get_library",
    "load",
]
