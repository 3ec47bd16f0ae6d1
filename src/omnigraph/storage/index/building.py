"""Building index segments: choosing the fragments of each, and writing one.

A segment depends on its plan and nothing else, so any machine can build it. It is part of no version until it is
committed. The choice is a set of tiers, as in a log-structured merge tree: small segments are rebuilt together with
uncovered rows, large ones stay.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lance import LanceDataset
from lance.dataset import Index

from omnigraph.core.tables import FileRecord
from omnigraph.storage.index.indexes import Coverage, Segment, fragment_rows, lance_indexes, segment_of
from omnigraph.storage.index.kinds import TRAITS, segment_rows_max
from omnigraph.storage.index.segment_builders import SegmentPlan
from omnigraph.storage.objects.durability import record_files, sync_directories
from omnigraph.storage.objects.failures import translated
from omnigraph.storage.tables.store import Store

ABSORBED_SHARE = 2
"""A small segment is rebuilt together with uncovered rows if it holds at most this many times as many rows. The number
of segments, and the times a row is indexed, then grow with the logarithm of the rows."""


@dataclass(frozen=True, slots=True)
class BuiltSegment:
    """A segment that was written and is part of no version yet."""

    index: Index
    files: tuple[FileRecord, ...]

    def covering(self, fragments: Iterable[int]) -> BuiltSegment:
        """The same segment for the same rows in other fragments."""
        covered = set(fragments)
        return replace(self, index=replace(self.index, fragment_ids=covered))  # type: ignore[arg-type] # taken as well


def planned_segments(coverage: Coverage, rows: Mapping[int, int]) -> list[SegmentPlan]:
    """Divide the uncovered fragments into the fewest segments of about equal size. A fragment is not divided.

    Fragments of 5, 5, 5, 5 and 5 rows with at most 10 rows per segment need three segments, so each gets a share of 9:
    [5, 5], [5, 5], [5].
    """
    total = sum(rows[number] for number in coverage.uncovered)
    if not total:
        return []
    bound = -(-total // max(1, -(-total // segment_rows_max(coverage.spec.kind))))
    groups: list[list[int]] = []
    size = 0
    for number in coverage.uncovered:
        # A group is closed once it has its share, not before it exceeds it: there is never one more than planned.
        if not groups or size >= bound:
            groups.append([])
            size = 0
        groups[-1].append(number)
        size += rows[number]
    return [
        SegmentPlan(
            coverage.spec, coverage.name, tuple(group), sum(rows[item] for item in group), not coverage.segments
        )
        for group in groups
    ]


def build_segment(store: Store, location: str, version: int, plan: SegmentPlan) -> BuiltSegment | None:
    """Index the fragments of a plan, as they are in that version; None if there is no value to index."""
    # Building blocks every other use of the handle.
    dataset = store.open_own(location, version)
    with translated(f"index {plan.spec} of {location} could not be built", location=location):
        built = TRAITS[plan.spec.kind].build(dataset, plan, store.tuning)
    if built is None:
        return None
    directory = f"{location}/_indices/{built.uuid}"
    sizes = {f"{directory}/{file.path}": file.size_bytes for file in built.files or []}
    sync_directories(store.root, [directory], store.durability)
    return BuiltSegment(built, record_files(store.root, list(sizes), sizes))


def counting_dead_rows(dataset: LanceDataset, rewritten: Iterable[Any]) -> tuple[Segment, ...]:
    """Segments whose statistics would keep counting the deleted rows of fragments that a rewrite drops.

    After the rewrite the fragments have no deletions any more, so nothing would show that the statistics are wrong.
    """
    losing = {part.id for part in rewritten if part.num_deletions}
    rows = fragment_rows(dataset)
    counting = {traits.statistics_type for traits in TRAITS.values()}
    text = [item for item in lance_indexes(dataset) if item.index_type in counting] if losing else []
    segments = (segment_of(item, part, rows) for item in text for part in item.segments)
    return tuple(segment for segment in segments if segment.fragments & losing)


def absorbed(coverage: Coverage, rows: dict[int, int], rows_max: int = sys.maxsize) -> tuple[Segment, ...]:
    """Small segments to rebuild together with the uncovered rows, as long as all have at most ``rows_max`` rows.

    A segment that is half full stays: it would only be divided again. With 100 uncovered rows and segments of 50, 90,
    480, 2,000 and 9,000 rows, the size grows 100 -> 150 -> 240 -> 720. The first three are absorbed, because 2,000 is
    more than twice 720.
    """
    if coverage.is_complete:
        return ()
    bound = segment_rows_max(coverage.spec.kind) // 2
    size = sum(rows[number] for number in coverage.uncovered)
    chosen: list[Segment] = []
    for segment in sorted(coverage.segments, key=lambda item: _live_rows(item, rows)):
        held = _live_rows(segment, rows)
        if held > min(bound, ABSORBED_SHARE * size, rows_max - size):
            break
        size += held
        chosen.append(segment)
    return tuple(chosen)


def _live_rows(segment: Segment, rows: dict[int, int]) -> int:
    return sum(rows[number] for number in segment.fragments)
