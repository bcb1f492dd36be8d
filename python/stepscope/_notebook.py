"""Notebooks: what a trace looks like in Jupyter, and ``%%stepscope``.

>>> %load_ext stepscope
>>> %%stepscope
... train()

HTML without scripts and without anything from elsewhere. Names come from files: all of them are
escaped.
"""

from __future__ import annotations

import argparse
import contextlib
import html
import shlex
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from stepscope._findings import Finding
    from stepscope._table import Table
    from stepscope._trace import Trace

MAX_STEPS = 120
MAX_FINDINGS = 10
TOP = 10
BARS_WIDTH, BARS_HEIGHT = 720, 110
COLOURS = {
    "input": "#e0a030", "forward": "#4c8fd6", "backward": "#7a6fd0", "optimizer": "#4caf7d",
    "communication": "#d0608a", "copy": "#b08968", "host": "#9aa4b2", "idle": "#d8dce2",
}  # fmt: skip
STYLE = (
    ".stepscope{font-size:13px;line-height:1.45}.stepscope div{white-space:pre-line}"
    ".stepscope table{border-collapse:collapse;margin:4px 0}"
    ".stepscope td,.stepscope th{padding:1px 10px 1px 0;text-align:right}"
    ".stepscope td:first-child,.stepscope th:first-child{text-align:left;max-width:36em;"
    "overflow:hidden;text-overflow:ellipsis;white-space:nowrap}"
    ".stepscope .quiet{opacity:.65}.stepscope ul{margin:4px 0;padding-left:1.6em}"
    ".stepscope .key{display:inline-block;width:.8em;height:.8em;margin:0 .3em 0 .9em}"
)


def time_text(ns: float) -> str:
    """831 ns, 1.204 us, 177.6 ms, 12.50 s."""
    for limit, divisor, unit in ((1e3, 1, "ns"), (1e6, 1e3, "us"), (1e9, 1e6, "ms")):
        if abs(ns) < limit:
            return f"{ns / divisor:.4g} {unit}"
    return f"{ns / 1e9:.2f} s"


def trace_html(trace: Trace) -> str:
    """Verdict, findings, steps and what took most time."""
    title = f"{trace.source}: {trace.format}, {len(trace.slices):,} slices, "
    title += time_text(trace.duration_ns)
    parts = [f"<style>{STYLE}</style><div class='quiet'>{html.escape(title)}</div>"]
    verdict, findings = trace.verdict(), trace.findings()
    parts += [f"<div>{html.escape(sentence)}</div>" for sentence in verdict]
    said = " ".join(verdict)  # the verdict has the most important ones
    parts.append(_findings_html([f for f in findings if f"[{f.id}]" not in said]))
    parts.append(_steps_html(trace.phases(limit=0)))
    operators = trace.operators(limit=TOP)
    if len(operators) > 0:
        parts.append(
            _top_html("Operators", operators, ("self_host_ns", "total_host_ns", "self_device_ns"))
        )
    else:
        parts.append(_top_html("Functions", trace.functions(limit=TOP), ("self_ns", "total_ns")))
    parts += [f"<div class='quiet'>{html.escape(note)}</div>" for note in trace.notes]
    return f"<div class='stepscope'>{''.join(parts)}</div>"


def _findings_html(findings: list[Finding]) -> str:
    if not findings:
        return ""
    items = []
    for finding in findings[:MAX_FINDINGS]:
        place = f" ({finding.where})" if finding.where not in finding.title else ""
        stake = (
            f"{finding.at_stake_fraction:.0%} of the step. " if finding.at_stake_fraction else ""
        )
        items.append(
            f"<li><b>{html.escape(finding.title + place)}</b>: {stake}{html.escape(finding.fix)} "
            f"<span class='quiet'>{html.escape(finding.id)}</span></li>"
        )
    more = len(findings) - MAX_FINDINGS
    rest = f"<div class='quiet'>and {more} more: trace.findings()</div>" if more > 0 else ""
    return f"<ul>{''.join(items)}</ul>{rest}"


