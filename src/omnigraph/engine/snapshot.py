"""A snapshot: the whole graph at one commit. It never changes, and may be kept, shared and pickled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import pyarrow as pa

from omnigraph.core.html import html_table
from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import NotFoundError
from omnigraph.history.state import ManifestState
from omnigraph.manifest.cleaned import reading
from omnigraph.manifest.schemas import read_text
from omnigraph.rows.arrow_types import Entity, table_schema
from omnigraph.rows.write_json import write_lines
from omnigraph.schema.catalog import Catalog
from omnigraph.storage.tables.scan import scan
from omnigraph.storage.tables.store import Store


@dataclass(frozen=True)
class Snapshot:
    """The pins of a branch at one moment, with the schema they were written under."""

    store: Store = field(repr=False)
    state: ManifestState = field(repr=False)
    catalog: Catalog = field(repr=False)

    @property
    def commit_id(self) -> str:
        return self.state.head

    @property
    def branch(self) -> str:
        return self.state.branch

    def __repr__(self) -> str:
        counts = ", ".join(f"{pin.key.split(':')[1]}: {pin.rows:,}" for _, pin in sorted(self.state.tables.items()))
        return f"<Snapshot {self.commit_id} of {self.branch}: {counts}>"

    def _repr_html_(self) -> str:
        rows = [[*key.split(":", 1), count] for key, count in self.counts().items()]
        total = sum(self.counts().values())
        return html_table(
            f"{total:,} entities at {self.commit_id} of {self.branch}", ("kind", "type", "entities"), rows
        )

    def schema_text(self) -> str:
        """The schema as it was written."""
        return read_text(self.store, self.state.schema_digest)

    def reading(self) -> AbstractContextManager[None]:
        """Reads inside raise HistoryCleaned if cleanup has deleted the files of the snapshot."""
        return reading(self.store, self.state)

    def counts(self) -> dict[str, int]:
        """Entities by table key, such as ``node:Person``."""
        return {key: pin.rows for key, pin in sorted(self.state.tables.items())}

    def entities(self, type_name: str | None = None) -> list[Entity]:
        """The types that have a table, edges first as in an export; one name may mean a node and an edge type."""
        every: list[Entity] = [*self.catalog.edges.values(), *self.catalog.nodes.values()]
        present = [entity for entity in every if entity.table_key in self.state.tables]
        present.sort(key=lambda entity: entity.table_key)
        if type_name is None:
            return present
        named = [entity for entity in present if entity.name == type_name]
        if not named:
            hint = did_you_mean(type_name, [entity.name for entity in present])
            raise NotFoundError(f"there is no type {type_name!r}", hint=hint, type=type_name)
        return named

    def batches(self, table_key: str, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows of a table as Arrow, in storage order."""
        entity = next((entity for entity in self.entities() if entity.table_key == table_key), None)
        if entity is None:
            raise NotFoundError(f"there is no table {table_key!r}", table=table_key)
        names = table_schema(entity).names if columns is None else columns
        with self.reading():
            yield from scan(self.store, self.state.tables[table_key], names, blobs_as_bytes=True)

    def to_arrow(self, table_key: str) -> pa.Table:
        """A whole table, sorted by id."""
        entity = next((entity for entity in self.entities() if entity.table_key == table_key), None)
        if entity is None:
            raise NotFoundError(f"there is no table {table_key!r}", table=table_key)
        batches = list(self.batches(table_key))
        table = pa.Table.from_batches(batches) if batches else table_schema(entity).empty_table()
        return table.sort_by("id")

    def export(self, types: list[str] | None = None) -> Iterator[bytes]:
        """The graph as JSON lines in the form that ``load`` reads: edges, then nodes, each by type and id."""
        chosen = self.entities() if types is None else [entity for name in types for entity in self.entities(name)]
        return self.export_types(chosen)

    def export_types(self, chosen: Sequence[Entity]) -> Iterator[bytes]:
        """The same for types that the caller has found already."""
        for entity in sorted(chosen, key=lambda entity: entity.table_key):
            table = self.to_arrow(entity.table_key)
            yield from write_lines(entity, table.to_batches(max_chunksize=65_536))
