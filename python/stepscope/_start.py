"""Recording a program from its start: what `stepscope run` asks for in the environment.

The variable STEPSCOPE_RUN holds fields "key=value", separated by the control character US. It is
left in place, so that child processes record themselves too. As few modules as possible are
imported here: the program may care in which order its own are."""

import os
import sys

from stepscope import _session

VARIABLE = "STEPSCOPE_RUN"
SEPARATOR = "\x1f"


def parse(text: str) -> tuple[_session.Options, int]:
    """The options, and the pid of the command that started the program."""
    options = _session.Options(from_main=True)
    torch: dict[str, float] = {}
    command = 0
    for field in text.split(SEPARATOR):
        key, _, value = field.partition("=")
        if key == "command":
            command = int(value)
        elif key in {"only", "exclude", "frameworks"}:
            getattr(options, key).append(value)
        elif key in {"max_file_bytes", "min_duration_ns", "epochs", "window_ns"}:
            setattr(options, key, int(value))
        elif key == "c_calls":
            options.c_calls = value == "1"
        elif key in {"folder", "threads", "steps", "mode", "sampler_note"}:
            setattr(options, key, value)
        elif key == "hz":
            options.hz = float(value)
        elif key in {"torch", "shapes", "memory", "sampling"}:
            torch[key] = float(value)
    if torch.get("torch") and options.mode == "sample":
        options.torch = {"scopes_only": True}
    elif torch.get("torch"):
        options.torch = {
            "inputs": torch["shapes"] == 1,
            "memory": torch["memory"] == 1,
            "sampling": torch["sampling"],
        }
    return options, command


def start_from_environment() -> None:
    text = os.environ.get(VARIABLE)
    # multiprocessing's janitor is no part of the program.
    if not text or any("resource_tracker" in word for word in sys.orig_argv[1:3]):
        return
    options, command = parse(text)
    try:
        _session.start(options)
    except Exception as error:
        # The program itself has not begun. A child of it goes its way without us.
        if os.getppid() == command:
            sys.stderr.write(f"stepscope: {error}\n")
            sys.stderr.flush()
            os._exit(1)
