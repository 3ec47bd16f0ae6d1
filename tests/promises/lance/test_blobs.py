"""Blob columns (version 2): large values beside the rows, staged and kept like any other column."""

import dataclasses

import pyarrow as pa
import pytest
from lance import LanceDataset, LanceOperation, blob_array, blob_field
from lance.fragment import write_fragments
from lance.optimize import Compaction

SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("size", pa.int32()), blob_field("image")])
SMALL, PACKED, OWN_FILE = b"small", b"p" * 100_000, b"d" * 5_000_000


def images(values: dict[str, bytes | None]) -> pa.Table:
    sizes = pa.array([None if value is None else len(value) for value in values.values()], pa.int32())
    return pa.table({"id": list(values), "size": sizes, "image": blob_array(list(values.values()))}, schema=SCHEMA)


def read(dataset: LanceDataset) -> dict[str, bytes | None]:
    found = dataset.to_table(columns=["id"], with_row_address=True)
    files = dataset.take_blobs("image", addresses=found["_rowaddr"].to_pylist())
    return {key: file and file.readall() for key, file in zip(found["id"].to_pylist(), files, strict=True)}


@pytest.fixture
def base(place, detach):
    uri = place.uri("t")
    fragments = write_fragments(images({"a": SMALL, "b": PACKED, "c": OWN_FILE, "d": None}), uri, mode="create")
    first = LanceDataset.commit(uri, LanceOperation.Overwrite(SCHEMA, fragments), enable_stable_row_ids=True)
    more = write_fragments(images({"e": b"more"}), first, mode="append")
    return detach(first, LanceOperation.Append(more))


def test_values_of_every_size_and_null_come_back_from_a_detached_version(base):
    """Blob properties are staged and pinned like all others."""
    assert read(base) == {"a": SMALL, "b": PACKED, "c": OWN_FILE, "d": None, "e": b"more"}


def test_a_scan_gives_descriptions_and_does_not_read_the_values(base):
    """Queries over a type with images cost what its small columns cost."""
    base.io_stats_incremental()
    table = base.to_table()
    assert base.io_stats_incremental().read_bytes < 100_000
    assert table["image"].to_pylist()[2]["size"] == len(OWN_FILE)


def test_values_are_read_in_bulk_when_asked_for(base):
    """What an export of a type with blobs does."""
    table = base.scanner(columns=["id", "image"], blob_handling="all_binary").to_table()
    assert dict(zip(table["id"].to_pylist(), table["image"].to_pylist(), strict=True))["b"] == PACKED


def test_a_part_of_a_large_value_is_read_without_the_rest(base):
    """Serving a range of a large value costs the range."""
    (file,) = base.take_blobs("image", indices=[2])
    base.io_stats_incremental()
    file.seek(1_000_000)
    assert file.read(10) == b"d" * 10
    assert base.io_stats_incremental().read_bytes < 1_000_000


def test_an_upsert_replaces_and_adds_values(base):
    """Blobs need no write path of their own."""
    builder = base.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    transaction, _ = builder.execute_uncommitted(images({"a": PACKED, "f": SMALL}))
    new = LanceDataset.commit(base, transaction, detached=True)
    assert read(new) == {"b": PACKED, "c": OWN_FILE, "d": None, "e": b"more", "a": PACKED, "f": SMALL}


def test_an_update_of_another_column_keeps_the_value(base):
    """Setting a property of an entity with an image does not lose the image."""
    narrow = pa.schema([SCHEMA.field("id"), SCHEMA.field("size")])
    source = pa.table({"id": ["a", "b"], "size": pa.array([-1, -2], pa.int32())}, schema=narrow)
    transaction, _ = base.merge_insert("id").when_matched_update_all().execute_uncommitted(source)
    new = LanceDataset.commit(base, transaction, detached=True)
    assert read(new) == read(base)
    assert new.to_table(columns=["id"], filter="size < 0").num_rows == 2


def test_a_compaction_keeps_the_values(base, detach):
    """Optimize needs no exception for tables with blobs."""
    (result,) = [task.execute(base) for task in Compaction.plan(base, {}).tasks]
    numbered = [dataclasses.replace(new, id=2 + place) for place, new in enumerate(result.new_fragments)]
    group = LanceOperation.RewriteGroup(result.original_fragments, numbered)
    assert read(detach(base, LanceOperation.Rewrite([group], []))) == read(base)


def test_large_values_lie_in_a_directory_named_after_the_data_file(base, place):
    """The fragment does not name these files: fsync, checksums and cleanup list this one directory instead."""
    (file,) = base.get_fragment(0).metadata.files
    directory = place.directory / "t" / "data" / file.path.removesuffix(".lance")
    assert sorted(path.stat().st_size for path in directory.iterdir()) == [len(PACKED), len(OWN_FILE)]
    assert {path.suffix for path in directory.iterdir()} == {".blob"}

    (file,) = base.get_fragment(1).metadata.files
    assert not (place.directory / "t" / "data" / file.path.removesuffix(".lance")).exists()
