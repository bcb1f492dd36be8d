"""Sends a run to where the user wants it, without ever being in the program's way.

The work is done by a process of its own (`_transfer.py`), which ends by itself in good time: what
stores' libraries import, start or wait for is no part of the program.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import time

from stepscope import _transfer

_GRACE_S = 2.0  # for the process to start and to say its last word


def mlflow_url() -> str:
    """Where artifacts of the run go that this process is part of; the run may be its own."""
    run = os.environ.get("MLFLOW_RUN_ID", "")
    mlflow = sys.modules.get("mlflow")
    if not run and mlflow is not None:
        with contextlib.suppress(Exception):  # there is none
            run = mlflow.active_run().info.run_id
    return f"{_transfer.MLFLOW}{run}/{_transfer.MLFLOW_FOLDER}"


def _environment() -> dict[str, str]:
    """The program's own, without what would have the process recorded."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name != "STEPSCOPE" and name != "STEPSCOPE_RUN"
    }
    mlflow = sys.modules.get("mlflow")
    if mlflow is not None:
        with contextlib.suppress(Exception):
            environment["MLFLOW_TRACKING_URI"] = mlflow.get_tracking_uri()
    return environment


class Upload:
    """One on its way. `finish()` waits for it."""

    def __init__(self, folder: str, url: str, *, is_again: bool, seconds: float) -> None:
        self.url = url
        self.fault = ""
        self._folder = folder
        self._why = ""
        self._done = ""
        self._is_over = False
        self._rest = b""
        self._pid = os.getpid()
        self._until = time.monotonic() + seconds + _GRACE_S
        command = [sys.executable, "-P", _transfer.__file__, "upload", "--detach"]
        command += ["--url", url, "--folder", folder, "--pid", str(os.getpid())]
        command += ["--seconds", str(seconds)] + (["--again"] if is_again else [])
        # It leaves a process that is not ours: its output tells when that has ended.
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
        ) as process:
            assert process.stdout is not None
            self._output = os.dup(process.stdout.fileno())

    def finish(self) -> None:
        """Waits until it is done or its time is over; then `fault` says what went wrong."""
        if self._pid != os.getpid():  # of the process that this one was forked from
            self._is_over = True
        while not self._is_over and self._output >= 0:
            left = self._until - time.monotonic()
            if left <= 0 or not select.select([self._output], [], [], left)[0]:
                break
            self._read()
        if self._output >= 0:
            os.close(self._output)
            self._output = -1
        if not self._done and not self.fault and self._pid == os.getpid():
            self.fault = self._why or "it took too long"

    def _read(self) -> None:
        data = os.read(self._output, 65536)
        self._is_over = not data
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            word, _, text = line.decode(errors="replace").partition(" ")
            if word == "why":
                self._why = text
            elif word == "fault":
                self.fault = text
            elif word == "done":
                self._done = text

    def describe(self) -> str:
        """What is told at the end; "" where there is nothing to tell."""
        shown = _transfer.shown(self.url)
        if self.fault:
            return f"{shown}: not uploaded: {self.fault}; the run is in {self._folder}"
        if not self._done:
            return ""
        count, size = map(int, self._done.split())
        files = "1 file" if count == 1 else f"{count} files"
        return f"{shown}: {files} of the run uploaded, {size / 1e6:.1f} MB"


class Uploads:
    """Those of a recording: when its last step is over, and at its end what has come since."""

    def __init__(self, folder: str, urls: list[str], wants_mlflow: bool) -> None:
        self._folder = folder
        self._urls = urls
        self._wants_mlflow = wants_mlflow
        self._mlflow_url = mlflow_url() if wants_mlflow else ""
        self._running: list[Upload] = []
        self._sent: set[str] = set()

    def start(self) -> None:
        """Begins to send what is there, and returns at once."""
        self._sent = set(_transfer.find_local(self._folder))
        self._running = [self._begin(url, False, _transfer.timeout()) for url in self._all_urls()]

    def finish(self) -> list[str]:
        """Sends what has not been sent, and waits no longer than is allowed; what to tell."""
        until = time.monotonic() + _transfer.timeout()
        first = {upload.url: upload for upload in self._running}
        for upload in first.values():
            upload.finish()
        has_more = set(_transfer.find_local(self._folder)) != self._sent
        uploads = []
        for url in self._all_urls():
            earlier = first.get(url)
            left = until - time.monotonic()
            if earlier is not None and (left < 1 or not (has_more or earlier.fault)):
                uploads.append(earlier)
            else:
                uploads.append(self._begin(url, earlier is not None, max(left, 1)))
        for upload in uploads:
            upload.finish()
        return [text for text in (upload.describe() for upload in uploads) if text]

    def _all_urls(self) -> list[str]:
        if self._wants_mlflow and self._mlflow_url.startswith(f"{_transfer.MLFLOW}/"):
            self._mlflow_url = mlflow_url()  # the program may have begun its run by now
        return self._urls + ([self._mlflow_url] if self._wants_mlflow else [])

    def _begin(self, url: str, is_again: bool, seconds: float) -> Upload:
        return Upload(self._folder, url, is_again=is_again, seconds=seconds)
