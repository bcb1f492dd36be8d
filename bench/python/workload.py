"""How a workload of this folder is run as a script: `python calls.py [SIZE]`.

It prints one line of JSON: CPU time of its thread and of the process while the workload ran,
and when it ended, so that the one who started it can tell what followed.
"""

import json
import sys
import time
from collections.abc import Callable


def run_as_script(run: Callable[[int], object], default_size: int) -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else default_size
    thread_s, process_s = time.thread_time(), time.process_time()
    run(size)
    thread_s, process_s = time.thread_time() - thread_s, time.process_time() - process_s
    figures = {"thread_s": thread_s, "process_s": process_s, "end_s": time.monotonic()}
    print(f"workload {json.dumps(figures)}", flush=True)
