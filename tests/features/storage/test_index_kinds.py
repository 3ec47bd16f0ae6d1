"""Every kind of index goes through every column of its table: built, searched, extended and maintained by its row."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from lance import LanceDataset

from omnigraph.core.tables import TablePin
from omnigraph.core.tuning import Tuning
from omnigraph.errors import StorageError
from omnigraph.storage.index.building import absorbed, build_segment, counting_dead_rows, planned_segments
from omnigraph.storage.index.indexes import IndexKind, IndexSpec, coverage_of, fragment_rows
from omnigraph.storage.index.kinds import TRAITS, IndexTraits, segment_rows_max
from omnigraph.storage.index.known import known_indexes
from omnigraph.storage.index.probes import Neighbours, Question, Words
from omnigraph.storage.objects.version_names import manifest_file
from omnigraph.storage.stage.staging import StagedVersion, create_table, stage_delta, stage_operation, write_rows
from omnigraph.storage.tables.filters import Comparison, Substring
from omnigraph.storage.tables.store import Store
from omnigraph.storage.upkeep.maintenance import index_operation
from omnigraph.write.upkeep.index_choice import index_rows_min

ROWS = 300
SCHEMA = pa.schema(
    [("id", pa.string()), ("value", pa.int64()), ("text", pa.string()), ("vector", pa.list_(pa.float32(), 4))]
)

EXAMPLES: dict[IndexKind, tuple[str, Question]] = {
    IndexKind.BTREE: ("value", Comparison("value", "=", pa.scalar(7, pa.int64()))),
    IndexKind.TEXT: ("text", Words("word7", 0)),
    IndexKind.NGRAM: ("text", Substring("text", "word7 ")),
    IndexKind.VECTOR: ("vector", Neighbours([999.0] * 4, 1)),
}
"""A column for each kind, and a question that only row 7 answers."""


def rows(start: int = 0) -> pa.Table:
    numbers = range(start, start + ROWS)
    vectors = pa.array(
        [[1000.0 if number == 7 else number / ROWS] * 4 for number in numbers], SCHEMA.field("vector").type
    )
    ids = pa.array([f"{number}" for number in numbers])
    return pa.table(
        [ids, pa.array(numbers), pa.array([f"word{number} all" for number in numbers]), vectors], schema=SCHEMA
    )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path, durability="os")


@pytest.fixture
def staged(store: Store) -> StagedVersion:
    created = create_table(store, "nodes/t", SCHEMA)
    base = store.open(created.location, created.version)
    return stage_delta(store, base, "nodes/t", [write_rows(store, base, "nodes/t", rows())], [])


def indexed(store: Store, staged: StagedVersion, spec: IndexSpec) -> TablePin:
    """The table with the index."""
    dataset = store.open(staged.location, staged.version)
    [coverage] = coverage_of(dataset, [spec])
    [plan] = planned_segments(coverage, fragment_rows(dataset))
    built = build_segment(store, staged.location, staged.version, plan)
    assert built is not None
    made = stage_operation(store, dataset, staged.location, index_operation([built], []))
    return TablePin("node:T", staged.location, made.version, 1, ROWS)


def test_every_kind_has_a_row() -> None:
    assert TRAITS.keys() == set(IndexKind) == EXAMPLES.keys()


@pytest.mark.parametrize("kind", IndexKind)
def test_every_row_fills_every_column(kind: IndexKind) -> None:
    traits = TRAITS[kind]
    assert {field.name for field in fields(IndexTraits) if getattr(traits, field.name) is None} <= {"statistics_type"}
    assert segment_rows_max(kind) > index_rows_min(kind, Tuning()) > 0


@pytest.mark.parametrize("kind", IndexKind)
def test_a_built_index_covers_the_table_and_finds_its_rows(
    store: Store, staged: StagedVersion, kind: IndexKind
) -> None:
    column, question = EXAMPLES[kind]
    pin = indexed(store, staged, IndexSpec(column, kind))
    assert known_indexes(store, pin)[column, kind].is_complete
    found = TRAITS[kind].probe(store.open(pin.location, pin.lance_version), column, question)
    assert [address & 0xFFFFFFFF for address in found.column("_rowaddr").to_pylist()] == [7]


@pytest.mark.parametrize("kind", IndexKind)
def test_a_small_segment_is_absorbed_by_later_rows(store: Store, staged: StagedVersion, kind: IndexKind) -> None:
    column, _ = EXAMPLES[kind]
    pin = indexed(store, staged, IndexSpec(column, kind))
    base = store.open(pin.location, pin.lance_version)
    later = stage_delta(store, base, pin.location, [write_rows(store, base, pin.location, rows(ROWS))], [])
    dataset = store.open(pin.location, later.version)
    [coverage] = coverage_of(dataset, [IndexSpec(column, kind)])
    assert coverage.covered_rows == ROWS
    assert absorbed(coverage, fragment_rows(dataset)) == coverage.segments


@pytest.mark.parametrize("kind", IndexKind)
def test_segments_with_statistics_are_rebuilt_when_deleted_rows_are_dropped(
    store: Store, staged: StagedVersion, kind: IndexKind
) -> None:
    column, _ = EXAMPLES[kind]
    pin = indexed(store, staged, IndexSpec(column, kind))
    base = store.open(pin.location, pin.lance_version)
    [fragment] = base.get_fragments()
    removed = np.array([(fragment.fragment_id << 32) + 3], np.uint64)
    shortened = store.open(pin.location, stage_delta(store, base, pin.location, [], removed.tolist()).version)
    losing = [item.metadata for item in shortened.get_fragments()]
    found = counting_dead_rows(shortened, losing)
    assert bool(found) is (TRAITS[kind].statistics_type is not None)


def test_indexes_that_cannot_be_read_are_a_typed_error(store: Store, staged: StagedVersion) -> None:
    """Lance reads their section of the manifest late, and not by the handle that opened it."""
    pin = indexed(store, staged, IndexSpec("value", IndexKind.BTREE))
    opened = store.open(pin.location, pin.lance_version)
    dataset = LanceDataset(opened.uri, opened.version, serialized_manifest=opened._ds.serialized_manifest())
    Path(store.root.local(manifest_file(pin.location, pin.lance_version))).unlink()
    with pytest.raises(StorageError, match="indexes of"):
        coverage_of(dataset, [IndexSpec("value", IndexKind.BTREE)])
