"""What a DataLoader makes the training wait for, and what its workers do, against timers placed by
hand: in the program, in its dataset and in its collate function (loading_program.py)."""

import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest

import stepscope

pytest.importorskip("torch", reason="torch is not installed")

from loading_program import BATCH, CASES, COLLATE_S, EPOCHS, ITEM_S, ITEMS

pytestmark = pytest.mark.live

HERE = Path(__file__).resolve().parent
STEPSCOPE = Path(os.environ.get("STEPSCOPE_BIN", Path(sys.executable).parent / "stepscope"))
PROGRAM = HERE / "loading_program.py"
WAYS = ("run", "drop-in", "drop-in without stacks")
OWN_COLLATE = [case for case in CASES if case not in {"in_process", "workers"}]

# Slices by what the timers of the program call them.
SLICES = {
    "next": "slices.name LIKE 'enumerate(DataLoader)#%.__next__'",
    "item": "category = 'python_function' AND"
    " (slices.name LIKE '%: Samples.__getitem__' OR slices.name LIKE '%: Stream.__iter__')",
    "fetch": "category = 'phase' AND slices.name = 'fetch'",
    "collate": "category = 'phase' AND slices.name = 'collate'",
}


class Span(NamedTuple):
    begin_ns: int
    end_ns: int

    @property
    def dur_ns(self) -> int:
        return self.end_ns - self.begin_ns


class Loading:
    """One run of the program: what its timers say, and what was recorded."""

    def __init__(self, folder: Path, way: str) -> None:
        self.trace = stepscope.load(folder / "run")
        # By case and what; then by process.
        self.timers: dict[tuple[str, str], dict[int, list[Span]]] = {}
        case_of: dict[int, str] = {}
        for line in (folder / "timers").read_text().splitlines():
            case, pid, what, begin, end = line.split()
            by_process = self.timers.setdefault((case, what), defaultdict(list))
            by_process[int(pid)].append(Span(int(begin), int(end)))
            case_of.setdefault(int(pid), case)
        self.pid = next(iter(self.timers["in_process", "next"]))
        self.workers = {
            case: {pid for pid, of in case_of.items() if of == case and pid != self.pid}
            for case in [*CASES, "killed"]
        }
        self.slices = {what: self._find(where) for what, where in SLICES.items()}

    def _find(self, where: str) -> dict[int, list[Span]]:
        found: dict[int, list[Span]] = defaultdict(list)
        rows = self.trace.sql(
            "SELECT pid, start_ns, dur_ns FROM slices JOIN tracks ON tracks.id = track_id"
            f" WHERE {where} ORDER BY start_ns"
        )
        for pid, start, dur in rows:
            found[pid].append(Span(start, start + dur))
        return found

    def of_case(self, what: str, case: str) -> list[Span]:
        """In the workers, or in the training process during the case's waits."""
        if case.startswith("workers") and what != "next":
            return [span for pid in self.workers[case] for span in self.slices[what][pid]]
        # One case comes after the other: its waits are as many as its timers.
        before = sum(len(self.timers[other, "next"][self.pid]) for other in self._before(case))
        count = len(self.timers[case, "next"][self.pid])
        waits = self.slices["next"][self.pid][before : before + count]
        return [
            span
            for span in self.slices[what][self.pid]
            if waits[0].begin_ns <= span.begin_ns < waits[-1].end_ns
        ]

    @staticmethod
    def _before(case: str) -> list[str]:
        names = list(CASES)
        return names[: names.index(case)]

    def timed(self, what: str, case: str) -> list[Span]:
        return [span for spans in self.timers[case, what].values() for span in spans]


@pytest.fixture(scope="module", params=WAYS)
def loading(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Loading:
    folder = tmp_path_factory.mktemp("loading")
    command = [sys.executable, str(PROGRAM), "timers"]
    if request.param == "run":
        # Of PyTorch's own functions there are a million, before the first batch.
        options = ["--python", sys.executable, "-o", "run", "--only", "mine"]
        command = [str(STEPSCOPE), "run", *options, *command[1:]]
    else:
        command += ["run"] if "without" in request.param else ["run", "stack"]
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent.parent / "python")}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("killed: True\n")
    return Loading(folder, request.param)


def has_items(loading: Loading) -> bool:
    return any(loading.slices["item"].values())


def total_ns(spans: list[Span]) -> int:
    return sum(span.dur_ns for span in spans)


