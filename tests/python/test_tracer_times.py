"""The tracer's times are those that a program measures itself."""

import threading
import time
from pathlib import Path

import stepscope

CALLS = 40


class Spinner:
    """Functions that keep count of the time that they and their callees took."""

    def __init__(self) -> None:
        names = ("leaf", "parent", "recursive")
        self.self_ns = dict.fromkeys(names, 0)  # a Counter would call functions of its own
        self.total_ns = dict.fromkeys(names, 0)

    def spin(self, ns: int) -> int:
        begin = now = time.perf_counter_ns()
        while now - begin < ns:
            now = time.perf_counter_ns()
        return now - begin

    def leaf(self) -> None:
        begin = time.perf_counter_ns()
        self.self_ns["leaf"] += self.spin(200_000)
        self.total_ns["leaf"] += time.perf_counter_ns() - begin

    def parent(self) -> None:
        begin = time.perf_counter_ns()
        inside = 0
        for _ in range(3):
            start = time.perf_counter_ns()
            self.leaf()
            inside += time.perf_counter_ns() - start
        end = begin
        while end - begin - inside < 300_000:
            end = time.perf_counter_ns()
        self.self_ns["parent"] += end - begin - inside
        self.total_ns["parent"] += time.perf_counter_ns() - begin

    def recursive(self, depth: int) -> None:
        begin = time.perf_counter_ns()
        while time.perf_counter_ns() - begin < 50_000:
            pass
        if depth > 0:
            self.recursive(depth - 1)
        else:
            return
        if depth == 5:
            self.total_ns["recursive"] += time.perf_counter_ns() - begin

    def run(self) -> None:
        for _ in range(CALLS):
            self.parent()
            self.recursive(5)


def read(folder: Path) -> dict[str, dict[str, int]]:
    table = stepscope.load(folder).functions(limit=0).to_dict()
    columns = ("calls", "primitive_calls", "self_ns", "total_ns")
    return {
        name.rpartition(".")[2]: {column: table[column][i] for column in columns}
        for i, name in enumerate(table["name"])
    }


def check_sums(found: dict[str, dict[str, int]], threads: int) -> None:
    parent, leaf, spin = found["parent"], found["leaf"], found["spin"]
    assert parent["self_ns"] + leaf["total_ns"] == parent["total_ns"]
    assert leaf["self_ns"] + spin["total_ns"] == leaf["total_ns"]
    assert parent["calls"] == found["recursive"]["primitive_calls"] == CALLS * threads
    assert found["recursive"]["calls"] == 6 * CALLS * threads


def test_times_agree_with_what_a_program_measures(tmp_path: Path) -> None:
    spinner = Spinner()
    with stepscope.profile(tmp_path):
        spinner.run()
    found = read(tmp_path)
    check_sums(found, threads=1)
    for name, expected_ns in spinner.total_ns.items():
        slack_ns = 0.05 * expected_ns + 1000 * found[name]["calls"]
        assert abs(found[name]["total_ns"] - expected_ns) <= slack_ns, name
    expected_ns = spinner.self_ns["parent"]
    slack_ns = 0.05 * expected_ns + 1000 * (found["parent"]["calls"] + found["leaf"]["calls"])
    assert abs(found["parent"]["self_ns"] - expected_ns) <= slack_ns


def test_times_of_several_threads_add_up(tmp_path: Path) -> None:
    with stepscope.profile(tmp_path):
        threads = [threading.Thread(target=Spinner().run) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    check_sums(read(tmp_path), threads=3)
