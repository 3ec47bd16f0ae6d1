"""Random values and expressions of the exact scalars: Decimal, Time, Duration, Uuid and Json.

Decimals are Python's, times and durations milliseconds, UUIDs and JSON values their canonical texts.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from omnigraph.core.temporal import format_duration, format_time

if TYPE_CHECKING:
    from tests.features.exec.generate import Property, Writer

ORDERED = ["Decimal", "Time", "Duration"]
EXACT = [*ORDERED, "Uuid", "Json"]
# Eighths, so that their sums as floats are exact too.
DECIMALS = [Decimal(text) for text in ("-2.500", "-1.000", "0.000", "0.125", "1.000", "2.500", "7.000", "1234567.375")]
TIMES = [0, 1, 3_600_000, 45_000_123, 86_399_999]
DURATIONS = [0, 1, -1, 1_500, 3_600_000, -5_400_000, 90_061_001]
UUIDS = [f"00000000-0000-0000-0000-00000000000{digit}" for digit in "07af"]
JSON_TEXTS = [
    "{}",
    "[]",
    "true",
    "2.5",
    '""',
    '"ab"',
    '"12:30"',
    '{"a":1}',
    '{"a":2.5,"b":"a","t":["a",1]}',
    '{"a":{"b":1,"c":"Ab"},"t":[]}',
    '{"a":{"b":[1,{"c":true}]},"x y":"b"}',
    '{"a":"a","b":false,"t":[2,3]}',
    '[1,"a",{"b":7}]',
]
STEPS = [".a", ".a", ".b", ".t", ".c", "[0]", "[-1]", '["x y"]', ".missing"]
POOLS: dict[str, list[Any]] = {
    "Decimal": DECIMALS,
    "Time": TIMES,
    "Duration": DURATIONS,
    "Uuid": UUIDS,
    "Json": JSON_TEXTS,
}


def type_name(scalar: str) -> str:
    """The type as schemas and parameters spell it."""
    return "Decimal(12, 3)" if scalar == "Decimal" else scalar


def given(scalar: str, value: Any) -> Any:
    """A value as callers and records give it."""
    match scalar:
        case "Decimal":
            return str(value)
        case "Time":
            return format_time(value)
        case "Duration":
            return format_duration(value)
        case "Json":
            return json.loads(value)
        case _:
            return value


def literal(scalar: str, value: Any) -> str:
    """A value as a query spells it."""
    word = {"Decimal": "decimal", "Time": "time", "Duration": "duration", "Uuid": "uuid", "Json": "json"}[scalar]
    return f"{word}({json.dumps(value if scalar == 'Json' else given(scalar, value), ensure_ascii=False)})"


def key_value(scalar: str, number: int) -> Any:
    match scalar:
        case "Decimal":
            return Decimal(number - 3) + Decimal("0.125")
        case "Time":
            return number * 3_600_001
        case "Duration":
            return (number - 3) * 1_500
        case _:
            return f"00000000-0000-0000-0000-{number:012x}"


def held(write: Writer, scalar: str, *, unless: Callable[[Property], bool] = lambda _: False) -> list[str]:
    """Properties of one of the exact scalars."""
    return write.properties(lambda p: not p.is_list and p.scalar == scalar and not unless(p))


def one(write: Writer, scalar: str) -> str:
    """A property or a literal, which has the places of the type, or fewer."""
    fitting = held(write, scalar)
    return write.rng.choice(fitting) if fitting and write.rng.random() < 0.7 else write.constant(scalar)


def expression(write: Writer, scalar: str) -> str:
    """A function or an operator that gives a value of an exact scalar."""
    return {"Decimal": decimal, "Time": time, "Duration": duration, "Uuid": uuid, "Json": part}[scalar](write)


def decimal(write: Writer) -> str:
    """Arithmetic of decimals and of other numbers, and conversions. No result has more than 38 digits."""
    rng, first = write.rng, one(write, "Decimal")
    number = write.constant(rng.choice(["I32", "F64"]))
    others = write.properties(lambda p: not p.is_list and p.scalar in ("I32", "U32", "I64"))
    stored = held(write, "Decimal")
    shapes = [
        f"({first} {rng.choice(['+', '-', '*', '%'])} {one(write, 'Decimal')})",
        f"({first} {rng.choice(['+', '-', '*'])} {number})",
        f"-{first}",
        f"cast({write.scalar(rng.choice(['number', 'String']), calm=True)} as Decimal(12, 3))",
        f"cast({part(write)} as Decimal(12, 3))",
    ]
    if others:
        shapes.append(f"({first} {rng.choice(['+', '-', '*', '%'])} {rng.choice(others)})")
    if stored:
        own = rng.choice(stored)
        shapes += [f"{word}({own})" for word in ("abs", "sign", "floor", "ceil", "round")]
        shapes.append(f"round({own}, {rng.choice([-1, 0, 2])})")
    return rng.choice(shapes)


def time(write: Writer) -> str:
    rng = write.rng
    return rng.choice(
        [
            f"({one(write, 'Time')} {rng.choice(['+', '-'])} {one(write, 'Duration')})",
            f"({one(write, 'Duration')} + {one(write, 'Time')})",
            f"time({write.scalar('DateTime')})",
            f"cast({write.scalar('String')} as Time)",
            f"cast({part(write)} as Time)",
        ]
    )


def duration(write: Writer) -> str:
    """Factors are small: nothing is longer than a Duration can be."""
    rng, factor = write.rng, write.rng.choice(["0", "2", "-1", "0.5", "2.5"])
    first = one(write, "Duration")
    return rng.choice(
        [
            f"({first} {rng.choice(['+', '-'])} {one(write, 'Duration')})",
            f"({first} {rng.choice(['*', '/'])} {factor})",
            f"({factor} * {first})",
            f"({one(write, 'Time')} - {one(write, 'Time')})",
            f"-{first}",
            f'duration({rng.choice([-3, 0, 90])}, "{rng.choice(["day", "hour", "second"])}")',
            f"cast({write.scalar('String')} as Duration)",
            f"cast({rng.choice([0, 1500, -7])} as Duration)",
        ]
    )


def uuid(write: Writer) -> str:
    stored = f"cast({one(write, 'Uuid')} as String)"
    shown = write.rng.choice([stored, write.scalar("String")])
    return write.rng.choice([f"uuid({stored})", f"cast({shown} as Uuid)", f"cast({part(write)} as Uuid)"])


def path(write: Writer) -> str:
    """Steps into a JSON value."""
    rng = write.rng
    return one(write, "Json") + "".join(rng.choice(STEPS) for _ in range(rng.choice([0, 1, 1, 2, 2, 3])))


def part(write: Writer) -> str:
    """A JSON value: a part of one, of a text, of another value, or with another member."""
    rng = write.rng
    if rng.random() < 0.7:
        return path(write)
    kind = rng.choice(["number", "String", "Bool", "Date", "Decimal", "Time", "Duration", "Uuid"])
    steps = rng.choice(["a", "n.m", "b.c"])
    return rng.choice(
        [
            f"json({write.scalar('String')})",
            f"cast({write.scalar(kind, calm=True)} as Json)",
            f'json_set(json("{{}}"), "{steps}", {write.constant(rng.choice(["I32", "String", "Bool"]))})',
            f'json_set(json("{{\\"b\\": {{\\"c\\": 1}}}}"), "{steps}", {path(write)})',
        ]
    )


def condition(write: Writer) -> str:
    """What has operators of its own: JSON values, decimals beside other numbers."""
    rng, kind = write.rng, write.rng.choice(["number", "String", "Bool"])
    operator = rng.choice(["=", "!=", "<", ">="])
    other = write.constant("I32" if kind == "number" else kind)
    return rng.choice(
        [
            f"{path(write)} {operator} {other}",
            f"{other} {operator} {path(write)}",
            f"{path(write)} {operator} {write.scalar(kind, calm=True)}",
            f"{path(write)} {operator} {part(write)}",
            f"{path(write)} contains {other}",
            f"contains({path(write)}, {write.scalar(kind, calm=True)})",
            f"{path(write)} {rng.choice(['starts_with', 'ends_with'])} {write.constant('String')}",
            f"({path(write)} in [{write.constant('I32')}, {write.constant('I32')}])",
            f"({path(write)} is {rng.choice(['', 'not '])}null)",
            f"{write.scalar('Decimal')} {operator} {write.scalar('number', calm=True)}",
            f"{write.number()} {operator} {write.scalar('Decimal')}",
            f"cast({path(write)} as {rng.choice(['I32', 'F64'])}) {operator} {write.constant('I32')}",
        ]
    )


def as_number(write: Writer) -> str:
    return write.rng.choice(
        [
            f"cast({write.scalar('Decimal')} as {write.rng.choice(['I32', 'F64'])})",
            f"cast({path(write)} as {write.rng.choice(['I32', 'F64'])})",
            f"size({path(write)})",
            f"{write.rng.choice(['hour', 'minute', 'second'])}({one(write, 'Time')})",
            f"cast({one(write, 'Duration')} as I64)",
        ]
    )


def as_text(write: Writer) -> str:
    """Of decimals only stored ones, whose texts have three places."""
    rng = write.rng
    scalar = rng.choice(["Time", "Duration", "Uuid", "Json"])
    shown = path(write) if scalar == "Json" else one(write, scalar)
    stored = held(write, "Decimal")
    return f"cast({rng.choice([shown, *stored[:1]])} as String)"
