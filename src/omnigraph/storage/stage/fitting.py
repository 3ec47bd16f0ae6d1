"""Versions of other programs fitted to our tables: order, numbers, metadata and nullability of the columns.

Lance's overwrite starts with a schema of its own, and a column that another program added does not know its property.
Only manifests are written: fragments name the columns of their files by number, so they can be renumbered.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from lance import FragmentMetadata, LanceDataset, LanceOperation
from lance.schema import LanceSchema

from omnigraph.storage.objects.failures import translated
from omnigraph.storage.stage.evolution import Columns, numbered
from omnigraph.storage.stage.foreign import ForeignVersion, refused
from omnigraph.storage.stage.staging import stage_operation
from omnigraph.storage.tables.store import Store
from omnigraph.storage.tables.table_schema import stored_schema


def fitted_version(store: Store, foreign: ForeignVersion, schema: pa.Schema) -> LanceDataset:
    """The version with exactly the columns of the schema: itself, or another one on top of it or of its base."""
    base, dataset = foreign.base, foreign.dataset
    before = store.open(base.location, base.lance_version)
    wanted = stored_schema(schema)
    if _same_columns(before, dataset):
        if not foreign.added:
            return dataset
        target = _with_added(before, foreign, wanted, {one.name(): one.id() for one in dataset.lance_schema.fields()})
        return stage_operation(store, dataset, base.location, LanceOperation.Project(target))
    if set(_data_files(before)) & set(_data_files(dataset)):
        what = "changes columns that it shares with the current version"
        raise refused(base, foreign.version, what, "change the schema with graph.apply_schema, then stage the rows")
    numbers = _fresh_numbers(before, foreign.added)
    target = _with_added(before, foreign, wanted, numbers)
    operation = LanceOperation.Overwrite(target, _renumbered(foreign, target))
    return stage_operation(store, before, base.location, operation)


def missing_values(store: Store, foreign: ForeignVersion) -> dict[str, int]:
    """Nulls in columns that have none in the base, by column. Only an overwrite can have them, and is read for them."""
    before = store.open(foreign.base.location, foreign.base.lance_version)
    required = [field.name for field in before.schema if not field.nullable]
    relaxed = [name for name in required if foreign.dataset.schema.field(name).nullable]
    with translated(f"the staged version of {foreign.base.key} cannot be read", table=foreign.base.key):
        counts = {name: foreign.dataset.count_rows(f"`{name}` IS NULL") for name in relaxed}
    return {name: count for name, count in counts.items() if count}


def _same_columns(before: LanceDataset, dataset: LanceDataset) -> bool:
    """True if the columns of the first version are unchanged in the second: numbers, nullability and metadata."""
    one, other = Columns(before), Columns(dataset)
    return all(one.protos[name] == other.protos[name] for name in before.schema.names)


def _with_added(
    before: LanceDataset, foreign: ForeignVersion, wanted: pa.Schema, numbers: Mapping[str, int]
) -> LanceSchema:
    """The columns of the base as they are, and the added ones with the metadata of their properties."""
    columns = Columns(before)
    added = {
        field.name: numbered([wanted.field(field.name)], numbers[field.name])[field.name] for field in foreign.added
    }
    return columns.schema([added[name] if name in added else columns.protos[name] for name in wanted.names])


def _fresh_numbers(before: LanceDataset, added: Sequence[pa.Field]) -> dict[str, int]:
    """Numbers for columns, above those of all files. A nested column takes one more for each field inside."""
    numbers: dict[str, int] = {}
    following = before.max_field_id + 1
    for field in added:
        numbers[field.name] = following
        following += len(list(_fields_within(field)))
    return numbers


def _fields_within(field: pa.Field) -> Iterator[pa.Field]:
    yield field
    for index in range(field.type.num_fields):
        yield from _fields_within(field.type.field(index))


def _renumbered(foreign: ForeignVersion, target: LanceSchema) -> list[FragmentMetadata]:
    """The fragments of an overwrite, with the numbers that its columns have in the target."""
    present = {field.name(): list(_numbers(field)) for field in target.fields()}
    numbers: dict[int, int] = {}
    for field in foreign.dataset.lance_schema.fields():
        numbers |= zip(_numbers(field), present[field.name()], strict=True)
    fragments: list[FragmentMetadata] = []
    for fragment in foreign.dataset.get_fragments():
        parts = fragment.metadata.to_json()
        if parts.get("deletion_file"):
            what = "is an overwrite with deleted rows"
            raise refused(foreign.base, foreign.version, what, "leave these rows out of the overwrite")
        # Lance assigns ids of fragments and rows when it commits.
        fresh = dict.fromkeys(("row_id_meta", "created_at_version_meta", "last_updated_at_version_meta"))
        files = [{**file, "fields": [numbers.get(one, one) for one in file["fields"]]} for file in parts["files"]]
        fragments.append(FragmentMetadata.from_json(json.dumps({**parts, **fresh, "id": 0, "files": files})))
    return fragments


def _numbers(field: Any) -> Iterator[int]:
    yield field.id()
    for child in field.children():
        yield from _numbers(child)


def _data_files(dataset: LanceDataset) -> Iterator[str]:
    for fragment in dataset.get_fragments():
        yield from (file.path for file in fragment.metadata.files)
