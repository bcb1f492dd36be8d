"""One load by another tool, for bench/run.py: `peers.py TOOL FILE` prints what the load took.

Imports are not counted, only the tool's own reading and preparing of the trace. Every loader is
called as its documentation or its own front end calls it, on one process.
"""

import json
import logging
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable


def python_json() -> Callable[[str], int]:
    def load(path: str) -> int:
        with open(path, encoding="utf-8") as file:
            return len(json.load(file)["traceEvents"])

    return load


def torch_tb_profiler() -> Callable[[str], int]:
    from torch_tb_profiler.profiler.data import RunProfileData

    def load(path: str) -> int:
        with tempfile.TemporaryDirectory() as cache:
            return len(RunProfileData.parse("worker0", None, path, cache).events)

    return load


def hta() -> Callable[[str], int]:
    from hta.common.trace import Trace

    logging.disable(logging.WARNING)

    def load(path: str) -> int:
        trace = Trace(
            trace_files={0: os.path.abspath(path)}, trace_dir=os.path.dirname(path) or "."
        )
        trace.load_traces(use_multiprocessing=False, use_memory_profiling=False)
        return len(trace.get_trace(0))

    return load


def xprof() -> Callable[[str], int]:
    from xprof.convert import raw_to_tool_data

    def load(path: str) -> int:
        with tempfile.TemporaryDirectory() as folder:  # it keeps what it worked out beside the file
            link = os.path.join(folder, "host.xplane.pb")
            os.symlink(os.path.abspath(path), link)
            data, _ = raw_to_tool_data.xspace_to_tool_data([link], "input_pipeline_analyzer", {})
        return len(data)

    return load


LOADERS = {
    "json": python_json,
    "torch_tb_profiler": torch_tb_profiler,
    "hta": hta,
    "xprof": xprof,
}


def main() -> None:
    load = LOADERS[sys.argv[1]]()
    cpu, wall = time.process_time(), time.perf_counter()
    events = load(sys.argv[2])
    result = {
        "events": events,
        "cpu_s": time.process_time() - cpu,
        "wall_s": time.perf_counter() - wall,
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
