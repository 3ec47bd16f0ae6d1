"""Query strings, read by the parameters that an operation declares. ``+`` is a space, as forms write it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Final, get_args, get_origin
from urllib.parse import parse_qsl

from omnigraph.server.http.refusals import Rejection
from omnigraph.wire.http.openapi import Parameter

_FAILED: Final = "Failed to deserialize query string: "
_NUMBER: Final = re.compile(r"\+?[0-9]{1,18}", re.ASCII)


class _Unfit(Exception):
    """A text that is no value of its parameter."""


def parse(raw: bytes, parameters: Sequence[Parameter], *, is_closed: bool) -> dict[str, Any]:
    """Values by name: those of a repeated parameter as a list, absent ones left out; raises Rejection.

    Names that are not declared are ignored, unless the query string ``is_closed``.
    """
    declared = {item.name: item for item in parameters if item.where == "query"}
    values: dict[str, Any] = {}
    for name, text in parse_qsl(raw.decode("latin-1"), keep_blank_values=True, errors="replace"):
        parameter = declared.get(name)
        if parameter is None:
            if is_closed:
                raise _failed(f"unknown field `{name}`, expected one of {_listed(declared)}")
            continue
        is_list = get_origin(parameter.type) is list
        if name in values and not is_list:
            raise _failed(f"duplicate field `{name}`")
        try:
            value = _converted(get_args(parameter.type)[0] if is_list else parameter.type, text)
        except _Unfit as unfit:
            # 0.10 does not name the parameter, and its routes answer as it does.
            raise _failed(f"{name}: {unfit}" if is_closed else str(unfit)) from None
        if is_list:
            values.setdefault(name, []).append(value)
        else:
            values[name] = value
    for name, parameter in declared.items():
        if parameter.required and name not in values:
            raise _failed(f"missing field `{name}`")
    return values


def _converted(type_: Any, text: str) -> Any:
    if isinstance(type_, type) and issubclass(type_, Enum):
        return _one_of(type_, text)
    return _CONVERTERS[type_](text)


def _one_of(words: type[Enum], text: str) -> Enum:
    known = {member.value: member for member in words}
    if text not in known:
        raise _Unfit(f"unknown variant `{text}`, expected one of {_listed(known)}")
    return known[text]


def _whole_number(text: str) -> int:
    if _NUMBER.fullmatch(text) is None:
        raise _Unfit(f"invalid digit found in string: {text!r} is not a whole number")
    return int(text)


def _flag(text: str) -> bool:
    if text not in ("true", "false"):
        raise _Unfit("provided string was not `true` or `false`")
    return text == "true"


_CONVERTERS: Final[Mapping[Any, Callable[[str], Any]]] = {str: str, int: _whole_number, bool: _flag}


def _failed(reason: str) -> Rejection:
    return Rejection(400, _FAILED + reason)


def _listed(names: Mapping[str, object]) -> str:
    return ", ".join(f"`{name}`" for name in names)
