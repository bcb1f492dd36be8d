"""`stepscope run` on TensorFlow programs: its own profile of them is in the run, on one clock."""

import pathlib
import re
import subprocess
import sys

import pytest

from .conftest import ENVIRONMENT, ROOT, Record, Recorded, run_plainly

LOOP = """
    import tensorflow as tf

    def double(x):
        return tf.cast(x, tf.float32) * 2

    def train():
        total = 0.0
        for batch in tf.data.Dataset.range(200).map(double).batch(5):
            total += float(tf.reduce_sum(batch))
        print("total", total)

    train()
"""


def test_tf_data_loop_is_recorded_with_its_pipeline(record: Record) -> None:
    run = record(LOOP)
    assert (run.code, run.output) == (0, "total 39800.0\n"), run.errors
    assert len(run.profiles) == 1
    assert run.profiles[0].parts[-5].startswith("tensorflow-")
    assert run.steps() == [f"train#{step}" for step in range(40)]

    (roots,) = run.query("select count(*) from slices where name = 'Iterator::Root'")
    assert roots[0] == 41  # the last finds nothing left
    functions = run.view("functions")
    assert "train" in functions["name"]

    # Both sides tell the time of the same things: the loop is within train(), and fills it.
    ((begin, end),) = run.query(
        "select start_ns, start_ns + dur_ns from slices where name like '%: train'"
    )
    ((first, last),) = run.query(
        "select min(start_ns), max(start_ns + dur_ns) from slices where kind = 'step'"
    )
    assert begin <= first <= last <= end
    calls = run.query(
        "select start_ns from slices where name like '%_next_internal' order by start_ns limit 40"
    )
    fetches = run.query(
        "select start_ns from slices where name = 'Iterator::Root' order by start_ns limit 40"
    )
    delays = [fetch - call for (call,), (fetch,) in zip(calls, fetches, strict=True)]
    assert min(delays) > -20_000
    assert sorted(delays)[20] < 2_000_000


EAGER = LOOP.replace("float(tf.reduce_sum(batch))", "float(tf.reduce_sum(tf.sqrt(batch) ** 2))")
FUNCTION = """
    import tensorflow as tf

    weights = tf.Variable(tf.ones([64, 8]))

    @tf.function
    def train_step(rows):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(rows, weights)))
        weights.assign_sub(0.1 * tape.gradient(loss, weights))
        return loss

    for step in range(30):
        loss = train_step(tf.ones([16, 64]))
    print("done")
"""
KERAS = """
    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    data = tf.data.Dataset.range(400).map(lambda x: (tf.fill([4], tf.cast(x, tf.float32)), 1.0))
    model.fit(data.batch(10), epochs=1, verbose=0)
    print("done")
"""
MIRRORED = """
    import tensorflow as tf

    cpus = tf.config.list_physical_devices("CPU")
    two = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(cpus[0], two)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        weights = tf.Variable(1.0)

    @tf.function
    def train_step(batch):
        strategy.run(lambda rows: tf.reduce_sum(rows) * weights, args=(batch,))

    data = tf.data.Dataset.range(240).map(lambda x: tf.cast(x, tf.float32)).batch(8)
    for batch in strategy.experimental_distribute_dataset(data):
        train_step(batch)
    print("done")
"""


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("program", "steps", "operator"),
    [
        (EAGER, 40, "Cast"),
        (FUNCTION, 28, "MatMul"),
        (KERAS, 40, "MatMul"),
        (MIRRORED, 30, "ReadVariableOp"),
    ],
    ids=["eager", "function", "keras", "mirrored"],
)
def test_steps_and_operators_are_found(
    record: Record, program: str, steps: int, operator: str
) -> None:
    run = record(program)
    assert run.code == 0, run.errors
    assert len(run.steps()) == steps
    assert operator in " ".join(run.view("operators")["name"])


@pytest.mark.heavy
@pytest.mark.parametrize("program", [LOOP, FUNCTION, KERAS], ids=["loop", "function", "keras"])
def test_steps_that_are_asked_for_are_recorded_and_no_others(record: Record, program: str) -> None:
    run = record(program, "--steps", "5,2,6")
    assert run.code == 0, run.errors
    assert run.steps() == [f"train#{step}" for step in range(7, 13)]


@pytest.mark.heavy
def test_each_stretch_of_steps_is_a_profile(record: Record) -> None:
    run = record(LOOP, "--steps", "3,0,4,2")
    assert len(run.profiles) == 2
    assert run.steps() == [f"train#{step}" for step in [3, 4, 5, 6, 10, 11, 12, 13]]


