"""The sampler against programs that know what they do: which share of their CPU time each function
takes, and which functions call which."""

import pathlib

import pytest

from .recorded import Program, Recorder, Recording, Truth

pytestmark = pytest.mark.live

PROGRAMS = ["one_thread", "threads", "waiting", "generators", "deep_stack", "short_functions"]
# A machine with much else to do takes the processor away for many samples in a row, which then are
# as good as one. What is wrong by more than chance is so each time.
ATTEMPTS = 3
ENOUGH_CPU = 0.9  # of the time, for figures that can be judged


def record(
    stepscope: pathlib.Path,
    python: pathlib.Path,
    program: str,
    seconds: float,
    path: pathlib.Path,
    *options: object,
) -> tuple[Truth, Recording]:
    with (
        Program(python, program + ".py", seconds) as running,
        Recorder(stepscope, running.pid, "--overwrite", "-o", path, *options) as recorder,
    ):
        truth = running.work()
        recorder.wait()
    return truth, Recording(stepscope, path)


def differences(truth: Truth, recording: Recording) -> dict[str, float]:
    """In points; of what is not in one of them as well."""
    shares = recording.shares()
    return {name: 100 * (shares[name] - share) for name, share in truth.shares.items()}


def check_shares(
    stepscope: pathlib.Path,
    python: pathlib.Path,
    program: str,
    seconds: float,
    points: float,
    folder: pathlib.Path,
) -> Truth:
    can_judge = False
    for _ in range(ATTEMPTS):
        truth, recording = record(stepscope, python, program, seconds, folder, "--hz", 1000)
        assert recording.illegal_pairs(truth) == []
        off = differences(truth, recording)
        print(program, {n: f"{d:+.2f}" for n, d in off.items()}, recording.sampling())
        if max(map(abs, off.values())) <= points:
            return truth
        can_judge = can_judge or truth.total_cpu_s >= ENOUGH_CPU * seconds
    if not can_judge:
        pytest.skip(f"the machine has too much else to do; points off the truth: {off}")
    pytest.fail(f"{program}: points off the truth: {off}")


@pytest.mark.heavy
@pytest.mark.parametrize("program", PROGRAMS)
def test_shares_are_those_that_the_program_measured(
    stepscope_bin: pathlib.Path, python: pathlib.Path, program: str, tmp_path: pathlib.Path
) -> None:
    check_shares(stepscope_bin, python, program, 2, 5, tmp_path / "run")


@pytest.mark.heavy
@pytest.mark.parametrize("program", PROGRAMS)
def test_shares_are_within_two_points_after_ten_seconds(
    stepscope_bin: pathlib.Path, python: pathlib.Path, program: str, tmp_path: pathlib.Path
) -> None:
    truth = check_shares(stepscope_bin, python, program, 10, 2, tmp_path / "run")
    assert program != "short_functions" or truth.functions >= 10_000


@pytest.mark.heavy
@pytest.mark.parametrize("program", ["quick_calls", "short_functions"])
def test_no_function_is_seen_under_one_that_never_called_it(
    stepscope_bin: pathlib.Path, python: pathlib.Path, program: str, tmp_path: pathlib.Path
) -> None:
    truth, recording = record(stepscope_bin, python, program, 3, tmp_path / "run", "--hz", 10_000)
    assert recording.illegal_pairs(truth) == []
    assert recording.sampling()["samples"] > 1_000


@pytest.mark.parametrize("program", ["quick_calls", "generators", "short_functions"])
def test_paused_program_shows_nothing_that_never_was(
    stepscope_bin: pathlib.Path, python: pathlib.Path, program: str, tmp_path: pathlib.Path
) -> None:
    truth, recording = record(
        stepscope_bin, python, program, 2, tmp_path / "run", "--hz", 1000, "--pause"
    )
    assert recording.illegal_pairs(truth) == []
    sampling = recording.sampling()
    assert sampling["paused"]
    assert sampling["torn_reads"] == 0
    assert sampling["samples"] > 100


@pytest.mark.heavy
def test_a_million_samples_have_at_most_one_pair_that_never_was(
    stepscope_bin: pathlib.Path, python: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    samples, illegal = 0, []
    while samples < 1_000_000:
        for program in ("quick_calls", *PROGRAMS):
            options = ("--hz", 10_000)
            truth, recording = record(
                stepscope_bin, python, program, 20, tmp_path / "run", *options
            )
            samples += recording.sampling()["samples"]
            illegal += recording.illegal_pairs(truth)
            print(f"{python}: {program}: {samples} samples, pairs that never were: {illegal}")
    assert len(illegal) <= samples / 1_000_000
