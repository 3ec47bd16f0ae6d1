"""Rows that were read under one schema, converted to a later one.

A load reads its input once. After a concurrent schema change, rows that still fit are converted: renamed properties are
mapped, and new nullable ones are null.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from omnigraph.errors import ReadSetConflict
from omnigraph.rows.arrow_types import DST, ID, SRC, Entity, column_type, table_schema
from omnigraph.rows.ends.references import type_columns, with_types
from omnigraph.rows.omissions import moved_cells
from omnigraph.rows.validate import TableDelta
from omnigraph.rows.values import check_values
from omnigraph.rows.violations import Violations
from omnigraph.schema.catalog import Catalog, EdgeType
from omnigraph.write.violations import violation_error


def check_same_type(entity: Entity, catalog: Catalog) -> None:
    """Raise a conflict if rows were written to disk under another declaration of their type."""
    current = continued(entity, catalog)
    if current is None or current.ir != entity.ir:
        raise _type_conflict(entity, "was changed" if current is not None else "was dropped")


def retyped(delta: TableDelta, catalog: Catalog, *, is_partial: bool = False) -> TableDelta:
    """The delta under the schema of a catalog; raises a conflict if it no longer fits.

    Rows of a partial delta may lack required values, which come from the committed rows.
    """
    before = delta.entity
    after = continued(before, catalog)
    if after is None:
        raise _type_conflict(before, "was dropped")
    if after.ir == before.ir:
        return delta
    columns, tags = _column_names(delta, after), set(type_columns(after))
    schema = pa.schema([field.with_nullable(True) for field in table_schema(after)])
    arrays = [
        delta.rows.column(columns[field.name]) if field.name in columns else pa.nulls(delta.rows.num_rows, field.type)
        for field in schema
    ]
    rows = pa.Table.from_arrays(arrays, schema=schema)
    violations = Violations()
    later = schema.names if is_partial else ()
    for batch in rows.to_batches():
        check_values(after, batch, lambda _: None, violations, later)
    if violations.total:
        raise violation_error(violations)
    # The tag of a new column for types goes with the id of its node.
    places = [_place(delta, columns, name.removesuffix("_type") if name in tags else name) for name in schema.names]
    return replace(delta, entity=after, rows=rows, omitted=moved_cells(delta.omitted, rows.num_rows, places))


def _place(delta: TableDelta, columns: Mapping[str, str], name: str) -> int | None:
    return delta.rows.schema.names.index(columns[name]) if name in columns else None


def _column_names(delta: TableDelta, after: Entity) -> dict[str, str]:
    """Columns of a type that rows of an older declaration have, mapped to their names there."""
    before = delta.entity
    fixed = (ID, *with_types(after, (SRC, DST)))
    names = {name: name for name in fixed if name in delta.rows.schema.names and name not in before.properties}
    kept = {prop.id: prop for prop in after.properties.values()}
    for name, prop in before.properties.items():
        current = kept.get(prop.id)
        if current is not None and column_type(current.type) == column_type(prop.type):
            names[current.name] = name
        elif delta.rows.column(name).null_count < delta.rows.num_rows:
            raise _type_conflict(
                before, f"lost the property {name}" if current is None else f"changed the type of {name}"
            )
    return names


def continued(entity: Entity, catalog: Catalog) -> Entity | None:
    """The type with the same stable id in another schema of the graph, if any."""
    types: list[Entity] = [*(catalog.edges if isinstance(entity, EdgeType) else catalog.nodes).values()]
    return next((item for item in types if item.ir.id == entity.ir.id), None)


def _type_conflict(entity: Entity, what: str) -> ReadSetConflict:
    return ReadSetConflict(
        f"the schema changed during this load: type {entity.name} {what}",
        hint="load again, with rows that fit the new schema",
        member="schema",
        type_name=entity.name,
    )
