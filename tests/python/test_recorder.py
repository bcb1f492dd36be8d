"""The recorder as an extension module gets it: the function table behind the package's capsule."""

import collections
import ctypes
import importlib
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Iterator
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char_p,
    c_double,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint8,
    c_uint32,
    c_uint64,
    c_void_p,
)

import pytest

import stepscope
from stepscope import _core

CAPSULE = b"stepscope._core.record_table"


class RecordTable(Structure):
    """StepscopeRecordTable of stepscope/record.h."""

    _fields_ = (
        ("version", c_uint32),
        ("bytes", c_uint32),
        ("start", CFUNCTYPE(c_int, c_char_p, c_void_p, c_char_p, c_size_t)),
        ("stop", CFUNCTYPE(c_int, c_char_p, c_size_t)),
        ("is_recording", CFUNCTYPE(c_int)),
        ("intern", CFUNCTYPE(c_uint32, c_char_p, c_size_t, c_char_p, c_size_t, c_uint8)),
        ("intern_counter", CFUNCTYPE(c_uint32, c_char_p, c_size_t, c_char_p, c_size_t)),
        ("begin", CFUNCTYPE(None, c_uint32)),
        ("end", CFUNCTYPE(None, c_uint32)),
        ("instant", CFUNCTYPE(None, c_uint32)),
        ("counter", CFUNCTYPE(None, c_uint32, c_double)),
        ("counter_int", CFUNCTYPE(None, c_uint32, ctypes.c_int64)),
        ("step", CFUNCTYPE(None, c_uint32)),
        ("flow_begin", CFUNCTYPE(None, c_uint64)),
        ("flow_end", CFUNCTYPE(None, c_uint64)),
        ("allocate", CFUNCTYPE(None, c_uint64, c_uint64, c_int32, c_int32)),
        ("free", CFUNCTYPE(None, c_uint64, c_uint64, c_int32, c_int32)),
        ("context", CFUNCTYPE(None, c_uint32)),
        ("set_thread_name", CFUNCTYPE(None, c_char_p, c_size_t)),
        ("attach", CFUNCTYPE(None, c_uint32, c_void_p, c_uint32)),
        ("begin_with", CFUNCTYPE(None, c_uint32, c_uint32, c_void_p, c_uint32)),
        ("begin_async", CFUNCTYPE(None, c_uint32, c_uint64)),
        ("end_async", CFUNCTYPE(None, c_uint64)),
        ("memory", CFUNCTYPE(None, c_uint64, c_int64, c_int32, c_int32, c_int64, c_int64)),
    )

    def label(self, name: str) -> int:
        text = name.encode()
        return int(self.intern(text, len(text), b"", 0, CALL))

    def name_thread(self, name: str) -> None:
        self.set_thread_name(name.encode(), len(name.encode()))


CALL = 6


@pytest.fixture
def table() -> RecordTable:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype = POINTER(RecordTable)
    get.argtypes = (ctypes.py_object, c_char_p)
    found: RecordTable = get(_core.record_table, CAPSULE).contents
    return found


