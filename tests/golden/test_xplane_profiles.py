"""Real XPlane profiles against a reader that shares nothing with ours (xplane_wire.py).

Those in tests/data/xplane, and all in ../shared/data/xplane where that is.
"""

import json
import pathlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import pytest
from xplane_wire import Event, Plane, read_planes

ROOT = pathlib.Path(__file__).resolve().parents[2]
OURS = {
    path.name.removesuffix(".xplane.pb.gz"): path
    for path in sorted((ROOT / "tests" / "data" / "xplane").glob("*.xplane.pb.gz"))
}
SHARED = {
    path.parent.name: path
    for path in sorted((ROOT.parent / "shared" / "data" / "xplane").glob("*/*.xplane.pb.gz"))
}
PROFILES = SHARED | OURS
Query = Callable[[str], list[list[Any]]]


@pytest.fixture(params=PROFILES.values(), ids=PROFILES.keys(), scope="module")
def profile(request: pytest.FixtureRequest) -> pathlib.Path:
    return pathlib.Path(request.param)


@pytest.fixture(scope="module")
def planes(profile: pathlib.Path) -> list[Plane]:
    return read_planes(profile)


@pytest.fixture(scope="module")
def query(profile: pathlib.Path, stepscope: Callable[..., Any]) -> Query:
    def run(sql: str) -> list[list[Any]]:
        result = stepscope("query", profile, sql, "--format", "json")
        assert result.returncode == 0, result.stderr
        rows: list[list[Any]] = json.loads(result.stdout)["rows"]
        return rows

    return run


def expected_name(event: Event) -> str:
    """What an event is called in the tables."""
    steps = [value for key, value in event.stats if key == "step_num"]
    if steps:
        return f"{event.name}#{steps[-1]}"
    if match := re.fullmatch(r"\$(.+?):(\d+) (.*)", event.name):
        return f"{match[1]}({match[2]}): {match[3]}"
    if event.name.startswith("$<"):
        return event.name[1:]
    if match := re.fullmatch(r"\$(\S+) (.*)", event.name):
        return f"{match[1]}.{match[2]}"
    whole, colon, operator_type = event.name.rpartition(":")
    is_pair = whole and colon and operator_type and not whole.endswith(":")
    if is_pair and not event.name.startswith("Iterator::"):
        is_type = re.fullmatch(r"[A-Z]\w*", operator_type, re.ASCII) and " " not in whole
        if operator_type == event.display_name or is_type:
            return operator_type
    return event.name


def all_events(planes: list[Plane]) -> list[Event]:
    return [event for plane in planes for line in plane.lines for event in line.events]


def test_every_event_is_read_and_nothing_is_at_fault(planes: list[Plane], query: Query) -> None:
    stats = dict(query("SELECT name, value FROM stats WHERE value > 0"))
    assert stats.pop("events_read") == len(all_events(planes))
    stats.pop("slices_overlapping", None)  # what the profiler wrote is that way
    assert not stats


def test_count_and_time_by_name_are_those_of_the_other_reader(
    planes: list[Plane], query: Query
) -> None:
    expected: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for event in all_events(planes):
        sums = expected[expected_name(event)]
        sums[0] += 1
        sums[1] += event.dur_ns
    rows = query("SELECT name, count(*), sum(dur_ns) FROM slices GROUP BY name")
    assert {name: sums for name, *sums in rows} == expected


def test_threads_and_their_events_are_those_of_the_other_reader(
    planes: list[Plane], query: Query
) -> None:
    expected = Counter(
        (plane.name, re.sub(r"/-?\d+$", "", line.name), line.id, len(line.events))
        for plane in planes
        for line in plane.lines
    )
    rows = query("SELECT process, name, tid, slice_count FROM tracks")
    assert Counter(map(tuple, rows)) == expected


def test_times_start_at_the_first_event(planes: list[Plane], query: Query) -> None:
    events = all_events(planes)
    begin = min(event.start_ns for event in events)
    [[start, end]] = query("SELECT min(start_ns), max(start_ns + dur_ns) FROM slices")
    assert (start, end) == (0, max(event.start_ns + event.dur_ns for event in events) - begin)


def test_arguments_are_the_stats(planes: list[Plane], query: Query) -> None:
    """The ids that join iterators across threads, by bit pattern, and texts."""
    expected = Counter(
        (key, "string" if isinstance(value, str) else "int", str(value))
        for event in all_events(planes)
        for key, value in dict(event.stats).items()  # the last of a key counts
    )
    rows = query(
        "SELECT key, type, value, count(*) FROM args WHERE key <> 'op_name' GROUP BY 1, 2, 3"
    )
    assert {(key, kind, str(value)): count for key, kind, value, count in rows} == expected


def test_steps_are_those_of_the_file(planes: list[Plane], query: Query) -> None:
    expected = sorted(
        (value, event.dur_ns)
        for event in all_events(planes)
        for key, value in event.stats
        if key == "step_num"
    )
    rows = query("SELECT name, dur_ns FROM slices WHERE kind = 'step'")
    assert sorted((int(name.rpartition("#")[2]), dur_ns) for name, dur_ns in rows) == expected


def test_a_profile_survives_a_conversion(
    profile: pathlib.Path,
    query: Query,
    stepscope: Callable[..., Any],
    tmp_path: pathlib.Path,
) -> None:
    sql = "SELECT name, category, kind, count(*), sum(dur_ns) FROM slices GROUP BY 1, 2, 3"
    out = tmp_path / "profile.sscope"
    stepscope("convert", profile, out, check=True)
    result = stepscope("query", out, sql, "--format", "json", check=True)
    assert json.loads(result.stdout)["rows"] == query(sql)
