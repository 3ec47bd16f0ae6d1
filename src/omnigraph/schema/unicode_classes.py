"""Character classes that Rust's regular expressions know and Python's do not: ``\\p{Lu}`` and ``[:alpha:]``.

Only general categories are known; scripts and other properties would need tables the standard library lacks.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache
from typing import Final

POSIX_CLASSES: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": "\\x00-\\x7F",
    "blank": "\\t\\x20",
    "cntrl": "\\x00-\\x1F\\x7F",
    "digit": "0-9",
    "graph": "!-\\~",
    "lower": "a-z",
    "print": "\\x20-\\~",
    "punct": "!-/:-@\\[-`{-\\~",
    "space": "\\t\\n\\v\\f\\r\\x20",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
"""The body of the Python class for each POSIX class; all of them are ASCII only, as in Rust."""

_CATEGORIES: Final = (
    *("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No"),
    *("Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So"),
    *("Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cn"),
)
_LONG_NAMES: Final = {
    "letter": "L",
    "uppercaseletter": "Lu",
    "lowercaseletter": "Ll",
    "titlecaseletter": "Lt",
    "mark": "M",
    "number": "N",
    "decimalnumber": "Nd",
    "punctuation": "P",
    "symbol": "S",
    "currencysymbol": "Sc",
    "separator": "Z",
    "other": "C",
}


def categories_named(name: str) -> frozenset[str]:
    """The two-letter categories that a name such as ``L``, ``lu`` or ``Uppercase_Letter`` stands for; empty if none."""
    folded = re.sub(r"[\s_-]", "", name).lower()
    prefix = _LONG_NAMES.get(folded, folded).lower()
    return frozenset(category for category in _CATEGORIES if prefix and category.lower().startswith(prefix))


@cache
def class_body(categories: frozenset[str], negated: bool) -> str:
    """The inside of a Python character class that matches these categories, or all others if negated."""
    wanted = frozenset(_CATEGORIES) - categories if negated else categories
    parts: list[str] = []
    start: int | None = None
    # Reading all of Unicode takes a fraction of a second, once per class, and only for schemas that use one.
    for code in range(sys.maxunicode + 2):
        inside = code <= sys.maxunicode and unicodedata.category(chr(code)) in wanted
        if inside and start is None:
            start = code
        elif not inside and start is not None:
            parts.append(f"\\U{start:08x}-\\U{code - 1:08x}")
            start = None
    return "".join(parts)
