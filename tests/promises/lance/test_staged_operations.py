"""Every kind of change the design stages on a detached version."""

import pickle

import lance
import pyarrow as pa
import pytest
from lance import LanceDataset, LanceOperation
from lance.fragment import write_fragments
from lance.schema import LanceSchema


@pytest.fixture
def base(place, people):
    """Two fragments, detached: the ordinary state of a table."""
    return people.append(people.create(place.uri("t"), {"ann": 1, "bob": 2}), {"cid": 3, "dan": 4})


def test_an_append_is_written_first_and_committed_later(base, people, detach):
    """Files are written while nobody can see them; the commit only names them."""
    fragments = write_fragments(people.rows({"eve": 5}), base, mode="append")
    assert base.count_rows() == 4
    assert [fragment.id for fragment in fragments] == [0], "ids are given by the commit"
    new = detach(base, LanceOperation.Append(fragments))
    assert people.ages(new) == {"ann": 1, "bob": 2, "cid": 3, "dan": 4, "eve": 5}
    assert [fragment.fragment_id for fragment in new.get_fragments()] == [0, 1, 2]


def test_an_append_streams_and_splits_into_files_of_a_given_size(base, people):
    """A load larger than memory is written from a reader, in files of a size we choose."""
    batches = (people.rows({f"p{n}-{i}": i for i in range(100)}).to_batches()[0] for n in range(10))
    reader = pa.RecordBatchReader.from_batches(people.schema, batches)
    fragments = write_fragments(reader, base, mode="append", max_rows_per_file=250)
    assert [fragment.physical_rows for fragment in fragments] == [250, 250, 250, 250]


def test_a_source_that_fails_half_way_leaves_no_file(base, place, people):
    """A load that breaks costs nothing to clean up. The original exception arrives only as text inside an `OSError`."""

    def batches():
        yield from people.rows({"eve": 5}).to_batches()
        raise LookupError("row 2 is broken")

    before = place.files("t")
    with pytest.raises(OSError, match="row 2 is broken"):
        write_fragments(pa.RecordBatchReader.from_batches(people.schema, batches()), base, mode="append")
    assert place.files("t") == before


def test_an_append_with_a_schema_that_does_not_fit_is_refused_before_the_commit(base):
    """A last line of defence behind our own type check."""
    wrong = pa.table({"id": ["x"], "age": ["not a number"]})
    with pytest.raises(OSError, match="schema"):
        write_fragments(wrong, base, mode="append")


def test_an_upsert_is_executed_without_committing(base, people):
    """`merge_insert(..).execute_uncommitted()` on a detached version."""
    builder = base.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    transaction, statistics = builder.execute_uncommitted(people.rows({"bob": 20, "eve": 5}))
    assert statistics == {"num_inserted_rows": 1, "num_updated_rows": 1, "num_deleted_rows": 0}
    assert transaction.read_version == base.version

    new = LanceDataset.commit(base, transaction, detached=True)
    assert people.ages(new) == {"ann": 1, "bob": 20, "cid": 3, "dan": 4, "eve": 5}
    assert people.ages(base) == {"ann": 1, "bob": 2, "cid": 3, "dan": 4}


def test_an_upsert_of_some_columns_leaves_the_others_alone(base, people, place, detach):
    """A mutation that sets one property does not have to read and rewrite the wide ones."""
    wide = pa.schema([*people.schema, pa.field("name", pa.string())])
    rows = pa.table({"id": ["ann", "bob"], "age": pa.array([1, 2], pa.int32()), "name": ["Ann", "Bob"]}, schema=wide)
    table = LanceDataset.commit(
        place.uri("w"),
        LanceOperation.Overwrite(wide, write_fragments(rows, place.uri("w"), mode="create")),
        enable_stable_row_ids=True,
    )
    transaction, _ = table.merge_insert("id").when_matched_update_all().execute_uncommitted(people.rows({"bob": 20}))
    new = LanceDataset.commit(table, transaction, detached=True)
    assert sorted(new.to_table().to_pylist(), key=lambda row: row["id"]) == [
        {"id": "ann", "age": 1, "name": "Ann"},
        {"id": "bob", "age": 20, "name": "Bob"},
    ]


def test_an_upsert_refuses_a_source_that_names_one_row_twice(base, people):
    """Lance will not pick one of two values for us; the validation before it gives the better message."""
    rows = pa.concat_tables([people.rows({"bob": 20}), people.rows({"bob": 21})])
    builder = base.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    with pytest.raises((OSError, ValueError, RuntimeError)):
        builder.execute_uncommitted(rows)


