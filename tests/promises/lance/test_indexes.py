"""Indexes as segments: built on a pinned version, committed detached, extended fragment by fragment."""

import lance
import numpy as np
import pyarrow as pa
import pytest
from lance import LanceDataset, LanceOperation
from lance.fragment import write_fragments

DOCUMENTS = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("number", pa.int32()),
        pa.field("text", pa.string()),
        pa.field("vector", pa.list_(pa.float32(), 4)),
    ]
)


def documents(start: int, stop: int) -> pa.Table:
    numbers = range(start, stop)
    vectors = np.array([[n, n, n, n] for n in numbers], dtype=np.float32)
    return pa.table(
        {
            "id": [f"d{n:04d}" for n in numbers],
            "number": pa.array(numbers, pa.int32()),
            "text": [f"word{n} everywhere" for n in numbers],
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 4),
        },
        schema=DOCUMENTS,
    )


@pytest.fixture
def grow(detach):
    """Append documents start..stop to a dataset, as one new fragment."""

    def grow(base, start, stop):
        return detach(base, LanceOperation.Append(write_fragments(documents(start, stop), base, mode="append")))

    return grow


@pytest.fixture
def base(place, grow):
    """300 documents in fragments 0 and 1, detached."""
    uri = place.uri("t")
    first = LanceDataset.commit(
        uri,
        LanceOperation.Overwrite(DOCUMENTS, write_fragments(documents(0, 200), uri, mode="create")),
        enable_stable_row_ids=True,
    )
    return grow(first, 200, 300)


def segment(dataset, column, kind, fragment_ids, *, extend=False, **arguments):
    built = dataset.create_index_uncommitted(
        column, kind, name=f"{column}_idx", fragment_ids=fragment_ids, replace=extend, **arguments
    )
    return dataset.merge_existing_index_segments([built]) if kind == "INVERTED" else built


def uses_index(dataset, condition) -> bool:
    return "ScalarIndexQuery" in dataset.scanner(filter=condition).explain_plan()


def ids(table) -> list[str]:
    return sorted(table["id"].to_pylist())


def nearest(dataset, number, k=1, **arguments):
    query = np.full(4, number, dtype=np.float32)
    return dataset.to_table(nearest={"column": "vector", "q": query, "k": k, **arguments}, columns=["id"])


def test_building_a_segment_needs_the_fragments_it_covers(base):
    """Optimize always says which uncovered fragments it indexes."""
    with pytest.raises(ValueError, match="fragment_ids"):
        base.create_index_uncommitted("id", "BTREE", name="id_idx")


def test_a_btree_segment_built_on_a_detached_version_is_used_after_a_detached_commit(base, detach, coverage):
    """Lookups by id use an index that was built and published like any other change."""
    built = segment(base, "id", "BTREE", [0, 1])
    assert coverage(base) == {}, "building publishes nothing"
    indexed = detach(base, LanceOperation.CreateIndex([built], []))

    assert coverage(indexed) == {"id_idx": [[0, 1]]}
    assert uses_index(indexed, "id = 'd0250'")
    assert ids(indexed.to_table(filter="id = 'd0250'")) == ["d0250"]
    assert lance.dataset(base.uri).version == 1


def test_an_append_leaves_the_index_covering_what_it_covered_and_queries_stay_complete(base, detach, grow, coverage):
    """A stale index costs time, never rows: uncovered fragments are scanned."""
    indexed = detach(base, LanceOperation.CreateIndex([segment(base, "id", "BTREE", [0, 1])], []))
    grown = grow(indexed, 300, 350)
    assert coverage(grown) == {"id_idx": [[0, 1]]}
    assert ids(grown.to_table(filter="id in ('d0010', 'd0320')")) == ["d0010", "d0320"]


def test_a_segment_is_added_to_an_existing_index_without_rebuilding_the_old_ones(base, detach, grow, coverage):
    """Coverage is extended by the cost of the new fragments: build with `replace=True`, commit with nothing removed."""
    grown = grow(detach(base, LanceOperation.CreateIndex([segment(base, "id", "BTREE", [0, 1])], [])), 300, 350)
    with pytest.raises(RuntimeError, match="already exists"):
        segment(grown, "id", "BTREE", [2])

    extended = detach(grown, LanceOperation.CreateIndex([segment(grown, "id", "BTREE", [2], extend=True)], []))
    assert coverage(extended) == {"id_idx": [[0, 1], [2]]}
    assert ids(extended.to_table(filter="id in ('d0010', 'd0320')")) == ["d0010", "d0320"]
    assert uses_index(extended, "id in ('d0010', 'd0320')")


def test_an_inverted_segment_must_be_finished_before_it_is_committed(base, detach):
    """`create_index_uncommitted` leaves INVERTED files in a staging directory; committed like that, searches fail."""
    staged = base.create_index_uncommitted("text", "INVERTED", name="text_idx", fragment_ids=[0, 1])
    assert all(file.path.startswith("staging/") for file in staged.files)
    unfinished = detach(base, LanceOperation.CreateIndex([staged], []))
    with pytest.raises(ValueError, match="Not found"):
        unfinished.to_table(full_text_query="word250")

    finished = base.merge_existing_index_segments([staged])
    indexed = detach(base, LanceOperation.CreateIndex([finished], []))
    assert ids(indexed.to_table(full_text_query="word250")) == ["d0250"]


