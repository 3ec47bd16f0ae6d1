"""The tables of an inferred schema as a load reads them: columns under the names of their properties."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace

import pyarrow as pa

from omnigraph.ingest.infer.planned.types import PlannedType
from omnigraph.ingest.infer.plans import ID
from omnigraph.ingest.infer.sources import Opener, TableSource
from omnigraph.ingest.infer.statistics import open_statistics
from omnigraph.ingest.tables import Report, SourceTable
from omnigraph.rows.arrow_types import DST, SRC
from omnigraph.rows.typed_rows import PlacedBatch, numbered


@dataclass(frozen=True, slots=True)
class TypedSource:
    """The rows of one type. They can be read any number of times."""

    type: str
    is_edge: bool
    name: str
    """The file, or the name that a caller gave."""
    opener: Opener
    ends: tuple[str, str] | None = None
    """The node types at both ends of all edges."""
    relation: str | None = None
    """Another name of the type, if the graph has one of that name between these node types."""

    def open(self, report: Report | None = None) -> AbstractContextManager[SourceTable]:
        """The table while it is read, with the names of properties. Malformed rows go to ``report``."""
        return self.opener(report)


def typed_sources(planned: Sequence[PlannedType], sources: Sequence[TableSource | None]) -> tuple[TypedSource, ...]:
    """The rows of every planned type, one after the other; a type of several files has one source for each."""
    by_name = {
        type_.table.source: source
        for type_, source in zip(planned, sources, strict=True)
        if type_.table is not None and source is not None
    }
    typed = []
    for type_, source in zip(planned, sources, strict=True):
        if source is None:
            typed.append(TypedSource(type_.name, False, f"<{type_.name}>", _mentioned(type_, by_name)))
        else:
            parts = ((name, _named(type_, opener)) for name, opener in source.parts())
            ends = None if type_.ends is None else (str(type_.ends[0].type), str(type_.ends[1].type))
            typed += [TypedSource(type_.name, type_.is_edge, name, opener, ends) for name, opener in parts]
    return tuple(typed)


def stored_columns(type_: PlannedType) -> dict[str, str]:
    """The column of each property, and of the id and the ends of an edge."""
    columns = {item.name: item.column for item in type_.properties}
    if type_.ends is not None:
        columns = {SRC: type_.ends[0].column, DST: type_.ends[1].column, **columns}
    if type_.id_column is not None:
        columns[ID] = type_.id_column
    return columns


def _named(type_: PlannedType, opener: Opener) -> Opener:
    columns = stored_columns(type_)

    @contextmanager
    def opened(report: Report | None) -> Iterator[SourceTable]:
        with opener(report) as table:
            # A file of several may lack a column.
            own = {name: column for name, column in columns.items() if column in table.schema.names}
            schema = pa.schema([table.schema.field(column).with_name(name) for name, column in own.items()])

            def batches() -> Iterator[PlacedBatch]:
                for placed in table.batches:
                    arrays = [placed.batch.column(column) for column in own.values()]
                    yield PlacedBatch(pa.RecordBatch.from_arrays(arrays, schema=schema), placed.lines)

            yield replace(table, schema=schema, batches=batches())

    return opened


def _mentioned(type_: PlannedType, sources: Mapping[str, TableSource]) -> Opener:
    """One row for each different end, of edges whose nodes are in no table."""
    [key] = type_.properties

    @contextmanager
    def opened(report: Report | None) -> Iterator[SourceTable]:
        with open_statistics() as statistics:
            for number, (name, column) in enumerate(type_.edges_of):
                # Malformed rows are reported by the table of the edges.
                with sources[name].open(lambda line, reason: None) as table:
                    statistics.keep_distinct(table, column, number)
            reader = statistics.distinct(range(len(type_.edges_of)), key.name)
            name = ", ".join(dict.fromkeys(source for source, _ in type_.edges_of))
            yield SourceTable(name, reader.schema, numbered(reader), is_text=True)

    return opened
