"""A small graph with a property of every exact type, and questions about it with their answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

SCHEMA = """
node Product {
  code: Uuid @key
  name: String
  price: Decimal(8, 2)? @index
  opens: Time? @unique
  took: Duration? @index
  details: Json? @merge(keys)
  prices: [Decimal(8, 3)]?
  times: [Time]?
  lengths: [Duration]?
  others: [Uuid]?
  @range(price, 0.1..1000)
}
edge Like: Product -> Product { weight: Decimal(5, 1)? }
"""

CODES = [str(UUID(int=number + 1)) for number in range(6)]

RECORDS: list[dict[str, Any]] = [
    {
        "type": "Product",
        "data": {
            "code": "{" + CODES[0].upper() + "}",
            "name": "a",
            "price": "12.30",
            "opens": "12:30",
            "took": "PT1H30M",
            "details": {
                "size": 1.0,
                "place": {"city": "Oslo", "tags": ["x", "y"]},
                "exact": Decimal("0.12345678901234567"),
            },
            "prices": ["1.5", 2],
            "times": ["01:02:03.004"],
            "lengths": ["P1D", -1],
            "others": [CODES[1]],
        },
    },
    {
        "type": "Product",
        "data": {
            "code": CODES[1].replace("-", ""),
            "name": "b",
            "price": 0.1,
            "opens": 45_000_123,
            "took": 5_400_000,
            "details": [1, 2, "x"],
        },
    },
    {
        "type": "Product",
        "data": {
            "code": UUID(CODES[2]),
            "name": "c",
            "price": Decimal("999.99"),
            "opens": time(23, 59, 59),
            "took": timedelta(days=-1),
            "details": {"place": {"city": "Rome"}, "size": 30},
        },
    },
    {"type": "Product", "data": {"code": CODES[3], "name": "d"}},
    {"edge": "Like", "from": CODES[0], "to": CODES[1], "data": {"weight": 1.5}},
    {"edge": "Like", "from": CODES[0], "to": CODES[2], "data": {"weight": "-2"}},
]


@dataclass(frozen=True)
class Question:
    """A query over the products and its rows as JSON."""

    text: str
    answer: list[list[Any]]
    params: dict[str, Any] = field(default_factory=dict)


def _of(match: str, returns: str, answer: list[list[Any]], rest: str = "order { $p.name }") -> Question:
    return Question(f"match {{ $p: Product {match} }} return {{ {returns} }} {rest}", answer)


QUESTIONS = {
    "values": _of(
        '$p.name = "a"',
        "$p.code, $p.price, $p.opens, $p.took, $p.details, $p.prices, $p.times, $p.lengths, $p.others",
        [
            [
                CODES[0],
                "12.30",
                "12:30:00.000",
                "PT1H30M",
                {"exact": 0.12345678901234567, "place": {"city": "Oslo", "tags": ["x", "y"]}, "size": 1},
                ["1.500", "2.000"],
                ["01:02:03.004"],
                ["P1D", "-PT0.001S"],
                [CODES[1]],
            ]
        ],
    ),
    "decimals compare by value": _of("$p.price > 0.1 and $p.price <= 999.99", "$p.name", [["a"], ["c"]]),
    "a float is the number that it shows": _of("$p.price = 0.1", "$p.name", [["b"]]),
    "decimals in a list": _of("$p.price in [0.1, 12.3]", "$p.name", [["a"], ["b"]], rest="order { $p.price desc }"),
    "arithmetic of decimals is exact": _of(
        "$p.price is not null",
        "$p.price + 1, $p.price * 1.5, $p.price - $p.price, $p.price % 5, -$p.price",
        [
            ["13.30", "18.450", "0.00", "2.30", "-12.30"],
            ["1.10", "0.150", "0.00", "0.10", "-0.10"],
            ["1000.99", "1499.985", "0.00", "4.99", "-999.99"],
        ],
    ),
    "aggregates": _of(
        "",
        "sum($p.price), min($p.price), max($p.price), count(distinct $p.price), sum($p.took), avg($p.took), "
        "min($p.opens), max($p.took), first($p.took, $p.price)",
        [
            [
                "1012.39",
                "0.10",
                "999.99",
                3,
                "-PT21H",
                "-PT7H",
                "12:30:00.000",
                "PT1H30M",
                "PT1H30M",
            ]
        ],
        rest="",
    ),
    "groups": _of("", "$p.took, count(*) as n", [[None, 1], ["-P1D", 1], ["PT1H30M", 2]], rest="order { $p.took }"),
    "times of day": _of(
        '$p.opens > time("12:30")',
        '$p.name, hour($p.opens), $p.opens + $p.took, $p.opens - time("12:00")',
        [["b", 12, "14:00:00.123", "PT30M0.123S"], ["c", 23, "23:59:59.000", "PT11H59M59S"]],
    ),
    "durations": _of(
        '$p.took >= duration("PT1H")',
        '$p.took * 2, $p.took / 2, $p.took / duration("1h"), datetime("2024-01-01") + $p.took, -$p.took',
        [["PT3H", "PT45M", 1.5, "2024-01-01T01:30:00.000Z", "-PT1H30M"]] * 2,
    ),
    "json by path": _of(
        '$p.details.place.city in ["Oslo", "Rome"]',
        '$p.name, $p.details.place.tags[0], $p.details["size"], $p.details.none, size($p.details.place.tags)',
        [["a", "x", 1, None, 2], ["c", None, 30, None, None]],
    ),
    "json compares with values of its kind": _of(
        "$p.details.size > 20 or $p.details contains 2",
        '$p.name, $p.details.size = 30, $p.details.size = "30", cast($p.details.size as I64) + 1',
        [["b", None, None, None], ["c", True, False, 31]],
    ),
    "json groups by value": _of(
        "",
        "$p.details.place.city as city, count(*) as n",
        [[None, 2], ["Oslo", 1], ["Rome", 1]],
        rest="",
    ),
    "casts": _of(
        '$p.name = "a"',
        "cast($p.price as String), cast($p.price as I32), cast(1.005 as Decimal(5, 2)), cast($p.took as I64), "
        'cast("P1D" as Duration), cast(datetime("2024-01-01T10:00:00Z") as Time), cast($p.price as Json), '
        'cast("12.345" as Decimal(4, 2)), cast("x" as Uuid), cast(1000 as Decimal(4, 2))',
        [["12.30", 12, "1.01", 5_400_000, "P1D", "10:00:00.000", 12.3, "12.35", None, None]],
    ),
    "keys": Question(
        "query q($c: Uuid) { match { $p: Product { code: $c } $p $e: like $q } return { $q.name, $e.weight } "
        "order { $e.weight } }",
        [["c", "-2.0"], ["b", "1.5"]],
        {"c": CODES[0].upper()},
    ),
    "parameters": Question(
        'query q($j: Json, $d: Decimal(6, 2), $t: Time, $l: Duration) { match { $p: Product { name: "a" } } '
        "return { $j.x[1] as x, $p.price + $d as d, $t as t, $l as l } }",
        [[None, "13.80", "01:00:00.000", "PT5M"]],
        {"j": {"x": [1, None]}, "d": "1.5", "t": time(1), "l": timedelta(minutes=5)},
    ),
}
"""Questions with answers that both engines give."""
