"""The standard library's json: C and Python encoders, a default function, hooks, and a bad text."""

import json


class Money:
    def __init__(self, cents: int) -> None:
        self.cents = cents


def encode(value: object) -> object:
    if isinstance(value, Money):
        return {"cents": value.cents}
    raise TypeError(f"cannot encode {type(value).__name__}")


def decode(fields: dict[str, object]) -> object:
    return Money(fields["cents"]) if set(fields) == {"cents"} else fields


def main() -> tuple[int, int, str]:
    order = {
        "items": [
            {"name": f"i {n}", "price": Money(n * 37), "tags": ["a", None]} for n in range(9)
        ],
        "paid": True,
        "rate": 0.19,
    }
    text = json.dumps(order, default=encode)
    pretty = json.dumps(order, default=encode, indent=2, sort_keys=True)
    back = json.loads(pretty, object_hook=decode)
    total = sum(item["price"].cents for item in back["items"])
    try:
        json.loads(text[:-2])
    except json.JSONDecodeError as error:
        return len(text), total, error.msg
    return 0, 0, ""


if __name__ == "__main__":
    print(main())
