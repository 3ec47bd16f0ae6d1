"""Rows by position: two calls that count alike and differ in what they cost and what they accept."""

import lance
import numpy as np
import pyarrow as pa
import pytest
from lance import blob_array, blob_field


@pytest.fixture
def numbers(place) -> lance.LanceDataset:
    """Three fragments of a hundred rows, every third row deleted in two of them."""
    table = lance.write_dataset(
        pa.table({"number": np.arange(300)}), place.uri("t"), max_rows_per_file=100, enable_stable_row_ids=True
    )
    table.delete("number % 3 = 1 and number < 200")
    return table


def test_a_fragment_takes_rows_by_their_position_among_its_live_rows_as_a_dataset_does(numbers):
    """`storage/tables/rows_by_position.py` reads fragments with deletions apart and everything else in one call."""
    start = 0
    for fragment in numbers.get_fragments():
        live = fragment.metadata.num_rows
        positions = np.arange(0, live, 7)
        taken = fragment.take(positions, columns=["number"]).column("number")
        assert taken.to_pylist() == numbers.take(start + positions, columns=["number"]).column("number").to_pylist()
        assert taken.to_pylist() == fragment.to_table().column("number").take(pa.array(positions)).to_pylist()
        start += live


def test_a_fragment_takes_no_rows_out_of_order(numbers):
    """A dataset does, so positions are sorted before a fragment sees them."""
    assert numbers.take([5, 3], columns=["number"]).num_rows == 2
    with pytest.raises(OSError, match="not strictly increasing"):
        numbers.get_fragments()[0].take([5, 3], columns=["number"])


def test_a_filter_on_addresses_describes_blobs_as_taking_does_where_a_fragment_cannot(place):
    """Differences between versions are read with descriptions in place of bytes."""
    schema = pa.schema([pa.field("number", pa.int64()), blob_field("blob")])
    rows = pa.table({"number": range(4), "blob": blob_array([b"a", None, b"b" * 100_000, b""])}, schema=schema)
    table = lance.write_dataset(rows, place.uri("t"), data_storage_version="2.2", enable_stable_row_ids=True)
    table.delete("number = 0")
    fragment = table.get_fragments()[0]
    with pytest.raises(OSError, match="more fields in the schema"):
        fragment.take([0, 2], columns=["number", "blob"])
    scanner = fragment.scanner(columns=["number", "blob"], filter="_rowaddr in (1, 3)")
    assert scanner.to_table().to_pylist() == table.take([0, 2], columns=["number", "blob"]).to_pylist()
    assert "full_filter=--, refine_filter=--" in scanner.explain_plan(), "no row is tested"
