"""Compaction as an ordinary commit: planned on a pinned version, written, committed as a detached `Rewrite`."""

import dataclasses
from datetime import timedelta

import lance
import pyarrow as pa
import pytest
from lance import LanceDataset, LanceOperation
from lance.fragment import write_fragments
from lance.optimize import Compaction

OPTIONS = {"target_rows_per_fragment": 1_000}


def text_of(number: int) -> str:
    return f"word{number}"


SCHEMA = pa.schema(
    [pa.field("id", pa.string(), nullable=False), pa.field("age", pa.int32()), pa.field("text", pa.string())]
)


def rows(start: int, stop: int) -> pa.Table:
    return pa.table(
        {
            "id": [f"p{number:03d}" for number in range(start, stop)],
            "age": pa.array(range(start, stop), pa.int32()),
            "text": [text_of(number) for number in range(start, stop)],
        },
        schema=SCHEMA,
    )


@pytest.fixture
def fragmented(place, detach):
    """Fragments 0, 1, 2 of 50 rows each, with a BTREE and an INVERTED index over all of them."""
    uri = place.uri("t")
    table = LanceDataset.commit(
        uri,
        LanceOperation.Overwrite(SCHEMA, write_fragments(rows(0, 50), uri, mode="create")),
        enable_stable_row_ids=True,
    )
    for start in (50, 100):
        fragments = write_fragments(rows(start, start + 50), table, mode="append")
        table = detach(table, LanceOperation.Append(fragments))
    return detach(table, LanceOperation.CreateIndex([btree(table, [0, 1, 2]), inverted(table, [0, 1, 2])], []))


def btree(table, fragment_ids):
    return table.create_index_uncommitted("id", "BTREE", name="id_idx", fragment_ids=fragment_ids, replace=True)


def inverted(table, fragment_ids):
    built = table.create_index_uncommitted("text", "INVERTED", name="text_idx", fragment_ids=fragment_ids, replace=True)
    return table.merge_existing_index_segments([built])


def execute(table) -> list:
    return [task.execute(table) for task in Compaction.plan(table, OPTIONS).tasks]


def rewrite(table, results, *, number_fragments: bool = True) -> LanceOperation.Rewrite:
    free = max(fragment.fragment_id for fragment in table.get_fragments()) + 1
    groups = []
    for result in results:
        fragments = result.new_fragments
        if number_fragments:
            fragments = [dataclasses.replace(new, id=free + place) for place, new in enumerate(fragments)]
            free += len(fragments)
        groups.append(LanceOperation.RewriteGroup(result.original_fragments, fragments))
    return LanceOperation.Rewrite(groups, [])


def test_a_compaction_is_planned_and_written_on_a_detached_version_and_committed_detached(fragmented, detach):
    """Maintenance is an ordinary commit: writers never wait for it, readers of the old pin never notice it."""
    results = execute(fragmented)
    compacted = detach(fragmented, rewrite(fragmented, results))

    assert len(compacted.get_fragments()) == 1
    assert len(fragmented.get_fragments()) == 3
    assert compacted.to_table().sort_by("id").equals(fragmented.to_table().sort_by("id"))
    assert lance.dataset(fragmented.uri).version == 1


def test_compaction_keeps_stable_row_ids(fragmented, detach):
    """Indexes and cached topology that name rows by id survive maintenance."""
    compacted = detach(fragmented, rewrite(fragmented, execute(fragmented)))
    before, after = (
        table.to_table(columns=["id"], with_row_id=True).sort_by("id") for table in (fragmented, compacted)
    )
    assert before.equals(after)


