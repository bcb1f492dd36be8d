"""stepscope dump: what threads and tasks wait for, and what it says of programs that hang."""

import re
import signal

from .dumped import Run, dump_until, live, places, python, running, thread_named

pytestmark = live

__all__ = ["python"]


ASYNCIO = """\
import asyncio
async def leaf():
    await asyncio.sleep(1000)
async def middle():
    await leaf()
async def hub(tasks):
    await asyncio.gather(*tasks)
async def one(ring):
    await ring[1]
async def two(ring):
    await ring[0]
async def main():
    asyncio.current_task().set_name("main")
    create = asyncio.create_task
    leaves = [create(middle(), name=f"leaf-{i}") for i in range(5)]
    ring = []
    ring[:] = [create(one(ring), name="ring-1"), create(two(ring), name="ring-2")]
    gathering = create(hub(leaves), name="hub")
    print("ready", flush=True)
    await gathering
asyncio.run(main())
"""


def test_tasks_have_their_chains_and_what_they_wait_for(stepscope: Run, python: str) -> None:
    with running(python, ASYNCIO) as program:
        process = dump_until(
            stepscope,
            program.pid,
            lambda p: len(p["tasks"]) == 9 and all(t["state"] == "waiting" for t in p["tasks"]),
        )
        text = stepscope("dump", program.pid, check=True).stdout
    tasks = {task["name"]: task for task in process["tasks"]}
    names = {task["id"]: task["name"] for task in process["tasks"]}
    assert places(tasks["leaf-0"], "<string>") == ["leaf:3", "middle:5"]
    assert tasks["leaf-0"]["awaits"] == "_asyncio.Future"
    assert tasks["leaf-0"]["tid"] == program.pid
    assert sorted(names[i] for i in tasks["hub"]["waits_for"]) == [f"leaf-{i}" for i in range(5)]
    assert [names[i] for i in tasks["main"]["waits_for"]] == ["hub"]
    assert places(tasks["main"]) == ["main:20"]
    ring = "Deadlock of asyncio tasks: ring-1 awaits ring-2 awaits ring-1."
    assert process["remarks"] == [ring]
    # Whoever waits is above what it waits for, and what stands at one place is told once.
    assert text.index("\nmain: waiting for a task") < text.index("    hub: waiting for 5 tasks")
    assert re.search(r"\n {8}leaf-\d, leaf-\d, leaf-\d and 2 more: waiting for _asyncio", text)


DEADLOCK = """\
import threading, time
class Account:
    def __init__(self):
        self.lock = threading.Lock()
def transfer(source, target, here, there):
    with source.lock:
        here.set(); there.wait()
        with target.lock:
            pass
a, b = Account(), Account()
x, y = threading.Event(), threading.Event()
first = threading.Thread(target=transfer, args=(a, b, x, y), name="first", daemon=True)
second = threading.Thread(target=transfer, args=(b, a, y, x), name="second", daemon=True)
first.start(); second.start()
print("ready", flush=True)
first.join()
"""


def test_two_threads_that_hold_each_others_lock_are_a_deadlock(stepscope: Run, python: str) -> None:
    with running(python, DEADLOCK) as program:
        process = dump_until(
            stepscope,
            program.pid,
            lambda p: (
                any("Deadlock" in r for r in p["remarks"])
                and bool(thread_named(p, "MainThread")["waits_for"])
            ),
        )
    first, second = thread_named(process, "first"), thread_named(process, "second")
    main = thread_named(process, "MainThread")
    assert first["waits_for"] == {
        "kind": "lock",
        "type": "_thread.lock",
        "name": "target.lock",
        "tid": second["tid"],
    }
    assert second["waits_for"]["tid"] == first["tid"]
    assert (main["waits_for"]["kind"], main["waits_for"]["tid"]) == ("thread", first["tid"])
    deadlock = next(r for r in process["remarks"] if "Deadlock" in r)
    assert deadlock == (
        f"Deadlock: thread {first['tid']} (first) waits at <string>:8 transfer for the lock "
        f"`target.lock`, which thread {second['tid']} (second) holds; thread {second['tid']} "
        f"(second) waits at <string>:8 transfer for the lock `target.lock`, which thread "
        f"{first['tid']} (first) holds."
    )


def test_locks_that_are_waited_for_with_a_timeout_are_no_deadlock(
    stepscope: Run, python: str
) -> None:
    script = DEADLOCK.replace("with target.lock:", "if target.lock.acquire(timeout=1000):")
    with running(python, script) as program:
        process = dump_until(
            stepscope,
            program.pid,
            lambda p: all(
                (thread_named(p, name).get("waits_for") or {}).get("tid")
                for name in ["first", "second", "MainThread"]
            ),
        )
    assert len(process["remarks"]) == 4
    assert not any("Deadlock" in remark for remark in process["remarks"])


HUNG = """\
import threading, time
plain, again = threading.Lock(), threading.RLock()
def hold():
    with again:
        with plain:
            time.sleep(1000)
def take_plain():
    with plain:
        pass
def take_again():
    again.acquire()
def leave_behind():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()
def wait_for_news(condition):
    with condition:
        condition.wait()
def start(target, *args):
    threading.Thread(target=target, args=args, name=target.__name__, daemon=True).start()
start(hold)
while not plain.locked():
    time.sleep(0.01)
start(take_plain)
start(take_again)
start(leave_behind)
start(wait_for_news, threading.Condition())
print("ready", flush=True)
time.sleep(1000)
"""


