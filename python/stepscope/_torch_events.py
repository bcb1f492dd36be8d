"""Tables as the objects that users of ``torch.profiler`` know; PyTorch's own code prints them."""

import ast
import os
from typing import Any

from torch.autograd.profiler_util import EventList, FunctionEvent, FunctionEventAvg

from stepscope._table import Table
from stepscope._trace import Trace

_US = 1000.0  # ns


def averages(table: Table, **options: Any) -> EventList:
    """The view `operators` as what key_averages() returns."""
    names = table.columns
    rows = [dict(zip(names, row, strict=True)) for row in table]
    return EventList([_average(row, options["use_device"]) for row in rows], **options)


def _average(row: dict[str, Any], use_device: str | None) -> FunctionEventAvg:
    average = FunctionEventAvg()
    average.key = row["name"]
    average.count = row["calls"]
    average.node_id = -1
    average.use_device = use_device
    average.cpu_time_total = row["total_host_ns"] / _US
    average.self_cpu_time_total = row["self_host_ns"] / _US
    average.device_time_total = (row["total_device_ns"] or 0) / _US
    average.self_device_time_total = (row["self_device_ns"] or 0) / _US
    average.cpu_memory_usage = row["memory_bytes"] or 0
    average.self_cpu_memory_usage = row["self_memory_bytes"] or 0
    average.device_memory_usage = row["device_memory_bytes"] or 0
    average.self_device_memory_usage = row["self_device_memory_bytes"] or 0
    average.flops = row["flops"] or 0
    average.input_shapes = _shapes(row["input_shapes"]) if "input_shapes" in row else ""
    average.stack = row["stack"].split(";") if row.get("stack") else []
    average.overload_name = ""
    average.scope = 0
    average.is_user_annotation = row["kind"] in {"annotation", "step"}
    average.cpu_children = []
    return average


def _shapes(text: str) -> list[Any]:
    shapes = ast.literal_eval(text)
    assert isinstance(shapes, list)
    return shapes


_ARGUMENTS = {"Sequence number": "sequence_nr", "Fwd thread id": "fwd_thread", "Input Dims": "dims"}


def events(trace: Trace, **options: Any) -> EventList:
    """Every operator, annotation and Python function of a trace."""
    arguments: dict[int, dict[str, Any]] = {}
    keys = ", ".join(f"'{key}'" for key in _ARGUMENTS)
    for row, key, value in trace.sql(
        f"select slice_id, key, value from args where key in ({keys})"
    ):
        arguments.setdefault(row, {})[_ARGUMENTS[key]] = value
    bytes_of: dict[int, int] = dict(
        trace.sql("select slice_id, sum(bytes) from allocations group by slice_id")
    )
    slices = trace.sql(
        "select s.id, s.parent_id, s.name, s.kind, s.category, s.start_ns, s.dur_ns, t.tid "
        "from slices s join tracks t on t.id = s.track_id order by s.id"
    )
    made: dict[int, FunctionEvent] = {}
    stacks: dict[int | None, list[str]] = {None: []}  # by slice: the functions for what it holds
    parents: list[tuple[int, int | None]] = []
    for row, parent, name, kind, category, start_ns, dur_ns, thread in slices:
        around = stacks[parent]
        stacks[row] = [name, *around] if kind == "python" else around
        parents.append((row, parent))
        is_ours = category in {"phase", "nn_module"}  # torch.profiler has no such events
        if is_ours or kind not in {"operator", "annotation", "step", "python"}:
            continue
        known = arguments.get(row, {})
        made[row] = FunctionEvent(
            id=row,
            name=name,
            trace_name=name,
            thread=thread,
            start_us=start_ns / _US,
            end_us=(start_ns + dur_ns) / _US,
            input_shapes=_shapes(known["dims"]) if "dims" in known else [],
            stack=around,
            sequence_nr=known.get("sequence_nr", -1),
            fwd_thread=known.get("fwd_thread"),
            is_user_annotation=kind in {"annotation", "step"},
            is_python_function=kind == "python",
            use_device=options["use_device"],
        )
    for row, parent in reversed(parents):  # what children took is in their parents' figure too
        taken = bytes_of.get(row, 0)
        if row in made:
            made[row].cpu_memory_usage = taken
        if parent is not None:
            bytes_of[parent] = bytes_of.get(parent, 0) + taken
    # What was taken or given back outside of everything is an event of its own.
    parent_of = dict(parents)
    taken_at = trace.sql(
        "select time_ns, bytes, t.tid, slice_id from allocations a join tracks t "
        "on t.id = a.track_id"
    )
    for time_ns, size, thread, holder in taken_at:
        while holder is not None and holder not in made:
            holder = parent_of[holder]
        if holder is None:
            made[-len(made) - 1] = FunctionEvent(
                id=0,
                name="[memory]",
                trace_name="[memory]",
                thread=thread,
                start_us=time_ns / _US,
                end_us=time_ns / _US,
                input_shapes=[],
                stack=[],
                cpu_memory_usage=size,
                use_device=options["use_device"],
            )
    in_order = sorted(made.values(), key=lambda e: (e.time_range.start, -e.time_range.end))
    result = EventList(in_order, **options)
    result._build_tree()
    return result


def write_stacks(table: Table, path: str | os.PathLike[str], metric: str) -> None:
    """Lines for flame graphs: the functions around operators, and what these took by themselves."""
    columns = {"self_cpu_time_total": "self_host_ns", "self_cuda_time_total": "self_device_ns"}
    columns |= {f"self_{device}_time_total": "self_device_ns" for device in ("device", "xpu")}
    if metric not in columns:
        raise ValueError(f"metric is one of {', '.join(columns)}, not {metric!r}")
    times: dict[str, int] = {}
    for stack, kind, time_ns in zip(
        table["stack"], table["kind"], table[columns[metric]], strict=True
    ):
        if stack and kind != "python":
            line = ";".join(reversed(stack.replace(" ", "_").split(";")))
            times[line] = times.get(line, 0) + (time_ns or 0)
    with open(path, "w") as file:
        file.writelines(f"{line} {ns // 1000}\n" for line, ns in times.items() if ns >= 1000)
