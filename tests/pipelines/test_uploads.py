"""The pipeline step against real servers: what arrives, what is read back, and what happens when
the network dies under it."""

import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable

import pytest

from .conftest import (
    COMMAND,
    Blobs,
    Done,
    Environment,
    Tracking,
    Wire,
    check_run,
    end_group,
    environment,
    files_of,
    free_port,
    functions_of,
    run_python,
    start_mlflow,
    stepscope,
)

EXIT_CODE = 7
STEPS = 5
# With a `--profile` parameter, an environment that switches it on, or neither.
SCRIPT = """
import argparse, os, sys
import stepscope

def train():
    return [str(number) for number in range(2000)]

def main():
    parser = argparse.ArgumentParser()
    stepscope.add_arguments(parser)
    args = parser.parse_args()
    stepscope.autostart()
    with stepscope.from_args(args):
        for _ in range(5):
            train()
            stepscope.step()
    print("trained")
    sys.exit(7)

main()
"""
FOLDER = pathlib.Path("outputs/profiler_results")


def check_own_end(done: Done) -> str:
    """The program ended as it would have without us; what was said besides."""
    assert (done.returncode, done.stdout) == (EXIT_CODE, "trained\n"), done.stderr
    return done.stderr


def run_step(folder: pathlib.Path, how: str, url: str, env: Environment) -> Done:
    if how == "flag":
        return run_python(folder, SCRIPT, "--profile", "true", "--upload", url, env=env)
    if how == "environment":
        return run_python(folder, SCRIPT, env=env | {"STEPSCOPE": "1", "STEPSCOPE_UPLOAD": url})
    (folder / "train.py").write_text(SCRIPT)
    options = ["-q", "--python", sys.executable, "-o", FOLDER, "--upload", url]
    return stepscope("run", *options, "train.py", cwd=folder, env=env)


@pytest.mark.parametrize("how", ["flag", "environment", "run"])
def test_a_step_sends_its_run_to_azure_and_it_is_read_from_there(
    blobs: Blobs, tmp_path: pathlib.Path, how: str
) -> None:
    container = blobs.make(f"by-{how}")
    url = f"abfs://{container}/jobs/1"
    env = blobs.environment()
    said = check_own_end(run_step(tmp_path, how, url, env))
    assert re.fullmatch(rf"stepscope: {url}: [12] files? of the run uploaded, [0-9.]+ MB\n", said)
    local = files_of(tmp_path / FOLDER)
    assert blobs.read(container) == {f"jobs/1/{name}": data for name, data in local.items()}
    if how != "run":  # which has no index
        check_run(tmp_path / FOLDER)
    assert functions_of(url, env)["train"] == STEPS
    (recording,) = (name for name in local if re.fullmatch(r"\d+\.sscope", name))
    assert functions_of(f"{url}/{recording}", env) == functions_of(tmp_path / FOLDER)


