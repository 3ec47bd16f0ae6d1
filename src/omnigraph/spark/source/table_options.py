"""Options of a table in Spark's catalog, kept in the metadata of its columns (ADR 23).

Spark passes the options of ``CREATE TABLE ... USING omnigraph`` to the source when it creates the table, and no options
when it reads the table or inserts into it. It does pass the columns of the table, with their metadata.

A reader always receives the table's own columns. A writer receives the columns of the inserted rows: Spark gives them
the metadata of the table only if it has to adapt them. If names and types are equal, it passes them through, with the
metadata of the table they were read from, which is another graph. So one column of every table is also marked as a
``varchar`` whose length is a digest of the options. Spark ignores the length of a text column that it reads, but finds
the types different from those of every other table and adapts the columns, which removes the mark. A mark that arrives
at the writer therefore proves that the metadata are not those of the target.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from omnigraph.errors import UsageError
from omnigraph.spark.source.options import STORAGE

if TYPE_CHECKING:
    from pyspark.sql.types import StructField, StructType

_OPTIONS = "omnigraph"
_MARK = "__CHAR_VARCHAR_TYPE_STRING"
"""Spark's name for the declared type of a text column."""
_UNWRITABLE = "omnigraph_unwritable"
"""Set where no column can be marked, because none is a text."""
_CREATING = "provider"
"""The property by which Spark names the source of a table that it creates."""
_SECRET_WORDS = ("key", "secret", "token", "password")


def is_creating(given: Mapping[str, str]) -> bool:
    """True if the options are those of a new table in Spark's catalog."""
    return _CREATING in {name.lower() for name in given}


def with_options(schema: StructType, given: Mapping[str, str]) -> StructType:
    """The columns of a new table, which hold its options. Ids may be null: a key gives them, or they are generated.

    Credentials stay out, because the metadata of columns are visible to all readers of the table.
    """
    from pyspark.sql.types import StringType, StructField, StructType

    text = json.dumps(without_secrets(given), sort_keys=True)
    length = 2**30 + int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) % 2**30
    marked = next((field.name for field in schema.fields if isinstance(field.dataType, StringType)), None)
    fields = []
    for field in schema.fields:
        metadata: dict[str, object] = {_OPTIONS: text}
        if marked is None:
            metadata[_UNWRITABLE] = True
        elif field.name == marked:
            metadata[_MARK] = f"varchar({length})"
        fields.append(StructField(field.name, field.dataType, field.nullable or field.name == "id", metadata))
    return StructType(fields)


def without_secrets(given: Mapping[str, str]) -> dict[str, str]:
    """The options without credentials of the object store."""
    return {name: value for name, value in given.items() if not _is_secret(name.lower())}


def _is_secret(name: str) -> bool:
    return name.startswith(STORAGE) and any(word in name for word in _SECRET_WORDS)


def read_options(schema: StructType) -> dict[str, str]:
    """The options of the table that a frame reads; none if it is not one of the catalog."""
    for field in schema.fields:
        if _OPTIONS in field.metadata:
            return _options(field)
    return {}


def written_options(schema: StructType) -> dict[str, str]:
    """The options of the table that rows are inserted into; raises UsageError if Spark does not say which it is."""
    found = [field for field in schema.fields if _OPTIONS in field.metadata]
    is_adapted = not any(name in field.metadata for field in found for name in (_MARK, _UNWRITABLE))
    if found and len(found) == len(schema.fields) and is_adapted:
        return _options(found[0])
    raise UsageError(
        "Spark does not say which table of the graph to write",
        hint="name it: INSERT INTO t WITH ('path' = '...', 'type' = '...'), or the options path and type of the writer",
    )


def _options(field: StructField) -> dict[str, str]:
    found: dict[str, str] = json.loads(field.metadata[_OPTIONS])
    return found
