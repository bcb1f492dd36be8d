"""Every sample trace beside the checkout, against Python's json as an independent reader.

The figures are made here from `json.load`, with exact decimals: slices and their time per category,
counters, arrows, allocations, names of threads. Nothing of Stepscope is used for them.
"""

import bisect
import functools
import gzip
import itertools
import json
import pathlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pytest

Event = dict[str, Any]
Query = Callable[[pathlib.Path, str], list[list[Any]]]

SHARED = pathlib.Path(__file__).resolve().parents[3] / "shared" / "data"
SLICES_OF_PHASE = "XBiI"


def find_traces() -> list[str]:
    files = itertools.chain(
        SHARED.glob("kineto/resnet50_num_workers_0/*.pt.trace.json.gz"),
        SHARED.glob("kineto/gpu_metrics_*.json"),
        SHARED.glob("hta/**/*.json.gz"),
        SHARED.glob("megengine/*.chrome_timeline.json"),
    )
    return sorted(str(file.relative_to(SHARED)) for file in files)


def read_json(path: pathlib.Path) -> Any:
    with gzip.open(path, "rt") if path.suffix == ".gz" else open(path) as file:
        return json.load(file, parse_float=Decimal)


@functools.lru_cache(maxsize=1)
def read_events(path: pathlib.Path) -> list[Event]:
    trace = read_json(path)
    return list(trace["traceEvents"] if isinstance(trace, dict) else trace)


def to_ns(us: Any) -> int:
    return int((Decimal(us) * 1000).quantize(Decimal(1), ROUND_HALF_UP))


def thread_of(event: Event) -> tuple[str, str]:
    # No id, and an empty one, is 0.
    return str(event.get("pid") or 0), str(event.get("tid") or 0)


def is_allocation(event: Event) -> bool:
    return event["ph"] in "iI" and event["name"] == "[memory]"


def pair_begins(events: list[Event]) -> Iterator[tuple[Event, Event]]:
    """Begins with their ends: the latest open one of the thread."""
    points_of = defaultdict(list)
    for event in events:
        if event["ph"] in "BE":
            points_of[thread_of(event)].append(event)
    for points in points_of.values():
        opened = []
        for point in sorted(points, key=lambda event: Decimal(event["ts"])):
            if point["ph"] == "B":
                opened.append(point)
            elif opened:
                yield opened.pop(), point
        assert not opened, "the sample traces close what they begin"


def make_slices(events: list[Event]) -> list[tuple[tuple[str, str], str, int, int]]:
    """(thread, category, start, duration) of each slice."""
    slices = []
    for event in events:
        if event["ph"] in SLICES_OF_PHASE and event["ph"] not in "BE" and not is_allocation(event):
            duration = to_ns(event.get("dur", 0)) if event["ph"] == "X" else 0
            category = event.get("cat", "")
            slices.append((thread_of(event), category, to_ns(event["ts"]), max(duration, 0)))
    for begin, end in pair_begins(events):
        start_ns = to_ns(begin["ts"])
        duration = to_ns(end["ts"]) - start_ns
        slices.append((thread_of(begin), begin.get("cat", ""), start_ns, duration))
    return slices


class OpenSlices:
    """Whether a slice is open at a moment on a thread, or starts after it."""

    def __init__(self, events: list[Event]) -> None:
        spans = defaultdict(list)
        kept = [event for event in events if event["ph"] not in "iI"]
        for thread, _, start, duration in make_slices(kept):
            spans[thread].append((start, start + duration))
        self.starts = {}
        self.ends = {}
        for thread, of_thread in spans.items():
            of_thread.sort()
            self.starts[thread] = [start for start, _ in of_thread]
            # A slice of no length is open at its one moment.
            ends = (max(end, start + 1) for start, end in of_thread)
            self.ends[thread] = list(itertools.accumulate(ends, max))

    def holds(self, event: Event) -> bool:
        time_ns = to_ns(event["ts"])
        starts = self.starts.get(thread_of(event), [])
        if event["ph"] == "f" and event.get("bp") != "e":
            return bool(starts) and starts[-1] >= time_ns
        last = bisect.bisect_right(starts, time_ns) - 1
        return last >= 0 and self.ends[thread_of(event)][last] > time_ns


