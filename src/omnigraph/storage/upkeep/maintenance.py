"""Maintenance of one table: doing the work, and rebasing it on a version of the table.

The work (compaction, building index segments) is done once and may take long. Putting it on a version writes only
manifests. If other writers changed the table meanwhile, the parts that are still valid are kept: groups whose fragments
are all unchanged, and segments whose rows still exist.
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
    RewrittenGroup,
    compaction_tasks,
    numbered,
    rewrite,
    rewrite_operation,
)
from omnigraph.storage.upkeep.work import HERE, Workers

DataFiles = tuple[str, ...]
"""The data files of a fragment: with its number they determine its rows, except for deletions."""


@dataclass(frozen=True, slots=True)
class IndexedRows:
    """A segment and the rows it was built from: fragments of the base, and whole groups that were rewritten."""

    segment: BuiltSegment
    spec: IndexSpec
    fragments: Mapping[int, DataFiles]
    groups: frozenset[int]


@dataclass(frozen=True, slots=True)
class TableWork:
    """Finished work on one table, not yet part of any visible version."""

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
    """The part of the work that is on a version, and the coverage of the indexes there."""

    version: StagedVersion
    groups: tuple[RewrittenGroup, ...]
    built: tuple[IndexSpec, ...]
    is_whole: bool
    fragments: int
    coverage: tuple[Coverage, ...]


def work_on(
    store: Store, pin: TablePin, specs: Sequence[IndexSpec], *, compact: bool, workers: Workers = HERE
) -> TableWork:
    """Do the work that a table needs: rewrite fragments, then index uncovered rows.

    If it needs nothing, only manifests are read. The workers read and write the data and return descriptions of files.
    """
    base = store.open(pin.location, pin.lance_version)
    current, tasks, dropped = _planned(store, base, pin.location, specs, compact=compact)
    written = workers.run(partial(rewrite, store, pin.location, current.version), tasks)
    groups = numbered(written, indexes.highest_number(current) + store.tuning.fragment_numbers_ahead)
    current = stage_operation(store, current, pin.location, rewrite_operation(groups) if groups else None)
    built = _build(store, current, pin.location, specs, groups, workers)
    return TableWork(pin, tuple(specs), dropped, groups, built)


def _planned(
    store: Store, base: LanceDataset, location: str, specs: Sequence[IndexSpec], *, compact: bool
) -> tuple[LanceDataset, list[Any], tuple[Segment, ...]]:
    """The rewrite tasks, the segments to rebuild, and a version without those segments.

    The segments are dropped first, because Lance cannot rewrite fragments of different segments into one. Dropping some
    may allow more rewrites, which may spoil more segments, so the loop runs until nothing changes.
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
    # Segments outside ``specs`` are not rebuilt, so rewrites that would spoil their statistics are left out.
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
    """The work on a version of the table, its base or a later one; None if no part of it is valid there."""
    if pin.location != work.pin.location:
        return None
    base = store.open(pin.location, pin.lance_version)
    present = indexes.segment_fragments(base)
    # Writers extend indexes, and another process may maintain this table: they may have dropped these segments already.
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
    """Groups that can be committed on this version.

    - All original fragments are unchanged.
    - The numbers of the new fragments are still free.
    - Every segment covers all of its original fragments or none: Lance refuses others.
    """
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
    """Segments that are valid on this version, with the numbers of their fragments in it."""
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
            # It names rows by address, and in the original fragments the rows have other addresses.
            continue
        for group in inside:
            fragments |= {part.id: _files_of(part) for part in (group.rewritten if group in kept else group.originals)}
        # A missing fragment is harmless: its rows are gone. A number that now belongs to other rows is not.
        is_right = all(data.get(number, files) == files for number, files in fragments.items())
        # If an older segment still covers some of the rows, a search would return them twice.
        if is_right and data.keys() & fragments and not covered[item.spec] & fragments.keys():
            placed.append((item.segment.covering(fragments), item.spec))
    return placed


def _data_files(dataset: LanceDataset) -> dict[int, DataFiles]:
    return {item.fragment_id: _files_of(item.metadata) for item in dataset.get_fragments()}


def _files_of(part: FragmentMetadata) -> DataFiles:
    return tuple(file.path for file in part.files)


def _rows_key(part: FragmentMetadata) -> tuple[int, DataFiles, str | None]:
    """The identity of a fragment: its number, data files and deletion file determine its live rows."""
    deletion = part.deletion_file
    return part.id, _files_of(part), None if deletion is None else deletion.path(part.id)


def index_operation(added: Sequence[BuiltSegment], removed: Sequence[Segment]) -> Any | None:
    """The operation that adds and removes segments; None if there are none."""
    if not added and not removed:
        return None
    return LanceOperation.CreateIndex([item.index for item in added], [item.index for item in removed])