def test_a_hung_lock_is_named_with_who_holds_it(stepscope: Run, python: str) -> None:
    names = ["take_plain", "take_again", "leave_behind", "wait_for_news"]
    with running(python, HUNG) as program:
        process = dump_until(
            stepscope,
            program.pid,
            lambda p: all(thread_named(p, name).get("waits_for") for name in names),
        )
        text = stepscope("dump", program.pid, check=True).stdout
    holder = thread_named(process, "hold")["tid"]
    awaited = {name: thread_named(process, name)["waits_for"] for name in names}
    assert (awaited["take_plain"]["name"], awaited["take_plain"]["tid"]) == ("plain", holder)
    assert (awaited["take_again"]["name"], awaited["take_again"]["tid"]) == ("again", holder)
    assert awaited["take_again"]["type"] == "_thread.RLock"
    # Nobody knows who took these.
    assert (awaited["leave_behind"]["name"], awaited["leave_behind"]["tid"]) == ("lock", None)
    assert awaited["wait_for_news"]["kind"] == "condition"
    assert not any("wait_for_news" in remark for remark in process["remarks"])
    tid = thread_named(process, "take_plain")["tid"]
    assert f"Thread {tid} take_plain: waiting for the lock plain, held by thread {holder}" in text
    assert (
        f"Thread {tid} (take_plain) waits at <string>:8 take_plain for the lock `plain`, which "
        f"thread {holder} (hold) holds, itself at <string>:6 hold."
    ) in process["remarks"]
    assert not any("Deadlock" in remark for remark in process["remarks"])


def test_a_lock_that_its_own_thread_holds_is_a_deadlock(stepscope: Run, python: str) -> None:
    script = """
import threading
lock = threading.Lock()
print("ready", flush=True)
with lock:
    with lock:
        pass
"""
    with running(python, script) as program:
        process = dump_until(stepscope, program.pid, lambda p: bool(p["remarks"]))
    assert process["remarks"] == [
        f"Deadlock: thread {program.pid} (MainThread) waits at <string>:6 <module> for the lock "
        "`lock`, which it holds itself."
    ]


GIL = """\
import ctypes, threading, time
def spin():
    while True:
        pass
threading.Thread(target=spin, name="spin", daemon=True).start()
print("ready", flush=True)
ctypes.PyDLL(None).sleep(1000)
"""


def test_a_thread_that_sleeps_with_the_gil_is_named(stepscope: Run, python: str) -> None:
    with running(python, GIL) as program:
        process = dump_until(
            stepscope,
            program.pid,
            lambda p: (
                bool(p["remarks"])
                and (thread_named(p, "spin").get("waits_for") or {}).get("kind") == "gil"
            ),
        )
    assert [t["name"] for t in process["threads"] if t["holds_gil"]] == ["MainThread"]
    assert process["remarks"] == [
        f"Thread {program.pid} (MainThread) holds the GIL while it is waiting in clock_nanosleep "
        "at <string>:7 <module>: no other thread can run Python."
    ]


def test_the_thread_that_runs_holds_the_gil(stepscope: Run, python: str) -> None:
    script = "print('ready', flush=True)\nwhile True: pass"
    with running(python, script) as program:
        process = dump_until(stepscope, program.pid, lambda p: bool(p["threads"][0]["holds_gil"]))
        text = stepscope("dump", program.pid, "--pause", check=True).stdout
    assert process["threads"][0]["state"] == "running"
    assert process["remarks"] == []
    assert "held for the look" in text
    assert "<string>:2 <module>" in text


def test_a_stopped_process_is_read_and_stays_stopped(stepscope: Run, python: str) -> None:
    script = "import time; print('ready', flush=True); time.sleep(1000)"
    with running(python, script) as program:
        program.send_signal(signal.SIGSTOP)
        process = dump_until(
            stepscope, program.pid, lambda p: p["threads"][0]["state"] == "stopped"
        )
        assert f"`kill -CONT {program.pid}` lets it go on" in process["remarks"][0]
        stepscope("dump", program.pid, "--pause", check=True)
        # It wakes for a moment when it is let go.
        dump_until(stepscope, program.pid, lambda p: p["threads"][0]["state"] == "stopped")


SOCKETS = """\
import os, select, socket, threading
server = socket.create_server(("127.0.0.1", 0))
near = socket.create_connection(server.getsockname())
far, _ = server.accept()
pair, other = socket.socketpair()
def start(name, target, *args):
    threading.Thread(target=target, args=args, name=name, daemon=True).start()
poll = select.poll()
poll.register(near, select.POLLIN); poll.register(pair, select.POLLIN)
start("recv", far.recv, 1)
start("accept", server.accept)
start("poll", poll.poll)
start("pipe", os.read, os.pipe()[0], 1)
print("ready", flush=True)
print(*server.getsockname()[1:], *near.getsockname()[1:], flush=True)
threading.Event().wait()
"""


def test_what_a_thread_waits_on_is_named(stepscope: Run, python: str) -> None:
    names = ["recv", "accept", "poll", "pipe"]
    with running(python, SOCKETS) as program:
        assert program.stdout is not None
        server, near = program.stdout.readline().split()
        process = dump_until(
            stepscope, program.pid, lambda p: all(thread_named(p, n).get("on") for n in names)
        )
    on = {name: thread_named(process, name)["on"] for name in names}
    calls = [thread_named(process, name)["call"] for name in names]
    assert on["recv"] == f"TCP 127.0.0.1:{server} to 127.0.0.1:{near}"
    assert on["accept"] == f"TCP 127.0.0.1:{server}, listening"
    assert on["poll"] == f"TCP 127.0.0.1:{near} to 127.0.0.1:{server} and 1 more"
    assert re.fullmatch(r"pipe:\[\d+\]", on["pipe"])
    assert calls == ["recv", "accept", "poll", "read"]
