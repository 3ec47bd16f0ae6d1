"""An upsert assembled from parts: executors write and mark rows, one process commits a hand-built `Update`.

`merge_insert` is the reference: the hand-built commit has to equal it in data, in row ids and in what indexes answer.
"""

import dataclasses
import pickle

import numpy as np
import pyarrow as pa
import pytest
from lance import LanceDataset, LanceOperation
from lance.fragment import RowIdSequence, write_fragments

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("number", pa.int32()),
        pa.field("text", pa.string()),
        pa.field("vector", pa.list_(pa.float32(), 4)),
        pa.field("place", pa.struct([pa.field("x", pa.int64())])),
    ]
)


def rows(start: int, stop: int, shift: int = 0) -> pa.Table:
    values = [number + shift for number in range(start, stop)]
    vectors = np.array([[value] * 4 for value in values], dtype=np.float32)
    return pa.table(
        {
            "id": [f"k{number:03d}" for number in range(start, stop)],
            "number": pa.array(values, pa.int32()),
            "text": [f"word{value}" for value in values],
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 4),
            "place": [{"x": value} for value in values],
        },
        schema=SCHEMA,
    )


@pytest.fixture
def base(place, detach):
    """Two fragments of 50 rows, every column indexed."""
    uri = place.uri("t")
    table = LanceDataset.commit(
        uri,
        LanceOperation.Overwrite(SCHEMA, write_fragments(rows(0, 50), uri, mode="create")),
        enable_stable_row_ids=True,
    )
    table = detach(table, LanceOperation.Append(write_fragments(rows(50, 100), table, mode="append")))

    def build(column, kind, **arguments):
        return table.create_index_uncommitted(column, kind, name=f"{column}_idx", fragment_ids=[0, 1], **arguments)

    segments = [
        build("id", "BTREE"),
        build("number", "BTREE"),
        table.merge_existing_index_segments([build("text", "INVERTED")]),
        build("vector", "IVF_FLAT", num_partitions=2),
    ]
    return detach(table, LanceOperation.CreateIndex(segments, []))


def all_field_ids(table: LanceDataset) -> list[int]:
    def below(field) -> list[int]:
        return [field.id(), *(number for child in field.children() for number in below(child))]

    return [number for field in table.lance_schema.fields() for number in below(field)]


def hand_built_update(table: LanceDataset, source: pa.Table, field_ids: list[int]) -> LanceOperation.Update:
    """Join on the key, write matched rows first with their row ids attached, mark the old rows as deleted."""
    found = table.to_table(columns=["id"], with_row_id=True, with_row_address=True)
    places = zip(found["_rowid"].to_pylist(), found["_rowaddr"].to_pylist(), strict=True)
    known = dict(zip(found["id"].to_pylist(), places, strict=True))
    keys = source["id"].to_pylist()
    matched = [position for position, key in enumerate(keys) if key in known]
    new = [position for position, key in enumerate(keys) if key not in known]

    (written,) = write_fragments(source.take(pa.array(matched + new, pa.int64())), table, mode="append")
    row_ids = RowIdSequence([known[keys[position]][0] for position in matched])
    written = dataclasses.replace(written, row_id_meta=row_ids.to_inline_metadata())

    offsets: dict[int, list[int]] = {}
    for position in matched:
        address = known[keys[position]][1]
        offsets.setdefault(address >> 32, []).append(address & 0xFFFF_FFFF)
    marked = {number: table.get_fragment(number).delete_rows(gone) for number, gone in offsets.items()}
    # What the tasks send back arrives pickled.
    written, marked = pickle.loads(pickle.dumps((written, marked)))
    return LanceOperation.Update(
        removed_fragment_ids=[number for number, fragment in marked.items() if fragment is None],
        updated_fragments=[fragment for fragment in marked.values() if fragment is not None],
        new_fragments=[written],
        fields_for_preserving_frag_bitmap=field_ids,
        update_mode="rewrite_rows",
    )


