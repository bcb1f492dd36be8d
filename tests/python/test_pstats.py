"""stepscope.pstats against the interpreter's own pstats: the same output to the character."""

from __future__ import annotations

import copy
import cProfile
import io
import itertools
import marshal
import pathlib
import profile
import pstats
import random
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from calls_of_programs import PROGRAMS

import stepscope.pstats

SORT_KEYS: list[tuple[Any, ...]] = [
    *((name,) for name in pstats.Stats.sort_arg_dict_default),
    *((name,) for name in ("cal", "cu", "fi", "l", "m", "na", "nf", "p", "s", "ti", "to")),
    *((number,) for number in (-1, 0, 1, 2)),
    *((key,) for key in pstats.SortKey),
    ("time", "name"),
    ("name", "file", "line"),
    (pstats.SortKey.CALLS, pstats.SortKey.CUMULATIVE, pstats.SortKey.STDNAME),
]
RESTRICTIONS: list[tuple[Any, ...]] = [
    (),
    (5,),
    (0,),
    (10**6,),
    (-1,),
    (True,),
    (0.3,),
    (0.0,),
    (1.0,),
    ("e",),
    (r"\.py:\d+\((?!_)",),
    ("no such function",),
    ("(",),
    ("a", 0.5, 3),
    (None,),
]


class Profiler:
    """An object that Stats takes a profile from."""

    def __init__(self, stats: dict[Any, Any]) -> None:
        self.made = stats

    def create_stats(self) -> None:
        self.stats = copy.deepcopy(self.made)


