"""One batch of documents as a change: the rows of changed documents, and the removal of what they no longer have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from omnigraph.core.tables import TablePin
from omnigraph.history.plan import CommitInfo, PublishPlan
from omnigraph.ingest.documents.pipeline import PipelineTypes
from omnigraph.manifest.reader import Capture
from omnigraph.rows.arrow_types import DST, ID, SRC, Entity, table_schema
from omnigraph.rows.ends.references import is_of_type, with_types
from omnigraph.rows.validate import TableDelta
from omnigraph.rows.violations import Violations
from omnigraph.schema.catalog import EdgeType
from omnigraph.storage.tables.scan import rows_with
from omnigraph.storage.tables.store import Store
from omnigraph.write.context import WriteOptions
from omnigraph.write.documents.parts import SOURCE, Fate, WorkedPart
from omnigraph.write.load.mode import LoadMode
from omnigraph.write.load.plan import PreparedLoad, gather, prepare_load

_EDGE_KEYS = (ID, SRC, DST)


@dataclass(frozen=True)
class Batch:
    """The worked parts of one batch, and documents that are removed."""

    types: PipelineTypes
    parts: Sequence[WorkedPart]
    removed: frozenset[str] = frozenset()

    @property
    def is_empty(self) -> bool:
        """True if no document of the batch has changed."""
        return not self.removed and not any(part.rows for part in self.parts)

    def fates(self) -> dict[str, Fate]:
        return {id_: fate for part in self.parts for id_, fate in part.fates.items()}

    def ids(self, entity: Entity) -> set[str]:
        return {id_ for part in self.parts for id_ in part.ids(entity)}


@dataclass(frozen=True)
class PreparedBatch:
    """A validated batch. Unlike a load, one without a change makes no commit."""

    load: PreparedLoad

    @property
    def is_empty(self) -> bool:
        """True if the graph has everything already."""
        return not self.load.deltas

    @property
    def fingerprint(self) -> str:
        return self.load.fingerprint

    def stage(self, capture: Capture, info: CommitInfo, options: WriteOptions) -> PublishPlan:
        return self.load.stage(capture, info, options)


@dataclass(frozen=True)
class BatchWriter:
    """Prepares the change of a batch."""

    store: Store
    batch: Batch

    def prepare(self, capture: Capture) -> PreparedBatch:
        """Check the rows of a batch on a state, with the removal of older chunks and links."""
        violations = Violations()
        for part in self.batch.parts:
            violations.absorb(part.violations)
        rows = ((SOURCE, typed) for part in self.batch.parts for typed in part.rows)
        deltas = {delta.entity.table_key: delta for delta in gather(rows, LoadMode.UPSERT, violations)}
        for entity, ids in self._stale(capture):
            known = deltas.get(entity.table_key) or TableDelta(entity, table_schema(entity).empty_table())
            gone = (known.removed | ids) - set(known.ids())
            deltas[entity.table_key] = replace(known, removed=frozenset(gone))
        return PreparedBatch(prepare_load(self.store, capture, list(deltas.values()), LoadMode.UPSERT, violations))

    def _stale(self, capture: Capture) -> Iterable[tuple[Entity, frozenset[str]]]:
        """Chunks and links of changed documents that are not among the new ones, and removed documents."""
        types, pins = self.batch.types, capture.state.tables
        documents = self.batch.ids(types.document) | self.batch.removed
        at_document = DST if types.is_chunk_source else SRC
        at_chunk = SRC if types.is_chunk_source else DST
        parts = self._edges(pins[types.part.table_key], at_document, documents)
        chunks = set(parts.column(at_chunk).to_pylist())
        fresh = self.batch.ids(types.chunk)
        gone = frozenset(chunks - fresh)
        yield types.document, self.batch.removed
        yield types.chunk, gone
        for edge in capture.catalog.edges_of(types.chunk.name):
            is_linked = edge.name in {types.part.name, *(mention.edge.name for mention in types.mentions)}
            # Links of chunks that stay are made again; other edges of theirs belong to someone else and stay.
            wanted = chunks if is_linked else set(gone)
            yield edge, self._ids_at(edge, types.chunk.name, wanted, pins)
        for edge in capture.catalog.edges_of(types.document.name) if self.batch.removed else ():
            yield edge, self._ids_at(edge, types.document.name, set(self.batch.removed), pins)

    def _ids_at(self, edge: EdgeType, node: str, ids: set[str], pins: Mapping[str, TablePin]) -> frozenset[str]:
        found: set[str] = set()
        names = with_types(edge, _EDGE_KEYS)
        for end in edge.ends if ids else ():
            if node in end.types:
                for batch in rows_with(self.store, pins[edge.table_key], end.column, sorted(ids), names):
                    found.update(batch.column(ID).filter(is_of_type(end, node, batch)).to_pylist())
        return frozenset(found)

    def _edges(self, pin: TablePin, end: str, ids: set[str]) -> pa.Table:
        schema = pa.schema([(name, pa.string()) for name in _EDGE_KEYS])
        batches = rows_with(self.store, pin, end, sorted(ids), _EDGE_KEYS) if ids else iter(())
        arrays = [
            pa.RecordBatch.from_arrays([batch.column(name) for name in _EDGE_KEYS], schema=schema) for batch in batches
        ]
        return pa.Table.from_batches(arrays, schema)
