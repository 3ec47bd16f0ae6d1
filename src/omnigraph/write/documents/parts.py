"""The work on some documents: read, divide, find mentions, embed. Runs in this process and on Spark executors."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

import pyarrow as pa

from omnigraph.core.ports import UlidSource
from omnigraph.ingest.documents.chunking import divide
from omnigraph.ingest.documents.mentions import NameIndex
from omnigraph.ingest.documents.pipeline import PipelineTypes
from omnigraph.ingest.documents.sources import Document
from omnigraph.rows.arrow_types import DST, ID, SRC, Entity
from omnigraph.rows.read.arrow import from_batches
from omnigraph.rows.typed_rows import TypedRows, numbered
from omnigraph.rows.violations import Violations
from omnigraph.schema.catalog import Catalog
from omnigraph.write.load.mode import LoadMode
from omnigraph.write.load.plan import SourcedRows
from omnigraph.write.load.rows import checked
from omnigraph.write.vectors.load_vectors import RowEmbedding

SOURCE: Final = "<documents>"
ID_CHARS: Final = 32
"""Hexadecimal digits of the ids of chunks: 128 bits."""

Record = dict[str, Any]


class Fate(StrEnum):
    """The state of a document compared with the graph."""

    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"


@dataclass(frozen=True)
class DocumentPart:
    """Some documents, with the digests that the graph has of them."""

    documents: tuple[Document, ...]
    known: Mapping[str, str | None]


@dataclass(frozen=True)
class WorkedPart:
    """The rows of changed documents, by table, and the fate of every document."""

    rows: tuple[TypedRows, ...]
    fates: Mapping[str, Fate]
    violations: Violations

    def ids(self, entity: Entity) -> list[str]:
        """The ids of the rows of a type."""
        batches = [rows.batch for rows in self.rows if rows.table_key == entity.table_key]
        return [id_ for batch in batches for id_ in batch.column(ID).to_pylist()]


@dataclass(frozen=True)
class DocumentWork:
    """The pipeline over parts. Pickled to executors; without an ``embedding`` no vectors are made."""

    types: PipelineTypes
    names: tuple[NameIndex, ...]
    catalog: Catalog
    embedding: RowEmbedding | None = None
    refreshes: bool = False
    """True if unchanged documents are divided and linked again."""

    def run(self, part: DocumentPart) -> WorkedPart:
        """The rows of a part."""
        made = _Made(self.types, self.names)
        fates: dict[str, Fate] = {}
        for document in part.documents:
            text, values = document.read()
            digest = self.types.pipeline.digest({**values, "text": text})
            known = part.known.get(document.id)
            if document.id not in part.known:
                fates[document.id] = Fate.NEW
            elif known != digest:
                fates[document.id] = Fate.CHANGED
            else:
                fates[document.id] = Fate.UNCHANGED
            if fates[document.id] is not Fate.UNCHANGED or self.refreshes:
                made.add(document, text, values, digest)
        violations = Violations()
        typed = self._typed(made, violations)
        rows = tuple(rows for _, rows in checked(typed, violations, None, self.embedding, is_partial=True))
        return WorkedPart(rows, fates, violations)

    def _typed(self, made: _Made, violations: Violations) -> Iterator[SourcedRows]:
        reading = self.catalog if self.embedding is None else self.embedding.reading
        for (key, names), records in made.records.items():
            kind, _, name = key.partition(":")
            entity: Entity = reading.nodes[name] if kind == "node" else reading.edges[name]
            table = pa.table({column: [record[column] for record in records] for column in names})
            for rows in from_batches(
                entity,
                table.schema,
                numbered(table.to_batches()),
                source=SOURCE,
                mint_ids=UlidSource().new_ids,
                violations=violations,
                omissions=LoadMode.UPSERT.omissions,
            ):
                yield SOURCE, rows


@dataclass
class _Made:
    """Records of the entities that documents become, by table and by the columns that they name."""

    types: PipelineTypes
    names: Sequence[NameIndex]
    records: dict[tuple[str, tuple[str, ...]], list[Record]] = field(default_factory=dict)

    def add(self, document: Document, text: str, values: Mapping[str, Any], digest: str) -> None:
        rule = self.types.pipeline.documents
        record = {**values, **_identity(self.types.document, document.id), rule.digest: digest}
        for name, value in ((rule.title, document.title(text)), (rule.text, text), (rule.source, document.source)):
            if name is not None:
                record.setdefault(name, value)
        self._put(self.types.document, record)
        times: dict[str, int] = {}
        for number, chunk in enumerate(
            divide(text, self.types.pipeline.chunks.size, self.types.pipeline.chunks.overlap)
        ):
            times[chunk.text] = times.get(chunk.text, 0) + 1
            # The order distinguishes equal texts of a document, so a chunk keeps its id when others change.
            id_ = _digest(document.id, chunk.text, str(times[chunk.text]))
            self._chunk(document.id, id_, number, chunk.start, chunk.text)

    def _chunk(self, document_id: str, id_: str, number: int, start: int, text: str) -> None:
        rule, types = self.types.pipeline.chunks, self.types
        record = {**_identity(types.chunk, id_), rule.text: text}
        record |= {name: value for name, value in ((rule.number, number), (rule.start, start)) if name is not None}
        self._put(types.chunk, record)
        ends = (id_, document_id) if types.is_chunk_source else (document_id, id_)
        self._edge(types.part, *ends, {})
        for mention, index in zip(types.mentions, self.names, strict=True):
            for entity_id, count in sorted(index.find(text).items()):
                counted = {} if mention.rule.count is None else {mention.rule.count: count}
                self._edge(mention.edge, id_, entity_id, counted)

    def _edge(self, entity: Entity, source: str, target: str, values: Record) -> None:
        # The id of an edge with a key is derived; any other one is made of its ends, so that it is found again.
        given = {} if entity.key else {ID: _digest(source, target)}
        self._put(entity, {**given, SRC: source, DST: target, **values})

    def _put(self, entity: Entity, record: Record) -> None:
        self.records.setdefault((entity.table_key, tuple(record)), []).append(record)


def _identity(entity: Entity, id_: str) -> Record:
    return {entity.key[0] if entity.key else ID: id_}


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:ID_CHARS]
