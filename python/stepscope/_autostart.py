"""autostart(): recording that the environment switches on, for a step of a pipeline."""

from __future__ import annotations

import os
import sys

from stepscope import _session
from stepscope._schedule import parse_steps

_ON = {"1", "true", "yes", "on"}
_OFF = {"", "0", "false", "no", "off"}


def autostart() -> bool:
    """Records this process where the environment says ``STEPSCOPE=1``; whether it does.

    ``STEPSCOPE_DIR``: the folder, ``outputs/profiler_results`` if not given. ``STEPSCOPE_STEPS``
    and ``STEPSCOPE_EPOCHS``: which steps (``stepscope.step()`` ends one) or how many epochs
    (``stepscope.epoch()``); after them the program runs as if nothing had been. ``STEPSCOPE_MODE``:
    ``trace`` or ``sample``. ``STEPSCOPE_UPLOAD``: a URL that the run is sent to when it is over;
    ``STEPSCOPE_MLFLOW=1``: it becomes artifacts of the MLflow run. Recorded is what
    ``stepscope run`` records. A wrong value is told and nothing is recorded: the program is not to
    fail for it.
    """
    switch = os.environ.get("STEPSCOPE", "").strip().lower()
    if switch in _OFF or _session.current() is not None:
        return False
    try:
        if switch not in _ON:
            raise ValueError(f"STEPSCOPE={switch}: expected 1 or 0")
        _session.start(_options())
    except Exception as error:
        sys.stderr.write(f"stepscope: not recorded: {error}\n")
        return False
    return True


def _options() -> _session.Options:
    mode = os.environ.get("STEPSCOPE_MODE", "trace")
    if mode not in {"trace", "sample"}:
        raise ValueError(f"STEPSCOPE_MODE={mode}: expected trace or sample")
    steps = os.environ.get("STEPSCOPE_STEPS", "")
    parse_steps(steps)
    epochs = os.environ.get("STEPSCOPE_EPOCHS", "") or "0"
    if not epochs.isdigit():
        raise ValueError(f"STEPSCOPE_EPOCHS={epochs}: expected a number")
    mlflow = os.environ.get("STEPSCOPE_MLFLOW", "").strip().lower()
    if mlflow not in _ON | _OFF:
        raise ValueError(f"STEPSCOPE_MLFLOW={mlflow}: expected 1 or 0")
    is_sampled = mode == "sample"
    return _session.Options(
        os.environ.get("STEPSCOPE_DIR") or _session.FOLDER,
        steps=steps,
        epochs=int(epochs),
        mode=mode,
        hz=100 if is_sampled else 0,
        torch={"scopes_only": True} if is_sampled else {"memory": True},
        has_index=True,
        upload=os.environ.get("STEPSCOPE_UPLOAD", ""),
        mlflow=mlflow in _ON,
    )
