"""Something is done when a program has imported a module, and the program cannot tell."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent.parent / "python"

WAIT = """
import sys
from stepscope._on_import import when_imported
told = []
def tell(module):
    told.append(module)
    if TELL: print("told of", module.__name__)
if WATCHED: when_imported("waited", tell)
"""


def run(folder: Path, program: str, watched: bool, tell: bool = False) -> str:
    text = WAIT.replace("WATCHED", str(watched)).replace("TELL", str(tell))
    (folder / "program.py").write_text(text + textwrap.dedent(program))
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
    )
    return f"{done.stdout}{done.stderr}exit {done.returncode}"


def write_module(folder: Path, text: str, name: str = "waited") -> None:
    (folder / f"{name}.py").write_text(textwrap.dedent(text))


SEES = """
    import importlib, importlib.util, traceback, warnings
    import waited
    print(type(waited.__spec__), sorted(vars(waited.__spec__)), vars(waited.__loader__))
    print(waited.__loader__ is waited.__spec__.loader, type(waited.__loader__))
    print(waited.seen, waited.__file__, waited.__cached__, sorted(vars(waited)))
    print(importlib.reload(waited) is waited, waited.times)
    print(importlib.util.find_spec("waited").origin)
"""
SEEN = """
    import sys, warnings, traceback
    seen = __spec__.loader is __loader__, sorted(vars(__loader__))
    stack = [(frame.filename, frame.name) for frame in traceback.extract_stack()]
    seen = seen, stack, __name__ in sys.modules
    times = globals().get("times", 0) + 1
    warnings.warn("of the importer", stacklevel=2)
"""


def test_a_module_is_imported_as_without_us(tmp_path: Path) -> None:
    write_module(tmp_path, SEEN)
    plain = run(tmp_path, SEES, watched=False)
    assert "exit 0" in plain
    assert run(tmp_path, SEES, watched=True) == plain


@pytest.mark.parametrize(
    "text",
    [
        "def fail(): return 1 / 0\nfail()",
        "import sys\nsys.exit(3)",
        "syntax error",
        "import missing_module",
        None,
    ],
)
def test_errors_of_an_import_are_as_without_us(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        write_module(tmp_path, text)
    program = "def outer():\n    import waited\nouter()"
    plain = run(tmp_path, program, watched=False)
    assert "exit 0" not in plain
    assert run(tmp_path, program, watched=True) == plain


def test_errors_of_other_finders_are_as_without_us(tmp_path: Path) -> None:
    program = """
        class Failing:
            def find_spec(self, name, path=None, target=None):
                if name == "waited": raise KeyError(name)
        sys.meta_path.append(Failing())
        import waited
    """
    plain = run(tmp_path, program, watched=False)
    assert "KeyError" in plain
    assert run(tmp_path, program, watched=True) == plain


def test_it_is_told_once_and_the_finder_is_gone(tmp_path: Path) -> None:
    write_module(tmp_path, "print('loading')")
    program = """
        before = len(sys.meta_path)
        import waited, waited
        print(told == [waited], before - len(sys.meta_path))
        import importlib
        importlib.reload(waited)
        del sys.modules["waited"]
        import waited
        print(len(told))
    """
    lines = run(tmp_path, program, watched=True, tell=True).splitlines()
    assert lines == ["loading", "told of waited", "True 1", "loading", "loading", "1", "exit 0"]


def test_a_module_that_is_only_looked_for_is_told_of_when_it_comes(tmp_path: Path) -> None:
    write_module(tmp_path, "")
    program = """
        import importlib.util
        spec = importlib.util.find_spec("waited")
        by_hand = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(by_hand)
        print(told)
        import waited
        print(told == [waited])
    """
    assert run(tmp_path, program, watched=True).splitlines() == ["[]", "True", "exit 0"]


def test_a_failed_import_may_be_tried_again(tmp_path: Path) -> None:
    write_module(tmp_path, "import sys\nif not hasattr(sys, 'ready'): raise ImportError('not yet')")
    program = """
        try: import waited
        except ImportError as error: print(error)
        sys.ready = True
        import waited
        print(told == [waited])
    """
    assert run(tmp_path, program, watched=True).splitlines() == ["not yet", "True", "exit 0"]


def test_a_module_that_is_there_is_told_of_at_once(tmp_path: Path) -> None:
    write_module(tmp_path, "")
    program = """
        import waited
        when_imported("waited", tell)
        print(told == [waited])
    """
    assert run(tmp_path, program, watched=False).splitlines() == ["True", "exit 0"]


def test_what_it_does_may_fail(tmp_path: Path) -> None:
    write_module(tmp_path, "")
    program = """
        when_imported("waited", lambda module: 1 / 0)
        sys.unraisablehook = lambda found: print("unraisable", found.exc_type.__name__)
        import waited
        print(waited.__name__)
    """
    lines = run(tmp_path, program, watched=False).splitlines()
    assert lines == ["unraisable ZeroDivisionError", "waited", "exit 0"]


def test_a_package_and_its_modules_may_be_waited_for(tmp_path: Path) -> None:
    (tmp_path / "waited").mkdir()
    (tmp_path / "waited/__init__.py").write_text("from waited import inner")
    (tmp_path / "waited/inner.py").write_text("print('inner')")
    program = """
        when_imported("waited.inner", lambda module: print("told of", module.__name__))
        import waited
        print(len(told))
    """
    lines = run(tmp_path, program, watched=True, tell=True).splitlines()
    assert lines == ["inner", "told of waited.inner", "told of waited", "1", "exit 0"]


def test_built_in_and_lazy_modules_are_no_trouble(tmp_path: Path) -> None:
    write_module(tmp_path, "value = 1")
    program = """
        import importlib.util
        sys.modules.pop("_bisect", None)
        when_imported("faulthandler", tell)
        import faulthandler
        spec = importlib.util.find_spec("waited")
        spec.loader = importlib.util.LazyLoader(spec.loader)
        module = importlib.util.module_from_spec(spec)
        sys.modules["waited"] = module
        spec.loader.exec_module(module)
        print(len(told), module.value, told == [module])
    """
    assert run(tmp_path, program, watched=True).splitlines()[-2:] == ["0 1 True", "exit 0"]
