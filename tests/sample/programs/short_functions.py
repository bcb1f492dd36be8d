"""Functions that are made, called once and thrown away, thousands of them: where one was, the next
one is. The work is counted by what they have in common."""

from time import monotonic, thread_time
from types import CodeType
from typing import Any

from truth import Cpu, run

# As long on any machine: what lives for a few microseconds only, no look from outside can name.
SOURCE = """
def outer_{n}(cpu):
    begin = now = thread_time()
    while now < begin + 300e-6:
        now = thread_time()
    cpu["outer_"] += now - begin
    inner_{n}(cpu)

def inner_{n}(cpu):
    begin = now = thread_time()
    while now < begin + 900e-6:
        now = thread_time()
    cpu["inner_"] += now - begin
"""


def make_code(n: int) -> CodeType:
    return compile(SOURCE.format(n=n), "short", "exec")


def call_once(cpu: Cpu, n: int) -> None:
    begin = thread_time()
    names: dict[str, Any] = {"thread_time": thread_time}
    code = make_code(n)
    cpu["make_code"] += thread_time() - begin
    exec(code, names)
    names[f"outer_{n}"](cpu)


def work(cpu: Cpu, end: float) -> None:
    cpu.update(make_code=0, outer_=0, inner_=0, functions=0)
    n = 0
    while monotonic() < end:
        call_once(cpu, n)
        n += 1
    cpu["functions"] = 2 * n


run(
    [
        ("work_in_thread", "work"),
        ("work", "call_once"),
        ("call_once", "make_code"),
        ("call_once", "<module>"),
        ("call_once", "outer_#"),
        ("outer_#", "inner_#"),
    ],
    work,
)
