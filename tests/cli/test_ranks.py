"""`stepscope ranks` on jobs whose facts are planted (bench/make_job.py)."""

import csv
import importlib.util
import io
import json
import pathlib
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

Command = Callable[..., subprocess.CompletedProcess[str]]
ROOT = pathlib.Path(__file__).resolve().parents[2]


def make_job(folder: pathlib.Path, *options: object) -> dict[str, Any]:
    spec = importlib.util.spec_from_file_location("make_job", ROOT / "bench" / "make_job.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    truth: dict[str, Any] = module.make_job(module.parse([str(folder), *map(str, options)]))
    return truth


def rows_of(table: dict[str, Any]) -> list[dict[str, Any]]:
    names = [column["name"] for column in table["columns"]]
    return [dict(zip(names, row, strict=True)) for row in table["rows"]]


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[pathlib.Path, dict[str, Any]]:
    """256 ranks: two stragglers, an imbalance, skewed clocks, a missing and a truncated file."""
    folder = tmp_path_factory.mktemp("job")
    facts = "--slow-input 17 --slow-kernel 101 --imbalance 0.12 --missing 33 --truncated 200"
    truth = make_job(folder, "--ranks", 256, "--steps", 6, "--gzip", *facts.split())
    return folder, truth


@pytest.fixture(scope="module")
def planted_rows(
    stepscope: Command, planted: tuple[pathlib.Path, dict[str, Any]]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    result = stepscope("ranks", planted[0], "--limit", 0, "--format", "json", check=True)
    table = json.loads(result.stdout)
    return table, rows_of(table)


def test_the_stragglers_of_256_ranks_are_found_with_their_causes(
    planted_rows: tuple[dict[str, Any], list[dict[str, Any]]],
) -> None:
    slow = {row["rank"]: row for row in planted_rows[1] if row["straggler"]}
    assert set(slow) == {17, 101}
    assert slow[17]["cause"] == "input"
    assert slow[101]["cause"] == "slow-kernel"
    assert "volta_sgemm" in slow[101]["cause_detail"]
    # 16 ms more of input, part of which the others spend on transfers that were hidden before; of
    # 24 kernels of 1 ms, six take 1.5 ms more.
    assert 10e6 < slow[17]["excess_ns"] < 17e6
    assert slow[101]["excess_ns"] == pytest.approx(9e6, rel=0.25)


def test_clocks_that_are_off_by_50_ms_are_aligned_within_20_us(
    planted: tuple[pathlib.Path, dict[str, Any]],
    planted_rows: tuple[dict[str, Any], list[dict[str, Any]]],
) -> None:
    offsets = planted[1]["offsets_ns"]
    assert max(abs(offset) for offset in offsets.values()) > 45_000_000
    for row in planted_rows[1]:
        assert abs(row["clock_offset_ns"] - offsets[row["rank"]]) < 20_000, row
        assert row["clock_error_ns"] < 20_000


def test_missing_and_truncated_ranks_are_said_and_the_rest_goes_on(
    stepscope: Command,
    planted: tuple[pathlib.Path, dict[str, Any]],
    planted_rows: tuple[dict[str, Any], list[dict[str, Any]]],
) -> None:
    rows = planted_rows[1]
    assert [row["rank"] for row in rows] == [rank for rank in range(256) if rank != 33]
    truncated = next(row for row in rows if row["rank"] == 200)
    assert 0 < truncated["steps"] < 6
    text = stepscope("ranks", planted[0], check=True).stdout
    assert "1 of 256 ranks have no trace here: 33" in text
    assert "rank 200 (rank0200.pt.trace.json): " in text


def test_the_parts_of_a_step_add_up(
    planted_rows: tuple[dict[str, Any], list[dict[str, Any]]],
) -> None:
    for row in planted_rows[1]:
        parts = row["compute_ns"] + row["communication_ns"] - row["overlap_ns"]
        assert row["step_ns"] == pytest.approx(parts + row["copy_ns"] + row["idle_ns"], abs=5)
        assert 0 <= row["wait_ns"] <= row["communication_ns"] - row["overlap_ns"] + 5


def test_findings_name_stragglers_and_imbalance_with_what_is_at_stake(
    stepscope: Command, planted: tuple[pathlib.Path, dict[str, Any]]
) -> None:
    result = stepscope("ranks", planted[0], "--view", "findings", "-f", "json", check=True)
    found = json.loads(result.stdout)["findings"]
    slow = {finding["where"]: finding for finding in found if finding["id"] == "straggler-rank"}
    assert set(slow) == {"rank 17", "rank 101"}
    # Some 5 ms of a step of 45 until the next one holds it up, then 8 ms.
    total = sum(finding["at_stake_fraction"] for finding in slow.values())
    assert 0.25 < total < 0.4
    assert "load-imbalance" in {finding["id"] for finding in found}


def test_collectives_have_size_type_bandwidth_and_who_comes_last(
    stepscope: Command, planted: tuple[pathlib.Path, dict[str, Any]]
) -> None:
    result = stepscope("ranks", planted[0], "--view", "collectives", "-f", "json", check=True)
    (row,) = rows_of(json.loads(result.stdout))
    assert (row["type"], row["size_bytes"], row["dtype"]) == ("all_reduce", 6553600 * 4, "Float")
    assert row["ranks"] == 255
    assert row["last_rank"] == 17
    expected = 6553600 * 4 * 2 * 255 / 256 / 1500e-6
    assert row["bus_bytes_per_s"] == pytest.approx(expected, rel=0.02)


def test_a_healthy_job_has_no_straggler(stepscope: Command, tmp_path: pathlib.Path) -> None:
    make_job(tmp_path, "--ranks", 8)
    result = stepscope("ranks", tmp_path, "--view", "ranks,findings", "-f", "json", check=True)
    ranks, findings = json.loads(result.stdout)
    assert not any(row["straggler"] for row in rows_of(ranks))
    assert not [f for f in findings["findings"] if f["severity"] != "info"]


def test_a_throttled_rank_is_told_from_one_with_a_slow_kernel(
    stepscope: Command, tmp_path: pathlib.Path
) -> None:
    make_job(tmp_path, "--ranks", 8, "--throttled", 3, "--no-sequence-numbers")
    result = stepscope("ranks", tmp_path, "-f", "json", check=True)
    slow = [row for row in rows_of(json.loads(result.stdout)) if row["straggler"]]
    assert [(row["rank"], row["cause"]) for row in slow] == [(3, "throttling")]


def test_the_number_of_workers_changes_nothing(stepscope: Command, tmp_path: pathlib.Path) -> None:
    make_job(tmp_path, "--ranks", 12, "--slow-input", 2)
    outputs = {
        stepscope("ranks", tmp_path, "--workers", n, "--limit", 0, check=True).stdout
        for n in (1, 2, 7)
    }
    assert len(outputs) == 1


def test_rows_can_be_sorted_limited_and_written_as_csv(
    stepscope: Command, tmp_path: pathlib.Path
) -> None:
    make_job(tmp_path, "--ranks", 6, "--slow-input", 2)
    result = stepscope(
        "ranks", tmp_path, "--sort", "wait_ns", "--limit", 2, "-f", "csv", check=True
    )
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert len(rows) == 2
    assert "2" not in {row["rank"] for row in rows}


def test_report_takes_several_traces_as_ranks_of_one_job(
    stepscope: Command, tmp_path: pathlib.Path
) -> None:
    make_job(tmp_path, "--ranks", 3, "--slow-input", 1)
    whole = stepscope("report", tmp_path, "--view", "ranks", "-f", "json", check=True).stdout
    assert whole == stepscope("ranks", tmp_path, "-f", "json", check=True).stdout
    one = tmp_path / "rank0001.pt.trace.json"
    alone = stepscope("report", one, "--view", "ranks", "-f", "json", check=True).stdout
    (row,) = rows_of(json.loads(alone))
    assert row["rank"] == 1
    assert row["wait_ns"] is None


def test_broken_files_are_named_and_the_rest_is_shown(
    stepscope: Command, tmp_path: pathlib.Path
) -> None:
    make_job(tmp_path, "--ranks", 4)
    (tmp_path / "rank0001.pt.trace.json").write_bytes(b"")
    (tmp_path / "rank0002.pt.trace.json").write_bytes(b"\x00\x01\x02 no trace")
    result = stepscope("ranks", tmp_path, "-f", "json")
    assert result.returncode == 0
    assert [row["rank"] for row in rows_of(json.loads(result.stdout))] == [0, 3]
    assert "stepscope: rank0001.pt.trace.json: " in result.stderr
    assert "stepscope: rank0002.pt.trace.json: " in result.stderr


def test_a_named_file_that_is_not_there_makes_the_exit_code_1(
    stepscope: Command, tmp_path: pathlib.Path
) -> None:
    make_job(tmp_path, "--ranks", 2)
    first = tmp_path / "rank0000.pt.trace.json"
    result = stepscope("ranks", first, tmp_path / "nothing.json", "-f", "json")
    assert result.returncode == 1
    assert "nothing.json: no such file" in result.stderr
    assert len(rows_of(json.loads(result.stdout))) == 1
    result = stepscope("ranks", tmp_path / "nothing.json")
    assert result.returncode == 1
    assert result.stdout == ""


def test_convert_puts_all_ranks_on_one_timeline(stepscope: Command, tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "job"
    make_job(folder, "--ranks", 4, "--jitter-us", 0)
    for out in (tmp_path / "merged.json", tmp_path / "merged.sscope"):
        stepscope("convert", folder, out, check=True)
        wanted = "name LIKE 'nccl%Kernel%'"
        query = f"SELECT start_ns + dur_ns AS end_ns FROM slices WHERE {wanted} ORDER BY 1"
        result = stepscope("query", out, query, "-f", "json", check=True)
        ends = [row["end_ns"] for row in rows_of(json.loads(result.stdout))]
        assert len(ends) == 4 * 8 * 4
        # Each all_reduce ends on all four ranks at once: skewed by 50 ms before.
        for i in range(0, len(ends), 4):
            assert ends[i + 3] - ends[i] <= 4000, ends[i : i + 4]
        query = "SELECT count(DISTINCT name) AS n FROM processes WHERE name LIKE 'rank %: python'"
        result = stepscope("query", out, query, "-f", "json")
        if result.returncode == 0:  # the table is there
            assert rows_of(json.loads(result.stdout))[0]["n"] == 4
        kernels = stepscope("report", out, "--view", "kernels", "-f", "json", check=True)
        devices = {row["device"] for row in rows_of(json.loads(kernels.stdout))}
        assert len(devices) == 4


def test_diff_of_jobs_names_phase_kernel_and_rank(
    stepscope: Command, tmp_path: pathlib.Path
) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    make_job(before, "--ranks", 4)
    make_job(after, "--ranks", 4, "--slow-kernel", 2)
    result = stepscope("diff", before, after, "-f", "json", "--limit", 0, check=True)
    rows = rows_of(json.loads(result.stdout))
    kernels = [row for row in rows if row["section"] == "kernels"]
    assert [row["name"] for row in kernels if row["change_ns"] > 1e6] == ["volta_sgemm_128x64_nn"]
    ranks = {row["name"]: row["change_ns"] for row in rows if row["section"] == "ranks"}
    assert ranks["rank 2"] == pytest.approx(9e6, rel=0.25)
    assert abs(ranks.get("rank 1", 0)) < 2.5e6
    assert {row["section"] for row in rows} >= {"step", "phases", "kernels", "ranks"}
