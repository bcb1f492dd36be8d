"""What programs are made of: a scheduler of tasks, a solver of constraints, json, re."""

import json
import re

import constraints
import scheduler
from workload import run_as_script

SIZE = 24

LOG = "\n".join(
    f'2024-05-{n % 28 + 1:02d}T10:{n % 60:02d}:00 h{n % 7} GET "/v{n % 3}/item/{n}" {n * 37} us'
    for n in range(300)
)
LINE = re.compile(r'^(?P<day>\S+)T\S+ (?P<host>\w+) [A-Z]+ "(?P<path>[^"]*)" (?P<us>\d+) us$')


def copy_by_json(levels: int) -> int:
    def build(level: int) -> object:
        if level == 0:
            return {"name": "leaf", "value": 1.5, "tags": ["x", None, True]}
        return {"level": level, "left": build(level - 1), "right": build(level - 1)}

    def count(node: dict) -> int:
        return 1 if "name" in node else count(node["left"]) + count(node["right"])

    # With an indent, the encoder is the one written in Python.
    text = json.dumps(build(levels), indent=1, sort_keys=True)
    return count(json.loads(text))


def read_log(log: str) -> int:
    spent_us: dict[str, int] = {}
    for line in log.splitlines():
        if match := LINE.match(line):
            path = re.sub(r"\d+", lambda number: str(len(number.group())), match["path"])
            spent_us[path] = spent_us.get(path, 0) + int(match["us"])
    return sum(spent_us.values())


def run(size: int) -> int:
    total = 0
    for _ in range(size):
        total += scheduler.run(tasks=6, packets=40, ticks=6_000)
        total += constraints.run(variables=60, edits=25)
        total += copy_by_json(7)
        total += read_log(LOG) + read_log(LOG[::-1])
    return total


if __name__ == "__main__":
    run_as_script(run, SIZE)
