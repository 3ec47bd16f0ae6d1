"""Names of types and properties, derived from names of files and columns by fixed rules.

A property keeps the name of its column if that is a valid name. Otherwise the words of the column are joined in camel
case: ``Full Name`` and ``FULL_NAME`` become ``fullName``. Names that every entity has already (``id``, and ``src``,
``dst``, ``from``, ``to`` of an edge) get the type in front: ``personId``. A type has the words of its file name in
camel case; the type of a node is the singular, by the rules of ``singular``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping
from typing import Final

from omnigraph.schema.declare import EDGE_FIELDS, NODE_FIELDS, SYSTEM_COLUMNS

_PROPERTY = re.compile(r"[a-z_][A-Za-z0-9_]*", re.ASCII)
_TYPE = re.compile(r"[A-Z][A-Za-z0-9_]*", re.ASCII)
_WORD = re.compile(r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z]+[0-9]*|[0-9]+[a-z]*", re.ASCII)
_SAME: Final = frozenset({"series", "species", "news"})
_ES_ENDINGS: Final = ("sses", "xes", "ches", "shes", "zzes")


def is_type_name(name: str) -> bool:
    """Tell if a type may have this name."""
    return _TYPE.fullmatch(name) is not None


def words(name: str) -> list[str]:
    """The words of a name in lower case, divided at capitals and at everything that is not a letter or digit."""
    # Folding replaces letters without a base letter, such as the German sharp s.
    folded = "".join(letter if letter.isascii() else letter.casefold() for letter in name)
    plain = unicodedata.normalize("NFKD", folded)
    letters = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return [word.lower() for word in _WORD.findall(letters)]


def singular(word: str) -> str:
    """The singular of an English word in lower case, by its ending; words that are not plural by it stay."""
    if word in ("people", "persons"):
        return "person"
    if word in _SAME or word.endswith(("ss", "us", "is")) or len(word) < 4:
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if word.endswith(_ES_ENDINGS):
        return word[:-2]
    return word.removesuffix("s")


def type_name(stem: str, *, is_edge: bool) -> str:
    """The type of a file without its suffixes: ``people`` is ``Person``, and ``works_at`` is ``WorksAt``."""
    parts = words(stem) or ["edge" if is_edge else "node"]
    if not is_edge:
        parts[-1] = singular(parts[-1])
    name = "".join(part.capitalize() for part in parts)
    return name if name[0].isalpha() else f"T{name}"


def property_names(columns: Mapping[str, tuple[str, int]], type_: str, *, is_edge: bool) -> dict[str, str]:
    """The property of each column, from the wanted name and the position of the column.

    Valid names come first: a column is not renamed because another one was renamed to its name.
    """
    kept = {wanted for wanted, _ in columns.values()}
    names: dict[str, str] = {}
    for column, (wanted, position) in columns.items():
        taken = {*names.values(), *(kept - {wanted})}
        names[column] = property_name(wanted, position, type_, taken, is_edge=is_edge)
    return names


def property_name(column: str, position: int, type_: str, taken: Collection[str], *, is_edge: bool) -> str:
    """A valid name that the type does not have yet; ``position`` names a column without letters and digits."""
    name = column
    if _PROPERTY.fullmatch(column) is None or column in SYSTEM_COLUMNS:
        name = _camel(words(column)) or f"column{position}"
    if name in (EDGE_FIELDS if is_edge else NODE_FIELDS):
        name = _camel([*words(type_), name])
    number, wanted = 2, name
    while name in taken:
        name, number = f"{wanted}{number}", number + 1
    return name


def _camel(parts: list[str]) -> str:
    name = "".join([*parts[:1], *(part.capitalize() for part in parts[1:])])
    return f"_{name}" if name[:1].isdigit() else name
