"""Budgets of answers. Tokens are counted as characters divided by four; what does not fit is left out and counted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

CHARACTERS_PER_TOKEN: Final = 4
FIELD_CHARACTERS_MAX: Final = 200
"""Characters of one value in a list of hits; `get` shows the whole value."""
VECTOR_ITEMS_MAX: Final = 8


@dataclass(frozen=True, slots=True)
class Fitted:
    """The first items that fit, and the number of items that were left out."""

    items: list[Any]
    left_out: int


def tokens(value: object) -> int:
    """The tokens of a JSON value, by its length."""
    return -(-len(compact(value)) // CHARACTERS_PER_TOKEN)


def compact(value: object) -> str:
    """The shortest JSON text of a value."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def fit(items: Sequence[Any], tokens_max: int, items_max: int | None = None) -> Fitted:
    """The first items within a budget. The first item is always among them: an empty answer helps no caller."""
    kept: list[Any] = []
    used = 0
    for item in items[:items_max]:
        used += tokens(item)
        if kept and used > tokens_max:
            break
        kept.append(item)
    return Fitted(kept, len(items) - len(kept))


def shorten(value: Any, characters_max: int = FIELD_CHARACTERS_MAX) -> Any:
    """A value with long texts cut and long lists of numbers reduced to their length."""
    match value:
        case str() if len(value) > characters_max:
            return value[: characters_max - 1] + "…"
        case list() if len(value) > VECTOR_ITEMS_MAX and all(isinstance(item, float) for item in value):
            return f"vector of {len(value)} numbers"
        case list():
            return [shorten(item, characters_max) for item in value]
        case Mapping():
            return {name: shorten(item, characters_max) for name, item in value.items()}
        case _:
            return value
