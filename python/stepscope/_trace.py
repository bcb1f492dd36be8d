"""Trace: a loaded file, and load()."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from stepscope import _core
from stepscope._findings import Finding
from stepscope._table import Table, arrow_to_pandas

if TYPE_CHECKING:
    import duckdb
    import pandas


class Slices:
    """The raw slices of a trace. Exports Arrow, as often as it is asked to, in batches."""

    def __init__(self, core: _core.Trace) -> None:
        self._core = core

    def __len__(self) -> int:
        return self._core.slice_count

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._core.slices_arrow_c_stream()

    def __repr__(self) -> str:
        return f"<{len(self):,} slices of {self._core.source}>"

    def to_pandas(self) -> pandas.DataFrame:
        """A DataFrame. Needs pandas and pyarrow: ``pip install stepscope[pandas]``."""
        return arrow_to_pandas(self)


class Trace:
    """A loaded trace. Every view is a method; all give a Table.

    Views take ``sort`` (a column, with "-" or "+" before it), ``limit`` (0 is all, None the
    view's own), ``filter`` (a regular expression on names), ``track`` (one on tracks) and
    ``range`` (a pair of ns from the trace's begin).
    """

    def __init__(self, core: _core.Trace) -> None:
        self._core = core

    @property
    def source(self) -> str:
        """The path that it was loaded from."""
        return self._core.source

    @property
    def format(self) -> str:
        """What the file was: "Kineto JSON", "XPlane", "Chrome JSON", "sscope", …"""
        return self._core.format

    @property
    def duration_ns(self) -> int:
        """From the first moment in the trace to the last."""
        return self._core.end_ns - self._core.begin_ns

    @property
    def stats(self) -> dict[str, int]:
        """What was skipped, mended, dropped or cut to load it."""
        return self._core.stats

    @property
    def notes(self) -> list[str]:
        """Sentences about faults in the file."""
        return self._core.notes

    @property
    def slices(self) -> Slices:
        """The raw slices, for Arrow."""
        return Slices(self._core)

    def __repr__(self) -> str:
        seconds = self.duration_ns / 1e9
        return f"<Trace {self.source}: {self.format}, {len(self.slices):,} slices, {seconds:.3f} s>"

    def _repr_html_(self) -> str:
        from stepscope._notebook import trace_html

        return trace_html(self)

    def view(
        self,
        name: str,
        *,
        sort: str | None = None,
        limit: int | None = None,
        filter: str | None = None,
        range: tuple[int, int] | None = None,
        track: str | None = None,
        by: str | None = None,
        within: str | None = None,
        depth: int | None = None,
        heaviest: bool = False,
    ) -> Table:
        """A view by its name."""
        core = self._core.view(
            name,
            sort=sort,
            limit=-1 if limit is None else limit,
            filter=filter,
            range=range,
            track=track,
            by=by,
            within=within,
            depth=-1 if depth is None else depth,
            heaviest=heaviest,
        )
        return Table(core)

    def overview(self, **options: Any) -> Table:
        """What this trace is and where its time went."""
        return self.view("overview", **options)

    def findings(self) -> list[Finding]:
        """What is wrong, most important first; empty for a program in which nothing stands out."""
        return [Finding(**finding) for finding in self._advice()["findings"]]

    def verdict(self) -> list[str]:
        """What bounds the program, in a few sentences."""
        return list(self._advice()["verdict"])

    def what_if(self, *requests: str) -> Table:
        """What a step would take if something were otherwise.

        A request is the id of a finding, as if it were mended, or ``"NAME=2x"``: a function,
        operator or kernel twice as fast; ``"NAME=0"``: gone.
        """
        return Table(self._core.what_if(list(requests)))

    def _advice(self) -> dict[str, Any]:
        advice: dict[str, Any] = json.loads(self._core.findings_json())
        return advice

    def tracks(self, **options: Any) -> Table:
        """Threads, streams and counters, with how busy each was."""
        return self.view("tracks", **options)

    def operators(self, **options: Any) -> Table:
        """Operators as in key_averages(); ``by="shape"`` or ``by="stack"`` to split them."""
        return self.view("operators", **options)

    def kernels(self, **options: Any) -> Table:
        """Device kernels by name."""
        return self.view("kernels", **options)

    def steps(self, **options: Any) -> Table:
        """Training steps with what their time was spent on."""
        return self.view("steps", **options)

    def phases(self, **options: Any) -> Table:
        """What the training thread spent each step on: input, forward, backward, …"""
        return self.view("phases", **options)

    def input(self, **options: Any) -> Table:
        """Stages of input pipelines (tf.data): what each costs, what is waited for."""
        return self.view("input", **options)

    def modules(self, **options: Any) -> Table:
        """Calls of nn.Module by name."""
        return self.view("modules", **options)

    def devices(self, **options: Any) -> Table:
        """How well each device was used."""
        return self.view("devices", **options)

    def ranks(self, **options: Any) -> Table:
        """What the trace's rank computed, communicated and waited for, per step."""
        return self.view("ranks", **options)

    def collectives(self, **options: Any) -> Table:
        """Collectives by type, process group and size."""
        return self.view("collectives", **options)

    def gpu(self, **options: Any) -> Table:
        """Where devices' time went; ``by="stream"`` (why idle), ``"type"``, ``"annotation"``."""
        return self.view("gpu", **options)

    def launches(self, **options: Any) -> Table:
        """How the host feeds the devices; ``by="call"``, ``"stream"`` (queues) or ``"time"``."""
        return self.view("launches", **options)

    def copies(self, **options: Any) -> Table:
        """Copies of device memory: how much, how fast; ``by="time"``."""
        return self.view("copies", **options)

    def syncs(self, **options: Any) -> Table:
        """Calls that make the host wait for a device; ``by="call"`` for each."""
        return self.view("syncs", **options)

    def critical_path(self, **options: Any) -> Table:
        """The longest chain of causes; ``within="ProfilerStep@1"``; ``by="event"``, ``"edge"``."""
        return self.view("critical_path", **options)

    def sequences(self, **options: Any) -> Table:
        """Kernels that often follow each other, by operator or ``by="stream"``."""
        return self.view("sequences", **options)

    def roofline(self, **options: Any) -> Table:
        """Operators against what their device can compute and move."""
        return self.view("roofline", **options)

    def cupti(self, **options: Any) -> Table:
        """Hardware counters of kernels, with the operators that launched them."""
        return self.view("cupti", **options)

    def memory(self, **options: Any) -> Table:
        """Memory over time; ``by="category"`` what it holds, ``by="operator"`` who took it."""
        return self.view("memory", **options)

    def tree(self, **options: Any) -> Table:
        """The call tree, down to ``depth`` levels; ``heaviest=True`` for its heaviest path."""
        return self.view("tree", **options)

    def functions(self, **options: Any) -> Table:
        """Functions with calls, self and total time."""
        return self.view("functions", **options)

    def lines(self, **options: Any) -> Table:
        """Lines of the program's own code that took most time, from samples; and whether Python,
        native code or waiting took it."""
        return self.view("lines", **options)

    def callers(self, **options: Any) -> Table:
        """Who called each function; ``filter`` picks the functions."""
        return self.view("callers", **options)

    def callees(self, **options: Any) -> Table:
        """Whom each function called; ``filter`` picks the functions."""
        return self.view("callees", **options)

    def sql(self, query: str) -> Table:
        """The result of a SQL query over slices, tracks, args, …: the same as ``stepscope query``.

        >>> trace.sql("select name, count(*) as calls from slices group by name")
        """
        return Table(self._core.sql(query))

    def duckdb(self) -> duckdb.DuckDBPyConnection:
        """A DuckDB connection in which slices and every view are tables.

        Needs duckdb and pyarrow: ``pip install stepscope[duckdb]``.
        """
        import duckdb

        connection = duckdb.connect()
        connection.register("slices", self.slices)
        for name, _ in _core.views():
            connection.register(name, self.view(name, limit=0))
        return connection

    def save(self, path: str | os.PathLike[str]) -> list[str]:
        """Writes the trace in the format of the path's ending: ``.sscope``, ``.json``, ``.prof``, …

        Gives a sentence for each thing that the format has no place for.
        """
        return self._core.save(os.fspath(path))


def load(path: str | os.PathLike[str], *, threads: int = 0) -> Trace:
    """Loads a trace of any format that Stepscope knows; .gz and .zst as they are.

    Also of a URL that fsspec knows, and of ``mlflow://RUN/PATH``: it is downloaded for that.
    Raises TraceError with the message that the command line would print.
    """
    path = os.fspath(path)
    if "://" not in path:
        return Trace(_core.load(path, threads=threads))
    import tempfile

    from stepscope import _transfer

    with tempfile.TemporaryDirectory(prefix="stepscope-") as folder:
        try:
            paths = _transfer.download(path, folder)
        except Exception as error:
            raise _core.TraceError(f"{_transfer.shown(path)}: {_transfer.explain(error)}") from None
        if len(paths) > 1:
            nodes = ", ".join(os.path.basename(run) for run in paths)
            raise _core.TraceError(f"{_transfer.shown(path)}: several runs, name one: {nodes}")
        return Trace(_core.load(paths[0], threads=threads))
