"""A solver of one-way constraints: derived variables, derived anew in order after an edit."""

from __future__ import annotations

import enum


class Strength(enum.IntEnum):
    REQUIRED = 3
    STRONG = 2
    WEAK = 1


class Variable:
    def __init__(self, name: str, value: int = 0) -> None:
        self.name = name
        self.value = value
        self.readers: list[Constraint] = []
        self.source: Constraint | None = None

    def add_reader(self, constraint: Constraint) -> None:
        self.readers.append(constraint)

    def is_stronger_than(self, constraint: Constraint) -> bool:
        return self.source is not None and self.source.strength >= constraint.strength


class Constraint:
    def __init__(self, strength: Strength, output: Variable, *inputs: Variable) -> None:
        self.strength = strength
        self.output = output
        self.inputs = inputs
        for variable in inputs:
            variable.add_reader(self)
        if not output.is_stronger_than(self):
            output.source = self

    def is_active(self) -> bool:
        return self.output.source is self

    def derive(self) -> int:
        raise NotImplementedError

    def execute(self) -> bool:
        value = self.derive()
        is_changed = value != self.output.value
        self.output.value = value
        return is_changed


class Equal(Constraint):
    def derive(self) -> int:
        return self.inputs[0].value


class Scale(Constraint):
    def derive(self) -> int:
        return (self.inputs[0].value * 3 + self.inputs[1].value) % 10_007


class Total(Constraint):
    def derive(self) -> int:
        return sum(variable.value for variable in self.inputs) % 10_007


class Planner:
    """Puts the constraints that depend on a variable in an order in which each is executed once."""

    def plan(self, changed: Variable) -> list[Constraint]:
        order: list[Constraint] = []
        seen: set[int] = set()
        self.visit(changed, seen, order)
        order.reverse()
        return order

    def visit(self, variable: Variable, seen: set[int], order: list[Constraint]) -> None:
        for constraint in variable.readers:
            if id(constraint) not in seen and constraint.is_active():
                seen.add(id(constraint))
                self.visit(constraint.output, seen, order)
                order.append(constraint)

    def edit(self, variable: Variable, value: int) -> int:
        variable.value = value
        return sum(constraint.execute() for constraint in self.plan(variable))


def build(count: int) -> list[Variable]:
    variables = [Variable(f"v{n}", n) for n in range(count)]
    offset = Variable("offset", 5)
    for n in range(1, count):
        if n % 3 == 0:
            Equal(Strength.WEAK, variables[n], variables[n - 1])
        elif n % 3 == 1:
            Scale(Strength.STRONG, variables[n], variables[n - 1], offset)
        else:
            Total(Strength.REQUIRED, variables[n], *variables[max(0, n - 4) : n])
        Equal(Strength.WEAK, variables[n], variables[0])
    return variables


def run(variables: int, edits: int) -> int:
    chain = build(variables)
    planner = Planner()
    changed = sum(planner.edit(chain[0], value) for value in range(edits))
    return changed + chain[-1].value