def reference(table: LanceDataset, source: pa.Table) -> LanceDataset:
    builder = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    transaction, _ = builder.use_index(False).execute_uncommitted(source)
    return LanceDataset.commit(table, transaction, detached=True)


def contents(table: LanceDataset) -> list[dict]:
    return table.to_table(columns=SCHEMA.names).sort_by("id").to_pylist()


def row_ids_of_old_rows(table: LanceDataset) -> dict[str, int]:
    found = table.to_table(columns=["id"], with_row_id=True, filter="id < 'k100'").sort_by("id")
    return dict(zip(found["id"].to_pylist(), found["_rowid"].to_pylist(), strict=True))


def answers(table: LanceDataset, value: int) -> list[list[str]]:
    """The same question to every index: which row has this value?"""
    query = np.full(4, value, dtype=np.float32)
    found = [
        table.to_table(filter=f"number = {value}"),
        table.to_table(full_text_query=f"word{value}"),
        table.to_table(nearest={"column": "vector", "q": query, "k": 1, "nprobes": 2}, columns=["id"]),
    ]
    return [answer["id"].to_pylist() for answer in found]


CASES = {
    "updates within one fragment": rows(60, 80, shift=1_000),
    "updates across fragments": rows(40, 60, shift=1_000),
    "a whole fragment": rows(50, 100, shift=1_000),
    "updates and inserts": rows(90, 110, shift=1_000),
    "inserts only": rows(100, 110, shift=1_000),
}


@pytest.mark.parametrize("source", CASES.values(), ids=CASES.keys())
def test_a_hand_built_update_with_every_field_id_equals_merge_insert(base, detach, source):
    """What Spark executors do in parts gives the table a single process would have written."""
    expected = reference(base, source)
    built = detach(base, hand_built_update(base, source, all_field_ids(base)))

    assert contents(built) == contents(expected)
    assert row_ids_of_old_rows(built) == row_ids_of_old_rows(expected)
    changed = source["number"].to_pylist()[5]
    for value in (changed, changed - 1_000, 3):
        assert answers(built, value) == answers(expected, value)


def test_without_the_field_ids_indexes_answer_with_rows_that_have_changed(base, detach):
    """The default claims that no indexed value changed. Data is right, text and vector answers are not."""
    source = CASES["updates within one fragment"]
    built = detach(base, hand_built_update(base, source, []))
    assert contents(built) == contents(reference(base, source))

    _, by_text, by_vector = answers(built, 1_070)
    assert by_text == [], "the new value is not found"
    assert by_vector != ["k070"]
    assert answers(built, 70)[1] == ["k070"], "the old value still is"


def test_merge_insert_lists_every_field_itself(base):
    """Nested fields included; the transaction it returns is committed as it is."""
    builder = base.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    transaction, _ = builder.execute_uncommitted(CASES["updates within one fragment"])
    assert sorted(transaction.operation.fields_for_preserving_frag_bitmap) == all_field_ids(base)


def test_an_update_of_other_columns_may_keep_an_index_covering_the_rewritten_rows(base, detach, coverage):
    """Naming only the columns that changed spares the vector index: the rows moved, their vectors did not."""
    source = rows(60, 80)
    source = source.set_column(1, SCHEMA.field("number"), pa.array(range(1_060, 1_080), pa.int32()))
    number_only = [base.lance_schema.field("number").id()]
    built = detach(base, hand_built_update(base, source, number_only))

    assert coverage(built)["vector_idx"] == [[0, 1, 2]]
    assert coverage(built)["number_idx"] == [[0, 1]]
    assert contents(built) == contents(reference(base, source))
    by_number, by_text, by_vector = answers(built, 70)
    assert (by_number, by_text, by_vector) == ([], ["k070"], ["k070"])
    assert answers(built, 1_070)[0] == ["k070"]
