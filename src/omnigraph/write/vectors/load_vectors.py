"""Vectors for the rows of a load: every path hands its batches through here, on executors as in this process.

A vector that comes with the data stays. One that is missing is made from its text (``text_vectors``). After the first
violation no text is embedded any more: the load has failed, and embedding costs money.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from omnigraph.core.ports import Embedder
from omnigraph.core.tables import TablePin
from omnigraph.rows.arrow_types import ID, table_schema
from omnigraph.rows.embedding import (
    EmbeddedProperty,
    Positions,
    embedded_properties,
    find_gaps,
    with_vectors,
    without_required_vectors,
)
from omnigraph.rows.json_records import required_message
from omnigraph.rows.typed_rows import TypedRows
from omnigraph.rows.violations import Violation, ViolationCode, Violations
from omnigraph.schema.catalog import Catalog, NodeType
from omnigraph.storage.tables.store import Store
from omnigraph.write.vectors.committed_vectors import CommittedVectors
from omnigraph.write.vectors.text_vectors import TextVectors

Fill = Callable[[str, TypedRows], TypedRows]
"""Takes rows and the name of their source."""


@dataclass(frozen=True)
class RowEmbedding:
    """How a load gets its vectors. Travels to executors, and so must the embedder.

    ``pins`` are the tables that may hold vectors already. They need not be the newest: a vector belongs to its text.
    """

    store: Store
    pins: Mapping[str, TablePin]
    catalog: Catalog
    embedder: Embedder

    @cached_property
    def reading(self) -> Catalog:
        """The types by which the rows are to be read: a required vector may still be missing there."""
        return without_required_vectors(self.catalog)

    @contextmanager
    def filling(self, violations: Violations) -> Iterator[Fill]:
        """What fills the vectors of the rows of one load, or of one task of it."""
        filling = _Filling(self, violations)
        try:
            yield filling.fill
        finally:
            filling.texts.close()


def has_embedded_properties(catalog: Catalog) -> bool:
    """Whether there is anything to embed."""
    return any(prop.embed is not None for node in catalog.schema.nodes for prop in node.properties)


@dataclass
class _Filling:
    """The state of one filling."""

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
        batch = rows.batch
        gaps = [(prop, find_gaps(batch, prop)) for prop in properties]
        for prop, gap in gaps:
            if not prop.nullable and len(gap.hopeless):
                self._report(source, rows, node, prop, gap.hopeless)
        for prop, gap in gaps if not self.violations.total else []:
            if len(gap.rows):
                ids = batch.column(ID).take(pa.array(gap.rows))
                vectors = self.texts.of(node, prop, ids, gap.texts, self._committed(node.table_key))
                batch = with_vectors(batch, prop.name, gap.rows, vectors)
        return TypedRows(node, pa.RecordBatch.from_arrays(batch.columns, schema=table_schema(node)), rows.lines)

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
