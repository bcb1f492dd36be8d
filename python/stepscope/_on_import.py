"""Something to be done once a program has imported a module, without importing it or anything else.

>>> when_imported("torch", lambda torch: print(torch.__version__))

A finder before all others waits for the module's name. It leaves finding to the others and lets the
loader that they found tell when it is done: the module's spec, loader, errors and tracebacks are as
without it. Then it goes."""

import sys

from stepscope import _core

TYPE_CHECKING = False  # typing's own would have to be imported
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class _Finder:
    def __init__(self, name: str, callback: "Callable[[ModuleType], object]") -> None:
        self._name = name
        self._callback = callback

    def find_spec(
        self, name: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        if name != self._name:
            return None
        try:
            spec = self._find_with_others(path, target)
        except BaseException as error:
            # As if the import system had asked that finder.
            inner = error.__traceback__ and error.__traceback__.tb_next
            error.__traceback__ = inner and inner.tb_next
            raise
        # It may only be looked for: that tells nothing.
        if spec is not None and spec.loader is not None:
            _core.watch_loader(spec.loader, self._loaded)
        return spec

    def _find_with_others(
        self, path: "Sequence[str] | None", target: "ModuleType | None"
    ) -> "ModuleSpec | None":
        for finder in list(sys.meta_path):
            find_spec = getattr(finder, "find_spec", None)
            if finder is not self and find_spec is not None:
                spec: ModuleSpec | None = find_spec(self._name, path, target)
                if spec is not None:
                    return spec
        return None

    def _loaded(self, module: "ModuleType") -> None:
        # A module that was made from the spec by hand need not be the one that is imported.
        if self in sys.meta_path and sys.modules.get(self._name) is module:
            sys.meta_path.remove(self)
            self._callback(module)


def when_imported(name: str, callback: "Callable[[ModuleType], object]") -> None:
    """Calls `callback(module)` when the module is imported; at once where it is already. Errors of
    it go to sys.unraisablehook: they are none of the import's."""
    module = sys.modules.get(name)
    spec = getattr(module, "__spec__", None)
    if module is not None and not getattr(spec, "_initializing", False):
        callback(module)
    else:
        sys.meta_path.insert(0, _Finder(name, callback))
