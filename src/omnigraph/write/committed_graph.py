"""The ``Committed`` protocol of validation over one captured state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.tables import TablePin
from omnigraph.history.state import ManifestState
from omnigraph.rows.arrow_types import Entity, table_schema
from omnigraph.rows.ends.references import end_of, reference_texts, referenced, references, with_types
from omnigraph.rows.validate import Texts, column_texts
from omnigraph.schema.catalog import EdgeType
from omnigraph.storage.tables.lance_table import open_table
from omnigraph.storage.tables.scan import find_ids, rows_with
from omnigraph.storage.tables.store import Store

_EDGE_KEYS = ("id", "src", "dst")
_NO_EDGES = pa.schema([pa.field(name, pa.string(), nullable=False) for name in _EDGE_KEYS])


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
        names = with_types(entity, dict.fromkeys(("id", *columns)))
        is_text = pa.types.is_string(table_schema(entity).field(columns[0]).type)
        end = end_of(entity, columns[0])
        texts_of = (value[0] if end is None else referenced(end, value[0])[1] for value in wanted)
        first = sorted(set(texts_of)) if is_text else None
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
        pin = self.state.tables[edge.table_key]
        batches = self._edges(edge, pin, "src", None, ["src"])
        return dict.fromkeys(source for batch in batches for source in reference_texts(edge.source, batch))

    def edges_at(self, edge: EdgeType, end: str, ids: Sequence[str]) -> pa.Table:
        self.tables_read.add(edge.table_key)
        pin = self.state.tables[edge.table_key]
        found = end_of(edge, end)
        wanted = ids if found is None else sorted({referenced(found, text)[1] for text in ids})
        stored = self._edges(edge, pin, end, wanted, _EDGE_KEYS)
        edges = pa.concat_tables([_NO_EDGES.empty_table(), *(edge_keys(edge, batch) for batch in stored)])
        if found is None or found.type_column is None:
            return edges
        # An id that several types have is looked up for all of them.
        return edges.filter(pc.is_in(edges.column(end), value_set=pa.array(list(ids), pa.string())))

    def _edges(
        self, edge: EdgeType, pin: TablePin, column: str, values: Sequence[str] | None, names: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """Columns of edges with the tags of their ends. A version from before there were several types has none."""
        wanted = with_types(edge, names)
        stored = set(open_table(self.store, pin).schema.names)
        missing = [name for name in wanted if name not in stored]
        for batch in rows_with(self.store, pin, column, values, [name for name in wanted if name in stored]):
            whole = batch
            for name in missing:
                whole = whole.append_column(name, pa.nulls(batch.num_rows, pa.string()))
            yield whole


def edge_keys(edge: EdgeType, rows: pa.Table | pa.RecordBatch) -> pa.Table:
    """The ids of edges, and the references of their ends."""
    ids = rows.column("id")
    texts = (references(end, rows) for end in edge.ends)
    return pa.Table.from_arrays([ids.cast(pa.string()), *(text.cast(pa.string()) for text in texts)], schema=_NO_EDGES)
