"""The key of a node type: a column that is unique, never null, and named like a key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from omnigraph.core.scalars import Scalar
from omnigraph.ingest.infer.facts import ColumnFacts, TableFacts
from omnigraph.ingest.infer.names import singular, words
from omnigraph.ingest.infer.properties import guess_property

_NAMES: Final = (
    *("key", "uuid", "guid", "sku", "isbn", "code", "slug", "number"),
    *("email", "username", "login", "name", "title"),
)
"""Names of keys after ``id`` and the ids that name the type, in order of preference."""

_FOREIGN: Final = 30
"""Rank of a column that is named like a key, but maybe that of another table: ``company_id`` among people."""

_FIRST: Final = 40
"""Rank of a first column without such a name. It becomes the key only if edges hold its values."""

CANDIDATES_MAX: Final = 3
"""Columns of a table that are counted exactly, the best names first."""

NEARLY_UNIQUE: Final = 0.5
"""Share of different values from which a column is counted exactly: the estimate errs by a tenth and more."""

_KEY_SCALARS: Final = frozenset({Scalar.STRING, Scalar.I32, Scalar.I64, Scalar.U32, Scalar.U64, Scalar.DATE})


def key_rank(column: str, stem: str) -> int | None:
    """The preference of a column as key of a table, 0 first; None if it is not named like a key."""
    parts = words(column)
    owner = [*words(stem)[:-1], *(singular(word) for word in words(stem)[-1:])]
    if parts in (["id"], ["ids"]):
        return 0
    for rank, ending in enumerate((["id"], ["key"], ["uuid"], ["code"], ["name"]), 1):
        if parts == [*owner, *ending] or parts == ["".join(owner), *ending] or parts == ["".join(owner + ending)]:
            return rank
    joined = "_".join(parts)
    if joined in _NAMES:
        return 10 + _NAMES.index(joined)
    return _FOREIGN if parts[-1:] in (["id"], ["uuid"]) else None


def candidates(table: TableFacts) -> list[ColumnFacts]:
    """Columns that may be the key, the best first: named like one, or the first column."""
    named = [column for column in table.columns if _rank(column, table) <= _FIRST and _may_identify(column)]
    return sorted(named, key=lambda column: (_rank(column, table), column.position))[:CANDIDATES_MAX]


def _rank(column: ColumnFacts, table: TableFacts) -> int:
    rank = key_rank(column.name, table.given_type or table.stem)
    return rank if rank is not None else _FIRST if column.position == 1 else _FIRST + 1


def _may_identify(column: ColumnFacts) -> bool:
    guess = guess_property(column)
    return (
        column.is_full
        and guess is not None
        and not guess.type.is_list
        and guess.type.scalar in _KEY_SCALARS
        and column.distinct >= NEARLY_UNIQUE * column.rows
    )


def owned_key(table: TableFacts) -> ColumnFacts | None:
    """The best unique column whose name says that it identifies the rows of this table."""
    return next((column for column in _unique(table) if _rank(column, table) < _FOREIGN), None)


def possible_key(table: TableFacts) -> ColumnFacts | None:
    """The best unique column, also one that may refer to another table, or the first one."""
    return next(_unique(table), None)


def is_named(column: ColumnFacts, table: TableFacts) -> bool:
    """Tell if a candidate is named like a key of any table."""
    return _rank(column, table) < _FIRST


def _unique(table: TableFacts) -> Iterator[ColumnFacts]:
    return (column for column in candidates(table) if column.is_unique)
