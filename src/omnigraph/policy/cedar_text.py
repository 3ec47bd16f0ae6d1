"""Literals of the policy language: texts, entities and patterns, escaped so that no name can end its quotes."""

from __future__ import annotations

from collections.abc import Iterable

NAMESPACE = "Omnigraph"


def quoted(text: str) -> str:
    """A text as a string literal."""
    return f'"{"".join(map(_escaped, text))}"'


def entity(type_: str, id_: str) -> str:
    """An entity of our namespace."""
    return f"{NAMESPACE}::{type_}::{quoted(id_)}"


def listed(texts: Iterable[str]) -> str:
    """A set of string literals."""
    return f"[{', '.join(map(quoted, texts))}]"


def _escaped(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    return char if char.isprintable() else f"\\u{{{ord(char):x}}}"
