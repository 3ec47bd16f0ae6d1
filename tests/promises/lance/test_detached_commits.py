"""Detached commits: table versions that nobody sees until a pin names them."""

import lance
import pytest
from lance import LanceDataset, LanceOperation, Transaction
from lance.fragment import write_fragments


def test_a_detached_commit_never_moves_the_latest_version(place, people):
    """A staged write must be invisible until the manifest names it."""
    first = people.create(place.uri("t"), {"ann": 1})
    staged = people.append(first, {"bob": 2})

    latest = lance.dataset(place.uri("t"))
    assert latest.version == first.version == 1
    assert [version["version"] for version in latest.versions()] == [1]
    assert people.ages(latest) == {"ann": 1}
    assert people.ages(staged) == {"ann": 1, "bob": 2}


def test_a_detached_version_is_opened_by_its_number_alone(place, people):
    """A pin is (location, number): nothing else is stored, and any Lance reader can use it."""
    staged = people.append(people.create(place.uri("t"), {"ann": 1}), {"bob": 2})

    assert staged.version >= 2**63, "the pin column has to be uint64"
    assert people.ages(lance.dataset(place.uri("t"), version=staged.version)) == {"ann": 1, "bob": 2}


def test_detached_versions_chain_and_fork_without_touching_each_other(place, people):
    """One mutation is a chain of commits; two branches are two chains from one version."""
    base = people.append(people.create(place.uri("t"), {"ann": 1}), {"bob": 2})
    left = people.append(people.append(base, {"cid": 3}), {"dan": 4})
    right = people.upsert(base, {"bob": 20})

    assert len({base.version, left.version, right.version}) == 3
    assert people.ages(left) == {"ann": 1, "bob": 2, "cid": 3, "dan": 4}
    assert people.ages(right) == {"ann": 1, "bob": 20}
    assert people.ages(lance.dataset(place.uri("t"), version=base.version)) == {"ann": 1, "bob": 2}


def test_a_dataset_cannot_be_born_detached(place, people):
    """So the first version of a table is an ordinary version 1, in a directory nobody knows before the swap.

    If this test fails because the commit works, creation can be made one case simpler.
    """
    with pytest.raises(OSError, match="Not supported"):
        LanceDataset.commit(
            place.uri("t"),
            LanceOperation.Overwrite(people.schema, []),
            detached=True,
            enable_stable_row_ids=True,
        )


def test_version_1_can_be_pinned_and_built_upon_like_any_detached_version(place, people):
    """The pin of a table nobody has written to since its creation is the number 1."""
    people.create(place.uri("t"), {})
    pinned = lance.dataset(place.uri("t"), version=1)

    assert people.ages(people.append(pinned, {"ann": 1})) == {"ann": 1}
    assert people.ages(people.append(pinned, {"bob": 2})) == {"bob": 2}


def test_the_base_of_a_detached_commit_is_the_open_dataset_and_the_read_version_is_not_checked(place, people):
    """The staging code passes the dataset opened at the pin: nothing in Lance would notice a wrong number."""
    first = people.create(place.uri("t"), {"ann": 1})
    second = people.append(first, {"bob": 2})
    fragments = write_fragments(people.rows({"cid": 3}), first, mode="append")

    claimed_second = LanceDataset.commit(
        first, LanceOperation.Append(fragments), read_version=second.version, detached=True
    )
    claimed_nonsense = LanceDataset.commit(first, LanceOperation.Append(fragments), read_version=77, detached=True)
    assert people.ages(claimed_second) == people.ages(claimed_nonsense) == {"ann": 1, "cid": 3}


def test_the_base_of_a_detached_commit_by_uri_is_the_read_version(place, people):
    """What an executor that has no open dataset relies on."""
    second = people.append(people.create(place.uri("t"), {"ann": 1}), {"bob": 2})
    fragments = write_fragments(people.rows({"cid": 3}), place.uri("t"), mode="append")

    new = LanceDataset.commit(
        place.uri("t"), LanceOperation.Append(fragments), read_version=second.version, detached=True
    )
    assert people.ages(new) == {"ann": 1, "bob": 2, "cid": 3}


def test_written_fragments_can_be_committed_again_on_another_base(place, people, detach):
    """Restaging after a lost swap reuses the files it wrote."""
    first = people.create(place.uri("t"), {"ann": 1})
    fragments = write_fragments(people.rows({"bob": 2}), first, mode="append")
    detach(first, LanceOperation.Append(fragments))
    moved = people.append(first, {"cid": 3})
    data_before = {name for name in place.files("t") if name.startswith("data/")}

    restaged = detach(moved, LanceOperation.Append(fragments))

    assert people.ages(restaged) == {"ann": 1, "cid": 3, "bob": 2}
    assert sorted(people.row_ids(restaged).values()) == [0, 1, 2]
    assert {name for name in place.files("t") if name.startswith("data/")} == data_before


