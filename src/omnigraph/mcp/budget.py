"""Budgets of answers. Tokens are counted as characters divided by four; what does not fit is left out and counted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

CHARACTERS_PER_TOKEN: Final = 4
FIELD_CHARACTERS_MAX: Final = 200
"""Characters of one value in a list of hits; `get` shows the whole value."""
LIST_ITEMS_MAX: Final = 50
"""Items of one list value."""
VECTOR_ITEMS_MAX: Final = 8
REFUSAL_HEAD: Final = 3_000
REFUSAL_TAIL: Final = 1_000
"""Characters of a refusal: its beginning has the problem, its end the hint. Both may repeat what the caller sent."""
_SQUEEZES: Final = ((100, 20), (40, 5), (20, 1))
"""Characters and items of values that together do not fit, tried in this order."""


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
    """The first items within a budget. The first item is always among them, squeezed if it must be: an empty answer
    helps no caller, and a cursor could not pass it."""
    kept: list[Any] = []
    used = 0
    for item in items[:items_max]:
        fitted = item if kept else squeeze(item, tokens_max)
        used += tokens(fitted)
        if kept and used > tokens_max:
            break
        kept.append(fitted)
    return Fitted(kept, len(items) - len(kept))


def squeeze(value: Any, tokens_max: int) -> Any:
    """A value within a budget: its texts and lists are cut further, then the last members of an object."""
    if tokens(value) <= tokens_max:
        return value
    for characters_max, items_max in _SQUEEZES:
        value = _shorter(value, characters_max, items_max)
        if tokens(value) <= tokens_max:
            return value
    if not isinstance(value, Mapping):
        return brief(compact(value), tokens_max * CHARACTERS_PER_TOKEN, 0)
    kept: dict[str, Any] = {}
    # The last member counts the others.
    used = tokens({"…": f"{len(value)} more"})
    for name, item in value.items():
        used += tokens({name: item})
        if used > tokens_max:
            break
        kept[name] = item
    return {**kept, "…": f"{len(value) - len(kept):,} more"}


def _shorter(value: Any, characters_max: int, items_max: int) -> Any:
    """A value whose members stay, with the texts, lists and objects in them cut."""
    if isinstance(value, Mapping):
        return {name: shorten(item, characters_max, items_max, items_max) for name, item in value.items()}
    return shorten(value, characters_max, items_max)


def brief(text: str, head: int = REFUSAL_HEAD, tail: int = REFUSAL_TAIL) -> str:
    """A text without its middle, if it is long."""
    if len(text) <= head + tail:
        return text
    return f"{text[: head - 1]}…{text[len(text) - tail :]}"


def shorten(
    value: Any,
    characters_max: int = FIELD_CHARACTERS_MAX,
    items_max: int = LIST_ITEMS_MAX,
    members_max: int | None = None,
) -> Any:
    """A value with long texts and lists cut, and lists of many numbers with a fraction reduced to their length."""
    match value:
        case str() if len(value) > characters_max:
            return value[: characters_max - 1] + "…"
        case list() if len(value) > VECTOR_ITEMS_MAX and all(isinstance(item, float) for item in value):
            return f"vector of {len(value)} numbers"
        case list():
            kept = [shorten(item, characters_max, items_max, members_max) for item in value[:items_max]]
            return [*kept, f"… {len(value) - items_max:,} more"] if len(value) > items_max else kept
        case Mapping():
            form = {
                name: shorten(item, characters_max, items_max, members_max)
                for name, item in islice(value.items(), members_max)
            }
            return {**form, "…": f"{len(value) - len(form):,} more"} if len(form) < len(value) else form
        case _:
            return value
