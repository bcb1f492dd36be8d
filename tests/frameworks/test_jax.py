"""`stepscope run` on JAX programs."""

import pytest

from .conftest import Record

PLAIN = """
    import jax
    import jax.numpy as jnp

    @jax.jit
    def train_step(weights, rows):
        loss, gradient = jax.value_and_grad(lambda w: jnp.mean((rows @ w) ** 2))(weights)
        return weights - 0.1 * gradient, loss

    weights, rows = jnp.ones((64, 8)), jnp.ones((16, 64))
    for step in range(30):
        weights, loss = train_step(weights, rows)
    loss.block_until_ready()
    print("done")
"""
ANNOTATED = PLAIN.replace(
    "        weights, loss = train_step(weights, rows)\n    loss",
    '        with jax.profiler.StepTraceAnnotation("train", step_num=step):\n'
    "            weights, loss = train_step(weights, rows)\n    loss",
)

pytestmark = pytest.mark.heavy


def test_operators_are_recorded(record: Record) -> None:
    run = record(PLAIN)
    assert (run.code, run.output) == (0, "done\n"), run.errors
    assert len(run.profiles) == 1
    ((count,),) = run.query("select count(*) from slices where category = 'xla_op'")
    assert count >= 30
    assert "<module>" in run.view("functions")["name"]


def test_annotated_steps_are_counted(record: Record) -> None:
    run = record(ANNOTATED)
    assert run.steps() == [f"train#{step}" for step in range(30)]
    some = record(ANNOTATED, "--steps", "10,2,5")
    assert some.steps() == [f"train#{step}" for step in range(12, 17)]


def test_profiler_of_the_program_itself_comes_first(record: Record) -> None:
    text = PLAIN.replace("    loss.block", '    jax.profiler.start_trace("own")\n    loss.block')
    run = record(text + "    jax.profiler.stop_trace()\n")
    assert (run.code, run.output) == (0, "done\n"), run.errors
    assert len(run.profiles) == 1
    assert "JAX" in run.errors


def test_nothing_is_started_where_it_is_not_wanted(record: Record) -> None:
    assert record(PLAIN, "--no-jax").profiles == []
    assert record("import jax\nprint(1)").profiles == []
