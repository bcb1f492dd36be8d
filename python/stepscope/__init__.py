"""Stepscope finds out where the time and memory of machine-learning code go.

>>> import stepscope
>>> trace = stepscope.load("trace.json")        # Kineto, Chrome, viztracer, MegEngine, .sscope
>>> trace.operators(limit=3)                    # a table: prints itself, exports Arrow
>>> trace.sql("select name, sum(dur_ns) from slices group by name")
>>> with stepscope.profile("outputs/profiler_results"):
...     train()                                 # recorded, with every Python call
"""

from stepscope._core import TraceError, __version__

TYPE_CHECKING = False  # typing's own would have to be imported
if TYPE_CHECKING:
    from stepscope._arguments import add_arguments, from_args
    from stepscope._autostart import autostart
    from stepscope._findings import Finding
    from stepscope._profile import epoch, profile, record_function, step
    from stepscope._record_library import get_include, get_library
    from stepscope._table import Table
    from stepscope._trace import Slices, Trace, load

__all__ = [
    "Finding",
    "Slices",
    "Table",
    "Trace",
    "TraceError",
    "__version__",
    "add_arguments",
    "autostart",
    "epoch",
    "from_args",
    "get_include",
    "get_library",
    "load",
    "profile",
    "record_function",
    "step",
]

# Imported when first used: a program that is only recorded needs none of them.
_MODULES = {
    "Finding": "_findings",
    "Slices": "_trace",
    "Table": "_table",
    "Trace": "_trace",
    "add_arguments": "_arguments",
    "autostart": "_autostart",
    "epoch": "_profile",
    "from_args": "_arguments",
    "get_include": "_record_library",
    "get_library": "_record_library",
    "load": "_trace",
    "load_ipython_extension": "_notebook",
    "profile": "_profile",
    "record_function": "_profile",
    "step": "_profile",
}


def __getattr__(name: str) -> object:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
