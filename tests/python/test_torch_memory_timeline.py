"""`memory --by category` and its files against torch's own memory timeline, and against the model.

torch follows every tensor and we follow none, so categories agree in part: how well is in
docs/views.md, and the floors here are a little below that. What the model says of itself (bytes of
its parameters, gradients and optimizer state) must be found to the byte.
"""

import gzip
import itertools
import json
import pathlib
import shutil
import subprocess
import warnings
import xml.etree.ElementTree
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch.profiler import ProfilerActivity, profile  # noqa: E402

CATEGORIES = (  # in torch's order
    "parameters",
    "optimizer_state",
    "inputs",
    "temporaries",
    "activations",
    "gradients",
    "autograd_details",
    "unknown",
)
BATCH = 32
STEPS = 3


def make_mlp() -> Any:
    nn = torch.nn
    return nn.Sequential(
        nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 10)
    )


def make_conv_net() -> Any:
    nn = torch.nn
    return nn.Sequential(
        nn.Unflatten(1, (1, 28, 28)),
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * 14 * 14, 10),
    )


def make_sgd(parameters: Any) -> Any:
    return torch.optim.SGD(parameters, lr=0.01, momentum=0.9)


def make_adam(parameters: Any) -> Any:
    return torch.optim.Adam(parameters)


class Case(NamedTuple):
    make_model: Callable[[], Any]
    make_optimizer: Callable[[Any], Any]
    agreement: float  # of the bytes at the peak that torch has a category for, at least


CASES = {
    "mlp-sgd": Case(make_mlp, make_sgd, 0.99),
    "mlp-adam": Case(make_mlp, make_adam, 0.6),
    "conv-sgd": Case(make_conv_net, make_sgd, 0.99),
    "conv-adam": Case(make_conv_net, make_adam, 0.99),
}


class Recorded(NamedTuple):
    case: Case
    trace: pathlib.Path
    torch_json: pathlib.Path
    torch_raw: pathlib.Path
    parameter_bytes: int
    gradient_bytes: int
    state_bytes: int


def count_bytes(tensors: Any) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


@pytest.fixture(scope="module", params=list(CASES))
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    case = CASES[request.param]
    folder = tmp_path_factory.mktemp("memory")
    torch.manual_seed(0)
    with profile(
        activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True, with_stack=True
    ) as profiler:
        model = case.make_model()
        optimizer = case.make_optimizer(model.parameters())
        data = torch.utils.data.TensorDataset(
            torch.randn(BATCH * STEPS, 784), torch.randint(0, 10, (BATCH * STEPS,))
        )
        for images, labels in torch.utils.data.DataLoader(data, batch_size=BATCH):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()
    trace = folder / f"{request.param}.pt.trace.json"
    profiler.export_chrome_trace(str(trace))
    torch_json, torch_raw = folder / "torch.json", folder / "torch.raw.json.gz"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        profiler.export_memory_timeline(str(torch_json), device="cpu")
        profiler.export_memory_timeline(str(torch_raw), device="cpu")
    states = [value for state in optimizer.state.values() for value in state.values()]
    return Recorded(
        case,
        trace,
        torch_json,
        torch_raw,
        count_bytes(itertools.chain(model.parameters(), model.buffers())),
        count_bytes(parameter.grad for parameter in model.parameters()),
        count_bytes(value for value in states if isinstance(value, torch.Tensor)),
    )


Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def read_timeline(stepscope: Callable[..., Any]) -> Callable[[pathlib.Path], Rows]:
    def read(path: pathlib.Path) -> Rows:
        options = ("--view", "memory", "--by", "category", "--limit", "0", "--format", "json")
        table = json.loads(stepscope("report", path, *options, check=True).stdout)
        names = [column["name"] for column in table["columns"]]
        return [dict(zip(names, row, strict=True)) for row in table["rows"]]

    return read


@pytest.fixture
def convert(stepscope: Callable[..., Any], tmp_path: pathlib.Path) -> Callable[..., pathlib.Path]:
    def run(path: pathlib.Path, name: str) -> pathlib.Path:
        stepscope("convert", path, tmp_path / name, check=True)
        return tmp_path / name

    return run


def test_totals_are_torchs_at_every_moment(
    recorded: Recorded, read_timeline: Callable[[pathlib.Path], Rows]
) -> None:
    total = 0
    expected: dict[int, int] = {}
    # [ns, action, bytes, category]; action 3 moves bytes from one category to another
    for time_ns, action, size, _ in json.loads(gzip.decompress(recorded.torch_raw.read_bytes())):
        total += size
        if action != 3:
            assert time_ns > 0, "torch knows of memory from before: the model was recorded too"
            expected[time_ns] = total
    rows = read_timeline(recorded.trace)
    offset_ns = min(expected) - rows[0]["time_ns"]
    assert {row["time_ns"] + offset_ns: row["total_bytes"] for row in rows} == expected


