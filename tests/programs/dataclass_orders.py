"""The library's dataclasses, enum, copy and collections: much generated code, many classes."""

import collections
import copy
import dataclasses
import enum


class State(enum.Enum):
    NEW = "new"
    PAID = "paid"


@dataclasses.dataclass(order=True, frozen=True)
class Item:
    price: int
    name: str = dataclasses.field(compare=False, default="")

    def __post_init__(self) -> None:
        if self.price < 0:
            raise ValueError("negative")


@dataclasses.dataclass
class Order:
    items: list[Item] = dataclasses.field(default_factory=list)
    state: State = State.NEW

    @property
    def total(self) -> int:
        return sum(item.price for item in self.items)


def make_class(fields: int) -> type:
    return dataclasses.make_dataclass("Made", [(f"f{n}", int, n) for n in range(fields)])


def main() -> tuple[int, int, str, int]:
    orders = [Order([Item(price, f"i{price}") for price in range(n)]) for n in range(8)]
    copies = [copy.deepcopy(order) for order in orders]
    paid = [dataclasses.replace(order, state=State("paid")) for order in copies]
    most = max(item for order in paid for item in order.items)
    texts = collections.Counter(repr(dataclasses.asdict(order)["state"]) for order in paid)
    made = make_class(4)()
    pair = collections.namedtuple("pair", "left right")(left=1, right=2)._replace(right=5)
    try:
        Item(-1)
    except ValueError as error:
        word = str(error)
    return sum(order.total for order in paid), most.price, f"{word} {made} {pair}", len(texts)


if __name__ == "__main__":
    print(main())