def _steps_html(phases: Table) -> str:
    """A bar per step, stacked by phase."""
    names = [c for c in phases.columns if c.endswith("_ns") and c not in ("start_ns", "dur_ns")]
    count = min(len(phases), MAX_STEPS)
    if count == 0 or not names:
        return ""
    values = {name: [v or 0 for v in phases[name][:count]] for name in names}
    steps = phases["step"][:count] if "step" in phases.columns else list(range(count))
    totals = [sum(values[name][i] for name in names) for i in range(count)]
    longest = max(totals) or 1
    names = [name for name in names if any(values[name])]
    width = min(24.0, BARS_WIDTH / count)
    bars = []
    for i in range(count):
        y = float(BARS_HEIGHT)
        tip = f"step {steps[i]}: {time_text(totals[i])}"
        for name in names:
            tip += f"\n{_phase(name)} {time_text(values[name][i])}"
        rects = ""
        for name in names:
            height = BARS_HEIGHT * values[name][i] / longest
            y -= height
            rects += (
                f"<rect x='{i * width:.2f}' y='{y:.2f}' width='{width * 0.86:.2f}' "
                f"height='{height:.2f}' fill='{_colour(name)}'/>"
            )
        bars.append(f"<g><title>{html.escape(tip)}</title>{rects}</g>")
    keys = "".join(
        f"<span class='key' style='background:{_colour(name)}'></span>{html.escape(_phase(name))}"
        for name in names
    )
    shown = f"the first {count} of {len(phases)} steps" if len(phases) > count else f"{count} steps"
    return (
        f"<div><b>Steps</b> <span class='quiet'>{shown}, up to {time_text(longest)}</span>{keys}"
        f"</div><svg width='{count * width:.0f}' height='{BARS_HEIGHT}' role='img' "
        f"aria-label='times of steps by phase'>{''.join(bars)}</svg>"
    )


def _phase(column: str) -> str:
    return column.removesuffix("_ns").replace("_", " ")


def _colour(column: str) -> str:
    return COLOURS.get(column.removesuffix("_ns"), "#888888")


def _top_html(title: str, table: Table, times: tuple[str, ...]) -> str:
    columns = [c for c in ("name", "calls", *times) if c in table.columns and any(table[c])]
    if len(table) == 0 or "name" not in columns:
        return ""
    head = "".join(f"<th>{title if c == 'name' else _phase(c)}</th>" for c in columns)
    rows = ""
    for values in zip(*(table[c] for c in columns), strict=True):
        cells = (_cell(c, v) for c, v in zip(columns, values, strict=True))
        rows += f"<tr>{''.join(cells)}</tr>"
    return f"<table><tr>{head}</tr>{rows}</table>"


def _cell(column: str, value: Any) -> str:
    if value is None:
        return "<td></td>"
    if column.endswith("_ns"):
        return f"<td>{time_text(value)}</td>"
    text = html.escape(str(value))
    return f"<td title='{text}'>{text}</td>" if column == "name" else f"<td>{value:,}</td>"


class _Parser(argparse.ArgumentParser):
    """Of a magic's line: a mistake is an exception, not the end of the kernel."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"%%stepscope: {message}\n{self.format_usage()}")


def _parser() -> _Parser:
    parser = _Parser(prog="%%stepscope", add_help=False)
    parser.add_argument("-o", "--output", metavar="FOLDER", help="keep the recording there")
    parser.add_argument("--c-calls", action="store_true")
    parser.add_argument("--only", action="append", default=[], metavar="GLOB")
    parser.add_argument("--exclude", action="append", default=[], metavar="GLOB")
    parser.add_argument("--min-duration", type=float, default=0, metavar="SECONDS")
    return parser


@contextlib.contextmanager
def _folder(path: str | None) -> Iterator[str]:
    if path is not None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="stepscope-") as folder:
        yield folder


def load_ipython_extension(ipython: Any) -> None:
    """For ``%load_ext stepscope``."""

    def profile_cell(line: str, cell: str) -> Trace:
        """Profiles the cell and shows its trace, which is also the cell's value.

        %%stepscope [-o FOLDER] [--c-calls] [--only GLOB] [--exclude GLOB] [--min-duration SECONDS]
        """
        from stepscope._profile import profile
        from stepscope._trace import load

        options = _parser().parse_args(shlex.split(line))
        text = ipython.transform_cell(cell)
        # Known to IPython by that name, so that a traceback shows the lines.
        code = compile(text, ipython.compile.cache(text), "exec")
        with _folder(options.output) as folder:
            recording = profile(
                folder,
                c_calls=options.c_calls,
                only=options.only,
                exclude=options.exclude,
                min_duration=options.min_duration,
            )
            with recording:
                exec(code, ipython.user_ns)
            return load(folder)

    ipython.register_magic_function(profile_cell, magic_kind="cell", magic_name="stepscope")