def test_every_command_that_takes_a_path_takes_a_url(blobs: Blobs, tmp_path: pathlib.Path) -> None:
    url = f"abfs://{blobs.make('commands')}/run"
    env = blobs.environment(TMPDIR=str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    run_step(tmp_path, "flag", url, env)
    sql = "select count(*) from slices where name like '%: train'"
    for words in (
        ["report", url, url],
        ["query", url, sql],
        ["convert", url, tmp_path / "run.json"],
        ["diff", url, tmp_path / FOLDER],
        ["export-html", url, tmp_path / "run.html"],
    ):
        done = stepscope(*words, env=env)
        assert (done.returncode, done.stderr) == (0, ""), words
    assert f"{STEPS}" in stepscope("query", url, sql, env=env).stdout
    assert (tmp_path / "run.html").stat().st_size > 10_000
    code = "import stepscope, sys; print(len(stepscope.load(sys.argv[1]).functions(limit=0)))"
    loaded = subprocess.run(
        [sys.executable, "-c", code, url], env=env, capture_output=True, text=True, timeout=120
    )
    assert int(loaded.stdout) > 0, loaded.stderr


def test_view_shows_a_run_in_azure_and_leaves_nothing_behind(
    blobs: Blobs, tmp_path: pathlib.Path
) -> None:
    url = f"abfs://{blobs.make('viewed')}/run"
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    env = blobs.environment(TMPDIR=str(temporary))
    run_step(tmp_path, "flag", url, env)
    view = subprocess.Popen(
        [COMMAND, "view", url, "--no-browser"], stdout=subprocess.PIPE, text=True, env=env
    )
    assert view.stdout is not None
    address = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/#token=(\w+)\n", view.stdout.readline())
    assert address is not None
    assert list(temporary.glob("stepscope-*/run/*.sscope"))
    connection = http.client.HTTPConnection("127.0.0.1", int(address[1]), timeout=60)
    connection.request("GET", "/api/runs", headers={"X-Stepscope-Token": address[2]})
    runs = json.loads(connection.getresponse().read())["runs"]
    connection.close()
    assert [run["name"] for run in runs] == ["run"]
    view.send_signal(signal.SIGKILL)  # not even then
    view.wait(timeout=30)
    view.stdout.close()
    for _ in range(600):
        if not list(temporary.glob("stepscope-*")):
            return
        subprocess.run(["sleep", "0.1"], check=True)
    pytest.fail("the downloaded run is still there")


@pytest.mark.parametrize("how", ["flag", "environment", "run"])
def test_a_step_makes_its_run_artifacts_of_the_mlflow_run(
    tracking: Tracking, tmp_path: pathlib.Path, how: str
) -> None:
    run = tracking.make_run()
    env = tracking.environment(run)
    if how == "flag":
        done = run_python(tmp_path, SCRIPT, "--profile", "--mlflow", env=env)
    elif how == "environment":
        switches = {"STEPSCOPE": "1", "STEPSCOPE_MLFLOW": "1"}
        done = run_python(tmp_path, SCRIPT, env=env | switches)
    else:
        (tmp_path / "train.py").write_text(SCRIPT)
        options = ["-q", "--python", sys.executable, "-o", FOLDER, "--mlflow"]
        done = stepscope("run", *options, "train.py", cwd=tmp_path, env=env)
    said = check_own_end(done)
    assert said.startswith(f"stepscope: mlflow://{run}/profiler_results: ")
    assert said.count("\n") == 1
    local = files_of(tmp_path / FOLDER)
    sent = tracking.read(run, tmp_path / "artifacts")
    assert sent == {f"profiler_results/{name}": data for name, data in local.items()}
    (recording,) = (name for name in local if re.fullmatch(r"\d+\.sscope", name))
    for path in ("", "/profiler_results", f"/profiler_results/{recording}"):
        assert functions_of(f"mlflow://{run}{path}", env)["train"] == STEPS


def test_a_run_that_the_program_begins_itself_is_the_one(
    tracking: Tracking, tmp_path: pathlib.Path
) -> None:
    script = """
import mlflow, stepscope
mlflow.set_tracking_uri(URI)
with mlflow.start_run() as run, stepscope.profile("run", mlflow=True):
    print(run.info.run_id)
""".replace("URI", repr(tracking.uri))
    done = run_python(tmp_path, script)
    run = done.stdout.split()[0]
    assert f"mlflow://{run}/profiler_results: 1 file of the run uploaded" in done.stderr
    assert functions_of(f"mlflow://{run}", tracking.environment(""))


# More than one chunk, so that there is a middle.
LONG = SCRIPT.replace("range(5)", "range(5000)").replace(
    "[str(number) for number in range(2000)]", "[abs(len(str(n))) for n in range(20)]"
)


def test_azure_dies_in_the_middle_of_the_upload(
    mortal_blobs: Blobs, tmp_path: pathlib.Path, wire: Callable[..., Wire]
) -> None:
    container = mortal_blobs.make("doomed")
    cable = wire(mortal_blobs.server.port, cut_after=6000)
    cable.on_cut = mortal_blobs.server.kill
    env = mortal_blobs.environment(cable.port, STEPSCOPE_UPLOAD_TIMEOUT="8")
    url = f"abfs://{container}/run"
    done = run_python(tmp_path, LONG, "--profile", "--upload", url, env=env)
    said = check_own_end(done)
    assert cable.is_cut, "all was sent before: the recording is too small for this test"
    assert said.startswith(f"stepscope: {url}: not uploaded: ")
    assert said.endswith(f"; the run is in {tmp_path / FOLDER}\n")
    assert said.count("\n") == 1
    check_run(tmp_path / FOLDER)


def test_mlflow_dies_in_the_middle_of_the_upload(
    tmp_path: pathlib.Path, wire: Callable[..., Wire]
) -> None:
    pytest.importorskip("mlflow", reason="MLflow is not installed (scripts/setup pipelines)")
    doomed = Tracking(start_mlflow(tmp_path / "mlflow"))
    try:
        run = doomed.make_run()
        cable = wire(doomed.server.port, cut_after=6000)
        cable.on_cut = lambda: end_group(doomed.server)
        env = doomed.environment(run, cable.port, STEPSCOPE_UPLOAD_TIMEOUT="25")
        said = check_own_end(run_python(tmp_path, LONG, "--profile", "--mlflow", env=env))
    finally:
        end_group(doomed.server)
    assert cable.is_cut, "all was sent before: the recording is too small for this test"
    assert said.startswith(f"stepscope: mlflow://{run}/profiler_results: not uploaded: ")
    assert said.count("\n") == 1
    check_run(tmp_path / FOLDER)


def test_what_fails_at_first_is_tried_again(
    blobs: Blobs, tmp_path: pathlib.Path, wire: Callable[..., Wire]
) -> None:
    container = blobs.make("patience")
    cable = wire(blobs.server.port, refuse=6)
    url = f"abfs://{container}/run"
    done = run_python(
        tmp_path, SCRIPT, "--profile", "--upload", url, env=blobs.environment(cable.port)
    )
    assert "2 files of the run uploaded" in check_own_end(done)
    assert cable.refused == 6
    assert len(blobs.read(container)) == 2


@pytest.mark.parametrize("how", ["flag", "environment", "run"])
def test_a_server_that_never_answers_does_not_hold_the_step_up(
    tmp_path: pathlib.Path, how: str
) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
        text = Blobs(None).environment(silent.getsockname()[1])  # type: ignore[arg-type]
        done = run_step(
            tmp_path, how, "abfs://container/run", text | {"STEPSCOPE_UPLOAD_TIMEOUT": "3"}
        )
    said = check_own_end(done)
    assert re.fullmatch(
        r"stepscope: abfs://container/run: not uploaded: .+; the run is in .+\n", said
    )
    assert list((tmp_path / FOLDER).glob("*.sscope"))


def test_nobody_at_the_other_end(tmp_path: pathlib.Path) -> None:
    env = Blobs(None).environment(free_port())  # type: ignore[arg-type]
    env["STEPSCOPE_UPLOAD_TIMEOUT"] = "3"
    said = check_own_end(run_step(tmp_path, "flag", "abfs://container/run", env))
    assert said.count("\n") == 1
    assert "not uploaded" in said
    check_run(tmp_path / FOLDER)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("nosuch://bucket/run", "nosuch"),
        ("mlflow://", "MLFLOW_RUN_ID"),
    ],
)
def test_a_url_that_can_not_be_is_told_in_a_line(
    tmp_path: pathlib.Path, url: str, why: str
) -> None:
    said = check_own_end(run_step(tmp_path, "flag", url, environment()))
    assert said.count("\n") == 1
    assert why in said
    check_run(tmp_path / FOLDER)
    read = stepscope("report", url)
    assert (read.returncode, read.stdout, read.stderr.count("\n")) == (1, "", 1)
    assert read.stderr.startswith("stepscope: ")
    assert why in read.stderr


