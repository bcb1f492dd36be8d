"""A simulated operating system: tasks pass packets round, a scheduler gives them turns."""

from __future__ import annotations

from collections import deque


class Packet:
    def __init__(self, number: int) -> None:
        self.number = number
        self.hops = 0

    def mark(self) -> Packet:
        self.hops += 1
        return self


class Task:
    def __init__(self, name: str, priority: int) -> None:
        self.name = name
        self.priority = priority
        self.inbox: deque[Packet] = deque()
        self.next: Task | None = None
        self.held = False
        self.done = 0

    def is_ready(self) -> bool:
        return not self.held and self.has_work()

    def has_work(self) -> bool:
        return len(self.inbox) > 0

    def receive(self, packet: Packet) -> None:
        self.inbox.append(packet)

    def turn(self, scheduler: Scheduler) -> None:
        packet = self.inbox.popleft().mark()
        self.done += 1
        self.work(packet, scheduler)

    def work(self, packet: Packet, scheduler: Scheduler) -> None:
        raise NotImplementedError


class Forwarder(Task):
    def work(self, packet: Packet, scheduler: Scheduler) -> None:
        scheduler.send(packet, self.next)


class Device(Task):
    """Needs two turns for a packet: it is held until the scheduler's interrupt."""

    def work(self, packet: Packet, scheduler: Scheduler) -> None:
        self.held = True
        scheduler.interrupt_later(self)
        scheduler.send(packet, self.next)


class Checker(Task):
    def work(self, packet: Packet, scheduler: Scheduler) -> None:
        if self.check(packet) % 7 == 0:
            scheduler.send(packet, self)
        else:
            scheduler.send(packet, self.next)

    def check(self, packet: Packet) -> int:
        code = packet.number
        for shift in (3, 5, 7):
            code = self.mix(code, shift)
        return code + packet.hops

    @staticmethod
    def mix(code: int, shift: int) -> int:
        return (code ^ (code << shift)) & 0xFFFF


class Scheduler:
    def __init__(self, tasks: list[Task]) -> None:
        self.tasks = sorted(tasks, key=lambda task: -task.priority)
        self.waiting: deque[Device] = deque()
        self.sent = 0

    def send(self, packet: Packet, task: Task | None) -> None:
        if task is not None:
            self.sent += 1
            task.receive(packet)

    def interrupt_later(self, device: Device) -> None:
        self.waiting.append(device)

    def interrupt(self) -> None:
        if self.waiting:
            self.waiting.popleft().held = False

    def choose(self, tick: int) -> Task | None:
        start = tick % len(self.tasks)
        for offset in range(len(self.tasks)):
            task = self.tasks[(start + offset) % len(self.tasks)]
            if task.is_ready():
                return task
        return None

    def run(self, ticks: int) -> int:
        for tick in range(ticks):
            if tick % 3 == 0:
                self.interrupt()
            task = self.choose(tick)
            if task is not None:
                task.turn(self)
        return self.sent


def run(tasks: int, packets: int, ticks: int) -> int:
    kinds = (Forwarder, Device, Checker)
    ring = [kinds[n % 3](f"task {n}", priority=n * 7 % 5) for n in range(tasks)]
    for task, following in zip(ring, [*ring[1:], ring[0]], strict=True):
        task.next = following
    for number in range(packets):
        ring[number % tasks].receive(Packet(number))
    return Scheduler(ring).run(ticks)
