"""What is on the screen, in the words of the page: views, tables, tracks, pixels."""

import dataclasses
import io
import time
import urllib.parse
from collections.abc import Callable
from typing import Any

from PIL import Image

LANE_PX = 18

Color = tuple[int, int, int]


def wait_until(holds: Callable[[], object], what: str, seconds: float = 10) -> None:
    """What is drawn has no event to wait for."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.05)


@dataclasses.dataclass
class Screen:
    page: Any
    address: str
    token: str
    complaints: list[str]

    # Where it is.

    def go(self, **state: object) -> None:
        """Loads the page anew. `go(view="timeline", tracks__filter="x")`: __ is a point."""
        pairs = {"token": self.token} | {k.replace("__", "."): v for k, v in state.items()}
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}#{urllib.parse.urlencode(pairs)}")
        self.page.wait_for_selector("main > *, [role=alert]")

    def state(self) -> dict[str, str]:
        fragment = self.page.evaluate("location.hash")
        return dict(urllib.parse.parse_qsl(fragment.removeprefix("#")))

    def wait_for_state(self, **wanted: str | None) -> None:
        names = {k.replace("__", "."): v for k, v in wanted.items()}
        wait_until(
            lambda: all(self.state().get(name) == value for name, value in names.items()),
            f"{names} in the address",
        )

    def tab(self, title: str) -> None:
        self.page.get_by_role("navigation", name="Views").get_by_text(title, exact=True).click()

    def text(self) -> str:
        return str(self.page.inner_text("main"))

    def wait_for_text(self, text: str) -> None:
        self.page.locator("main").get_by_text(text).first.wait_for()

    def forgive(self, part: str) -> None:
        """Complaints that the test has made come about; there must be one."""
        kept = [complaint for complaint in self.complaints if part not in complaint]
        assert len(kept) < len(self.complaints), f"no complaint has {part!r}"
        self.complaints[:] = kept

    # Tables.

    def table(self, label: str) -> Any:
        grid = self.page.get_by_role("grid", name=label, exact=True)
        grid.wait_for()
        return grid

    def heads(self, label: str) -> list[str]:
        return [
            head.strip(" ▾▴\n")
            for head in self.table(label).get_by_role("columnheader").all_inner_texts()
        ]

    def rows(self, label: str) -> list[dict[str, str]]:
        """The rows in sight: title of the column -> text."""
        cells = self.table(label).evaluate(
            """grid => [...grid.querySelectorAll('.table-row')].map(row =>
                 [...row.querySelectorAll('[role=gridcell]')].map(cell => cell.innerText))"""
        )
        heads = self.heads(label)
        return [
            {head: cell.strip("▾▸↗ \n") for head, cell in zip(heads, row, strict=True)}
            for row in cells
        ]

    # Pixels.

    def picture(self) -> Image.Image:
        return Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")

    def color_at(self, x: float, y: float) -> Color:
        color = self.picture().getpixel((int(x), int(y)))
        assert isinstance(color, tuple)
        return color[0], color[1], color[2]

    # The timeline.

    def canvas(self) -> dict[str, float]:
        box = self.page.locator(".timeline-canvases canvas").last.bounding_box()
        assert box
        return dict(box)

    def window(self, span_ns: int) -> tuple[int, int]:
        """The range of time that is shown, once it is in the address."""
        begin, _, end = self.state().get("range", f"0-{span_ns}").partition("-")
        return int(begin), int(end)

    def place(self, track: str, depth: int, at: float) -> tuple[float, float]:
        """The middle of a lane, at a fraction of the window."""
        head = self.page.get_by_role("group", name=track, exact=True).bounding_box()
        canvas = self.canvas()
        return canvas["x"] + at * canvas["width"], head["y"] + (depth + 0.5) * LANE_PX

    def said(self) -> str:
        """What a screen reader was told about the timeline."""
        return str(self.page.locator(".timeline > [role=status]").inner_text())
