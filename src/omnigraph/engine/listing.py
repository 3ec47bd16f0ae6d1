"""Lists of branches, commits and changes as typed rows, so that every row format can print them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from omnigraph.engine.query.result import QueryResult
from omnigraph.exec.shape.result_rows import table_rows

_TYPES = {str: pa.string(), int: pa.int64(), bool: pa.bool_()}


@dataclass(frozen=True, repr=False)
class Listing(QueryResult):
    """Rows that were not produced by a query. ``about`` holds further members of their JSON envelope."""

    about: Mapping[str, Any] = field(default_factory=dict)


def listing(
    name: str, rows: pa.Table, *, branch: str | None = None, commit_id: str = "", about: Mapping[str, Any] | None = None
) -> Listing:
    """Rows of a table."""
    return Listing(name, table_rows(rows), branch, commit_id, about=about or {})


def listed(name: str, columns: Mapping[str, type], rows: Iterable[Sequence[object]], **where: Any) -> Listing:
    """Rows given as values, with the types of their columns; ``where`` as for ``listing``."""
    schema = pa.schema([(column, _TYPES[type_]) for column, type_ in columns.items()])
    by_name = [dict(zip(columns, row, strict=True)) for row in rows]
    return listing(name, pa.Table.from_pylist(by_name, schema=schema), **where)
