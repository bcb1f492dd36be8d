"""Classes: super(), properties, descriptors, operators, a metaclass, slots, callable instances,
class and static methods, bound methods kept for later."""

import functools
from collections.abc import Callable


class Positive:
    def __set_name__(self, owner: type, name: str) -> None:
        self.name = "_" + name

    def __get__(self, instance: object, owner: type) -> int:
        return getattr(instance, self.name)

    def __set__(self, instance: object, value: int) -> None:
        setattr(instance, self.name, abs(value))


class Registry(type):
    names: tuple[str, ...] = ()

    def __call__(cls, *args: object) -> object:
        Registry.names = (*Registry.names[-3:], cls.__name__)
        return super().__call__(*args)


class Shape(metaclass=Registry):
    size = Positive()

    def __init__(self, size: int) -> None:
        self.size = size

    @property
    def area(self) -> int:
        return self.scale() * self.size

    def scale(self) -> int:
        return self.size

    def __add__(self, other: "Shape") -> "Shape":
        return type(self)(self.size + other.size)

    def __lt__(self, other: "Shape") -> bool:
        return self.area < other.area

    def __call__(self, factor: int) -> int:
        return self.area * factor


class Square(Shape):
    @classmethod
    def unit(cls) -> "Square":
        return cls(1)

    @staticmethod
    def sides() -> int:
        return 4


class Frame(Square):
    def scale(self) -> int:
        return super().scale() - 1

    def __getattr__(self, name: str) -> int:
        if name.startswith("pad"):
            return len(name)
        raise AttributeError(name)


class Point:
    __slots__ = ("x", "y")

    def __init__(self, x: int, y: int) -> None:
        self.x, self.y = x, y

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Point) and (self.x, self.y) == (other.x, other.y)

    def __hash__(self) -> int:
        return hash((self.x, self.y))


@functools.lru_cache(maxsize=8)
def area_of(size: int) -> int:
    return Square(size).area


def logged(method: Callable[..., int]) -> Callable[..., int]:
    @functools.wraps(method)
    def wrapper(*args: int, **kwargs: int) -> int:
        return method(*args, **kwargs) + 1

    return wrapper


@logged
def total(*values: int, start: int = 0) -> int:
    return sum(values, start)


def main() -> tuple[int, int, int]:
    shapes: list[Shape] = [kind(size) for size in range(-6, 6) for kind in (Square, Frame)]
    shapes.sort()
    union = functools.reduce(lambda left, right: left + right, shapes)
    bound = [shape.scale for shape in shapes]
    figures = [call() for call in bound] + [shape(2) for shape in shapes] + [Square.sides()]
    figures += [Frame(2).padding, hasattr(Frame(2), "absent"), Square.unit().area]
    figures += [area_of(size % 4) for size in range(12)]
    points = {Point(x % 3, x % 2) for x in range(20)}
    return union.area, total(*figures, start=3), len(points)


if __name__ == "__main__":
    print(main())