def test_a_delete_by_ids_needs_only_the_key_column(base, people):
    """Deleting entities reads and sends their keys, nothing else; unknown keys are ignored."""
    new = people.delete(base, ["ann", "cid", "nobody"])
    assert people.ages(new) == {"bob": 2, "dan": 4}
    assert new.count_rows() == 2


def test_a_delete_by_row_offsets_gives_a_fragment_to_commit(base, people, detach):
    """The task that owns a fragment marks its rows; one `Delete` commits them all."""
    second = base.get_fragment(1).delete_rows([0])
    new = detach(base, LanceOperation.Delete([second], [], "offsets"))
    assert people.ages(new) == {"ann": 1, "bob": 2, "dan": 4}


def test_offsets_stay_physical_when_rows_before_them_are_already_deleted(base, people, detach):
    """A row address from a scan can be used as it is, whatever was deleted before."""
    once = detach(base, LanceOperation.Delete([base.get_fragment(0).delete_rows([0])], [], ""))
    last = once.get_fragment(1).delete_rows([1])
    assert people.ages(detach(once, LanceOperation.Delete([last], [], ""))) == {"bob": 2, "cid": 3}


def test_a_fragment_that_loses_its_last_row_is_none_and_is_removed_by_number(base, people, detach):
    """`None` means the whole fragment; forgetting the case would keep rows that were deleted."""
    assert base.get_fragment(0).delete_rows([0, 1]) is None
    assert base.get_fragment(0).delete("age < 3") is None
    new = detach(base, LanceOperation.Delete([], [0], ""))
    assert people.ages(new) == {"cid": 3, "dan": 4}


def test_a_delete_by_predicate_of_one_fragment(base, people, detach):
    """The variant for conditions that were already checked to be exact."""
    first = base.get_fragment(0).delete("age = 1")
    assert first.num_deletions == 1
    assert people.ages(detach(base, LanceOperation.Delete([first], [], "age = 1"))) == {"bob": 2, "cid": 3, "dan": 4}


def test_insert_update_and_delete_are_just_a_longer_chain(base, people):
    """Statements of one mutation may be mixed freely."""
    new = people.append(people.delete(people.upsert(base, {"ann": 10}), ["bob"]), {"bob": 22})
    assert people.ages(new) == {"cid": 3, "dan": 4, "ann": 10, "bob": 22}


def test_an_overwrite_replaces_all_rows(base, people, detach):
    """A replacing load is one commit, and the old pin stays readable."""
    fragments = write_fragments(people.rows({"zoe": 9}), base, mode="overwrite")
    new = detach(base, LanceOperation.Overwrite(people.schema, fragments))
    assert people.ages(new) == {"zoe": 9}
    assert people.ages(base) == {"ann": 1, "bob": 2, "cid": 3, "dan": 4}


def test_an_empty_overwrite_leaves_an_empty_table_with_its_schema(base, people, detach):
    """Deleting all entities of a type writes no data file."""
    new = detach(base, LanceOperation.Overwrite(people.schema, []))
    assert new.count_rows() == 0
    assert new.schema == people.schema
    assert new.has_stable_row_ids
    assert people.ages(people.append(new, {"ann": 1})) == {"ann": 1}


def test_row_counts_come_from_the_metadata(base, people):
    """Pins carry row counts: they are read off the fragments, no scan."""
    new = people.delete(people.upsert(base, {"ann": 10, "eve": 5}), ["cid"])
    new.io_stats_incremental()
    assert new.count_rows() == 4
    assert sum(fragment.metadata.num_rows for fragment in new.get_fragments()) == 4
    assert new.io_stats_incremental().read_iops == 0


def test_what_an_executor_sends_back_survives_pickling(base, people):
    """Fragments and transactions travel from worker processes to the one that commits."""
    fragments = write_fragments(people.rows({"eve": 5}), base, mode="append")
    assert pickle.loads(pickle.dumps(fragments)) == fragments

    builder = base.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    transaction, _ = builder.execute_uncommitted(people.rows({"bob": 20, "eve": 5}))
    received = pickle.loads(pickle.dumps(transaction))
    assert received == transaction
    assert people.ages(LanceDataset.commit(base, received, detached=True))["bob"] == 20

    reopened = pickle.loads(pickle.dumps(base))
    assert (reopened.uri, reopened.version) == (base.uri, base.version)


def field_protos(dataset: LanceDataset) -> tuple[str, list[tuple[str, bytes]]]:
    """The stored schema as (metadata, [(top-level column, serialized field)]), fields in depth-first order."""

    def count(field) -> int:
        return 1 + sum(count(child) for child in field.children())

    metadata, *protos = dataset.lance_schema.__reduce__()[1]
    owners = [field.name() for field in dataset.lance_schema.fields() for _ in range(count(field))]
    return metadata, list(zip(owners, protos, strict=True))