@pytest.fixture
def run(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    """The folder of a recording that runs until it is stopped, or until the test ends."""
    folder = tmp_path / "run"
    _core.start_recording(str(folder), counters=False)
    yield folder
    _core.stop_recording()


def calls_by_track(folder: pathlib.Path) -> dict[str, collections.Counter[str]]:
    table = stepscope.load(folder).sql(
        "SELECT t.name AS track, s.name AS name FROM slices s JOIN tracks t ON s.track_id = t.id"
    )
    found: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for track, name in zip(table["track"], table["name"], strict=True):
        found[track][name] += 1
    return found


def test_capsule_can_be_imported_by_its_name(table: RecordTable) -> None:
    get_import = ctypes.pythonapi.PyCapsule_Import
    get_import.restype = c_void_p
    get_import.argtypes = (c_char_p, c_int)
    assert get_import(CAPSULE, 0) == ctypes.addressof(table)


def test_table_has_the_version_and_size_of_the_header(table: RecordTable) -> None:
    assert table.version == 1
    assert table.bytes == ctypes.sizeof(RecordTable)


def test_recording_runs_from_start_to_stop(tmp_path: pathlib.Path, table: RecordTable) -> None:
    assert not _core.is_recording()
    _core.start_recording(str(tmp_path / "run"), counters=False)
    assert _core.is_recording()
    assert table.is_recording() == 1
    _core.stop_recording()
    assert not _core.is_recording()
    _core.stop_recording()  # fine where there is none
    assert [path.suffix for path in (tmp_path / "run").iterdir()] == [".sscope"]


def test_second_start_is_an_error_that_leaves_the_first_alone(
    run: pathlib.Path, table: RecordTable
) -> None:
    with pytest.raises(stepscope.TraceError, match="record"):
        _core.start_recording(str(run))
    table.instant(table.label("still here"))
    _core.stop_recording()
    assert len(stepscope.load(run).slices) == 1


def test_folder_that_can_not_be_made_is_an_error_with_its_name(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(stepscope.TraceError, match="file/run"):
        _core.start_recording(str(tmp_path / "file/run"))
    assert not _core.is_recording()


def test_calls_of_every_python_thread_are_on_its_track(
    run: pathlib.Path, table: RecordTable
) -> None:
    outer, inner = table.label("outer"), table.label("inner")

    def work(number: int) -> None:
        table.name_thread(f"worker {number}")
        for _ in range(1000 + number):
            table.begin(outer)
            table.begin(inner)
            table.end(inner)
            table.end(outer)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    _core.stop_recording()

    assert calls_by_track(run) == {
        f"worker {number}": {"outer": 1000 + number, "inner": 1000 + number} for number in range(4)
    }
    trace = stepscope.load(run)
    functions = trace.functions()
    assert dict(zip(functions["name"], functions["calls"], strict=True)) == {
        "outer": 4006,
        "inner": 4006,
    }
    nested = trace.sql(
        "SELECT count(*) AS n FROM slices c JOIN slices p ON c.parent_id = p.id"
        " WHERE c.name = 'inner' AND p.name = 'outer'"
    )
    assert nested["n"] == [4006]
    assert "records_dropped" not in trace.stats


def test_steps_and_counters_come_back(run: pathlib.Path, table: RecordTable) -> None:
    loss = table.intern_counter(b"loss", 4, b"", 0)
    for number in range(3):
        table.counter(loss, 1 / (1 + number))
        table.step(number)
    _core.stop_recording()
    trace = stepscope.load(run)
    assert len(trace.steps()) == 3
    values = trace.sql("SELECT value FROM counters WHERE name = 'loss' ORDER BY time_ns")
    assert values["value"] == [1, 1 / 2, 1 / 3]


def test_running_recording_can_be_read_by_its_own_program(
    run: pathlib.Path, table: RecordTable
) -> None:
    label = table.label("so far")
    table.begin(label)
    table.end(label)
    assert calls_by_track(run).popitem()[1] == {"so far": 1}


FORK = """
import ctypes, os, sys
sys.path.insert(0, sys.argv[2])
from test_recorder import RecordTable, CAPSULE, _core

get = ctypes.pythonapi.PyCapsule_GetPointer
get.restype = ctypes.POINTER(RecordTable)
get.argtypes = (ctypes.py_object, ctypes.c_char_p)
table = get(_core.record_table, CAPSULE).contents
_core.start_recording(sys.argv[1], counters=False)


def call(name, times):
    label = table.label(name)
    for _ in range(times):
        table.begin(label)
        table.end(label)


call("before", 5)
child = os.fork()
call("parent" if child else "child", 7 if child else 3)
if child:
    assert os.waitpid(child, 0)[1] == 0
    print(os.getpid(), child)
_core.stop_recording()
if not child:
    os._exit(0)
"""


def test_forked_child_records_into_a_file_of_its_own(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "run"
    tests = pathlib.Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", FORK, folder, tests],
        text=True,
        capture_output=True,
        env=os.environ | {"PYTHONPATH": str(pathlib.Path(stepscope.__file__).parents[1])},
    )
    assert done.returncode == 0, done.stderr
    parent, child = map(int, done.stdout.split())
    assert len(list(folder.glob("*.sscope"))) == 2
    table = stepscope.load(folder).sql(
        "SELECT t.pid AS pid, s.name AS name, count(*) AS calls"
        " FROM slices s JOIN tracks t ON s.track_id = t.id GROUP BY 1, 2"
    )
    assert set(zip(table["pid"], table["name"], table["calls"], strict=True)) == {
        (parent, "before", 5),
        (parent, "parent", 7),
        (child, "child", 3),
    }


EXTENSION = """
#include <Python.h>
#define STEPSCOPE_NO_LIBRARY
#include <stepscope/record.h>

static PyObject* work(PyObject*, PyObject*) {
  STEPSCOPE_SCOPE("native work");
  Py_RETURN_NONE;
}
static PyMethodDef methods[] = {{"work", work, METH_NOARGS, ""}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "native", "", -1, methods};
PyMODINIT_FUNC PyInit_native() {
  void* table = PyCapsule_Import("stepscope._core.record_table", 0);
  if (table == nullptr) return nullptr;
  stepscope::use_table(static_cast<const StepscopeRecordTable*>(table));
  return PyModule_Create(&module);
}
"""


def test_extension_module_records_through_the_capsule(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler, headers = shutil.which("c++"), sysconfig.get_paths()["include"]
    if compiler is None or not pathlib.Path(headers, "Python.h").exists():
        pytest.skip("no C++ compiler, or no headers of this Python")
    (tmp_path / "native.cc").write_text(EXTENSION)
    command = [compiler, "-std=c++17", "-fPIC", "-shared", "-I", headers]
    command += ["-I", stepscope.get_include(), "native.cc", "-o", "native.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    monkeypatch.syspath_prepend(tmp_path)
    native = importlib.import_module("native")

    native.work()  # nothing is recorded, nothing fails
    _core.start_recording(str(tmp_path / "run"), counters=False)
    for _ in range(3):
        native.work()
    _core.stop_recording()
    functions = stepscope.load(tmp_path / "run").functions()
    assert list(zip(functions["name"], functions["calls"], strict=True)) == [("native work", 3)]


def test_header_and_library_come_with_the_package() -> None:
    assert (pathlib.Path(stepscope.get_include()) / "stepscope/record.h").is_file()
    library = ctypes.CDLL(stepscope.get_library())
    library.stepscope_record_table.restype = c_void_p
    assert library.stepscope_record_table(1)
    assert not library.stepscope_record_table(99)