def test_the_files_of_a_commit_are_known_without_listing_a_directory(place, people):
    """fsync, checksums and cleanup enumerate files from what the calls return."""
    first = people.create(place.uri("t"), {"ann": 1, "bob": 2})
    before = place.files("t")
    keys = people.rows({"ann": 10, "cid": 3})
    builder = first.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    transaction, _ = builder.execute_uncommitted(keys)
    new = LanceDataset.commit(first, transaction, detached=True)

    operation = transaction.operation
    (deleted_from,) = operation.updated_fragments
    expected = {f"data/{file.path}" for fragment in operation.new_fragments for file in fragment.files}
    expected |= {
        deleted_from.deletion_file.path(deleted_from.id),
        f"_transactions/{first.version}-{transaction.uuid}.txn",
        f"_versions/d{new.version}.manifest",
    }
    assert place.files("t") - before == expected
    for fragment in operation.new_fragments:
        for file in fragment.files:
            assert (place.directory / "t" / "data" / file.path).stat().st_size == file.file_size_bytes


def test_the_name_of_a_data_file_is_its_path_field(place, people):
    """``DataFile.path`` builds a class on every call; the field behind it is read instead, with the same name."""
    first = people.create(place.uri("t"), {"ann": 1})
    files = [file for fragment in first.get_fragments() for file in fragment.metadata.files]
    assert [file._path for file in files] == [file.path for file in files] != []


def test_the_name_of_the_transaction_file_is_ours_to_choose(place, people):
    """With the uuid minted before the write, a crash leaves no file whose name we could not have known."""
    first = people.create(place.uri("t"), {"ann": 1})
    fragments = write_fragments(people.rows({"bob": 2}), first, mode="append")
    name = "00000000-0000-4000-8000-000000000001"

    LanceDataset.commit(first, Transaction(first.version, LanceOperation.Append(fragments), uuid=name), detached=True)
    assert f"_transactions/1-{name}.txn" in place.files("t")


def test_a_version_is_read_and_extended_without_its_transaction_file(place, people):
    """The manifest carries what a reader needs: cleanup may treat transaction files of retained versions as garbage."""
    staged = people.append(people.create(place.uri("t"), {"ann": 1}), {"bob": 2})
    for path in (place.directory / "t" / "_transactions").iterdir():
        path.unlink()

    again = lance.dataset(place.uri("t"), version=staged.version)
    assert people.ages(people.upsert(again, {"bob": 20})) == {"ann": 1, "bob": 20}


def test_restore_on_a_detached_checkout_moves_the_latest_version_to_it(place, people):
    """`omnigraph mirror` shows the pins to tools that only know a table's latest version, without copying data."""
    staged = people.upsert(people.create(place.uri("t"), {"ann": 1}), {"ann": 2, "bob": 3})
    data_before = {name for name in place.files("t") if name.startswith("data/")}

    mirrored = lance.dataset(place.uri("t"), version=staged.version)
    mirrored.restore()

    latest = lance.dataset(place.uri("t"))
    assert latest.version == mirrored.version == 2
    assert people.ages(latest) == {"ann": 2, "bob": 3}
    assert {name for name in place.files("t") if name.startswith("data/")} == data_before


def test_calls_that_commit_by_themselves_fail_on_a_detached_checkout(place, people):
    """Nothing can move a table behind the publisher's back through an object opened at a pin."""
    staged = people.append(people.create(place.uri("t"), {"ann": 1}), {"bob": 2})
    for act in (
        lambda: staged.delete("id = 'ann'"),
        lambda: staged.update({"age": "7"}),
        lambda: staged.drop_columns(["age"]),
        lambda: staged.create_scalar_index("id", "BTREE"),
    ):
        with pytest.raises((OSError, RuntimeError)):
            act()
    assert lance.dataset(place.uri("t")).version == 1
    assert people.ages(lance.dataset(place.uri("t"), version=staged.version)) == {"ann": 1, "bob": 2}


def test_copying_the_directory_gives_the_same_versions_somewhere_else(place, people):
    """A graph root is relocatable: no manifest holds an absolute path."""
    staged = people.upsert(people.create(place.uri("t"), {"ann": 1, "bob": 2}), {"ann": 2})
    (place.directory / "t").rename(place.directory / "moved")

    assert people.ages(lance.dataset(place.uri("moved"), version=staged.version)) == {"bob": 2, "ann": 2}
