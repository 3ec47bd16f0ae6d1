"""Remark about edges without an identity: a load of them again stores them twice."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.tables import TablePin
from omnigraph.rows.arrow_types import DST, ID, SRC, table_schema
from omnigraph.rows.validate import TableDelta
from omnigraph.schema.catalog import EdgeType
from omnigraph.storage.tables.scan import rows_with
from omnigraph.storage.tables.store import Store
from omnigraph.write import limits


def repeated_edges(store: Store, pin: TablePin, delta: TableDelta) -> str | None:
    """A sentence with the number of new edges that equal committed ones; None if there are none, or too many to tell.

    Edges are equal with the same ends and the same values. Blobs are not compared.
    """
    edge = delta.entity
    if not isinstance(edge, EdgeType) or edge.key or delta.omitted is None or not pin.rows:
        return None
    minted = delta.rows.filter(pa.array(delta.omitted[:, 0]))
    if not 0 < minted.num_rows <= limits.REMARKED_ROWS_MAX:
        return None
    names = [name for name in table_schema(edge).names if name != ID and not _is_blob(edge, name)]
    wanted = set(_tuples(minted.select(names)))
    found: set[str] = set()
    seen = 0
    sources, targets = (pc.unique(minted.column(end).combine_chunks()) for end in (SRC, DST))
    for batch in rows_with(store, pin, SRC, sources.to_pylist(), names):
        seen += batch.num_rows
        if seen > limits.REMARKED_EDGES_MAX:
            return None
        near = batch.filter(pc.is_in(batch.column(DST), value_set=targets))
        found.update(text for text in _tuples(pa.Table.from_batches([near])) if text in wanted)
    repeated = sum(text in found for text in _tuples(minted.select(names)))
    if not repeated:
        return None
    advice = "give edges ids, or declare @key(src, dst)"
    if repeated == 1:
        return f"1 edge of {edge.name} without an id equals an existing one and was added again; {advice}"
    return f"{repeated:,} edges of {edge.name} without ids equal existing ones and were added again; {advice}"


def _is_blob(edge: EdgeType, name: str) -> bool:
    return name in edge.properties and edge.properties[name].type.is_blob


def _tuples(rows: pa.Table) -> Iterator[str]:
    columns = [_comparable(rows.column(name)) for name in rows.schema.names]
    return map(repr, zip(*(column.to_pylist() for column in columns), strict=True))


def _comparable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column whose values Python can hold: dates and times as numbers."""
    type_ = column.type.value_type if pa.types.is_list(column.type) else column.type
    if not pa.types.is_temporal(type_):
        return column
    number = pa.int32() if pa.types.is_date32(type_) else pa.int64()
    return column.cast(pa.list_(number) if pa.types.is_list(column.type) else number)
