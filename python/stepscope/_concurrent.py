"""Other profilers that are at work in this process: their figures and ours disturb each other."""

import sys


def _name_of(tool: object) -> str:
    module = type(tool).__module__
    if module in {"_lsprof", "cProfile", "stepscope.cprofile"}:
        return "cProfile"
    for known in ("viztracer", "yappi", "pyinstrument", "coverage", "line_profiler", "memray"):
        if known in module or known in (getattr(tool, "__module__", None) or ""):
            return known
    return getattr(tool, "__qualname__", type(tool).__qualname__)


def find_profilers() -> list[str]:
    """Their names."""
    hooks: list[object] = [sys.getprofile(), sys.gettrace()]
    names = [_name_of(tool) for tool in hooks if tool is not None]
    if monitoring := getattr(sys, "monitoring", None):
        tools = [monitoring.get_tool(number) for number in range(6)]
        names += [name for name in tools if name not in (None, "stepscope")]
    # Not imported for it: where it is not loaded it does not run.
    autograd = getattr(sys.modules.get("torch._C"), "_autograd", None)
    if getattr(autograd, "_profiler_enabled", bool)():
        names.append("torch.profiler")
    return list(dict.fromkeys(names))


_has_warned = False


def warn_once(names: str) -> None:
    global _has_warned
    if not _has_warned:
        _has_warned = True
        sys.stderr.write(
            f"stepscope: {names} runs as well: each slows the program for the other "
            "(concurrent-profilers)\n"
        )
