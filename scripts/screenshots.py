"""Makes the README's pictures of the viewer, docs/images/*.png, from a recording of the script that
`make demo` records. Needs PyTorch and Debian's chromium.

.venv/bin/python scripts/screenshots.py
"""

import contextlib
import io
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parent.parent
STEPSCOPE = ROOT / ".venv/bin/stepscope"
# Its name is in the pictures.
FOLDER = pathlib.Path("/tmp/demo")
IMAGES = ROOT / "docs/images"
SIZE = {"width": 1200, "height": 675}
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
MOST_BYTES = 200_000


@contextlib.contextmanager
def serving(run: pathlib.Path) -> Iterator[str]:
    command = [STEPSCOPE, "view", run, "--no-browser"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait()


def show_overview(page: Any) -> None:
    page.locator("article.finding").first.wait_for()


def show_timeline(page: Any) -> None:
    """A backward pass in the middle of the run, with a little of what is around it."""
    search = page.get_by_role("searchbox", name="Search slices")
    search.wait_for()
    search.fill("/^backward$/")
    page.locator(".search-count").get_by_text("found").wait_for()
    for _ in range(20):
        search.press("Enter")
    page.get_by_role("complementary", name="What is selected").wait_for()
    search.fill("")
    search.press("Escape")
    for _ in range(3):
        page.keyboard.press("s")


def show_functions(page: Any) -> None:
    page.get_by_role("application", name="Stacks of functions").wait_for()
    page.get_by_role("grid", name="Functions").wait_for()


VIEWS = {"overview": show_overview, "timeline": show_timeline, "functions": show_functions}


def take(browser: Any, address: str) -> None:
    for view, show in VIEWS.items():
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto(f"{address}&view={view}")
        show(page)
        page.wait_for_timeout(1500)
        path = IMAGES / f"{view}.png"
        picture = Image.open(io.BytesIO(page.screenshot()))
        picture.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)
        page.close()
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size} bytes")
        if path.stat().st_size > MOST_BYTES:
            sys.exit(f"screenshots: {path.name} is larger than {MOST_BYTES} bytes")


def main() -> None:
    chromium = shutil.which("chromium") or sys.exit("screenshots: no chromium here")
    IMAGES.mkdir(parents=True, exist_ok=True)
    FOLDER.mkdir()
    try:
        script = shutil.copy(ROOT / "examples/train_slow.py", FOLDER)
        run = FOLDER / "train_slow"
        command = [STEPSCOPE, "run", "--only", "mine", "-o", run, script]
        subprocess.run(
            command, cwd=FOLDER, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        with serving(run) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
            take(browser, address)
            browser.close()
    finally:
        shutil.rmtree(FOLDER)


if __name__ == "__main__":
    main()
