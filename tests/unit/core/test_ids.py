"""ULIDs, one by one and many at once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from omnigraph.core.ids import ULID_LENGTH, encode_ulid, encode_ulids, is_ulid
from omnigraph.core.ports import PlacedUlids, UlidSource


@given(time=st.integers(0, 2**48 - 1), first=st.integers(0, 2**79), count=st.integers(0, 3000))
def test_many_at_once_are_those_one_would_get_one_by_one(time: int, first: int, count: int) -> None:
    one_by_one = [encode_ulid(time, first + number) for number in range(count)]
    assert encode_ulids(time, first, count) == "".join(one_by_one)


def test_a_source_never_gives_an_id_that_is_not_larger_than_all_before() -> None:
    class Standing:
        def now_us(self) -> int:
            return 1_700_000_000_000_000

    source = UlidSource(Standing())
    whole = "".join([source.new_id(), source.new_ids(5000), source.new_id(), source.new_ids(0), source.new_ids(2)])
    given = [whole[start : start + ULID_LENGTH] for start in range(0, len(whole), ULID_LENGTH)]
    assert len(given) == 5004
    assert given == sorted(set(given))
    assert all(is_ulid(id_) for id_ in given)


def test_ids_of_parts_sort_as_the_parts_do_whoever_mints_first() -> None:
    places = [2, 0, 1, 2**24 - 1]
    minted = {place: PlacedUlids(1_700_000_000_000, place) for place in places}
    given = {place: "".join(source.new_ids(count) for count in (3, 0, 1500)) for place, source in minted.items()}
    whole = "".join(given[place] for place in sorted(places))
    ids = [whole[start : start + ULID_LENGTH] for start in range(0, len(whole), ULID_LENGTH)]
    assert len(ids) == 4 * 1503
    assert ids == sorted(set(ids))
    assert PlacedUlids(0, 1).new_ids(1) != PlacedUlids(0, 1).new_ids(1), "the same place of two inputs"
