"""What of PyTorch the tracer of Python calls knows by name: phases of training, and modules.

Nothing of torch is changed: its code objects are marked, and the tracer that sees them called
writes a slice around. A torch that does without one of these functions loses that slice. Where
samples are taken there is no tracer: then the backward pass alone is told, since steps need it."""

from _thread import _local
from types import CodeType, ModuleType

from stepscope import _core
from stepscope._on_import import when_imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

CATEGORY = "phase"


def on_torch_imported(torch: ModuleType) -> None:
    """Once per process, when the program has imported torch."""
    _mark(torch, "Tensor.backward", "backward", outermost_only=True)
    _mark(torch, "autograd.backward", "backward", outermost_only=True)
    _mark(torch, "save", "checkpoint")
    if code := _find_code(torch, "nn.Module._call_impl"):
        _core.mark_module_calls(code)
    when_imported("torch.utils.data._utils.fetch", _on_fetch_imported)
    when_imported("torch.utils.data._utils.collate", _on_collate_imported)


def watch_backward(torch: ModuleType, is_wanted: "Callable[[], bool]") -> None:
    """Writes a slice around each backward pass while it `is_wanted`. The first call counts."""
    state = _local()  # by thread: how deep it is, and the label that is open

    def begin(args: object, kwargs: object) -> None:
        depth = state.__dict__.get("depth", 0)
        state.depth = depth + 1
        if depth == 0:  # a hook may go backward again
            state.label = _core.intern("backward", CATEGORY) if is_wanted() else 0
            if state.label:
                _core.begin(state.label)

    def end(args: object, has_failed: bool) -> None:
        state.depth -= 1
        if state.depth == 0 and state.label:
            _core.end(state.label)

    autograd = vars(torch).get("autograd")
    if autograd is not None:
        _core.watch_calls(autograd, "backward", begin, end)


def _on_fetch_imported(fetch: ModuleType) -> None:
    _mark(fetch, "_MapDatasetFetcher.fetch", "fetch")
    _mark(fetch, "_IterableDatasetFetcher.fetch", "fetch")
    # The program's own function, which each fetcher is given.
    code = _find_code(fetch, "_BaseDatasetFetcher.__init__")
    if code is not None and "collate_fn" in code.co_varnames[: code.co_argcount]:
        _core.mark_argument(code, code.co_varnames.index("collate_fn"), "collate", CATEGORY)


def _on_collate_imported(collate: ModuleType) -> None:
    _mark(collate, "default_collate", "collate", outermost_only=True)


def _mark(module: ModuleType, path: str, name: str, *, outermost_only: bool = False) -> None:
    if code := _find_code(module, path):
        _core.mark_code(code, name, CATEGORY, outermost_only)


def _find_code(module: ModuleType, path: str) -> CodeType | None:
    """Of the function that lies there, under whatever decorators have put around it: their code may
    be around other functions too."""
    found: object = module
    for name in path.split("."):
        # A module's own __getattr__ might import something.
        found = vars(found).get(name) if hasattr(found, "__dict__") else None
    while (inner := getattr(found, "__wrapped__", None)) is not None:
        found = inner
    code = getattr(found, "__code__", None)
    return code if isinstance(code, CodeType) else None
