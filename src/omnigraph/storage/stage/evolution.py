"""Schema evolution of a table: detached versions that add, drop and rename columns without rewriting data.

Invariant: data files identify columns by number. A column that stays keeps its number under any name, and a new column
gets a number that no file uses. So the bytes of a dropped column are never read as those of another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from lance import LanceDataset, LanceOperation
from lance.schema import LanceSchema

from omnigraph.storage.stage.staging import StagedVersion, stage_operation, staged_version
from omnigraph.storage.tables.store import Store
from omnigraph.storage.tables.table_schema import stored_schema

Identity = Callable[[pa.Field], object]
"""Maps a column to its identity, which survives a rename."""


def stage_columns(
    store: Store, base: LanceDataset, location: str, schema: pa.Schema, identity: Identity
) -> StagedVersion | None:
    """A version with exactly the columns of the schema, in its order; None if the base has them already.

    Existing rows have null in new columns. The caller ensures that new columns are nullable, and that columns which
    become non-nullable hold no null.
    """
    wanted = stored_schema(schema)

    def same(before: pa.Field, after: pa.Field) -> bool:
        return before.equals(after) and identity(before) == identity(after)

    if base.schema.names == wanted.names and all(map(same, base.schema, wanted)):
        return None
    if base.count_rows() == 0:
        dataset = stage_operation(store, base, location, LanceOperation.Overwrite(wanted, []))
        return staged_version(store, dataset, location, [])
    stored = Columns(base)
    by_identity = {identity(field): field.name for field in base.schema}
    kept = {field.name: by_identity[identity(field)] for field in wanted if identity(field) in by_identity}
    projected = stored.schema([stored.changed(kept[field.name], field) for field in wanted if field.name in kept])
    dataset = stage_operation(store, base, location, LanceOperation.Project(projected))
    added = [field for field in wanted if field.name not in kept]
    if not added:
        return staged_version(store, dataset, location, [])
    between = Columns(dataset)
    # The maximum over both: the base also counts columns dropped just now, whose bytes are still in files.
    described = numbered(added, max(base.max_field_id, dataset.max_field_id) + 1)
    parts = [between.protos[field.name] if field.name in kept else described[field.name] for field in wanted]
    fragments = [fragment.metadata for fragment in dataset.get_fragments()]
    final = stage_operation(store, dataset, location, LanceOperation.Merge(fragments, between.schema(parts)))
    return staged_version(store, final, location, [])


class Columns:
    """The columns of a version as Lance describes them: one description per column and nested field."""

    def __init__(self, dataset: LanceDataset) -> None:
        self._metadata, self.protos = _described(dataset.lance_schema)
        self._stored = dataset.schema
        self._numbers = {field.name(): field.id() for field in dataset.lance_schema.fields()}

    def changed(self, name: str, wanted: pa.Field) -> list[Any]:
        """A column changed to the wanted field, with its present number."""
        if self._stored.field(name).equals(wanted):
            return self.protos[name]
        return numbered([wanted], self._numbers[name])[wanted.name]

    def schema(self, columns: list[list[Any]]) -> LanceSchema:
        return LanceSchema._from_protos(self._metadata, *(proto for column in columns for proto in column))


def numbered(fields: list[pa.Field], first: int) -> dict[str, list[Any]]:
    """Descriptions of fields with numbers from ``first`` on. Lance numbers from 0, so dummy fields come first."""
    others = [pa.field(f"{number}", pa.int8()) for number in range(first)]
    _, described = _described(LanceSchema.from_pyarrow(pa.schema([*others, *fields])))
    return {field.name: described[field.name] for field in fields}


def _described(schema: LanceSchema) -> tuple[Any, dict[str, list[Any]]]:
    """The metadata of a schema, and its descriptions by column: each precedes those of its nested fields."""
    pickled: Any = schema.__reduce__()
    metadata, *protos = pickled[1]
    rest = iter(protos)
    return metadata, {field.name(): [next(rest) for _ in _walk(field)] for field in schema.fields()}


def _walk(field: Any) -> Iterator[Any]:
    yield field
    for child in field.children():
        yield from _walk(child)
