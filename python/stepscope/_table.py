"""Table: the result of every view and query."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from stepscope import _core

if TYPE_CHECKING:
    import pandas


def arrow_to_pandas(exporter: Any) -> pandas.DataFrame:
    """A DataFrame of anything that exports Arrow; needs pandas and pyarrow."""
    import pyarrow

    frame: pandas.DataFrame = pyarrow.table(exporter).to_pandas()
    return frame


class Table:
    """Typed columns with units: times are integers in ns, sizes in bytes, fractions 0..1.

    It prints as text, iterates over its rows as tuples, gives a column by its name, and exports
    Arrow (``__arrow_c_stream__``), so that pyarrow, DuckDB and pandas take it as it is.

    >>> table = trace.operators(sort="self_host_ns", limit=10)
    >>> table["name"][0]
    'aten::conv2d'
    """

    def __init__(self, core: _core.Table) -> None:
        self._core = core

    @property
    def view(self) -> str:
        """The name of the view, or "query"."""
        return self._core.view

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._core.columns

    @property
    def units(self) -> dict[str, str]:
        """The unit of each column: "ns", "bytes", "fraction", "count" or ""."""
        return dict(zip(self._core.columns, self._core.units, strict=True))

    @property
    def stats(self) -> dict[str, int]:
        """What was skipped, mended, dropped or cut in the trace behind this table."""
        return self._core.stats

    @property
    def notes(self) -> list[str]:
        """Sentences that the reader of this table should know."""
        return self._core.notes

    @property
    def rows_total(self) -> int:
        """How many rows there were before the limit."""
        return self._core.rows_total

    def __len__(self) -> int:
        return len(self._core)

    def __getitem__(self, column: str) -> list[Any]:
        return self._core.column(column)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return (self._core.row(i) for i in range(len(self._core)))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._core.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return self._core.render("text")

    def to_dict(self) -> dict[str, list[Any]]:
        """Column name to list of values."""
        return {name: self._core.column(name) for name in self._core.columns}

    def to_json(self) -> dict[str, Any]:
        """The same object that ``stepscope report --format json`` prints."""
        result: dict[str, Any] = json.loads(self._core.render("json"))
        return result

    def to_csv(self) -> str:
        """The same text that ``stepscope report --format csv`` prints."""
        return self._core.render("csv")

    def to_pandas(self) -> pandas.DataFrame:
        """A DataFrame. Needs pandas and pyarrow: ``pip install stepscope[pandas]``."""
        return arrow_to_pandas(self)