def count_arrows(events: list[Event]) -> Counter[str]:
    """Arrows per category: neighbours of one id, in order of time, that both are on a slice."""
    chains = defaultdict(list)
    for event in events:
        if event["ph"] in "stf":
            key = (event.get("cat"), event.get("name"), str(event["id"]), event.get("scope"))
            chains[key].append(event)
    slices = OpenSlices(events)
    arrows: Counter[str] = Counter()
    for chain in chains.values():
        chain.sort(key=lambda event: (to_ns(event["ts"]), "stf".index(event["ph"])))
        if [event["ph"] for event in chain] == ["f", "s"]:
            chain.reverse()  # a lone pair is an arrow also where two clocks disagree
        for before, after in itertools.pairwise(chain):
            joined = before["ph"] != "f" and after["ph"] != "s"
            if joined and slices.holds(before) and slices.holds(after):
                arrows[before.get("cat", "")] += 1
    return arrows


@pytest.fixture(scope="module")
def query(stepscope: Callable[..., Any]) -> Query:
    def run(path: pathlib.Path, sql: str) -> list[list[Any]]:
        result = stepscope("query", path, sql, "--format", "json")
        assert result.returncode == 0, result.stderr
        rows: list[list[Any]] = json.loads(result.stdout)["rows"]
        return rows

    return run


@pytest.fixture(scope="module", params=find_traces() or [""])
def trace(request: pytest.FixtureRequest, shared_data: pathlib.Path) -> pathlib.Path:
    return shared_data / str(request.param)


def test_every_event_is_read_and_none_is_skipped(trace: pathlib.Path, query: Query) -> None:
    stats: dict[str, int] = dict(map(tuple, query(trace, "SELECT name, value FROM stats")))
    assert stats["events_read"] == len(read_events(trace))
    assert stats["events_skipped"] == stats["values_skipped"] == stats["events_mended"] == 0
    assert stats["begins_without_end"] == stats["ends_without_begin"] == 0


def test_slices_and_their_time_per_category_are_those_of_json(
    trace: pathlib.Path, query: Query
) -> None:
    expected: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for _, category, _, duration in make_slices(read_events(trace)):
        expected[category][0] += 1
        expected[category][1] += duration
    sql = "SELECT coalesce(category, ''), count(*), sum(dur_ns) FROM slices GROUP BY category"
    assert {category: counts for category, *counts in query(trace, sql)} == expected


def test_the_span_of_the_trace_is_that_of_json(trace: pathlib.Path, query: Query) -> None:
    """Times in tables count from the first moment of the trace."""
    slices = make_slices(read_events(trace))
    others = [e for e in read_events(trace) if e["ph"] == "C" or is_allocation(e)]
    starts = [start for _, _, start, _ in slices]
    begin = min(starts + [to_ns(event["ts"]) for event in others])
    end = max(start + duration for _, _, start, duration in slices)
    sql = "SELECT min(start_ns), max(start_ns + dur_ns) FROM slices"
    assert query(trace, sql) == [[min(starts) - begin, end - begin]]


# Names that MegEngine misspells.
SPELLING = {"gpu_usgae_ratio": "gpu_usage_ratio", "nr_redunant_tensor": "nr_redundant_tensor"}


def test_counters_are_those_of_json(trace: pathlib.Path, query: Query) -> None:
    expected: dict[str, list[Any]] = defaultdict(lambda: [0, 0])
    for event in read_events(trace):
        if event["ph"] == "C":
            name = SPELLING.get(event["name"], event["name"])
            for value in event["args"].values():
                expected[name][0] += 1
                expected[name][1] += Decimal(value)
    for name, count, total in query(
        trace, "SELECT name, count(*), sum(value) FROM counters GROUP BY name"
    ):
        wanted = next(key for key in expected if name == key or name.startswith(key + "."))
        expected_count, expected_total = expected.pop(wanted)
        assert count == expected_count
        assert total == pytest.approx(float(expected_total), rel=1e-9)
    assert not expected


def test_arrows_per_category_are_those_of_json(trace: pathlib.Path, query: Query) -> None:
    sql = "SELECT coalesce(category, ''), count(*) FROM flows GROUP BY category"
    assert dict(query(trace, sql)) == count_arrows(read_events(trace))


def test_allocations_are_those_of_json(trace: pathlib.Path, query: Query) -> None:
    events = [event for event in read_events(trace) if is_allocation(event)]
    total = sum(event["args"]["Bytes"] for event in events)
    sql = "SELECT count(*), coalesce(sum(bytes), 0) FROM allocations"
    assert query(trace, sql) == [[len(events), total]]