@pytest.mark.heavy
def test_window_of_time_ends_the_profile(record: Record) -> None:
    text = LOOP.replace("total +=", "import time; time.sleep(0.05); total +=")
    run = record(text, "--window", "500ms")
    assert 9 <= len(run.steps()) < 30


@pytest.mark.heavy
def test_work_long_before_the_training_does_not_take_its_window(record: Record) -> None:
    text = """
        import time
        import tensorflow as tf

        tf.function(lambda x: x + 1)(1)
        time.sleep(2)
        for element in tf.data.Dataset.range(30):
            pass
    """
    run = record(text, "--window", "300ms")
    assert len(run.profiles) == 2
    assert len(run.steps()) >= 28


@pytest.mark.heavy
def test_steps_that_the_program_marks_are_its_own(record: Record) -> None:
    text = """
        import tensorflow as tf

        data = iter(tf.data.Dataset.range(20))
        for step in range(20):
            with tf.profiler.experimental.Trace("mine", step_num=100 + step, _r=1):
                next(data)
    """
    run = record(text)
    assert run.steps() == [f"mine#{100 + step}" for step in range(20)]


@pytest.mark.heavy
def test_steps_that_the_program_tells_are_taken(record: Record) -> None:
    text = """
        import stepscope
        import tensorflow as tf

        data = iter(tf.data.Dataset.range(20))
        for step in range(10):
            next(data), next(data)
            stepscope.step()
    """
    run = record(text, "--steps", "2,0,5")
    assert run.steps() == [f"train#{step}" for step in range(2, 7)]


@pytest.mark.heavy
def test_profiler_of_the_program_itself_comes_first(record: Record, tmp_path: pathlib.Path) -> None:
    text = """
        import tensorflow as tf

        data = iter(tf.data.Dataset.range(40))
        BEFORE
        for step in range(20):
            next(data)
        AFTER
        for step in range(10):
            next(data)
        tf.profiler.experimental.stop()
        print("done")
    """
    start = f'tf.profiler.experimental.start("{tmp_path}/own")'
    early = record(text.replace("BEFORE", start).replace("AFTER", ""))
    assert (early.code, early.output) == (0, "done\n"), early.errors
    assert early.profiles == []
    late = record(text.replace("BEFORE", "").replace("AFTER", start))
    assert (late.code, late.output) == (0, "done\n"), late.errors
    assert len(late.profiles) == 1
    for run in (early, late):
        said = [line for line in run.errors.splitlines() if line.startswith("stepscope:")]
        assert len(said) == 1, run.errors
        assert "TensorFlow" in said[0]
    assert len(list((tmp_path / "own").rglob("*.xplane.pb"))) == 2


@pytest.mark.heavy
@pytest.mark.parametrize(
    "failing",
    [
        "next(data), next(iter(tf.data.Dataset.range(0)))",
        "tf.function(lambda x: 1 / 0)(1)",
        "next(iter(tf.data.Dataset.range(9).map(lambda x: tf.debugging.assert_less(x, 0))))",
        "next(data); raise SystemExit(7)",
    ],
)
def test_program_fails_as_without_us(record: Record, tmp_path: pathlib.Path, failing: str) -> None:
    run = record(f"import tensorflow as tf\ndata = iter(tf.data.Dataset.range(9))\n{failing}\n")
    plain = run_plainly(tmp_path)
    assert (run.code, run.output) == (plain.returncode, plain.stdout)
    # Names of files made for the run; in log lines the time of day and the thread's number.
    own = re.compile(r"autograph_generated_file[^.]*|\d\d:\d\d:\d+\.\d+ +\d+ ")
    assert own.sub("", run.errors) == own.sub("", plain.stderr)


@pytest.mark.heavy
def test_nothing_is_started_where_it_is_not_wanted(record: Record) -> None:
    assert record(LOOP, "--no-tensorflow").profiles == []
    assert record("import tensorflow\nprint(1)").profiles == []


def test_the_example_of_a_keras_callback_records_its_steps(tmp_path: pathlib.Path) -> None:
    environment = ENVIRONMENT | {"PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run(
        [sys.executable, ROOT / "examples/callbacks/keras_callback.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "stepscope:" not in done.stderr
    recorded = Recorded(tmp_path / "outputs/profiler_results", 0, "", "")
    assert len(recorded.steps()) == 4