def make_odd_stats(seed: int) -> dict[Any, Any]:
    """A profile of what a file may hold: odd names, no calls, huge and negative times."""
    rng = random.Random(seed)
    files = ["~", "a.py", "/x/a.py", "/y/a.py", "größe.py", "/日本/\udc80.py", "", "jprofile"]
    names = ["<built-in method len>", "f", "<", "<>", "é", "\U0001d518\ue000", "profiler", "a b"]
    keys = [key for key in itertools.product(files, [0, 1, 12], names) if rng.random() < 0.4]
    times = [0.0, -0.0, 5e-4, 0.0005000001, 1.2345, -3.5, 1e9, 12345.6785, 1e300, float("inf")]

    def figures() -> tuple[int, int, float, float]:
        calls = rng.choice([0, 1, 2, 10, 123456789, 2**40])
        return calls, rng.choice([calls, calls // 2]), rng.choice(times), rng.choice(times)

    def callers() -> dict[Any, Any]:
        return {key: figures() for key in rng.sample(keys, rng.choice([0, 1, 2, 9]))}

    return {key: (*figures(), callers()) for key in rng.sample(keys, len(keys))}


def profile_program(profiler: Any, name: str) -> dict[Any, Any]:
    profiler.runcall(PROGRAMS[name])
    profiler.create_stats()
    stats: dict[Any, Any] = profiler.stats
    return stats


def make_profiles() -> dict[str, dict[Any, Any]]:
    profiles = {name: profile_program(cProfile.Profile(), name) for name in PROGRAMS}
    profiles["profile module"] = profile_program(profile.Profile(), "libraries")
    profiles["whole times"] = {
        ("a.py", 1, "f"): (1, 2, 3, 4, {("b.py", 2, "g"): (1, 1, 2, 2)}),
        ("b.py", 2, "g"): (1, 1, 5, 9, {}),
    }
    for seed in range(3):
        profiles[f"odd {seed}"] = make_odd_stats(seed)
    return profiles


PROFILES = make_profiles()
Script = Callable[[Any], object]


def expect_same(profile: Any, script: Script, *others: Any) -> None:
    """Runs a script on both modules' Stats; what they print and what it gives must be the same."""
    results = []
    for module in (pstats, stepscope.pstats):
        stream = io.StringIO()
        sources = [Profiler(p) if isinstance(p, dict) else p for p in (profile, *others)]
        stats = module.Stats(*sources, stream=stream)
        results.append((script(stats), stream.getvalue()))
    (expected, expected_text), (found, text) = results
    assert text == expected_text
    assert found == expected


def print_all(stats: Any, *amount: Any) -> None:
    stats.print_stats(*amount)
    stats.print_callers(*amount)
    stats.print_callees(*amount)


def state(stats: Any) -> tuple[Any, ...]:
    """All that a program can see of Stats, in its order."""
    figures = [(key, *value[:4], list(value[4].items())) for key, value in stats.stats.items()]
    return (
        figures,
        stats.fcn_list,
        stats.total_calls,
        stats.prim_calls,
        stats.total_tt,
        stats.max_name_len,
        stats.top_level,
        stats.files,
    )


of_every_profile = pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES.keys())


@of_every_profile
def test_every_order_prints_the_same(profile: dict[Any, Any]) -> None:
    for keys in SORT_KEYS:
        expect_same(profile, lambda stats, keys=keys: print_all(stats.sort_stats(*keys)))


@of_every_profile
def test_every_restriction_prints_the_same(profile: dict[Any, Any]) -> None:
    for amount in RESTRICTIONS:
        expect_same(profile, lambda stats, amount=amount: print_all(stats, *amount))

        def sorted_script(stats: Any, amount: tuple[Any, ...] = amount) -> None:
            print_all(stats.sort_stats("time", "stdname").reverse_order(), *amount)

        expect_same(profile, sorted_script)


@of_every_profile
def test_short_names_print_the_same(profile: dict[Any, Any]) -> None:
    def script(stats: Any) -> Any:
        stats.strip_dirs().sort_stats("cumulative", "nfl")
        print_all(stats)
        print_all(stats, 0.5, "a")
        return state(stats)

    expect_same(profile, script)


@of_every_profile
def test_a_program_sees_the_same_objects(profile: dict[Any, Any]) -> None:
    def script(stats: Any) -> Any:
        before = state(stats)
        stats.sort_stats("calls", "stdname").reverse_order()
        stats.calc_callees()
        seen = [before, state(stats), stats.all_callees, stats.get_print_list((7,))]
        stats.strip_dirs()
        return [*seen, stats.all_callees, state(stats)]

    expect_same(profile, script)


@of_every_profile
def test_function_profiles_are_the_same(profile: dict[Any, Any]) -> None:
    def script(stats: Any) -> Any:
        unsorted = stats.get_stats_profile()
        return repr(unsorted), repr(stats.sort_stats("nfl").get_stats_profile())

    expect_same(profile, script)


def test_profiles_are_added_in_the_same_way() -> None:
    def script(stats: Any) -> Any:
        print_all(stats)  # the callees are known now, and stay as they were
        stats.add(Profiler(PROFILES["classes"]), Profiler(PROFILES["libraries"]))
        stats.add(stats)
        print_all(stats.sort_stats("stdname"))
        print_all(stats.strip_dirs().sort_stats("stdname"))
        return state(stats)

    for name in ("libraries", "odd 0", "recursion"):
        expect_same(PROFILES[name], script, PROFILES["generators"], PROFILES["odd 1"])


def test_old_and_new_callers_are_not_mixed() -> None:
    for module in (pstats, stepscope.pstats):
        stats = module.Stats(Profiler(PROFILES["profile module"]))
        with pytest.raises(TypeError):
            stats.add(Profiler(PROFILES["libraries"]))


def test_what_a_program_changes_counts() -> None:
    def script(stats: Any) -> Any:
        stats.sort_stats("stdname")
        dropped = [key for key in stats.stats if "json" in key[0]]
        for key in dropped:
            del stats.stats[key]
            stats.fcn_list.remove(key)
        stats.stats["new.py", 1, "f"] = (1, 1, 1.5, 2.5, {})
        stats.fcn_list.append(("new.py", 1, "f"))
        print_all(stats)
        print_all(stats.sort_stats("time", "nfl"), 10)
        stats.add(Profiler(PROFILES["classes"]))
        print_all(stats.sort_stats("calls", "nfl"))
        stats.stats = {("a.py", 1, "g"): (1, 1, 0.5, 0.5, {})}
        stats.fcn_list = None
        print_all(stats)
        return state(stats)

    expect_same(PROFILES["libraries"], script)


def test_what_no_profiler_writes_is_left_to_the_standard_module() -> None:
    odd = {(None, 1.5, b"f"): (0.5, 2, 1.0, 1.0, {}), ("a", 1, "g"): [1, 1, 0.1, 0.2, {}]}
    expect_same(odd, lambda stats: print_all(stats, 5))
    huge = {("a.py", 1, "f"): (10**30, 10**30, 1.0, 1.0, {})}
    expect_same(huge, lambda stats: print_all(stats.strip_dirs().sort_stats("calls")), huge)


def test_subclass_prints_its_own_lines() -> None:
    def script(stats: Any) -> None:
        class Own(type(stats)):  # type: ignore[misc]
            def print_line(self, func: Any) -> None:
                print(func[2], file=self.stream)

        own = Own(Profiler(PROFILES["classes"]), stream=stats.stream)
        own.sort_stats("name").print_stats(4)

    expect_same(PROFILES["classes"], script)


def test_no_profile_prints_the_same() -> None:
    outputs = []
    for module in (pstats, stepscope.pstats):
        stats = module.Stats(stream=io.StringIO())
        print_all(stats.sort_stats("time").strip_dirs())
        outputs.append((stats.stream.getvalue(), stats.get_stats_profile(), state(stats)))
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize(
    "args", [("nothing",), ("c",), ("time", pstats.SortKey.NAME), (7,), (1.5,)]
)
def test_wrong_orders_raise_the_same(args: tuple[Any, ...]) -> None:
    raised = []
    for module in (pstats, stepscope.pstats):
        with pytest.raises(Exception) as caught:  # noqa: PT011
            module.Stats(Profiler(PROFILES["recursion"])).sort_stats(*args)
        raised.append((caught.type, str(caught.value)))
    assert raised[0] == raised[1]


def write_profile(path: pathlib.Path, stats: dict[Any, Any]) -> str:
    path.write_bytes(marshal.dumps(stats))
    return str(path)


def test_files_print_the_same(tmp_path: pathlib.Path) -> None:
    paths = [
        write_profile(tmp_path / f"{i}.prof", stats) for i, stats in enumerate(PROFILES.values())
    ]
    for path in paths:
        expect_same(path, print_all)
    expect_same(paths[0], lambda stats: print_all(stats.sort_stats("nfl")), *paths[1:4])


@of_every_profile
def test_dumped_files_are_read_by_both(profile: dict[Any, Any], tmp_path: pathlib.Path) -> None:
    path = tmp_path / "dumped.prof"
    stepscope.pstats.Stats(Profiler(profile)).dump_stats(path)
    assert state(pstats.Stats(str(path))) == state(stepscope.pstats.Stats(path))
    assert marshal.loads(path.read_bytes()) == profile


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"", ValueError),
        (b"{0", TypeError),
        (b"junk", ValueError),
        (marshal.dumps(PROFILES["classes"])[:-40], ValueError),
        (marshal.dumps({("a", 1, "f"): (1, 1)}), ValueError),
    ],
)
def test_bad_files_raise_one_line(
    content: bytes, error: type[Exception], tmp_path: pathlib.Path
) -> None:
    path = tmp_path / "bad.prof"
    path.write_bytes(content)
    with pytest.raises(error) as caught:
        stepscope.pstats.Stats(str(path))
    assert "bad.prof" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_file_is_an_os_error(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError):
        stepscope.pstats.Stats(str(tmp_path / "none.prof"))


