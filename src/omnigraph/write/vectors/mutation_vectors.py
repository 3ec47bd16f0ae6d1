"""Vectors of ``@embed`` properties in mutations, by the rules of loads.

* Insert: a missing vector is embedded from the text.
* Update of the text alone: the old vector is dropped and embedded again.
* Update of the vector: kept; if it is set to null, embedded from the text.
* Update of other properties: nothing is embedded.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.ports import Embedder
from omnigraph.core.tables import TablePin
from omnigraph.rows.arrow_types import ID, Entity
from omnigraph.rows.embedding import EmbeddedProperty, Gaps, embedded_properties, find_gaps, with_vectors
from omnigraph.rows.read.json_records import required_message
from omnigraph.rows.violations import Violation, ViolationCode, Violations
from omnigraph.schema.catalog import NodeType
from omnigraph.storage.tables.store import Store
from omnigraph.write.vectors.committed_vectors import CommittedVectors
from omnigraph.write.vectors.text_vectors import TextVectors

VectorGaps = Sequence[tuple[EmbeddedProperty, Gaps]]
"""Rows of a table without a vector, by property."""


@dataclass
class MutationVectors:
    """Vectors of one mutation. They are kept across retries, so that a text is embedded once."""

    store: Store
    find_embedder: Callable[[], Embedder | None]

    def close(self) -> None:
        # Read without the property, which would create an embedder that was never needed.
        embedding = self.__dict__.get("_embedding")
        if embedding is not None:
            embedding.close()

    @cached_property
    def _embedding(self) -> TextVectors | None:
        embedder = self.find_embedder()
        return None if embedder is None else TextVectors(embedder)

    def made_for(self, entity: Entity) -> Sequence[EmbeddedProperty]:
        """The properties of a type that are embedded; none without an embedder."""
        properties = embedded_properties(entity)
        return properties if properties and self._embedding is not None else ()

    def gaps(self, entity: Entity, rows: pa.Table, renewed: Collection[str]) -> VectorGaps:
        """The missing vectors of the ids in ``renewed``."""
        properties = self.made_for(entity)
        if not properties or not rows.num_rows:
            return ()
        batch = _batch(rows)
        is_made = pc.is_in(batch.column(ID), value_set=pa.array(list(renewed), pa.string()))
        return [(prop, find_gaps(batch, prop, is_made)) for prop in properties]

    def filled(self, entity: Entity, rows: pa.Table, gaps: VectorGaps, pin: TablePin) -> pa.Table:
        """The rows with vectors filled in. The embedder costs time and money, so all checks come before."""
        if not any(len(gap.rows) for _, gap in gaps):
            return rows
        assert isinstance(entity, NodeType)
        assert self._embedding is not None
        batch, committed = _batch(rows), CommittedVectors(self.store, pin) if pin.rows else None
        for prop, gap in gaps:
            if len(gap.rows):
                ids = batch.column(ID).take(pa.array(gap.rows))
                vectors = self._embedding.of(entity, prop, ids, gap.texts, committed)
                batch = with_vectors(batch, prop.name, gap.rows, vectors)
        return pa.Table.from_batches([batch])


def given_up(properties: Sequence[EmbeddedProperty], assigned: Mapping[str, Any]) -> dict[str, None]:
    """Vectors to drop because an update assigns their text and not the vector."""
    return {prop.name: None for prop in properties if prop.embed.source in assigned and prop.name not in assigned}


def is_renewed(properties: Sequence[EmbeddedProperty], assigned: Mapping[str, Any]) -> bool:
    """True if an update assigns a vector or the text of one."""
    return any(prop.name in assigned or prop.embed.source in assigned for prop in properties)


def report_gaps(entity: Entity, rows: pa.Table, gaps: VectorGaps, violations: Violations) -> None:
    """Report required vectors without a text to embed."""
    for prop, gap in gaps:
        for row in () if prop.nullable else gap.hopeless.tolist():
            message, id_ = required_message(entity, prop.name), rows.column(ID)[row].as_py()
            violations.add(Violation(ViolationCode.REQUIRED, message, entity.table_key, id_, prop.name))


def _batch(rows: pa.Table) -> pa.RecordBatch:
    [batch] = rows.combine_chunks().to_batches()
    return batch
