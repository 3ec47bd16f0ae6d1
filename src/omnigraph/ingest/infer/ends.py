"""The ends of edge types: two columns that hold keys of node types, by their names and by their values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from omnigraph.core.scalars import Scalar
from omnigraph.ingest.infer.facts import ColumnFacts, Overlap, TableFacts
from omnigraph.ingest.infer.names import words
from omnigraph.ingest.infer.properties import guess_property

_PAIRS: Final = (("from", "to"), ("src", "dst"), ("source", "target"), ("start", "end"))
_SUFFIXES: Final = ("", "id", "node", "nodeid", "key", "name", "uuid", "vertex", "vertexid")
_REFERENCE_WORDS: Final = frozenset({"id", "ids", "key", "uuid", "ref", "code", "name"})
_END_SCALARS: Final = frozenset({Scalar.STRING, Scalar.I32, Scalar.I64, Scalar.U32, Scalar.U64})

STATED: Final = "stated by the source"
"""The reason of what is no guess."""

SHARED_MIN: Final = 0.5
"""Share of the values of a named end that must be keys of a node type; the rest is reported by the load."""

COMPARED_COLUMNS_MAX: Final = 8
"""Columns of a table whose values are compared with the keys of node types."""


@dataclass(frozen=True, slots=True)
class NodeKey:
    """The key of a node type, as edges refer to it."""

    type: str
    stem: str
    column: str
    rows: int
    is_certain: bool = True
    """False for a key that needs the edges as evidence."""


@dataclass(frozen=True, slots=True)
class End:
    """One end of an edge type. Without a type, no table holds the nodes."""

    column: str
    type: str | None
    reason: str


Overlaps: TypeAlias = Mapping[tuple[str, str], Overlap]
"""By column of a table and node type."""


def named_ends(columns: Sequence[str], types: Sequence[str] = ()) -> tuple[str, str] | None:
    """Two columns that are named like the ends of an edge, such as ``src`` and ``dst`` or ``from_id`` and ``to_id``."""
    joined = {"".join(words(column)): column for column in reversed(columns)}
    inner = ["".join(words(type_)) for type_ in types]
    suffixes = [*_SUFFIXES, *inner, *(f"{name}id" for name in inner)]
    for first, second in _PAIRS:
        source = next((joined[first + suffix] for suffix in suffixes if first + suffix in joined), None)
        target = next((joined[second + suffix] for suffix in suffixes if second + suffix in joined), None)
        if source is not None and target is not None:
            return source, target
    return None


def may_refer(column: ColumnFacts) -> bool:
    """Tell if the values of a column may be keys of nodes: texts or integers in every row."""
    guess = guess_property(column)
    return column.is_full and guess is not None and not guess.type.is_list and guess.type.scalar in _END_SCALARS


def compared_columns(table: TableFacts) -> list[ColumnFacts]:
    """The columns to compare with keys: named ends first, then names of references, then texts."""
    ends = table.declared.ends or named_ends([column.name for column in table.columns]) or ()

    def rank(column: ColumnFacts) -> int:
        if column.name in ends:
            return 0
        return 1 if _is_named_reference(column.name) else 2

    return sorted(filter(may_refer, table.columns), key=rank)[:COMPARED_COLUMNS_MAX]


def _is_named_reference(column: str) -> bool:
    return not _REFERENCE_WORDS.isdisjoint(words(column)[-1:])


def find_named(table: TableFacts, keys: Sequence[NodeKey], overlaps: Overlaps) -> tuple[End, End] | None:
    """The ends that the header names; the types are those whose keys hold the values."""
    pair = table.declared.ends or named_ends([item.name for item in table.columns], [key.type for key in keys])
    if pair is None or (table.declared.ends is None and not all(may_refer(table.column(name)) for name in pair)):
        return None
    first, second = (
        _end(column, stated, keys, overlaps) for column, stated in zip(pair, table.declared.end_types, strict=True)
    )
    return first, second


def _end(column: str, stated: str | None, keys: Sequence[NodeKey], overlaps: Overlaps) -> End:
    if stated is not None:
        return End(column, stated, STATED)
    found = _best(column, keys, overlaps, SHARED_MIN)
    if found is None:
        return End(column, None, "no table holds these ids: a node for each different value")
    key, overlap = found
    if overlap.is_contained:
        return End(column, key.type, _contained(key, overlap))
    reason = f"{overlap.missing:,} of its {overlap.distinct:,} different values are NOT keys of {key.type}"
    return End(column, key.type, reason)


def find_contained(table: TableFacts, keys: Sequence[NodeKey], overlaps: Overlaps) -> tuple[End, End] | None:
    """Exactly two columns whose values are all keys of node types, and that are named so or hold texts."""
    ends = list(_references(table, keys, overlaps))
    named = [end for end, is_named in ends if is_named]
    chosen = named if len(named) == 2 else [end for end, _ in ends]
    return (chosen[0], chosen[1]) if len(chosen) == 2 else None


def foreign_keys(table: TableFacts, keys: Sequence[NodeKey], overlaps: Overlaps) -> dict[str, str]:
    """Columns of a table of nodes that name another node type and hold only its keys, with the type."""
    found = {column.name: _best(column.name, keys, overlaps, 1.0) for column in table.columns}
    return {name: pair[0].type for name, pair in found.items() if pair is not None and _names(name, pair[0])}


def _contained(key: NodeKey, overlap: Overlap) -> str:
    values = f"{overlap.distinct:,} different value{'' if overlap.distinct == 1 else 's'}"
    return f"every value is a key of {key.type} ({values})"


def _references(table: TableFacts, keys: Sequence[NodeKey], overlaps: Overlaps) -> Iterator[tuple[End, bool]]:
    for column in table.columns:
        found = _best(column.name, keys, overlaps, 1.0) if may_refer(column) else None
        if found is None:
            continue
        key, overlap = found
        guess = guess_property(column)
        is_text = guess is not None and guess.type.scalar is Scalar.STRING
        # Small integers are among the keys of most tables by chance; texts hardly ever are.
        if is_text or _names(column.name, key) or _is_named_reference(column.name):
            yield End(column.name, key.type, _contained(key, overlap)), _names(column.name, key)


def _best(column: str, keys: Sequence[NodeKey], overlaps: Overlaps, share: float) -> tuple[NodeKey, Overlap] | None:
    """The node type whose keys hold most values; among equals the one that the column names, then the smallest."""
    found = [(key, overlaps[column, key.type]) for key in keys if (column, key.type) in overlaps]
    fitting = [
        (key, overlap)
        for key, overlap in found
        if overlap.distinct and overlap.distinct - overlap.missing >= share * overlap.distinct
    ]
    return min(
        fitting,
        key=lambda item: (item[1].missing, not _names(column, item[0]), not item[0].is_certain, item[0].rows),
        default=None,
    )


def _names(column: str, key: NodeKey) -> bool:
    """Tell if a column names a node type: ``person``, ``person_id``, or the column of its key."""
    parts = words(column)
    if parts == words(key.column) and len(parts) > 1:
        return True
    owner = [word for word in parts if word not in _REFERENCE_WORDS] or parts
    names = ("".join(words(key.type)), "".join(words(key.stem)))
    return "".join(owner).endswith(names)