def test_other_traces_are_taken(tmp_path: pathlib.Path) -> None:
    write_profile(tmp_path / "a.prof", PROFILES["classes"])
    stepscope.load(tmp_path / "a.prof").save(tmp_path / "a.sscope")
    stats = stepscope.pstats.Stats(tmp_path / "a.sscope")
    assert {key: value[:2] for key, value in stats.stats.items()} == {
        key: value[:2] for key, value in PROFILES["classes"].items()
    }


def test_module_has_the_names_of_the_standard_one() -> None:
    public = {name for name in vars(pstats) if not name.startswith("_")}
    assert all(hasattr(stepscope.pstats, name) for name in public)
    assert stepscope.pstats.__all__ == sorted(pstats.__all__)
    assert stepscope.pstats.func_std_string(("a.py", 1, "f")) == "a.py:1(f)"


def test_copies_are_independent() -> None:
    stats = stepscope.pstats.Stats(Profiler(PROFILES["classes"]), stream=io.StringIO())
    stats.sort_stats("time")
    before = state(copy.deepcopy(stats))
    copy.copy(stats).strip_dirs()
    deep = copy.deepcopy(stats)
    deep.strip_dirs().sort_stats("name").add(Profiler(PROFILES["recursion"]))
    assert state(stats) == before


RUN_ITS_TESTS = """
import sys, unittest
try:
    import test.test_pstats
except ImportError:
    print("no test package")
    sys.exit(77)
del sys.modules["test.test_pstats"]
if sys.argv[1] == "ours":
    import stepscope.pstats
    sys.modules["pstats"] = stepscope.pstats
program = unittest.main("test.test_pstats", argv=["test_pstats"], exit=False)
assert not program.result.failures and not program.result.errors
"""


def test_interpreter_s_own_tests_pass() -> None:
    results = [
        subprocess.run([sys.executable, "-c", RUN_ITS_TESTS, which], capture_output=True, text=True)
        for which in ("theirs", "ours")
    ]
    if results[0].returncode == 77:
        pytest.skip("this Python has no test package")
    counts = [
        next(line for line in result.stderr.splitlines() if line.startswith("Ran ")).split()[1]
        for result in results
    ]
    assert [result.returncode for result in results] == [0, 0], results[1].stderr
    assert counts[0] == counts[1]
