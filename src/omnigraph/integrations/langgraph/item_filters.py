"""Conditions of a LangGraph store on values and namespaces, with the meaning that other stores give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from langgraph.store.base import MatchCondition

from omnigraph.errors import UsageError

_OPERATORS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$eq": lambda value, other: bool(value == other),
    "$ne": lambda value, other: bool(value != other),
    "$gt": lambda value, other: value is not None and float(value) > float(other),
    "$gte": lambda value, other: value is not None and float(value) >= float(other),
    "$lt": lambda value, other: value is not None and float(value) < float(other),
    "$lte": lambda value, other: value is not None and float(value) <= float(other),
}


def passes(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """True if every member that a filter names has the wanted value."""
    return all(_is_equal(value.get(name), given) for name, given in (wanted or {}).items())


def _is_equal(value: Any, wanted: Any) -> bool:
    """Equality, where a mapping may hold operators, or name some members of the value only."""
    match wanted:
        case Mapping() if any(name.startswith("$") for name in wanted):
            return all(_operator(name)(value, other) for name, other in wanted.items())
        case Mapping():
            return isinstance(value, Mapping) and all(_is_equal(value.get(name), it) for name, it in wanted.items())
        case list() | tuple():
            same = isinstance(value, list | tuple) and len(value) == len(wanted)
            return same and all(map(_is_equal, value, wanted))
        case _:
            return bool(value == wanted)


def _operator(name: str) -> Callable[[Any, Any], bool]:
    found = _OPERATORS.get(name)
    if found is None:
        raise UsageError(f"unknown operator of a filter: {name!r} (expected {', '.join(_OPERATORS)})")
    return found


def matches(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    """True if a namespace begins or ends with a path, in which ``*`` stands for any label."""
    path = tuple(condition.path)
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))
