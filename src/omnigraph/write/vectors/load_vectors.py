"""Vectors for the rows of a load, in this process and on Spark executors.

A vector in the data is kept. A missing one is embedded from its text (``text_vectors``). After the first violation no
further text is embedded: the load has failed, and embedding costs money.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property

import pyarrow as pa

from omnigraph.core.ports import Embedder
from omnigraph.core.tables import TablePin
from omnigraph.rows.arrow_types import ID, table_schema
from omnigraph.rows.embedding import (
    EmbeddedProperty,
    Gaps,
    Positions,
    embedded_properties,
    find_gaps,
    with_vectors,
    without_required_vectors,
)
from omnigraph.rows.omissions import Cells
from omnigraph.rows.read.json_records import required_message
from omnigraph.rows.typed_rows import TypedRows
from omnigraph.rows.violations import Violation, ViolationCode, Violations
from omnigraph.schema.catalog import Catalog, NodeType
from omnigraph.storage.tables.store import Store
from omnigraph.write.vectors.committed_vectors import CommittedVectors
from omnigraph.write.vectors.text_vectors import TextVectors

Fill = Callable[[str, TypedRows], TypedRows]
"""Fills vectors, given the name of a source and its rows."""


@dataclass(frozen=True)
class RowEmbedding:
    """Embedding of a load. It is pickled to Spark executors, including the embedder.

    ``pins`` are the tables that may hold vectors already. A stale version is fine: a vector depends on its text only.
    """

    store: Store
    pins: Mapping[str, TablePin]
    catalog: Catalog
    embedder: Embedder
    is_partial: bool = False
    """True if an entity keeps what its row does not name."""

    @cached_property
    def reading(self) -> Catalog:
        """The catalog for reading rows: required vectors are optional there, because they may be filled in later."""
        return without_required_vectors(self.catalog)

    @contextmanager
    def filling(self, violations: Violations) -> Iterator[Fill]:
        """The function that fills vectors of one load, or of one task of it."""
        filling = _Filling(self, violations)
        try:
            yield filling.fill
        finally:
            filling.texts.close()


def has_embedded_properties(catalog: Catalog) -> bool:
    """True if a node type has an ``@embed`` property."""
    return any(prop.embed is not None for node in catalog.schema.nodes for prop in node.properties)


def _vectors_named(columns: list[str], omitted: Cells, properties: Sequence[EmbeddedProperty]) -> Cells:
    """The omitted cells, without vectors whose text is named: a vector follows its text."""
    cells = omitted.copy()
    for prop in properties:
        cells[:, columns.index(prop.name)] &= omitted[:, columns.index(prop.embed.source)]
    return cells


@dataclass
class _Filling:
    """State of one load or task."""

    about: RowEmbedding
    violations: Violations
    committed: dict[str, CommittedVectors] = field(default_factory=dict)

    @cached_property
    def texts(self) -> TextVectors:
        return TextVectors(self.about.embedder)

    def fill(self, source: str, rows: TypedRows) -> TypedRows:
        node = self.about.catalog.nodes.get(rows.entity.name) if isinstance(rows.entity, NodeType) else None
        properties = embedded_properties(node) if node is not None else []
        if node is None or not properties:
            return rows
        batch, omitted = rows.batch, rows.omitted
        if omitted is not None and self.about.is_partial:
            omitted = _vectors_named(batch.schema.names, omitted, properties)
        gaps = [] if rows.has_holes else [(prop, self._gaps(batch, prop, omitted)) for prop in properties]
        for prop, gap in gaps:
            if not prop.nullable and len(gap.hopeless):
                self._report(source, rows, node, prop, gap.hopeless)
        for prop, gap in gaps if not self.violations.total else []:
            if len(gap.rows):
                ids = batch.column(ID).take(pa.array(gap.rows))
                vectors = self.texts.of(node, prop, ids, gap.texts, self._committed(node.table_key))
                batch = with_vectors(batch, prop.name, gap.rows, vectors)
        full = pa.RecordBatch.from_arrays(batch.columns, schema=table_schema(node))
        return TypedRows(node, full, rows.lines, rows.has_holes, omitted)

    def _gaps(self, batch: pa.RecordBatch, prop: EmbeddedProperty, omitted: Cells | None) -> Gaps:
        """The vectors to make. A row that names neither the text nor the vector keeps its vector."""
        gaps = find_gaps(batch, prop)
        if omitted is None or not self.about.is_partial:
            return gaps
        is_kept = omitted[:, batch.schema.get_field_index(prop.name)]
        return replace(gaps, hopeless=gaps.hopeless[~is_kept[gaps.hopeless]])

    def _report(
        self, source: str, rows: TypedRows, node: NodeType, prop: EmbeddedProperty, hopeless: Positions
    ) -> None:
        message, places = required_message(node, prop.name), rows.places(source)
        code, key = ViolationCode.REQUIRED, node.table_key
        each = (Violation(code, message, key, None, prop.name, places(row)) for row in hopeless.tolist())
        self.violations.add_group((code, key, prop.name), len(hopeless), each)

    def _committed(self, table_key: str) -> CommittedVectors | None:
        pin = self.about.pins.get(table_key)
        if table_key not in self.committed and pin is not None and pin.rows:
            self.committed[table_key] = CommittedVectors(self.about.store, pin)
        return self.committed.get(table_key)
