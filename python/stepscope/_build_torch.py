"""Builds the collector of PyTorch's operators for the PyTorch that is installed here.

    python -m stepscope._build_torch        what `stepscope doctor --build-torch` and `make` run

Never at the import of anything: a training run's many processes would all do it at once. It takes a
C++ compiler and half a minute, and nothing where the collector is there and newer than its sources.
"""

import importlib.metadata
import os
import pathlib
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor

from stepscope import _torch_collector
from stepscope._record_library import get_include

PACKAGE = pathlib.Path(__file__).resolve().parent


def source_folder() -> pathlib.Path:
    """What `collect/torch/…` is relative to: the package's own copy, or the checkout's sources."""
    packaged = PACKAGE / "torch_source"
    return packaged if packaged.is_dir() else PACKAGE.parent.parent / "src"


def compile_and_link(target: pathlib.Path, sources: list[pathlib.Path]) -> None:
    """Raises ``CalledProcessError`` where the compiler fails."""
    import torch
    from torch.utils import cpp_extension

    compiler = os.environ.get("CXX", "c++")
    abi = int(torch.compiled_with_cxx11_abi())
    flags = ["-std=c++20", "-O2", "-g1", "-fPIC", "-fvisibility=hidden", "-DNDEBUG"]
    flags += ["-DSTEPSCOPE_NO_LIBRARY", f"-D_GLIBCXX_USE_CXX11_ABI={abi}"]
    flags += [f"-I{source_folder()}", f"-I{get_include()}"]
    for folder in (*cpp_extension.include_paths(), sysconfig.get_path("include")):
        flags += ["-isystem", folder]

    def run(*arguments: str | pathlib.Path) -> None:
        subprocess.run([compiler, *map(str, arguments)], check=True)

    with tempfile.TemporaryDirectory() as folder:
        objects = [pathlib.Path(folder) / f"{source.stem}.o" for source in sources]

        def compile_one(source: pathlib.Path, to: pathlib.Path) -> None:
            run(*flags, "-c", source, "-o", to)

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(compile_one, sources, objects))
        libraries = [f"-L{path}" for path in cpp_extension.library_paths()]
        libraries += ["-ltorch_cpu", "-lc10", "-ltorch"]
        # Put into its place at once: others may be loading it.
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_name(f".{target.name}.{os.getpid()}")
        run("-shared", *objects, *libraries, "-o", unfinished)
        os.replace(unfinished, target)


def main(arguments: list[str]) -> int:
    try:
        version = importlib.metadata.version("torch")  # importing it would take seconds
    except importlib.metadata.PackageNotFoundError:
        print("stepscope: PyTorch is not installed for", sys.executable, file=sys.stderr)
        return 1
    target = _torch_collector.find(version)
    if arguments == ["--find"]:
        print(target or "")
        return 0 if target else 1
    sources = sorted((source_folder() / "collect/torch").glob("*.cc"))
    headers = sorted((source_folder() / "collect/torch").glob("*.h"))
    headers.append(source_folder() / "format/operator_inputs.h")
    headers.append(pathlib.Path(get_include()) / "stepscope/record.h")
    newest = max(path.stat().st_mtime for path in (*sources, *headers))
    if target is not None and target.stat().st_mtime >= newest:
        return 0
    target = target or _torch_collector.path_for_writing(version)
    try:
        compile_and_link(target, sources)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"stepscope: the collector for torch {version}: {error}", file=sys.stderr)
        return 1
    print(f"stepscope: built the collector for torch {version}: {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
