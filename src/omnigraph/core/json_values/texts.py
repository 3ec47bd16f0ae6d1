"""JSON values as canonical texts: equal values have equal texts, and no digit of a number is lost.

Members of objects are ordered by their names, numbers have one spelling (``1.0`` and ``1e0`` are ``1``), and there is
no white space. A number keeps all of its digits, whatever a float can hold. The null of a whole value is no value: it
is the null of the property.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, Final

from omnigraph.core.decimals import as_decimal
from omnigraph.core.python_values import plain_value
from omnigraph.core.temporal import (
    date_to_days,
    datetime_to_milliseconds,
    format_date,
    format_datetime,
    format_duration,
    format_time,
    time_to_milliseconds,
    timedelta_to_milliseconds,
)

DEPTH_MAX: Final = 64
"""Levels of objects and arrays. Every reader recurses over them."""

_POSITIONAL: Final = 21
"""Digits up to which a number is written without an exponent."""

_POSITIONAL_MAX: Final = 10**_POSITIONAL

_EXPONENT_MAX: Final = 308
"""The exponent of the largest float: other programs could not read a larger number."""

_CACHED_TEXTS: Final = 4096
"""Parsed texts that are remembered: several paths are often read of one value."""

Step = str | int
"""A step of a path: the name of a member, or the number of an item; negative ones count from the end."""


class NotJson(Exception):
    """A value has no JSON form; the text gives the reason."""


def read_json(text: str) -> Any:
    """The value of a text, with decimals in place of floats. Raises NotJson."""
    try:
        return json.loads(text, parse_float=_fraction, parse_constant=_constant, object_pairs_hook=_members)
    except RecursionError:
        raise NotJson(f"more than {DEPTH_MAX} levels") from None
    except ValueError as problem:
        raise NotJson(f"not JSON: {problem}") from None


def _fraction(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise NotJson(f"the number {text:.40} is out of range") from None


def _constant(name: str) -> object:
    raise NotJson(f"{name} is no JSON number")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise NotJson(f"the member {twice!r} is written twice")
    return found


def canonical_text(text: str) -> str:
    """The canonical text of a JSON text. Raises NotJson."""
    return json_text(read_json(text))


def json_text(value: object) -> str:
    """The canonical text of a value of JSON or Python. Raises NotJson."""
    parts: list[str] = []
    _write(value, parts, 0)
    return "".join(parts)


def _write(value: object, parts: list[str], depth: int) -> None:
    if depth > DEPTH_MAX:
        raise NotJson(f"more than {DEPTH_MAX} levels")
    match value:
        case None:
            parts.append("null")
        case bool():
            parts.append("true" if value else "false")
        case str():
            parts.append(_string(value))
        case int():
            parts.append(str(value) if abs(value) < _POSITIONAL_MAX else _number(Decimal(value)))
        case float() | Decimal():
            parts.append(_number(as_decimal(value)))
        case Mapping():
            _write_members(value, parts, depth)
        case date() | time() | timedelta():
            parts.append(_string(_moment(value)))
        case bytes() | bytearray():
            raise NotJson("bytes are no JSON value")
        case Sequence():
            for place, item in enumerate(value):
                parts.append("," if place else "[")
                _write(item, parts, depth + 1)
            parts.append("]" if value else "[]")
        case _:
            plain = plain_value(value)
            if plain is value:
                raise NotJson(f"a {type(value).__name__} is no JSON value")
            _write(plain, parts, depth)


def _write_members(value: Mapping[Any, object], parts: list[str], depth: int) -> None:
    for name in value:
        if not isinstance(name, str):
            raise NotJson(f"the name of a member is a string, not {name!r:.40}")
    for place, name in enumerate(sorted(value)):
        parts.append(f"{',' if place else '{'}{_string(name)}:")
        _write(value[name], parts, depth + 1)
    parts.append("}" if value else "{}")


def _string(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise NotJson("a string holds half of a surrogate pair") from None
    return json.dumps(str(text), ensure_ascii=False)


def _moment(value: date | time | timedelta) -> str:
    if isinstance(value, datetime):
        return format_datetime(datetime_to_milliseconds(value))
    if isinstance(value, date):
        return format_date(date_to_days(value))
    if isinstance(value, time):
        return format_time(time_to_milliseconds(value))
    return format_duration(timedelta_to_milliseconds(value))


def _number(value: Decimal) -> str:
    """The one spelling of a number: no zeros behind the last digit, an exponent for very large and small ones."""
    if not value.is_finite():
        raise NotJson(f"{value} is no JSON number")
    if not value:
        return "0"
    if value.adjusted() >= _EXPONENT_MAX and math.isinf(float(value)):
        raise NotJson(f"the number {value:.6e} is out of range")
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int), "a finite number has an exponent"
    text = "".join(map(str, digits)).lstrip("0")
    bare = text.rstrip("0")
    exponent += len(text) - len(bare)
    first = len(bare) + exponent
    if exponent >= 0 and first <= _POSITIONAL:
        spelled = bare + "0" * exponent
    elif 0 < first <= _POSITIONAL:
        spelled = f"{bare[:first]}.{bare[first:]}"
    elif -6 < first <= 0:
        spelled = f"0.{'0' * -first}{bare}"
    else:
        spelled = f"{bare[0]}{'.' + bare[1:] if len(bare) > 1 else ''}e{first - 1}"
    return f"-{spelled}" if sign else spelled


@lru_cache(maxsize=_CACHED_TEXTS)
def _known(text: str) -> Any:
    """The value of a canonical text. Shared, so it is never changed."""
    return read_json(text)


def value_at(text: str, path: Sequence[Step]) -> Any:
    """The value at a path of a canonical text; None where there is none, and for a null."""
    value = _known(text)
    for step in path:
        if isinstance(step, str):
            value = value.get(step) if isinstance(value, dict) else None
        elif isinstance(value, list) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
        if value is None:
            return None
    return value


def text_at(text: str, path: Sequence[Step]) -> str | None:
    """The canonical text of the value at a path; None where there is none, and for a null."""
    value = value_at(text, path)
    return None if value is None else json_text(value)


class NoPlace(Exception):
    """A path leads through a value that has no members or items; the text names the part that is in the way."""


def with_value(text: str | None, path: Sequence[Step], value: str | None) -> str | None:
    """A text with another value at a path. Missing objects on the way are made, and null removes the member.

    Raises NoPlace if the path leads through a value of another kind, or to an item that an array does not have.
    """
    whole = None if text is None else _known(text)
    changed = _placed(whole, path, None if value is None else _known(value), ())
    return None if changed is None else json_text(changed)


def _placed(whole: Any, path: Sequence[Step], value: Any, passed: tuple[Step, ...]) -> Any:
    if not path:
        return value
    step, *rest = path
    if isinstance(step, str):
        if whole is None:
            whole = {}
        if not isinstance(whole, dict):
            raise NoPlace(path_text(passed) or "the value")
        inner = _placed(whole.get(step), rest, value, (*passed, step))
        if inner is None:
            return {name: item for name, item in whole.items() if name != step}
        return {**whole, step: inner}
    if not isinstance(whole, list) or not -len(whole) <= step < len(whole):
        raise NoPlace(path_text((*passed, step)))
    items = list(whole)
    items[step] = _placed(items[step], rest, value, (*passed, step))
    return items


_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_STEP: Final = re.compile(
    r"""(?:\.|^)([A-Za-z_][A-Za-z0-9_]*)|\[(-?[0-9]{1,9})\]|\[("(?:[^"\\]|\\.)*")\]""", re.ASCII | re.DOTALL
)


def path_text(path: Sequence[Step]) -> str:
    """A path as a query writes it: ``address.city``, ``tags[0]``, ``["odd name"]``."""
    return "".join(map(_step_text, path)).removeprefix(".")


def _step_text(step: Step) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _NAME.fullmatch(step) else f"[{json.dumps(step, ensure_ascii=False)}]"


def parse_path(text: str) -> tuple[Step, ...] | None:
    """The steps of a path; None if the text is none."""
    steps: list[Step] = []
    place = 0
    while place < len(text):
        found = _STEP.match(text, place)
        if found is None:
            return None
        name, number, quoted = found.groups()
        steps.append(name if name is not None else int(number) if number is not None else json.loads(quoted))
        place = found.end()
    return tuple(steps) or None


def plain_json(text: str) -> Any:
    """The value of a canonical text as Python's JSON module gives it: numbers with a fraction are floats."""
    return json.loads(text)
