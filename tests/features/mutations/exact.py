"""The exact scalars of the naive evaluator of mutations: decimals, times, durations, UUIDs and JSON values.

Decimals are Python's, times and durations milliseconds, UUIDs and JSON values their canonical texts.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from omnigraph.core.temporal import format_duration, format_time
from tests.features.exec.naive_functions import DAY_MS, Misfit, json_form, json_value, placed, step_into

SCHEMA = """
node Person {
  email: String @key
  name: String
  age: I32?
  visits: I64?
  tags: [String]?
  bio: String?
  paid: Decimal(12, 3)?
  opens: Time?
  took: Duration?
  device: Uuid?
  data: Json?
}
edge Knows: Person -> Person { since: I32?  note: String? }
"""
COLUMNS = ("paid", "opens", "took", "device", "data")
KINDS = {"paid": "decimal", "opens": "time", "took": "length", "device": "uuid", "data": "json"}
DECIMALS = (Decimal("-1.500"), Decimal("0.000"), Decimal("0.125"), Decimal("2.500"), Decimal("900000000.000"))
TIMES = (0, 1, 45_000_123, 86_399_999)
LENGTHS = (0, -1, 1_500, 5_400_000, 90_061_001)
UUIDS = ("00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-00000000000b")
JSONS = ("{}", '{"a":1}', '{"a":{"b":"x"},"t":[1,"y"]}', "[1,2]", '"text"', "7", "true")
RECORD = "cost: Decimal(12, 3)?, at: Time?, lasts: Duration?, part: Json?"


@dataclass(frozen=True)
class Made:
    """An expression: its text, and its value in a scope."""

    text: str
    value: Callable[[dict[str, Any]], Any]


def fits(value: Decimal) -> bool:
    """Whether a decimal is exactly one of the type's values."""
    return value == round(value, 3) and abs(value) < 10**9


def stored(value: Any, kind: str) -> Any:
    """A value of an Arrow column in the form of this evaluator."""
    if value is None:
        return None
    if kind == "time":
        return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000
    if kind == "length":
        return round(value.total_seconds() * 1000)
    return value


def shown(value: Any, kind: str) -> Any:
    """A value as rows that a mutation returns have it."""
    if value is None:
        return None
    match kind:
        case "decimal":
            return f"{value:.3f}"
        case "time":
            return format_time(value)
        case "length":
            return format_duration(value)
        case "json":
            return json.loads(value)
        case _:
            return value


def literal(value: Any, kind: str) -> str:
    word = {"decimal": "decimal", "time": "time", "length": "duration", "uuid": "uuid", "json": "json"}[kind]
    return f"{word}({json.dumps(value if kind == 'json' else shown(value, kind))})"


