"""The one compare-and-swap of the system: `Overwrite` with `max_retries=0` at a captured version."""

import lance
import pytest
from lance import LanceDataset, LanceOperation, Transaction
from lance.commit import CommitConflictError
from lance.fragment import write_fragments


@pytest.fixture
def swap(people):
    """Replace all rows if `base` is still the latest version."""

    def swap(base, ages, **arguments):
        fragments = write_fragments(people.rows(ages), base, mode="overwrite")
        return LanceDataset.commit(
            base,
            LanceOperation.Overwrite(people.schema, fragments),
            read_version=base.version,
            max_retries=0,
            **arguments,
        )

    return swap


def test_an_overwrite_at_the_latest_version_wins_and_is_the_next_version(place, people, swap):
    """Publishing: captured at N, published as N + 1."""
    base = people.create(place.uri("m"), {"main": 1})
    assert swap(base, {"main": 2}).version == base.version + 1
    assert people.ages(lance.dataset(place.uri("m"))) == {"main": 2}


def test_a_stale_overwrite_is_refused_with_a_typed_error(place, people, swap):
    """A lost swap has a type of its own, so the rebase never reads the text of an exception."""
    base = people.create(place.uri("m"), {"main": 1})
    swap(base, {"main": 2})

    with pytest.raises(CommitConflictError) as lost:
        swap(base, {"main": 3})
    assert lost.value.retryable is True
    assert isinstance(lost.value, OSError), "so `except OSError` must come after it"
    assert people.ages(lance.dataset(place.uri("m"))) == {"main": 2}


def test_a_stale_overwrite_is_refused_however_far_behind_it_is(place, people, swap):
    """A writer that slept through many publishes loses like one that slept through one."""
    base = head = people.create(place.uri("m"), {"main": 0})
    for number in range(1, 12):
        head = swap(head, {"main": number})
    with pytest.raises(CommitConflictError):
        swap(base, {"main": 99})
    assert people.ages(lance.dataset(place.uri("m"))) == {"main": 11}


def test_the_read_version_decides_even_if_the_open_dataset_is_newer(place, people, swap):
    """The captured version is an argument of the publish, not a property of whichever object is at hand."""
    first = people.create(place.uri("m"), {"main": 1})
    second = swap(first, {"main": 2})
    fragments = write_fragments(people.rows({"main": 3}), second, mode="overwrite")
    operation = LanceOperation.Overwrite(people.schema, fragments)

    for base in (second, place.uri("m")):
        with pytest.raises(CommitConflictError):
            LanceDataset.commit(base, operation, read_version=first.version, max_retries=0)
        with pytest.raises(CommitConflictError):
            LanceDataset.commit(base, Transaction(first.version, operation), max_retries=0)


def test_a_stale_append_without_retries_is_not_refused(place, people):
    """Why the publisher uses nothing but `Overwrite`: an `Append` rebases silently, whatever `max_retries` says."""
    first = people.create(place.uri("m"), {"ann": 1})
    for number, name in enumerate(["bob", "cid"]):
        fragments = write_fragments(people.rows({name: number}), first, mode="append")
        LanceDataset.commit(first, LanceOperation.Append(fragments), read_version=first.version, max_retries=0)
    assert set(people.ages(lance.dataset(place.uri("m")))) == {"ann", "bob", "cid"}


def test_a_lost_swap_leaves_the_written_data_file_in_place(place, people):
    """The publisher may offer the same fragments again after it rebased."""
    first = people.create(place.uri("m"), {"main": 1})
    stale = write_fragments(people.rows({"main": 3}), first, mode="overwrite")
    operation = LanceOperation.Overwrite(people.schema, stale)
    second = LanceDataset.commit(
        first,
        LanceOperation.Overwrite(people.schema, write_fragments(people.rows({"main": 2}), first, mode="overwrite")),
        read_version=first.version,
        max_retries=0,
    )
    with pytest.raises(CommitConflictError):
        LanceDataset.commit(first, operation, read_version=first.version, max_retries=0)

    third = LanceDataset.commit(second, operation, read_version=second.version, max_retries=0)
    assert people.ages(third) == {"main": 3}


def test_readers_of_an_older_manifest_version_are_not_disturbed(place, people, swap):
    """A snapshot stays what it was while others publish."""
    first = people.create(place.uri("m"), {"main": 1})
    swap(swap(first, {"main": 2}), {"main": 3})
    assert people.ages(first) == people.ages(lance.dataset(place.uri("m"), version=1)) == {"main": 1}


def test_the_commit_id_can_be_found_after_a_lost_answer(place, people, swap):
    """Three outcomes, never two: whether a publish happened is a question to durable state."""
    base = people.create(place.uri("m"), {"main": 1})
    swap(base, {"main": 2, "commit:01J": 0})
    assert "commit:01J" in people.ages(lance.dataset(place.uri("m")))


def test_a_state_kept_in_the_schema_metadata_is_swapped_just_as_strictly(place, people):
    """A publish without any data file is possible: two requests instead of three, if ever needed."""
    first = LanceDataset.commit(
        place.uri("m"), LanceOperation.Overwrite(people.schema.with_metadata({"state": "1"}), [])
    )
    for number, accepted in (("2", True), ("3", False)):
        operation = LanceOperation.Overwrite(people.schema.with_metadata({"state": number * 300_000}), [])
        if accepted:
            LanceDataset.commit(first, operation, read_version=1, max_retries=0)
        else:
            with pytest.raises(CommitConflictError):
                LanceDataset.commit(first, operation, read_version=1, max_retries=0)
    assert lance.dataset(place.uri("m")).schema.metadata[b"state"] == b"2" * 300_000
