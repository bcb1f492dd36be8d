"""The ``--profile`` flag of a pipeline step."""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import Any

from stepscope import _core, _session
from stepscope._profile import profile
from stepscope._schedule import parse_steps

_WORDS = {"true": True, "yes": True, "on": True, "1": True}
_WORDS |= {"false": False, "no": False, "off": False, "0": False, "": False}


def _parse_bool(word: str) -> bool:
    try:
        return _WORDS[word.strip().lower()]
    except KeyError:
        raise argparse.ArgumentTypeError(f"expected true or false, not {word!r}") from None


def _check_steps(text: str) -> str:
    try:
        parse_steps(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds ``--profile`` and ``--no-profile``, ``--profile-dir``, ``--profile-steps``,
    ``--profile-mode``, ``--upload`` and ``--mlflow``; the last two as ``--profile-upload`` and
    ``--profile-mlflow`` alone where the parser has options of these names already.

    ``--profile`` may stand alone or before a word, as pipelines pass booleans: ``--profile true``.
    """
    group = parser.add_argument_group("profiling with Stepscope")
    group.add_argument(
        "--profile",
        type=_parse_bool,
        nargs="?",
        const=True,
        default=False,
        metavar="true|false",
        help="record where the time goes",
    )
    group.add_argument(
        "--no-profile", dest="profile", action="store_false", help="do not; the default"
    )
    group.add_argument(
        "--profile-dir",
        default=_session.FOLDER,
        metavar="DIR",
        help="where the run is written; made if absent (default: %(default)s)",
    )
    group.add_argument(
        "--profile-steps",
        type=_check_steps,
        default="",
        metavar="WAIT,WARMUP,ACTIVE,REPEAT",
        help="which steps (stepscope.step() ends one); all if not given",
    )
    group.add_argument(
        "--profile-mode",
        choices=("trace", "sample"),
        default="trace",
        help="every call, or stacks 100 times a second for long runs (default: %(default)s)",
    )
    group.add_argument(
        *_names(parser, "upload"),
        dest="profile_upload",
        default="",
        metavar="URL",
        help="send the run there when it is over: abfs://container/job, or whatever fsspec knows",
    )
    group.add_argument(
        *_names(parser, "mlflow"),
        dest="profile_mlflow",
        type=_parse_bool,
        nargs="?",
        const=True,
        default=False,
        metavar="true|false",
        help="make it artifacts of the MLflow run that the environment names (MLFLOW_RUN_ID)",
    )


def _names(parser: argparse.ArgumentParser, name: str) -> list[str]:
    """The short name too, unless it is the program's own."""
    is_taken = f"--{name}" in parser._option_string_actions
    return [f"--profile-{name}"] + ([] if is_taken else [f"--{name}"])


class _Step(profile):
    """A recording of a pipeline's step, which is not to fail for it."""

    def __init__(self, path: str, **options: Any) -> None:
        super().__init__(path, **options)
        self._options.has_index = True

    def start(self) -> None:
        current = _session.current()
        if current is not None:
            sys.stderr.write(
                f"stepscope: this process is being recorded already, into {current.folder}: "
                f"{self._options.folder} gets nothing of it (concurrent-profilers)\n"
            )
            return
        try:
            super().start()
        except _core.TraceError as error:
            sys.stderr.write(f"stepscope: not recorded: {error}\n")


def from_args(args: argparse.Namespace) -> contextlib.AbstractContextManager[Any]:
    """What ``with`` takes: a recording where ``--profile`` was given, else nothing at all.

    Where it can not be recorded, that is told in a line and the program goes on.

    >>> parser = argparse.ArgumentParser()
    >>> stepscope.add_arguments(parser)
    >>> with stepscope.from_args(parser.parse_args()):
    ...     train()
    """
    if not args.profile:
        return contextlib.nullcontext()
    recorded = _Step(
        args.profile_dir,
        steps=args.profile_steps,
        mode=args.profile_mode,
        torch=True,
        upload=args.profile_upload,
        mlflow=args.profile_mlflow,
    )
    return recorded