def test_what_is_not_in_the_store_is_told_in_a_line(blobs: Blobs, tracking: Tracking) -> None:
    container = blobs.make("empty")
    run = tracking.make_run()
    env = blobs.environment() | {"MLFLOW_TRACKING_URI": tracking.uri}
    for url in (
        f"abfs://{container}/nothing",
        "abfs://nocontainer/nothing",
        f"mlflow://{run}/nothing",
        "mlflow://0123456789abcdef/nothing",
    ):
        done = stepscope("report", url, env=env)
        assert (done.returncode, done.stdout) == (1, ""), url
        assert done.stderr.startswith(f"stepscope: {url}: "), done.stderr
        assert done.stderr.count("\n") == 1


def test_a_python_without_the_store_says_what_to_install(tmp_path: pathlib.Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    env = environment(STEPSCOPE_PYTHON=str(tmp_path / "bare/bin/python"))
    for url, extra in (("abfs://c/run", "azure"), ("mlflow://RUN/run", "mlflow")):
        done = stepscope("report", url, env=env)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
        assert f"pip install 'stepscope[{extra}]'" in done.stderr


def test_ranks_of_a_node_share_a_folder_and_its_index(blobs: Blobs, tmp_path: pathlib.Path) -> None:
    container = blobs.make("ranks")
    (tmp_path / "train.py").write_text(SCRIPT)
    ranks = []
    for rank in range(3):
        env = blobs.environment(
            STEPSCOPE="1", STEPSCOPE_UPLOAD=f"abfs://{container}/run", RANK=str(rank)
        )
        ranks.append(
            subprocess.Popen(
                [sys.executable, "train.py"],
                cwd=tmp_path,
                env=env,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )
    assert [process.wait(timeout=300) for process in ranks] == [EXIT_CODE] * 3
    there = blobs.read(container)
    listed = json.loads(there["run/index.json"])["files"]
    assert {entry["rank"]: entry["pid"] for entry in listed} == {
        rank: process.pid for rank, process in enumerate(ranks)
    }
    assert set(there) == {"run/index.json", *(f"run/{entry['file']}" for entry in listed)}


def test_nodes_of_a_job_do_not_overwrite_each_other(blobs: Blobs, tmp_path: pathlib.Path) -> None:
    container = blobs.make("nodes")
    url = f"abfs://{container}/run"
    env = blobs.environment(AZUREML_NODE_COUNT="2")
    check_own_end(run_step(tmp_path, "flag", url, env))
    host = os.uname().nodename
    assert {name.rpartition("/")[0] for name in blobs.read(container)} == {f"run/{host}"}
    assert functions_of(url, env)["train"] == STEPS


def test_after_the_last_step_the_run_is_sent_while_the_training_goes_on(
    blobs: Blobs, tmp_path: pathlib.Path
) -> None:
    container = blobs.make("early")
    script = """
import os, sys, time
import stepscope
stepscope.autostart()
def train():
    return sum(range(1000))
for _ in range(4):
    train()
    stepscope.step()
try:
    os.wait()
except ChildProcessError:
    print("no child")
open("go", "w").close()
while not os.path.exists("stop"):
    time.sleep(0.05)
sys.exit(7)
"""
    (tmp_path / "train.py").write_text(script)
    env = blobs.environment(
        STEPSCOPE="1", STEPSCOPE_STEPS="1,0,2,1", STEPSCOPE_UPLOAD=f"abfs://{container}/run"
    )
    program = subprocess.Popen(
        [sys.executable, "train.py"],
        cwd=tmp_path,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        for _ in range(1200):
            if "run/index.json" in blobs.read(container):
                break
            assert program.poll() is None
            subprocess.run(["sleep", "0.1"], check=True)
        else:
            pytest.fail("nothing was sent")
        assert (tmp_path / "go").exists()
    finally:
        (tmp_path / "stop").touch()
    output, errors = program.communicate(timeout=120)
    assert (program.returncode, output) == (EXIT_CODE, "no child\n")
    assert re.fullmatch(r"stepscope: abfs:.+: 2 files of the run uploaded, .+\n", errors)
    assert functions_of(f"abfs://{container}/run", env)["train"] == 2


def test_a_folder_of_this_machine_is_a_url_too(tmp_path: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        url = f"file://{folder}/jobs/run"
        check_own_end(run_step(tmp_path, "flag", url, environment()))
        assert files_of(pathlib.Path(folder) / "jobs/run") == files_of(tmp_path / FOLDER)
        assert functions_of(url)["train"] == STEPS
