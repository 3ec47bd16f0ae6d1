"""Columns of the change feed, and the changes of a commit as batches of them.

Images are structs with the properties of the type if one type is named; types have different properties, so otherwise
they are JSON texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.commit import GraphCommit
from omnigraph.engine.history.change_rows import ChangeRows
from omnigraph.history.changes import Change, Image
from omnigraph.rows.arrow_types import ID, Entity, table_schema
from omnigraph.spark.cluster import limits
from omnigraph.spark.cluster.spark_types import arrow_type, spark_schema
from omnigraph.storage.tables.store import Store

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_TEXTS = ("commit_id", "parent_commit_id", "branch", "actor")
_CHANGE = ("kind", "type", "id", "op")


def change_schema(entity: Entity | None) -> StructType:
    """The columns of a feed, with the images of one type or with JSON texts."""
    from pyspark.sql import types as t

    text = t.StringType()
    image = text if entity is None else _image(entity)
    return t.StructType(
        [
            *(t.StructField(name, text) for name in _TEXTS),
            t.StructField("committed_at", t.TimestampType()),
            t.StructField("number", t.LongType()),
            *(t.StructField(name, text) for name in _CHANGE),
            t.StructField("changed", t.ArrayType(text)),
            t.StructField("before", image),
            t.StructField("after", image),
        ]
    )


def _image(entity: Entity) -> StructType:
    from pyspark.sql import types as t

    names = [name for name in table_schema(entity).names if name != ID]
    # Nullable: a commit may be older than a property.
    return t.StructType([t.StructField(item.name, item.dataType) for item in spark_schema(entity, names).fields])


def change_batches(
    commit: GraphCommit, first: int, tables: Iterator[ChangeRows], store: Store, schema: StructType
) -> Iterator[pa.RecordBatch]:
    """The changes as batches; ``first`` is the number of the first one."""
    image = schema["after"].dataType
    arrow = pa.schema([pa.field(field.name, arrow_type(field.dataType)) for field in schema.fields])
    number = first
    for rows in tables:
        for start in range(0, len(rows), limits.FACT_BATCH_ROWS):
            part = rows.slice(start, limits.FACT_BATCH_ROWS)
            images = _texts(part, store) if image.typeName() == "string" else _structs(part, store, arrow)
            facts = _facts(commit, number, part)
            arrays = [facts[field.name] if field.name in facts else images[field.name] for field in arrow]
            yield pa.RecordBatch.from_arrays(
                [_cast(array, field.type) for array, field in zip(arrays, arrow, strict=True)], schema=arrow
            )
            number += len(part)


def _facts(commit: GraphCommit, number: int, rows: ChangeRows) -> dict[str, pa.Array]:
    count = len(rows)
    same: dict[str, Any] = {
        "commit_id": commit.id,
        "parent_commit_id": commit.parents[0],
        "branch": commit.branch,
        "actor": commit.actor,
        "kind": rows.kind,
        "type": rows.entity.name,
    }
    return {
        **{name: pa.array([value] * count, pa.string()) for name, value in same.items()},
        "committed_at": pa.array([commit.created_at_us] * count, pa.timestamp("us", tz="UTC")),
        "number": pa.array(range(number, number + count), pa.int64()),
        "id": rows.ids,
        "op": rows.ops,
        "changed": _ordered(rows),
    }


def _ordered(rows: ChangeRows) -> pa.Array:
    """The names of changed columns in the order of the type."""
    position = {name: place for place, name in enumerate(rows.after.schema.names)}
    listed = [sorted(names, key=position.__getitem__) for names in rows.changed.to_pylist()]
    return pa.array(listed, pa.list_(pa.string()))


def _texts(rows: ChangeRows, store: Store) -> dict[str, pa.Array]:
    changes: list[Change] = list(islice(rows.exact(store), len(rows)))
    return {
        "before": pa.array([_text(change.before) for change in changes], pa.string()),
        "after": pa.array([_text(change.after) for change in changes], pa.string()),
    }


def _text(image: Image | None) -> str | None:
    return None if image is None else json.dumps(image.to_json(), ensure_ascii=False)


def _structs(rows: ChangeRows, store: Store, schema: pa.Schema) -> dict[str, pa.Array]:
    found = {}
    for name, table, stored in zip(("before", "after"), rows.images(store), (rows.before, rows.after), strict=True):
        fields = list(schema.field(name).type)
        known = set(table.schema.names)
        arrays = [
            _cast(table.column(field.name).combine_chunks(), field.type)
            if field.name in known
            else pa.nulls(len(rows), field.type)
            for field in fields
        ]
        absent = pc.is_null(stored.column(ID).combine_chunks())
        found[name] = pa.StructArray.from_arrays(arrays, fields=fields, mask=absent)
    return found


def _cast(array: pa.Array | pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    whole = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    return whole if whole.type == kind else whole.cast(kind)
