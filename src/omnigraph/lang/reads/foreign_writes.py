"""Statements of SQL and Cypher that write, shown as mutations of ``.gq``.

One statement about one table or one node is translated as far as its words go; others get an example of their kind.
The result is advice in a message and is never run.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_INSERT: Final = re.compile(
    r"insert\s+into\s+(?P<table>\w+)(?:\s*\((?P<columns>[^()]*)\)\s*values\s*\((?P<values>[^()]*)\)\s*;?\s*)?", re.I
)
_UPDATE: Final = re.compile(
    r"update\s+(?P<table>\w+)\s+set\s+(?P<values>[^{\s].*?)(?:\s+where\s+(?P<where>.+?))?\s*;?\s*", re.I | re.S
)
_DELETE: Final = re.compile(r"delete\s+from\s+(?P<table>\w+)(?:\s+where\s+(?P<where>.+?))?\s*;?\s*", re.I | re.S)
_NODE: Final = re.compile(
    r"(?P<verb>create|merge)\s*\(\s*\w*\s*:\s*(?P<type>\w+)\s*\{(?P<values>[^{}]*)\}\s*\)\s*;?\s*", re.I
)
_CREATES: Final = re.compile(r"(?:create|merge)\s*\(", re.I)
_ITEM: Final = re.compile(r"""\s*("[^"]*"|'[^']*'|[^,'"]+)+\s*(?:,|$)""")

_INSERTED: Final = 'insert Person { name: "Ann", age: 30 }'
_UPSERTED: Final = 'upsert Person { name: "Ann", age: 30 }'
_UPDATED: Final = 'update Person set { age: 31 } where name = "Ann"'
_DELETED: Final = 'delete Person where name = "Ann"'


def foreign_write(text: str) -> tuple[str, str] | None:
    """A message and a hint with a mutation, if the text starts as a statement that writes; else None."""
    forms: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str | None], str], ...] = (
        (_INSERT, _inserted, _INSERTED),
        (_UPDATE, _updated, _UPDATED),
        (_DELETE, _deleted, _DELETED),
    )
    for pattern, translate, example in forms:
        if pattern.match(text):
            whole = pattern.fullmatch(text)
            return "this is SQL", _shown(None if whole is None else translate(whole), example)
    if _CREATES.match(text):
        node = _NODE.fullmatch(text)
        example = _INSERTED if text[:6].lower() == "create" else _UPSERTED
        return "this is Cypher", _shown(None if node is None else _made(node), example)
    return None


def _shown(translated: str | None, example: str) -> str:
    return f"a mutation in `.gq`: {example}" if translated is None else f"the same in `.gq`: {translated}"


def _inserted(found: re.Match[str]) -> str | None:
    if found["columns"] is None:
        return None
    names, values = (_items(found[part]) for part in ("columns", "values"))
    if len(names) != len(values):
        return None
    pairs = ", ".join(f"{name}: {_value(value)}" for name, value in zip(names, values, strict=True))
    return f"insert {found['table']} {{ {pairs} }}"


def _updated(found: re.Match[str]) -> str | None:
    pairs = [re.fullmatch(r"(\w+)\s*=\s*(.+)", item, re.S) for item in _items(found["values"])]
    if found["where"] is None or None in pairs:
        return None
    values = ", ".join(f"{pair[1]}: {_value(pair[2])}" for pair in pairs if pair is not None)
    return f"update {found['table']} set {{ {values} }} where {_value(found['where'])}"


def _deleted(found: re.Match[str]) -> str | None:
    return None if found["where"] is None else f"delete {found['table']} where {_value(found['where'])}"


def _made(found: re.Match[str]) -> str:
    """``create`` refuses a node that exists, as an insert of a type without a key does; ``merge`` keeps it."""
    verb = "insert" if found["verb"].lower() == "create" else "upsert"
    return f"{verb} {found['type']} {{ {_value(found['values'])} }}"


def _items(text: str) -> list[str]:
    """The parts between commas outside of quotes."""
    return [found[0].rstrip().removesuffix(",").strip() for found in _ITEM.finditer(text)]


def _value(text: str) -> str:
    """Texts in double quotes, ``!=`` for ``<>``, keywords in lower case."""
    quoted = re.sub(r"'([^'\"]*)'", r'"\1"', text.strip()).replace("<>", "!=")
    words = r'("[^"]*")|\b(AND|OR|NOT|IN|IS|NULL|TRUE|FALSE)\b'
    return re.sub(words, lambda found: found[1] or found[0].lower(), quoted, flags=re.I)
