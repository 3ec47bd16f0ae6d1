"""Loads of data whose types are known before it is read: an inferred schema with its data, and NetworkX graphs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeGuard

import pyarrow as pa

from omnigraph.ingest.infer.names import property_names
from omnigraph.ingest.infer.networks import ID, SOURCE, TARGET, NetworkTable, is_network, network_tables
from omnigraph.ingest.infer.result import InferredSchema
from omnigraph.ingest.infer.sources import open_data
from omnigraph.ingest.infer.typed_tables import TypedSource
from omnigraph.ingest.reading import Reading
from omnigraph.ingest.tables import SourceTable
from omnigraph.rows.arrow_types import Entity
from omnigraph.rows.typed_rows import PlacedBatch, TypedRows
from omnigraph.schema.catalog import EdgeType


def is_typed(data: object) -> TypeGuard[Any]:
    """Tell if data names the types of its rows itself."""
    return isinstance(data, InferredSchema) or is_network(data)


def read_typed(data: Any, reading: Reading) -> Iterator[tuple[str, TypedRows]]:
    """The rows of all types, each with the name of its source."""
    sources = data.sources if isinstance(data, InferredSchema) else _network_sources(data)
    for source in sources:
        entity = _entity(source, reading)
        name = reading.part(source.name)
        with source.open(reading.report(name, entity.table_key)) as table:
            typed = _with_types(replace(table, name=name), source, entity)
            for rows in reading.table(typed, entity):
                yield name, rows


def _with_types(table: SourceTable, source: TypedSource, entity: Entity) -> SourceTable:
    """The table with the types of its ends, where the edge type of the graph has several."""
    if not isinstance(entity, EdgeType) or source.ends is None:
        return table
    added = {end.type_word: name for end, name in zip(entity.ends, source.ends, strict=True) if end.is_typed}
    schema = pa.schema([*table.schema, *((word, pa.utf8()) for word in added)])

    def batches() -> Iterator[PlacedBatch]:
        for batch, lines in table.batches:
            constant = [pa.repeat(pa.scalar(name, pa.utf8()), batch.num_rows) for name in added.values()]
            yield PlacedBatch(pa.RecordBatch.from_arrays([*batch.columns, *constant], schema=schema), lines)

    return replace(table, schema=schema, batches=batches()) if added else table


def _entity(source: TypedSource, reading: Reading) -> Entity:
    """The node or edge type of a source: types of both kinds may share a name."""
    found = (reading.catalog.edges if source.is_edge else reading.catalog.nodes).get(source.type)
    other = None if source.relation is None else reading.catalog.edge(source.relation)
    if found is None and other is not None and source.ends in other.pairs:
        return other
    return reading.entity(source.type) if found is None else found


def _network_sources(graph: Any) -> list[TypedSource]:
    name = "<NetworkX graph>"
    tables = network_tables(graph)
    return [
        TypedSource(
            table.type,
            table.ends is not None,
            name,
            open_data(name, _with_properties(table)),
            table.ends,
            table.relation,
        )
        for table in tables
    ]


def _with_properties(network: NetworkTable) -> pa.Table:
    """The table with its attributes under the names that an inferred schema gives them."""
    names = network.table.column_names
    columns = {column: (column, number) for number, column in enumerate(names, 1) if column not in (ID, SOURCE, TARGET)}
    properties = property_names(columns, network.type, is_edge=network.ends is not None)
    return network.table.rename_columns([properties.get(column, column) for column in names])
