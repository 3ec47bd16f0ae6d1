"""Maintenance of one table: what is done to it, and putting that on a version of it.

The work (rewriting fragments, building index segments) is done once and takes as long as it takes. Putting it on a
version writes only manifests. When others changed the table meanwhile, what their change left alone is kept: groups of
fragments that are all still as they were, and segments whose rows are still there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from lance import LanceDataset, LanceOperation
from lance.fragment import FragmentMetadata

from omnigraph.core.tables import TablePin
from omnigraph.storage.index import indexes
from omnigraph.storage.index.building import (
    BuiltSegment,
    absorbed,
    build_segment,
    counting_dead_rows,
    planned_segments,
)
from omnigraph.storage.index.indexes import Coverage, IndexSpec, Segment
from omnigraph.storage.index.kinds import TRAITS
from omnigraph.storage.stage.staging import StagedVersion, stage_operation, staged_version
from omnigraph.storage.tables.store import Store
from omnigraph.storage.upkeep.compaction import (
    NUMBERS_AHEAD,
    RewrittenGroup,
    compaction_tasks,
    numbered,
    rewrite,
    rewrite_operation,
)
from omnigraph.storage.upkeep.work import HERE, Workers

DataFiles = tuple[str, ...]
"""The data files of a fragment: with its number they fix its rows, but for those that are deleted."""


@dataclass(frozen=True, slots=True)
class IndexedRows:
    """A segment and the rows it was built from: fragments of the base, and whole groups that were rewritten."""

    segment: BuiltSegment
    spec: IndexSpec
    fragments: Mapping[int, DataFiles]
    groups: frozenset[int]


@dataclass(frozen=True, slots=True)
class TableWork:
    """Finished work on one table, not yet on any version that somebody can see."""

    pin: TablePin
    specs: tuple[IndexSpec, ...]
    dropped: tuple[Segment, ...] = ()
    groups: tuple[RewrittenGroup, ...] = ()
    built: tuple[IndexedRows, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.groups or self.built or self.dropped)


@dataclass(frozen=True, slots=True)
class StagedWork:
    """What of the work is on a version, and what the indexes cover there."""

    version: StagedVersion
    groups: tuple[RewrittenGroup, ...]
    built: tuple[IndexSpec, ...]
    is_whole: bool
    fragments: int
    coverage: tuple[Coverage, ...]


def work_on(
    store: Store, pin: TablePin, specs: Sequence[IndexSpec], *, compact: bool, workers: Workers = HERE
) -> TableWork:
    """Do what a table needs: rewrite fragments, then index what is not covered. If it needs nothing, only manifests
    are read. Data is read and written by the workers; what they give back is descriptions of files."""
    base = store.open(pin.location, pin.lance_version)
    current, tasks, dropped = _planned(store, base, pin.location, specs, compact=compact)
    written = workers.run(partial(rewrite, store, pin.location, current.version), tasks)
    groups = numbered(written, indexes.highest_number(current) + NUMBERS_AHEAD)
    current = stage_operation(store, current, pin.location, rewrite_operation(groups) if groups else None)
    built = _build(store, current, pin.location, specs, groups, workers)
    return TableWork(pin, tuple(specs), dropped, groups, built)


def _planned(
    store: Store, base: LanceDataset, location: str, specs: Sequence[IndexSpec], *, compact: bool
) -> tuple[LanceDataset, list[Any], tuple[Segment, ...]]:
    """What to rewrite, the segments that are built anew, and a version without those.

    They go first: fragments of different segments cannot be rewritten into one.
    """
    rows = indexes.fragment_rows(base)
    found = indexes.coverage_of(base, specs)
    names = {item.name for item in found}
    stale = [part for item in found for part in (*item.dead, *absorbed(item, rows))]
    dropped: dict[str, Segment] = {}
    current = base
    while True:
        dropped |= {segment.uuid: segment for segment in stale}
        current = stage_operation(store, current, location, index_operation([], stale))
        tasks = compaction_tasks(current) if compact else []
        spoiled = counting_dead_rows(current, [part for task in tasks for part in task.fragments])
        stale = [segment for segment in spoiled if segment.index.name in names]
        if not stale:
            break
    # What cannot be built anew, because indexes are to be left as they are, is not spoiled either.
    kept = {number for segment in spoiled for number in segment.fragments}
    return current, [task for task in tasks if not kept & {part.id for part in task.fragments}], tuple(dropped.values())


def _build(
    store: Store,
    dataset: LanceDataset,
    location: str,
    specs: Sequence[IndexSpec],
    groups: Sequence[RewrittenGroup],
    workers: Workers,
) -> tuple[IndexedRows, ...]:
    rows = indexes.fragment_rows(dataset)
    plans = [plan for item in indexes.coverage_of(dataset, specs) for plan in planned_segments(item, rows)]
    segments = workers.run(partial(build_segment, store, location, dataset.version), plans)
    group_of = {part.id: number for number, group in enumerate(groups) for part in group.rewritten}
    data = _data_files(dataset)
    return tuple(
        IndexedRows(
            segment,
            plan.spec,
            {number: data[number] for number in plan.fragments if number not in group_of},
            frozenset(group_of[number] for number in plan.fragments if number in group_of),
        )
        for plan, segment in zip(plans, segments, strict=True)
        if segment is not None
    )


def stage_work(store: Store, pin: TablePin, work: TableWork) -> StagedWork | None:
    """The work on a version of the table, the one it was done on or a later one; None if nothing is left of it."""
    if pin.location != work.pin.location:
        return None
    base = store.open(pin.location, pin.lance_version)
    present = indexes.segment_fragments(base)
    # Writers extend indexes, and others may maintain this table: what they took away is gone already.
    dropped = tuple(part for part in work.dropped if part.uuid in present)
    staying = [fragments for uuid, fragments in present.items() if uuid not in {part.uuid for part in dropped}]
    groups = _kept(base, work.groups, staying)
    current = stage_operation(store, base, pin.location, index_operation([], dropped if groups else ()))
    current = stage_operation(store, current, pin.location, rewrite_operation(groups) if groups else None)
    placed = _placed(work, current, groups)
    names = {segment.index.name for segment, _ in placed}
    useless = [*indexes.dead_segments(current, work.specs)]
    useless += [part for part in dropped if not groups and part.index.name in names]
    removed = tuple({part.uuid: part for part in useless}.values())
    current = stage_operation(store, current, pin.location, index_operation([item for item, _ in placed], removed))
    if current is base:
        return None
    files = [record for group in groups for record in group.files]
    files += [record for segment, _ in placed for record in segment.files]
    return StagedWork(
        staged_version(store, current, pin.location, files),
        groups,
        tuple(spec for _, spec in placed),
        len(groups) == len(work.groups) and len(placed) == len(work.built),
        len(current.get_fragments()),
        tuple(indexes.coverage_of(current, work.specs)),
    )


def _kept(
    base: LanceDataset, groups: Sequence[RewrittenGroup], segments: Sequence[frozenset[int]]
) -> tuple[RewrittenGroup, ...]:
    """Groups whose fragments are all as they were, whose numbers nobody took, and of which every segment covers all or
    nothing: Lance refuses others."""
    unchanged = {_rows_key(item.metadata) for item in base.get_fragments()}
    highest = indexes.highest_number(base)
    return tuple(
        group
        for group in groups
        if all(_rows_key(part) in unchanged for part in group.originals)
        and all(part.id > highest for part in group.rewritten)
        and not any(
            0 < len(covered & {part.id for part in group.originals}) < len(group.originals) for covered in segments
        )
    )


def _placed(
    work: TableWork, current: LanceDataset, kept: Sequence[RewrittenGroup]
) -> list[tuple[BuiltSegment, IndexSpec]]:
    """Segments that answer for this version, with the numbers of their fragments in it."""
    data = _data_files(current)
    gone = {segment.uuid for segment in work.dropped}
    covered = {
        item.spec: {number for part in item.segments if part.uuid not in gone for number in part.fragments}
        for item in indexes.coverage_of(current, work.specs)
    }
    placed: list[tuple[BuiltSegment, IndexSpec]] = []
    for item in work.built:
        fragments = dict(item.fragments)
        inside = [work.groups[number] for number in item.groups]
        if TRAITS[item.spec.kind].names_rows_by_address and any(group not in kept for group in inside):
            # It names rows by their addresses, and those are others in the original fragments.
            continue
        for group in inside:
            fragments |= {part.id: _files_of(part) for part in (group.rewritten if group in kept else group.originals)}
        # A fragment that is gone took its rows along; one whose number means other rows now must not be covered.
        is_right = all(data.get(number, files) == files for number, files in fragments.items())
        # Where an older segment still covers some of the rows, both would answer for them.
        if is_right and data.keys() & fragments and not covered[item.spec] & fragments.keys():
            placed.append((item.segment.covering(fragments), item.spec))
    return placed


def _data_files(dataset: LanceDataset) -> dict[int, DataFiles]:
    return {item.fragment_id: _files_of(item.metadata) for item in dataset.get_fragments()}


def _files_of(part: FragmentMetadata) -> DataFiles:
    return tuple(file.path for file in part.files)


def _rows_key(part: FragmentMetadata) -> tuple[int, DataFiles, str | None]:
    """What fixes the number and the live rows of a fragment."""
    deletion = part.deletion_file
    return part.id, _files_of(part), None if deletion is None else deletion.path(part.id)


def index_operation(added: Sequence[BuiltSegment], removed: Sequence[Segment]) -> Any | None:
    """Segments that come and go; None if there are none."""
    if not added and not removed:
        return None
    return LanceOperation.CreateIndex([item.index for item in added], [item.index for item in removed])
