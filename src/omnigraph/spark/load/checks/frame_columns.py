"""Columns of a frame against the type they are written to, before any task runs.

Unknown and missing columns, and columns of a type that no value could have, are the same violations that tasks would
report for their rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from omnigraph.core.scalars import Scalar
from omnigraph.rows.arrow_types import DST, ID, SRC, Entity
from omnigraph.rows.casting.arrow_casts import cast_column
from omnigraph.rows.casting.problems import WrongColumn, WrongValue
from omnigraph.rows.ends.references import type_columns
from omnigraph.rows.id_columns import id_column
from omnigraph.rows.omissions import Omissions
from omnigraph.rows.read.arrow import from_batches
from omnigraph.rows.read.json_records import unfit_message
from omnigraph.rows.violations import Violation, ViolationCode, Violations
from omnigraph.schema.types import PropertyType
from omnigraph.write.violations import violation_error

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

_TEXT = PropertyType(Scalar.STRING)


def check_frame(entity: Entity, columns: Mapping[str, DataType], omissions: Omissions) -> None:
    """Raise ViolationError that names every column, by stored name, that the type does not have or cannot hold."""
    types = {name: arrow_of(kind) for name, kind in columns.items()}
    violations = Violations()
    schema = pa.schema([pa.field(name, kind or pa.null()) for name, kind in types.items()])
    # Without batches only the names are compared.
    list(
        from_batches(
            entity, schema, [], source="", mint_ids=lambda count: "", violations=violations, omissions=omissions
        )
    )
    for name, kind in types.items():
        is_end = name in (ID, SRC, DST, *type_columns(entity))
        if name not in entity.properties and not is_end:
            continue
        type_ = _TEXT if is_end else entity.properties[name].type
        why = f"a column of {columns[name].simpleString()} cannot be read as {type_}"
        if kind is None or not _fits(kind, type_, is_text=is_end or name in entity.key):
            message = f"{name}: {why}" if is_end else unfit_message(entity, name, why)
            violations.add(Violation(ViolationCode.TYPE, message, entity.table_key, property=name))
    if violations.total:
        raise violation_error(violations)


def _fits(kind: pa.DataType, type_: PropertyType, *, is_text: bool) -> bool:
    """True if values of the Arrow type may be valid; keys and ids are also read from numbers and dates."""
    empty = pa.nulls(0, kind)
    try:
        cast_column(empty, type_, from_texts=True)
    except (WrongColumn, WrongValue):
        if not is_text:
            return False
        try:
            id_column(empty, None)
        except (WrongColumn, WrongValue):
            return False
    return True


def arrow_of(kind: DataType) -> pa.DataType | None:
    """The Arrow type that Spark sends a column in; None for a type that Arrow cannot hold."""
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_type

    try:
        return to_arrow_type(kind, timezone="UTC")
    except PySparkException:
        return None