def test_full_text_search_finds_rows_in_every_segment_and_in_the_uncovered_tail(base, detach, grow, coverage):
    """Search is complete without rebuilding: coverage may lag behind the writes."""
    indexed = detach(base, LanceOperation.CreateIndex([segment(base, "text", "INVERTED", [0, 1])], []))
    grown = grow(indexed, 300, 350)
    assert ids(grown.to_table(full_text_query="word320")) == ["d0320"]

    more = segment(grown, "text", "INVERTED", [2], extend=True)
    extended = grow(detach(grown, LanceOperation.CreateIndex([more], [])), 350, 360)
    assert coverage(extended) == {"text_idx": [[0, 1], [2]]}
    assert extended.to_table(full_text_query="everywhere", limit=1_000).num_rows == 360


def test_vector_search_over_segments_and_the_uncovered_tail_gives_the_true_neighbours(base, detach, grow, coverage):
    """The same for vectors, with segments that were trained separately."""
    first = segment(base, "vector", "IVF_FLAT", [0, 1], num_partitions=2)
    grown = grow(detach(base, LanceOperation.CreateIndex([first], [])), 300, 350)
    more = segment(grown, "vector", "IVF_FLAT", [2], extend=True, num_partitions=1)
    extended = grow(detach(grown, LanceOperation.CreateIndex([more], [])), 350, 360)

    assert coverage(extended) == {"vector_idx": [[0, 1], [2]]}
    for number in (7, 250, 320, 355):
        indexed = nearest(extended, number, k=3, nprobes=2)
        assert ids(indexed) == ids(nearest(extended, number, k=3, use_index=False))


def test_an_upsert_keeps_index_answers_right_without_rebuilding(base, detach):
    """What `merge_insert` returns needs no correction: rows move, indexes follow their stable ids."""
    segments = [
        segment(base, "id", "BTREE", [0, 1]),
        segment(base, "number", "BTREE", [0, 1]),
        segment(base, "text", "INVERTED", [0, 1]),
        segment(base, "vector", "IVF_FLAT", [0, 1], num_partitions=2),
    ]
    indexed = detach(base, LanceOperation.CreateIndex(segments, []))
    changed = documents(1_000, 1_001).set_column(0, DOCUMENTS.field("id"), [["d0250"]])
    builder = indexed.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    transaction, _ = builder.execute_uncommitted(changed)
    new = LanceDataset.commit(indexed, transaction, detached=True)

    assert new.to_table(filter="id = 'd0250'")["number"].to_pylist() == [1_000]
    assert ids(new.to_table(filter="number = 1000")) == ["d0250"]
    assert new.to_table(filter="number = 250").num_rows == 0
    assert ids(new.to_table(full_text_query="word1000")) == ["d0250"]
    assert new.to_table(full_text_query="word250").num_rows == 0
    assert ids(nearest(new, 1_000, nprobes=2)) == ["d0250"]
    assert ids(nearest(new, 250, nprobes=2)) in (["d0249"], ["d0251"])


def test_deleted_rows_do_not_come_back_through_an_index(base, detach, people):
    """A delete needs no change to any index."""
    indexed = detach(
        base,
        LanceOperation.CreateIndex(
            [segment(base, "id", "BTREE", [0, 1]), segment(base, "text", "INVERTED", [0, 1])], []
        ),
    )
    new = people.delete(indexed, ["d0250"])
    assert new.to_table(filter="id = 'd0250'").num_rows == 0
    assert new.to_table(full_text_query="word250").num_rows == 0
    assert ids(new.to_table(filter="id = 'd0251'")) == ["d0251"]


def test_an_index_is_dropped_by_a_commit_that_only_removes_it(base, detach, coverage):
    """A schema change that drops an index is staged like the rest of it."""
    built = segment(base, "id", "BTREE", [0, 1])
    indexed = detach(base, LanceOperation.CreateIndex([built], []))
    assert coverage(detach(indexed, LanceOperation.CreateIndex([], [built]))) == {}


def test_an_overwrite_drops_all_indexes(base, detach, coverage):
    """After a replacing load every index of the table has to be planned anew."""
    indexed = detach(base, LanceOperation.CreateIndex([segment(base, "id", "BTREE", [0, 1])], []))
    fragments = write_fragments(documents(0, 10), indexed, mode="overwrite")
    assert coverage(detach(indexed, LanceOperation.Overwrite(DOCUMENTS, fragments))) == {}


def test_the_files_of_a_segment_are_known_without_listing_a_directory(base, place):
    """fsync, checksums and cleanup learn index files from the segment itself."""
    for column, kind in (("id", "BTREE"), ("text", "INVERTED"), ("vector", "IVF_FLAT")):
        arguments = {"num_partitions": 1} if kind == "IVF_FLAT" else {}
        built = segment(base, column, kind, [0, 1], **arguments)
        directory = place.directory / "t" / "_indices" / built.uuid
        named = {file.path: file.size_bytes for file in built.files}
        for path, size in named.items():
            assert (directory / path).stat().st_size == size
        on_disk = {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}
        assert on_disk == set(named)


def test_an_upsert_with_an_indexed_key_and_one_without_the_index_agree(base, detach):
    """Above a few hundred rows the plan is `use_index(False)`; both must give the same table."""
    indexed = detach(base, LanceOperation.CreateIndex([segment(base, "id", "BTREE", [0, 1])], []))
    source = documents(250, 320)
    results = []
    for use_index in (True, False):
        builder = indexed.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        transaction, statistics = builder.use_index(use_index).execute_uncommitted(source)
        assert statistics == {"num_inserted_rows": 20, "num_updated_rows": 50, "num_deleted_rows": 0}
        new = LanceDataset.commit(indexed, transaction, detached=True)
        results.append(new.to_table(with_row_id=True).sort_by("id").to_pylist())
    for left, right in zip(*results, strict=True):
        assert {**left, "_rowid": 0} == {**right, "_rowid": 0}
        if left["number"] < 300:
            assert left["_rowid"] == right["_rowid"]
