"""Rules by size: what is folded, compacted, divided into segments, absorbed or deleted, by example and by bound."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.core.tuning import Tuning
from omnigraph.storage.index import building
from omnigraph.storage.index.building import absorbed, planned_segments
from omnigraph.storage.index.indexes import Coverage, IndexKind, IndexSpec, Segment
from omnigraph.storage.objects.protocol import Listed
from omnigraph.storage.stage import fold
from omnigraph.storage.upkeep.compaction import _is_worthwhile
from omnigraph.storage.upkeep.sweep import Fate, Needs, Terms, _fate, _Found

SPEC = IndexSpec("value", IndexKind.BTREE)


@dataclass
class Metadata:
    """A fragment of one size, without deleted rows."""

    physical_rows: int
    files: tuple[Any, ...] = ()

    @property
    def num_rows(self) -> int:
        return self.physical_rows


@dataclass
class SizedFragment:
    metadata: Metadata


TIERS = Tuning().fold_tiers


@dataclass
class SizedTable:
    """A table known by the sizes of its fragments."""

    sizes: list[int] = field(default_factory=list)

    def get_fragments(self) -> list[SizedFragment]:
        return [SizedFragment(Metadata(size)) for size in self.sizes]


def folded(new_rows: int, sizes: list[int]) -> list[int]:
    """The sizes of the fragments that a write folds."""
    found = fold._victims(cast(Any, SizedTable(sizes)), new_rows, TIERS, fold._file_bytes)
    return [fragment.metadata.physical_rows for fragment in found]


@pytest.mark.parametrize(
    ("new_rows", "sizes", "expected"),
    [
        (1, [1] * 15, []),
        (1, [1] * 16, [1] * 16),
        (1, [1] * 16 + [100] * 2, [1] * 16 + [100] * 2),
        (40, [1] * 16 + [100] * 2, [100] * 2),
        (40, [5_000] * 2, []),
    ],
)
def test_a_write_folds_full_tiers_from_the_smallest_up(new_rows: int, sizes: list[int], expected: list[int]) -> None:
    assert folded(new_rows, sizes) == expected


@given(st.lists(st.integers(1, 300), max_size=400))
def test_tiers_bound_the_fragments_of_a_table_that_grows_by_small_writes(writes: list[int]) -> None:
    sizes: list[int] = []
    for rows in writes:
        chosen = folded(rows, sizes)
        for size in chosen:
            sizes.remove(size)
        sizes.append(rows + sum(chosen))
    assert sum(sizes) == sum(writes)
    small = [size for size in sizes if size < TIERS[-1][0]]
    assert len(small) <= sum(fragments_max for _, fragments_max in TIERS)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([20] * 4, True),
        ([90] * 3, False),
        ([90, 5], False),
        ([90, 6], True),
        ([90, *[1] * 15], True),
    ],
)
def test_compaction_copies_a_large_fragment_only_for_enough_rows_or_fragments(sizes: list[int], expected: bool) -> None:
    assert _is_worthwhile(cast(Any, [Metadata(size) for size in sizes]), 100) is expected


def coverage(segments: list[int], uncovered: list[int]) -> tuple[Coverage, dict[int, int]]:
    """Segments and uncovered fragments of these sizes, one fragment for each; and rows by fragment."""
    rows = dict(enumerate([*segments, *uncovered]))
    parts = tuple(Segment(cast(Any, None), frozenset({number})) for number in range(len(segments)))
    missing = tuple(range(len(segments), len(rows)))
    return Coverage(SPEC, "btree_0", parts, missing, sum(segments), sum(rows.values())), rows


def test_segments_are_absorbed_while_they_are_at_most_twice_as_large() -> None:
    found, rows = coverage([9_000, 50, 480, 2_000, 90], [100])
    assert [rows[number] for segment in absorbed(found, rows) for number in segment.fragments] == [50, 90, 480]
    assert [rows[number] for segment in absorbed(found, rows, 250) for number in segment.fragments] == [50, 90]


def test_an_index_without_uncovered_rows_absorbs_nothing() -> None:
    assert absorbed(*coverage([1, 1], [])) == ()


@given(st.lists(st.integers(1, 30), min_size=1, max_size=40), st.integers(1, 100))
def test_uncovered_fragments_are_divided_into_the_fewest_segments(sizes: list[int], rows_max: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(building, "segment_rows_max", lambda kind: rows_max)
        found, rows = coverage([], sizes)
        plans = planned_segments(found, rows)
    assert [number for plan in plans for number in plan.fragments] == list(found.uncovered)
    assert [plan.rows for plan in plans] == [sum(rows[number] for number in plan.fragments) for plan in plans]
    assert 1 <= len(plans) <= -(-sum(sizes) // rows_max)


def test_equal_fragments_make_segments_of_about_the_same_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "segment_rows_max", lambda kind: 10)
    assert [plan.rows for plan in planned_segments(*coverage([], [5] * 5))] == [10, 10, 5]


@pytest.mark.parametrize(
    ("reference", "modified", "is_of_job", "expected"),
    [
        (None, 10, False, (Fate.NEEDED, 0)),
        (0, 10, False, (Fate.DELETED, 0)),
        (0, 1020, False, (Fate.WAITING, 1070)),
        (2000, 10, False, (Fate.WAITING, 2000)),
        (0, 10, True, (Fate.JOBS, 0)),
    ],
)
def test_only_old_files_without_a_reference_or_a_job_are_deleted(
    reference: int | None, modified: int, is_of_job: bool, expected: tuple[Fate, int]
) -> None:
    path = "nodes/t/data/a.lance"
    needs = Needs("nodes/t", {}, jobs=frozenset({path} if is_of_job else ()))
    found = _Found(needs, {path: reference})
    assert _fate(Listed(path, 1, modified), found, needs, Terms(1000, 50)) == expected