def test_categories_add_up_to_the_total(
    recorded: Recorded, read_timeline: Callable[[pathlib.Path], Rows]
) -> None:
    for row in read_timeline(recorded.trace):
        assert sum(row[f"{name}_bytes"] for name in CATEGORIES) == row["total_bytes"]


def test_what_stays_is_what_the_model_holds(
    recorded: Recorded, read_timeline: Callable[[pathlib.Path], Rows]
) -> None:
    last = read_timeline(recorded.trace)[-1]
    assert last["parameters_bytes"] == recorded.parameter_bytes
    assert last["gradients_bytes"] == recorded.gradient_bytes
    assert last["optimizer_state_bytes"] == recorded.state_bytes
    assert last["temporaries_bytes"] == 0
    assert last["autograd_details_bytes"] == 0
    assert last["unknown_bytes"] == 0


def test_categories_agree_with_torch_at_the_peak(
    recorded: Recorded, convert: Callable[..., pathlib.Path]
) -> None:
    theirs = max(json.loads(recorded.torch_json.read_text())[1], key=sum)
    ours = max(json.loads(convert(recorded.trace, "memory_timeline.json").read_text())[1], key=sum)
    assert sum(ours) == sum(theirs)
    assert len(ours) == len(theirs)
    agreed = [min(a, b) for a, b in zip(ours, theirs, strict=True)]
    assert sum(agreed[:-1]) / sum(theirs[:-1]) >= recorded.case.agreement


def test_json_is_torchs_form(recorded: Recorded, convert: Callable[..., pathlib.Path]) -> None:
    ours = json.loads(convert(recorded.trace, "x.memory_timeline.json").read_text())
    theirs = json.loads(recorded.torch_json.read_text())
    for times, sizes in (ours, theirs):
        assert len(times) == len(sizes)
        assert times == sorted(times)
        assert all(len(row) == 1 + len(CATEGORIES) and row[0] == 0 for row in sizes)
    # torch rounds to us through a double.
    assert abs(ours[0][0] - theirs[0][0]) <= 1
    assert {sum(row) for row in ours[1]} & {sum(row) for row in theirs[1]}


def test_torchs_own_file_keeps_its_categories(
    recorded: Recorded, convert: Callable[..., pathlib.Path]
) -> None:
    ours = json.loads(convert(recorded.torch_raw, "memory_timeline.json").read_text())
    theirs = json.loads(recorded.torch_json.read_text())
    assert ours[1][-1] == theirs[1][-1]
    assert max(ours[1], key=sum) == max(theirs[1], key=sum)


def test_page_is_well_formed_and_stands_alone(
    recorded: Recorded, convert: Callable[..., pathlib.Path]
) -> None:
    page = convert(recorded.trace, "memory_timeline.html").read_text()
    root = xml.etree.ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>"))
    assert root.tag.endswith("html")
    assert len(page) < 400_000
    for attribute in ("src=", "href=", "@import", "url("):
        assert attribute not in page


HOVER = """<script>
window.addEventListener("load", function () {
  var svg = document.querySelector("svg"), box = svg.getBoundingClientRect();
  svg.dispatchEvent(new MouseEvent("mousemove", { clientX: box.left + box.width * 0.99 }));
});
</script>"""


def test_page_shows_the_figures_under_the_pointer(
    recorded: Recorded, convert: Callable[..., pathlib.Path], tmp_path: pathlib.Path
) -> None:
    browser = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if browser is None:
        pytest.skip("no Chromium to open the page with")
    page = convert(recorded.trace, "memory_timeline.html")
    page.write_text(page.read_text().replace("</body>", HOVER + "</body>"))
    options = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/browser")
    shown = subprocess.run(
        [browser, *options, "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
    ).stdout
    if "<svg" not in shown:
        pytest.skip("Chromium does not start here")
    section = shown[shown.index("<section>") : shown.index("</table>")]
    assert 'class="when">at ' in section, "the moment under the pointer, no longer the peak"
    row = section[section.index('data-category="0"') :]
    cell = row[row.index("</td><td>") + len("</td><td>") :].split("<")[0]
    number, unit = cell.split()
    scale = {"KiB": 1024, "MiB": 1024**2}[unit]
    assert float(number) * scale == pytest.approx(recorded.parameter_bytes, rel=0.01)
