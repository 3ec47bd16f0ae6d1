"""Next steps for columns that do not fit a type: the options to write, or the mistake that is more likely.

Pure: names of columns and types in, hints out.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Final

from omnigraph.errors import Hint
from omnigraph.rows.arrow_types import DST, ID, SRC, Entity
from omnigraph.schema.catalog import EdgeType

END_NAMES: Final = {"from": SRC, "src": SRC, "source": SRC, "to": DST, "dst": DST, "target": DST}
"""Names of the columns that hold the ends of an edge, in lower case; capital letters do not matter."""

_NAMES_MAX: Final = 20
_VALUE: Final = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)*|[0-9]{4}-[0-9]{2}-[0-9]{2}.*")


def stored_name(entity: Entity, name: str) -> str | None:
    """The stored column that a name means: a property, ``id``, an end of an edge, or its type if it has several."""
    if name == ID or name in entity.properties:
        return name
    if not isinstance(entity, EdgeType):
        return None
    typed = END_NAMES.get(name.lower().removesuffix("_type")) if name.lower().endswith("_type") else None
    if typed is not None:
        return entity.end(typed).type_column if entity.end(typed).is_typed else None
    return END_NAMES.get(name.lower())


def listed(names: Sequence[str]) -> str:
    """The names of columns, for messages."""
    return ", ".join(names[:_NAMES_MAX]) + (", ..." if len(names) > _NAMES_MAX else "")


def nearest_property(entity: Entity, column: str) -> str | None:
    """The property that a column probably means: the same letters and digits, or the most similar name."""
    known = [*entity.properties, ID]
    same = next((name for name in known if _letters(name) == _letters(column)), None)
    close = difflib.get_close_matches(column.lower(), [name.lower() for name in known], n=1)
    return same or next((name for name in known if name.lower() in close), None)


def _letters(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


def unknown_columns(
    entity: Entity, unknown: Sequence[str], names: Sequence[str], types: Iterable[Entity], *, is_text: bool
) -> Hint:
    """The next step for columns that no property has the name of."""
    other = next((known for known in types if known is not entity and _fits(known, names)), None)
    if other is not None:
        columns = f"the columns are those of {other.name}"
        return Hint(
            f'{columns}: load them with type_name="{other.name}"', f"{columns}: load them with --type {other.name}"
        )
    if is_text and any(map(is_value, unknown)):
        example = ",".join([ID, *entity.properties])
        text = f"the first line holds the names of the columns; if it holds values, put a line like {example} above it"
        return Hint(text, text)
    found: dict[str, str] = {}
    for name in unknown:
        near = nearest_property(entity, name)
        if near is not None and near not in names:
            found.setdefault(near, name)
    return _options(found, unknown)


def is_value(text: str) -> bool:
    """True for a number or a date, which no column is named like in a file that has a header."""
    return _VALUE.fullmatch(text.strip()) is not None


def _fits(entity: Entity, names: Sequence[str]) -> bool:
    """True if every column has its place in the type, and an edge has both ends."""
    stored = {stored_name(entity, name) for name in names}
    return None not in stored and (not isinstance(entity, EdgeType) or stored >= {SRC, DST})


def _options(found: dict[str, str], unknown: Sequence[str]) -> Hint:
    them = "it" if len(unknown) == 1 else "them"
    pairs = ",".join(f"{prop}={name}" for prop, name in found.items()) or f"PROPERTY={unknown[0]}"
    ignored = ",".join(unknown)
    return Hint(
        f"map {them} with map={found or {'PROPERTY': unknown[0]}} or leave {them} out with ignore={list(unknown)}",
        f"map {them} with --map {shlex.quote(pairs)} or leave {them} out with --ignore {shlex.quote(ignored)}",
    )


def doubled_column(first: str, second: str) -> Hint:
    """The next step for two columns that fill one property."""
    if first == second:
        return Hint("rename one of them", "rename one of them")
    return Hint(
        f"leave one of them out with ignore=[{second!r}]", f"leave one of them out with --ignore {shlex.quote(second)}"
    )


def column_and_constant(column: str) -> Hint:
    """The next step for a column that has the name of a constant."""
    return Hint(
        f"leave out the constant, or the column with ignore=[{column!r}]",
        f"leave out the constant, or the column with --ignore {shlex.quote(column)}",
    )


def missing_columns(missing: Sequence[str], names: Sequence[str]) -> Hint:
    """The next step for a property that every row needs and no column fills."""
    wanted = {SRC: "from", DST: "to"}.get(missing[0], missing[0])
    found = f"the columns are {listed(names)}; map one of them"
    return Hint(f"{found} with map={{{wanted!r}: ...}}", f"{found} with --map {wanted}=COLUMN")


def swapped_map(prop: str, column: str) -> Hint:
    """The next step for a map whose property and column changed places."""
    return Hint(
        f"a map goes from property to column: map={{{column!r}: {prop!r}}}",
        f"a map goes from property to column: --map {shlex.quote(f'{column}={prop}')}",
    )