def test_new_fragments_come_with_number_0_and_must_be_numbered_for_coverage_to_survive(fragmented, detach, coverage):
    """Committed as they come, the INVERTED index claims fragment 0, which no longer exists."""
    results = execute(fragmented)
    assert [new.id for result in results for new in result.new_fragments] == [0]

    unnumbered = detach(fragmented, rewrite(fragmented, results, number_fragments=False))
    assert [fragment.fragment_id for fragment in unnumbered.get_fragments()] == [3]
    assert coverage(unnumbered)["text_idx"] == [[0]]

    numbered = detach(fragmented, rewrite(fragmented, results))
    assert [fragment.fragment_id for fragment in numbered.get_fragments()] == [3]
    assert coverage(numbered)["text_idx"] == [[3]]


def test_btree_coverage_of_rewritten_fragments_is_dropped_and_a_new_segment_restores_it(fragmented, detach, coverage):
    """The same maintenance commit rebuilds the BTREE segment, else lookups by id become scans."""
    compacted = detach(fragmented, rewrite(fragmented, execute(fragmented)))
    assert coverage(compacted)["id_idx"] == [[]]
    assert "ScalarIndexQuery" not in compacted.scanner(filter="id = 'p077'").explain_plan()

    restored = detach(compacted, LanceOperation.CreateIndex([btree(compacted, [3])], []))
    assert [3] in coverage(restored)["id_idx"]
    assert "ScalarIndexQuery" in restored.scanner(filter="id = 'p077'").explain_plan()


@pytest.mark.parametrize("number_fragments", [True, False])
def test_queries_stay_right_after_a_compaction_whatever_the_coverage(fragmented, detach, number_fragments):
    """A mistake in numbering would cost speed, not answers."""
    compacted = detach(fragmented, rewrite(fragmented, execute(fragmented), number_fragments=number_fragments))
    assert compacted.to_table(filter="id = 'p077'")["age"].to_pylist() == [77]
    assert compacted.to_table(full_text_query="word77")["id"].to_pylist() == ["p077"]


def test_compaction_drops_deleted_rows_from_the_files(fragmented, people, detach):
    """Space of deleted rows comes back, and the deletion files with it."""
    half_empty = people.delete(fragmented, [f"p{number:03d}" for number in range(0, 150, 2)])
    compacted = detach(half_empty, rewrite(half_empty, execute(half_empty)))
    (fragment,) = compacted.get_fragments()
    assert (fragment.physical_rows, fragment.num_deletions) == (75, 0)
    assert compacted.to_table(full_text_query="word77")["id"].to_pylist() == ["p077"]
    assert compacted.to_table(full_text_query="word78").num_rows == 0


def test_a_table_of_one_full_fragment_needs_no_compaction(place, people):
    """Optimize is idempotent: a second run plans nothing and commits nothing."""
    assert Compaction.plan(people.create(place.uri("t"), {"ann": 1}), OPTIONS).num_tasks() == 0


def test_compaction_commit_fails_on_a_detached_version_and_deletes_what_was_written(fragmented, place):
    """Why a `Rewrite` is always built by hand: Lance's own commit takes the new data files with it when it fails."""
    results = execute(fragmented)
    written = {f"data/{file.path}" for result in results for new in result.new_fragments for file in new.files}
    assert written <= place.files("t")

    with pytest.raises(OSError, match="detached"):
        Compaction.commit(fragmented, results, OPTIONS)
    assert not written & place.files("t")


def test_a_rewrite_result_travels_as_json(fragmented, detach):
    """Compaction tasks run on executors; their results come back to the one that commits."""
    results = [type(result).from_json(result.json()) for result in execute(fragmented)]
    assert detach(fragmented, rewrite(fragmented, results)).count_rows() == 150


def test_lance_cleanup_deletes_files_that_only_detached_versions_need(place, people):
    """Cleanup is ours, never Lance's: its reachability does not know detached versions."""
    first = people.create(place.uri("t"), {"ann": 1})
    staged = people.append(first, {"bob": 2})
    # A second ordinary version makes the first one old enough to look at.
    first.restore()

    lance.dataset(place.uri("t")).cleanup_old_versions(older_than=timedelta(0), delete_unverified=True)

    with pytest.raises((ValueError, OSError)):
        people.ages(lance.dataset(place.uri("t"), version=staged.version))