class ExactExpressions:
    """Random expressions over the names of a scope that hold exact values."""

    def __init__(self, choose: random.Random, names: dict[str, list[str]]) -> None:
        self._choose = choose
        self._names = names

    def leaf(self, kind: str) -> Made:
        names = self._names.get(kind, [])
        if names and self._choose.random() < 0.7:
            name = self._choose.choice(names)
            return Made(name, lambda scope: scope[name])
        pool: tuple[Any, ...] = {
            "decimal": DECIMALS, "time": TIMES, "length": LENGTHS, "uuid": UUIDS, "json": JSONS
        }[kind]  # fmt: skip
        value = self._choose.choice(pool)
        return Made(literal(value, kind), lambda _: value)

    def of(self, kind: str) -> Made:
        first, second = self.leaf(kind), self.leaf(kind)
        if self._choose.random() < 0.25:
            return first
        return {"decimal": self.sum, "time": self.later, "length": self.length, "uuid": _either, "json": self.part}[
            kind
        ](first, second)

    def sum(self, first: Made, second: Made) -> Made:
        """Sums and products; those that do not fit the property are refused."""
        kind = self._choose.randrange(4)
        if kind == 0:
            return _both(first, "-", second, lambda a, b: a - b)
        if kind == 1:
            return _both(first, "*", Made("2", lambda _: 2), lambda a, b: a * b)
        if kind == 2:
            return _both(first, "*", Made("0.5", lambda _: Decimal("0.5")), lambda a, b: a * b)
        return _both(first, "+", second, lambda a, b: a + b)

    def later(self, first: Made, _second: Made) -> Made:
        word = self._choose.choice("+-")
        sign = 1 if word == "+" else -1
        return _both(first, word, self.leaf("length"), lambda a, b: (a + sign * b) % DAY_MS)

    def length(self, first: Made, second: Made) -> Made:
        kind = self._choose.randrange(3)
        if kind == 0:
            return _both(first, "*", Made("2", lambda _: 2), lambda a, b: _in_range(a * b))
        if kind == 1:
            return _both(self.leaf("time"), "-", self.leaf("time"), lambda a, b: a - b)
        return _both(first, "+", second, lambda a, b: _in_range(a + b))

    def part(self, first: Made, second: Made) -> Made:
        step = self._choose.choice((".a", ".t", ".t[0]", ".a.b"))
        if self._choose.random() < 0.3:
            return _either(first, second)
        steps: list[str | int] = {".a": ["a"], ".t": ["t"], ".t[0]": ["t", 0], ".a.b": ["a", "b"]}[step]  # type: ignore[assignment] # a list of either

        def value(scope: dict[str, Any]) -> Any:
            text = first.value(scope)
            found = None if text is None else json_value(text)
            for one in steps:
                found = step_into(found, one)
            return None if found is None else json_form(found)

        return Made(f"{first.text}{step}", value)

    def truth(self) -> Made:
        """A comparison of two exact values, or a test of a JSON value."""
        kind = self._choose.choice(("decimal", "time", "length", "uuid", "json", "json", "item"))
        if kind == "item":
            item = self._choose.choice((1, "y"))
            return _both(
                self.part(self.leaf("json"), self.leaf("json")),
                "contains",
                Made(json.dumps(item), lambda _: json_form(item)),
                lambda a, b: b in map(json_form, json_value(a)) if isinstance(json_value(a), list) else None,
            )
        words = ("=", "!=") if kind in ("uuid", "json") else ("=", "!=", "<", ">=")
        word = self._choose.choice(words)
        compute = {
            "=": lambda a, b: a == b,
            "!=": lambda a, b: a != b,
            "<": lambda a, b: a < b,
            ">=": lambda a, b: a >= b,
        }[word]
        left = self.of(kind) if kind != "length" else self.leaf(kind)
        return _both(left, word, self.leaf(kind), compute)

    def path_assignment(self) -> tuple[str, str, Callable[[dict[str, Any]], Any]]:
        """``data.a.b: value``: its path and text, and the new JSON value in a scope, which holds the old one."""
        spelled, steps = self._choose.choice(
            (("a", ["a"]), ("a.b", ["a", "b"]), ("n.m", ["n", "m"]), ("t[0]", ["t", 0]))
        )
        made = self._choose.choice(
            (
                Made("null", lambda _: None),
                Made("3", lambda _: "3"),
                Made('"z"', lambda _: '"z"'),
                self.part(self.leaf("json"), self.leaf("json")),
            )
        )

        def assign(scope: dict[str, Any]) -> Any:
            old, part = scope["data"], made.value(scope)
            whole = placed(
                None if old is None else json_value(old), list(steps), None if part is None else json_value(part)
            )
            return None if whole is None else json_form(whole)

        return f".{spelled}", made.text, assign


def _either(first: Made, second: Made) -> Made:
    def value(scope: dict[str, Any]) -> Any:
        found = first.value(scope)
        return second.value(scope) if found is None else found

    return Made(f"coalesce({first.text}, {second.text})", value)


def _both(left: Made, word: str, right: Made, compute: Callable[[Any, Any], Any]) -> Made:
    def value(scope: dict[str, Any]) -> Any:
        first, second = left.value(scope), right.value(scope)
        return None if first is None or second is None else compute(first, second)

    return Made(f"({left.text} {word} {right.text})", value)


def _in_range(milliseconds: int) -> int:
    if abs(milliseconds) > 10**15:
        raise Misfit
    return milliseconds