def schema_without(dataset: LanceDataset, *names: str) -> LanceSchema:
    metadata, protos = field_protos(dataset)
    return LanceSchema._from_protos(metadata, *(proto for owner, proto in protos if owner not in names))


def schema_with(dataset: LanceDataset, *fields: pa.Field) -> LanceSchema:
    """`from_pyarrow` numbers from 0, so as many placeholders as there are taken numbers come first."""
    metadata, protos = field_protos(dataset)
    taken = dataset.max_field_id + 1
    padding = [pa.field(f"_{number}", pa.int8()) for number in range(taken)]
    _, *numbered = LanceSchema.from_pyarrow(pa.schema([*padding, *fields])).__reduce__()[1]
    return LanceSchema._from_protos(metadata, *(proto for _, proto in protos), *numbered[taken:])


def add_columns(dataset: LanceDataset, detach, *fields: pa.Field) -> LanceDataset:
    fragments = [fragment.metadata for fragment in dataset.get_fragments()]
    return detach(dataset, LanceOperation.Merge(fragments, schema_with(dataset, *fields)))


def drop_columns(dataset: LanceDataset, detach, *names: str) -> LanceDataset:
    return detach(dataset, LanceOperation.Project(schema_without(dataset, *names)))


def test_an_all_null_column_is_added_as_metadata_only(base, place, detach):
    """Adding a property to a type costs two small files, however large the table is."""
    data_before = {name for name in place.files("t") if name.startswith("data/")}
    new = add_columns(
        base,
        detach,
        pa.field("name", pa.string()),
        pa.field("vector", pa.list_(pa.float32(), 4)),
        pa.field("where", pa.struct([("x", pa.int64())])),
    )
    assert new.schema.names == ["id", "age", "name", "vector", "where"]
    assert new.to_table().to_pylist()[0] == {"id": "ann", "age": 1, "name": None, "vector": None, "where": None}
    assert {name for name in place.files("t") if name.startswith("data/")} == data_before


def test_an_added_column_can_be_written(base, people, detach):
    """After a schema change the next write uses the new property at once."""
    new = add_columns(base, detach, pa.field("name", pa.string()))
    rows = pa.table({"id": ["eve"], "age": pa.array([5], pa.int32()), "name": ["Eve"]}, schema=new.schema)
    new = detach(new, LanceOperation.Append(write_fragments(rows, new, mode="append")))
    assert new.to_table(filter="name IS NOT NULL").to_pylist() == [{"id": "eve", "age": 5, "name": "Eve"}]


def test_a_column_in_the_middle_is_dropped_as_metadata_only(place, base, detach):
    """`Project` with a schema that keeps the numbers of the remaining fields."""
    wide = add_columns(base, detach, pa.field("name", pa.string()))
    rows = pa.table({"id": ["eve"], "age": pa.array([5], pa.int32()), "name": ["Eve"]}, schema=wide.schema)
    wide = detach(wide, LanceOperation.Append(write_fragments(rows, wide, mode="append")))
    data_before = {name for name in place.files("t") if name.startswith("data/")}

    narrow = drop_columns(wide, detach, "age")

    assert narrow.schema.names == ["id", "name"]
    assert narrow.to_table(filter="id = 'eve'").to_pylist() == [{"id": "eve", "name": "Eve"}]
    assert {name for name in place.files("t") if name.startswith("data/")} == data_before


def test_a_dropped_column_does_not_come_back_when_its_name_is_added_again(base, detach):
    """The new column gets a new field number; `max_field_id` still counts the bytes left in old files."""
    narrow = drop_columns(base, detach, "age")
    again = add_columns(narrow, detach, pa.field("age", pa.int32()))
    assert again.to_table()["age"].null_count == 4


def test_a_schema_numbered_from_arrow_mislabels_columns(place, base, detach):
    """Why `LanceSchema.from_pyarrow` is never given to `Project`: it numbers fields anew, `size` reads `age`."""
    wide = add_columns(base, detach, pa.field("size", pa.int32()))
    wrong = LanceSchema.from_pyarrow(pa.schema([field for field in wide.schema if field.name != "age"]))
    mislabelled = detach(wide, LanceOperation.Project(wrong))
    assert mislabelled.to_table()["size"].to_pylist() == [1, 2, 3, 4], "these are ages"


def test_a_staged_version_can_be_opened_again_and_built_upon_by_another_process(base, people):
    """A chain may be continued by whoever knows its number: a job that resumes, an executor."""
    again = lance.dataset(base.uri, version=base.version)
    assert people.ages(people.upsert(again, {"ann": 7}))["ann"] == 7