def agrees(ours: list[Span], timed: list[Span]) -> bool:
    # Between the clocks' readings the machine may turn to something else.
    return abs(total_ns(ours) - total_ns(timed)) <= 0.05 * total_ns(timed) + 10e6


@pytest.mark.parametrize("case", CASES)
def test_the_wait_of_the_training_agrees_with_timers_around_next(
    loading: Loading, case: str
) -> None:
    ours, timed = loading.of_case("next", case), loading.timed("next", case)
    assert len(ours) == len(timed) == EPOCHS * (ITEMS // BATCH + 1)
    assert agrees(ours, timed), (total_ns(ours), total_ns(timed))
    slowest = EPOCHS * ITEMS * (ITEM_S + (COLLATE_S / BATCH if case in OWN_COLLATE else 0))
    assert total_ns(timed) > 1e9 * slowest / (3 if "workers" in case else 1)


@pytest.mark.parametrize("case", CASES)
def test_the_datasets_time_agrees_with_timers_in_it(loading: Loading, case: str) -> None:
    if not has_items(loading):
        pytest.skip("no Python functions are recorded")
    ours, timed = loading.of_case("item", case), loading.timed("item", case)
    assert len(timed) == EPOCHS * ITEMS
    # A stream is asked once more, and has nothing.
    streams = EPOCHS * (2 if "workers" in case else 1) if "stream" in case else 0
    assert len(ours) == len(timed) + streams
    assert agrees(ours, timed), (total_ns(ours), total_ns(timed))


@pytest.mark.parametrize("case", OWN_COLLATE)
def test_the_collate_functions_time_agrees_with_timers_in_it(loading: Loading, case: str) -> None:
    ours, timed = loading.of_case("collate", case), loading.timed("collate", case)
    assert len(ours) == len(timed) == EPOCHS * ITEMS // BATCH
    assert agrees(ours, timed), (total_ns(ours), total_ns(timed))


@pytest.mark.parametrize("case", CASES)
def test_fetching_is_the_items_and_their_collation(loading: Loading, case: str) -> None:
    ours = loading.of_case("fetch", case)
    parts = loading.timed("item", case)
    parts += loading.timed("collate", case) if case in OWN_COLLATE else []
    streams = EPOCHS * (2 if "workers" in case else 1) if "stream" in case else 0
    assert len(ours) == EPOCHS * ITEMS // BATCH + streams
    assert agrees(ours, parts), (total_ns(ours), total_ns(parts))
    assert len(loading.of_case("collate", case)) == EPOCHS * ITEMS // BATCH


@pytest.mark.parametrize("case", [case for case in CASES if "workers" in case])
def test_each_worker_is_a_process_of_its_own_on_the_same_timeline(
    loading: Loading, case: str
) -> None:
    assert len(loading.workers[case]) == (2 if "persistent" in case else 2 * EPOCHS)
    waits = loading.of_case("next", case)
    # The clocks of the timers and of the trace differ by the same amount everywhere.
    shift = waits[0].begin_ns - min(loading.timed("next", case)).begin_ns
    for pid in loading.workers[case]:
        first = loading.slices["fetch"][pid][0]
        timed = loading.timers[case, "item"][pid][0]
        assert abs(first.begin_ns - timed.begin_ns - shift) < 50e6
        assert waits[0].begin_ns - 5e9 < first.begin_ns < waits[-1].end_ns


def test_nothing_is_lost_of_a_worker_that_is_killed(loading: Loading) -> None:
    (pid,) = loading.workers["killed"]
    timed = loading.timers["killed", "item"][pid]
    assert len(timed) == 3
    assert len(loading.slices["fetch"][pid]) == 2  # the second was open
    if has_items(loading):
        assert len(loading.slices["item"][pid]) == 3
        assert agrees(loading.slices["item"][pid], timed)


def test_the_input_phase_of_found_steps_is_the_wait(loading: Loading) -> None:
    phases = loading.trace.phases(limit=0)
    assert len(phases) == len(CASES) * EPOCHS * ITEMS // BATCH
    # Without the last wait of each epoch, which finds nothing and belongs to no step.
    timed = []
    for case in CASES:
        waits = loading.timed("next", case)
        epoch = len(waits) // EPOCHS
        timed += [wait for at, wait in enumerate(waits, start=1) if at % epoch]
    ours_ns = sum(phases["input_ns"])
    assert abs(ours_ns - total_ns(timed)) <= 0.05 * total_ns(timed) + 20e6
