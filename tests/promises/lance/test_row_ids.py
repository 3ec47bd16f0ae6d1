"""Stable row ids: what stays, what moves, what means nothing."""

import lance
from lance import LanceOperation
from lance.fragment import write_fragments


def test_stable_row_ids_are_chosen_when_a_table_is_created_and_inherited_by_every_version(place, people, detach):
    """There is one place that has to ask for them: the creation of a table."""
    first = people.create(place.uri("t"), {"ann": 1})
    empty = detach(first, LanceOperation.Overwrite(people.schema, []))
    for table in (first, people.append(first, {"bob": 2}), people.upsert(first, {"ann": 2}), empty):
        assert table.has_stable_row_ids


def test_an_update_keeps_the_row_id_and_an_insert_gets_a_fresh_one(place, people):
    """Indexes, topology caches and the change feed name rows by id across upserts."""
    base = people.append(people.create(place.uri("t"), {"ann": 1, "bob": 2}), {"cid": 3})
    before = people.row_ids(base)
    after = people.row_ids(people.upsert(base, {"bob": 20, "dan": 4}))
    assert {name: after[name] for name in before} == before
    assert after["dan"] not in before.values()


def test_the_row_id_of_a_deleted_row_is_not_given_out_again(place, people):
    """Within one line of versions a row id names one entity for ever."""
    base = people.create(place.uri("t"), {"ann": 1, "bob": 2})
    gone = people.row_ids(base)["bob"]
    again = people.append(people.delete(base, ["bob"]), {"bob": 2})
    assert people.row_ids(again)["bob"] > gone


def test_the_row_ids_of_an_overwrite_are_fresh(place, people, detach):
    """A cache keyed by row id cannot mistake a new row for an old one."""
    base = people.create(place.uri("t"), {"ann": 1, "bob": 2})
    fragments = write_fragments(people.rows({"ann": 1}), base, mode="overwrite")
    new = detach(base, LanceOperation.Overwrite(people.schema, fragments))
    assert not set(people.row_ids(new).values()) & set(people.row_ids(base).values())


def test_two_forks_give_the_same_row_id_to_different_rows(place, people):
    """Why a merge of branches compares keys, never row ids."""
    base = people.create(place.uri("t"), {"ann": 1})
    left, right = people.append(base, {"bob": 2}), people.append(base, {"cid": 3})
    assert people.row_ids(left)["bob"] == people.row_ids(right)["cid"]


def test_a_row_can_be_fetched_by_its_row_id(place, people):
    """Late materialization: search by id and address first, wide columns afterwards."""
    base = people.upsert(people.create(place.uri("t"), {"ann": 1, "bob": 2}), {"ann": 10})
    row_id = people.row_ids(base)["ann"]
    assert base._take_rows([row_id]).to_pylist() == [{"id": "ann", "age": 10}]


def test_the_version_columns_of_rows_do_not_name_detached_versions(place, people):
    """`_row_created_at_version` counts from the base, so `delta()` means nothing between detached versions."""
    first = people.append(people.create(place.uri("t"), {}), {"ann": 1})
    second = people.append(first, {"bob": 2})
    table = second.to_table(columns=["id", "_row_created_at_version"])
    created = dict(zip(table["id"].to_pylist(), table["_row_created_at_version"].to_pylist(), strict=True))
    assert created["ann"] != first.version
    assert created["bob"] != second.version


def test_equal_data_and_deletion_files_mean_equal_rows(place, people):
    """Merging compares only fragments that differ: an untouched fragment keeps its files across versions."""
    base = people.append(people.create(place.uri("t"), {"ann": 1, "bob": 2}), {"cid": 3, "dan": 4})
    new = lance.dataset(base.uri, version=people.upsert(base, {"dan": 40}).version)

    def contents(table):
        return {
            fragment.fragment_id: (
                [file.path for file in fragment.metadata.files],
                fragment.metadata.deletion_file and fragment.metadata.deletion_file.path(fragment.fragment_id),
            )
            for fragment in table.get_fragments()
        }

    before, after = contents(base), contents(new)
    assert after[0] == before[0]
    assert after[1] != before[1]
    assert set(after) == {0, 1, 2}
