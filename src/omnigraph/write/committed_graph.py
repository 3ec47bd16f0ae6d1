"""The ``Committed`` protocol of validation over one captured state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.history.state import ManifestState
from omnigraph.rows.arrow_types import Entity, table_schema
from omnigraph.rows.validate import Texts, column_texts
from omnigraph.schema.catalog import EdgeType
from omnigraph.storage.tables.scan import find_ids, rows_with
from omnigraph.storage.tables.store import Store

_EDGE_KEYS = ("id", "src", "dst")


@dataclass(frozen=True, slots=True)
class CommittedGraph:
    """Lookups in the pinned tables of a state. Records the tables read, which become part of the plan."""

    store: Store
    state: ManifestState
    tables_read: set[str]

    def existing_ids(self, table_key: str, ids: Sequence[str]) -> set[str]:
        self.tables_read.add(table_key)
        return set(find_ids(self.store, self.state.tables[table_key], ids))

    def holders(self, entity: Entity, columns: Texts, wanted: set[Texts]) -> Iterable[tuple[Texts, str]]:
        self.tables_read.add(entity.table_key)
        pin = self.state.tables[entity.table_key]
        if not pin.rows:
            return
        names = list(dict.fromkeys(("id", *columns)))
        is_text = pa.types.is_string(table_schema(entity).field(columns[0]).type)
        first = sorted({value[0] for value in wanted}) if is_text else None
        for batch in rows_with(self.store, pin, columns[0], first, names):
            texts = zip(*(column_texts(entity, column, batch) for column in columns), strict=True)
            for id_, row in zip(batch.column("id").to_pylist(), texts, strict=True):
                if None not in row and row in wanted:
                    yield tuple(text for text in row if text is not None), id_

    def edges_left_at(self, edge: EdgeType, end: str, ids: Sequence[str]) -> pa.Table:
        return self.edges_at(edge, end, ids)

    def vacated(self, edge: EdgeType, sources: Sequence[str]) -> set[str]:
        return set(sources)

    def sources(self, edge: EdgeType) -> Iterable[str]:
        self.tables_read.add(edge.table_key)
        batches = rows_with(self.store, self.state.tables[edge.table_key], "src", None, ("src",))
        return dict.fromkeys(source for batch in batches for source in batch.column("src").to_pylist())

    def edges_at(self, edge: EdgeType, end: str, ids: Sequence[str]) -> pa.Table:
        self.tables_read.add(edge.table_key)
        pin = self.state.tables[edge.table_key]
        batches = list(rows_with(self.store, pin, end, ids, _EDGE_KEYS))
        schema = pa.schema([table_schema(edge).field(name).remove_metadata() for name in _EDGE_KEYS])
        return pa.Table.from_arrays(
            [
                pa.concat_arrays([b.column(name) for b in batches]) if batches else pa.array([], pa.string())
                for name in _EDGE_KEYS
            ],
            schema=schema,
        )