def test_threads_have_the_names_and_slices_of_json(trace: pathlib.Path, query: Query) -> None:
    names = {
        thread_of(event): event["args"]["name"]
        for event in read_events(trace)
        if event["ph"] == "M" and event["name"] == "thread_name"
    }
    slices = Counter(thread for thread, *_ in make_slices(read_events(trace)))
    found = query(trace, "SELECT pid, tid, name, slice_count FROM tracks WHERE slice_count > 0")
    assert {(str(pid), str(tid)): count for pid, tid, _, count in found} == slices
    for pid, tid, name, _ in found:
        assert names.get((str(pid), str(tid)), "") in (name or "")


def test_arguments_are_those_of_json(trace: pathlib.Path, query: Query) -> None:
    """Numbers of slices that have an argument; one of a begin may be given by its end."""
    expected: Counter[str] = Counter()
    for event in read_events(trace):
        if event["ph"] == "X" and isinstance(event.get("args"), dict):
            expected.update(event["args"].keys())
    for begin, end in pair_begins(read_events(trace)):
        expected.update({**(begin.get("args") or {}), **(end.get("args") or {})}.keys())
    found = dict(query(trace, "SELECT key, count(DISTINCT slice_id) FROM args GROUP BY key"))
    assert {key: found.get(key) for key in expected} == expected


def test_the_nccl_trace_has_its_collectives(shared_data: pathlib.Path, query: Query) -> None:
    trace = shared_data / "hta/nccl_parser_config/nccl_data.json.gz"
    assert query(trace, "SELECT value FROM stats WHERE name = 'events_read'") == [[40573]]
    collectives = Counter(
        event["args"]["Collective name"]
        for event in read_events(trace)
        if "Collective name" in event.get("args", {})
    )
    sql = "SELECT value, count(*) FROM args WHERE key = 'Collective name' GROUP BY value"
    assert collectives
    assert dict(query(trace, sql)) == collectives


def test_the_cupti_trace_has_77_counter_ranges(shared_data: pathlib.Path, query: Query) -> None:
    trace = shared_data / "hta/cupti_profiler/benchmark_result_924719_1679055439_trace.json.gz"
    sql = "SELECT count(*) FROM slices WHERE category = 'cuda_profiler_range'"
    assert query(trace, sql) == [[77]]


def test_the_memory_timeline_ends_where_it_began(shared_data: pathlib.Path, query: Query) -> None:
    trace = shared_data / "hta/memory_analysis/memory_timeline.raw.gz"
    with gzip.open(trace, "rt") as file:
        entries = json.load(file)
    totals = list(itertools.accumulate(entry[2] for entry in entries))
    sql = "SELECT max(value) FROM counters WHERE series = 'total'"
    assert query(trace, sql) == [[max(totals)]]
    sql = "SELECT count(*), sum(bytes), min(time_ns), max(time_ns) FROM allocations"
    kept = [entry for entry in entries if entry[1] != 3]
    times = [entry[0] for entry in entries if entry[0] >= 0]
    assert query(trace, sql) == [
        [len(kept), sum(e[2] for e in kept), 0, max(e[0] for e in kept) - min(times)]
    ]


@pytest.mark.parametrize("name", ["static_train", "static_infer"])
def test_megengines_static_profile_has_the_times_of_its_own_tool(
    name: str, shared_data: pathlib.Path, query: Query
) -> None:
    trace = shared_data / "megengine" / f"{name}.json"
    profiler = read_json(trace)["profiler"]
    sql = "SELECT kind, count(*), sum(dur_ns) FROM slices GROUP BY kind"
    found = {kind: counts for kind, *counts in query(trace, sql)}
    for kind, place in [("kernel", "device"), ("operator", "host")]:
        times = [times for places in profiler[place].values() for times in places.values()]
        total = sum(int((time["end"] - time["start"]) * 10**9) for time in times)
        assert found[kind] == [len(times), total]
    if name == "static_train":
        printed = (shared_data / "megengine/analyze/top5.txt").read_text()
        for kind, words in [("kernel", "total device time"), ("operator", "total host time")]:
            match = re.search(rf"{words} +([\d.]+)", printed)
            assert match is not None
            assert found[kind][1] == Decimal(match[1]) * 10**9
