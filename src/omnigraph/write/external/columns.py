"""Columns of a source and the properties that they fill.

A property is read from the column of its name, or of its ``@column``. Columns without a property are ignored: tables
of others have many. A nullable property without a column is null in every row.
"""

from __future__ import annotations

from collections.abc import Mapping

from omnigraph.core.scalars import Scalar
from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import UsageError
from omnigraph.ingest.advice import END_NAMES, listed
from omnigraph.lake.external.found import SourceColumn
from omnigraph.lake.external.seal import SealedColumn
from omnigraph.lake.external.sources import Source
from omnigraph.rows.arrow_types import DST, ID, SRC, Entity, table_schema
from omnigraph.rows.id_columns import key_type_of
from omnigraph.schema.catalog import Catalog, EdgeType, NodeType
from omnigraph.schema.ir import External
from omnigraph.schema.types import PropertyType

_TEXT = PropertyType(Scalar.STRING)


def external_of(entity: Entity) -> External:
    """The annotation of an external type."""
    assert entity.ir.external is not None
    return entity.ir.external


def sealed_columns(entity: Entity, catalog: Catalog, source: Source) -> tuple[SealedColumn, ...]:
    """The columns of a type, each with the column of the source that it is read from."""
    return tuple(_column(entity, catalog, source, name) for name in table_schema(entity).names)


def _column(entity: Entity, catalog: Catalog, source: Source, name: str) -> SealedColumn:
    if name == ID:
        found = _id(entity, source)
        return SealedColumn(ID, _TEXT, None, *_place(found))
    if isinstance(entity, EdgeType) and name in (SRC, DST):
        [end] = entity.end(name).types
        node = catalog.nodes[end]
        return SealedColumn(name, key_type_of(node), None, *_place(_end(entity, source, name)))
    prop = entity.properties[name]
    wanted = prop.column or name
    found = source.columns.get(wanted)
    if found is None and prop.column is None and isinstance(entity, NodeType) and entity.key == (name,):
        # The id of a node with one key is its key, so a column of ids fills it, as in loads.
        found = source.columns.get(external_of(entity).id or ID)
    if found is None and (prop.column is not None or not prop.type.nullable):
        raise _missing(entity, source, f"{entity.name}.{name}", wanted)
    return SealedColumn(name, prop.type, prop.id, *_place(found))


def _place(column: SourceColumn | None) -> tuple[str | None, int | None]:
    return (None, None) if column is None else (column.source, column.number)


def _id(entity: Entity, source: Source) -> SourceColumn | None:
    """The column of ids; None if they are derived from the key, or for an edge from the place of its row."""
    if entity.key:
        return None
    wanted = external_of(entity).id
    found = source.columns.get(wanted or ID)
    if found is None and (wanted is not None or isinstance(entity, NodeType)):
        raise _missing(entity, source, f"the ids of {entity.name}", wanted or ID)
    return found


def _end(edge: EdgeType, source: Source, name: str) -> SourceColumn:
    given = external_of(edge).source if name == SRC else external_of(edge).target
    if given is not None:
        names = [given]
    else:
        names = [column for column in source.columns if END_NAMES.get(column.lower()) == name]
    if len(names) != 1 or names[0] not in source.columns:
        argument = "from" if name == SRC else "to"
        raise _missing(edge, source, f"the ids of the nodes that {edge.name} leads {argument}", given or argument)
    return source.columns[names[0]]


def _missing(entity: Entity, source: Source, what: str, wanted: str) -> UsageError:
    names = list(source.columns)
    annotation = '@external(..., id="...")' if what.startswith("the ids") else '@column("...")'
    if isinstance(entity, EdgeType) and what.endswith((" from", " to")):
        annotation = '@external(..., from="...", to="...")'
    near = did_you_mean(wanted, names)
    return UsageError(
        f"{source.address!r} has no column {wanted!r} for {what}",
        hint=f"{near or ''} its columns are {listed(names)}; name another one with {annotation}".strip(),
        column=wanted,
        type=entity.name,
    )


def unread_properties(entity: Entity, columns: Mapping[str, SealedColumn]) -> list[str]:
    """The properties that are null in every row, because the source has no column for them."""
    return [name for name in entity.properties if columns[name].source is None]
