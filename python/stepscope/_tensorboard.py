"""The tab in TensorBoard: the viewer's page for the runs and traces in a logdir.

TensorBoard finds it by the entry point `tensorboard_plugins` and is the server: it decides who may
ask. A request names a run by its number, never by a path. A run is loaded when it is first shown.
Imported by TensorBoard alone.
"""

import os
import re
import threading
import time
from collections.abc import Iterator
from typing import Any

from tensorboard.backend.http_util import Respond
from tensorboard.plugins.base_plugin import FrontendMetadata, TBContext, TBPlugin
from werkzeug.wrappers import Request, Response

from stepscope import _core

_RECORDINGS = (".sscope", ".sscope.gz", ".sscope.zst")
_TRACES = tuple(f".pt.trace.json{packed}" for packed in ("", ".gz", ".zst"))
_PROFILES = tuple(f".xplane.pb{packed}" for packed in ("", ".gz", ".zst"))
# Large traces take some hundred megabytes each.
_MAX_OPEN_RUNS = 8
_MAX_BODY_BYTES = 64 << 10
_LEAST_BETWEEN_SEARCHES_S = 2.0
# A large logdir takes long to search: not more than a tenth of the time goes into it.
_TIMES_BETWEEN_SEARCHES = 10
_API_ROUTE = "/api/"
# TensorBoard's frame imports this module; the page then takes the frame.
_ENTRY_MODULE = b"""export function render() {
  location.replace(new URL("index.html", document.baseURI));
}
"""


def logdirs_of(flags: Any) -> list[tuple[str, str]]:
    """The folders that TensorBoard was given, each with the name of its group ("" for none)."""
    if getattr(flags, "logdir", None):
        return [("", os.path.expanduser(flags.logdir))]
    found = []
    for part in (getattr(flags, "logdir_spec", None) or "").split(","):
        group, colon, path = part.partition(":")
        if not colon or part.startswith("/"):
            group, path = "", part
        if path and not path.startswith("//"):
            found.append((group, os.path.expanduser(path)))
    return found


def find_runs(logdir: str) -> Iterator[tuple[str, str]]:
    """Path and name of each run and trace below, by name; what links lead out of it is not."""
    top = os.path.realpath(logdir)
    for folder, folders, files in os.walk(top):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        below = "" if folder == top else os.path.relpath(folder, top)
        is_run = _core.is_run_folder(folder)
        if is_run:
            yield folder, below or os.path.basename(top)
            folders[:] = [name for name in folders if name != "plugins"]  # a part of the run
        elif any(name.endswith(_PROFILES) for name in files):  # of several hosts: one trace
            yield folder, below or os.path.basename(top)
        suffixes = _TRACES if is_run else _TRACES + _RECORDINGS
        for name in sorted(files):
            suffix = next((known for known in suffixes if name.endswith(known)), None)
            path = os.path.realpath(os.path.join(folder, name))
            if suffix and not name.startswith(".") and path.startswith(os.path.join(top, "")):
                yield path, os.path.join(below, name.removesuffix(suffix))


class _Runs:
    """What was found so far, in the order of its numbers: what came later has higher ones."""

    def __init__(self, logdirs: list[tuple[str, str]]) -> None:
        self._logdirs = logdirs
        self._lock = threading.Lock()
        self._viewer = _core.Viewer(_MAX_OPEN_RUNS)
        self._paths: set[str] = set()
        self._next_search = 0.0

    def search(self) -> bool:
        """Looks for new ones where it is time; whether there is any."""
        with self._lock:
            begin = time.monotonic()
            if begin >= self._next_search:
                for group, logdir in self._logdirs:
                    for path, name in find_runs(logdir):
                        self._add(path, os.path.join(group, name))
                end = time.monotonic()
                pause = _TIMES_BETWEEN_SEARCHES * (end - begin)
                self._next_search = end + max(pause, _LEAST_BETWEEN_SEARCHES_S)
            return bool(self._paths)

    def _add(self, path: str, name: str) -> None:
        try:
            path.encode()
            name.encode()
        except UnicodeEncodeError:  # a name that is no text
            return
        if path not in self._paths:
            self._paths.add(path)
            self._viewer.add(path, name)

    def answer(
        self, path: str, parameters: list[tuple[str, str]], body: bytes | None
    ) -> tuple[int, str, bytes]:
        if path == "runs":
            self.search()
        return self._viewer.answer(path, parameters, body)


class StepscopePlugin(TBPlugin):  # type: ignore[misc]
    """What TensorBoard asks of a plugin."""

    plugin_name = "stepscope"

    def __init__(self, context: TBContext) -> None:
        self._runs = _Runs(logdirs_of(context.flags))

    def is_active(self) -> bool:
        return self._runs.search()

    def frontend_metadata(self) -> FrontendMetadata:
        return FrontendMetadata(
            es_module_path="/index.js", tab_name="Stepscope", disable_reload=True
        )

    def get_plugin_apps(self) -> dict[str, Any]:
        apps = {f"/{name}": _file_app(content, type) for name, type, content in _core.page_files()}
        apps["/index.js"] = _file_app(_ENTRY_MODULE, "text/javascript")
        apps[f"{_API_ROUTE}*"] = Request.application(self._answer)
        return apps

    def _answer(self, request: Request) -> Response:
        if request.method not in ("GET", "HEAD", "POST"):
            return _refuse(request, 405, "only GET and POST")
        body = None
        if request.method == "POST":
            if (request.content_length or 0) > _MAX_BODY_BYTES:
                return _refuse(request, 413, "the request is too long")
            body = request.get_data()
        path = re.sub(f"^.*?/{self.plugin_name}{_API_ROUTE}", "", request.path)
        try:
            parameters = list(request.args.items(multi=True))
            status, type, content = self._runs.answer(path, parameters, body)
        except UnicodeEncodeError:
            return _refuse(request, 400, "the request is no text")
        except MemoryError:
            return _refuse(request, 500, "out of memory")
        return Respond(request, content, type, code=status)


def _file_app(content: bytes, type: str) -> Any:
    def app(request: Request) -> Response:
        return Respond(request, content, type)

    return Request.application(app)


def _refuse(request: Request, status: int, message: str) -> Response:
    return Respond(request, {"error": message}, "application/json", code=status)
