"""Incremental index maintenance: when enough rows are uncovered, a write extends the existing indexes of a table.

Small fragments are soon folded into larger ones (``fold``), so they are not indexed; a fragment too large to be folded
again is *finished*. Only a write that finishes a fragment counts the uncovered ones, and it indexes a bounded number of
rows. Kinds that are expensive to build, larger fragments, and new indexes are left to ``optimize``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lance import LanceDataset

from omnigraph.core.tuning import Tuning
from omnigraph.errors import StorageError
from omnigraph.storage.index import indexes
from omnigraph.storage.index.building import absorbed, build_segment
from omnigraph.storage.index.indexes import IndexSpec, Segment
from omnigraph.storage.index.kinds import TRAITS
from omnigraph.storage.index.segment_builders import SegmentPlan
from omnigraph.storage.objects.version_names import manifest_file
from omnigraph.storage.stage.staging import StagedVersion, WrittenRows, stage_operation, staged_version
from omnigraph.storage.tables.store import Store
from omnigraph.storage.upkeep.maintenance import index_operation


def extend_indexes(store: Store, staged: StagedVersion, added: Sequence[WrittenRows]) -> StagedVersion:
    """The same version with its indexes extended, if the added rows finish a fragment.

    Otherwise no request is sent. A failure leaves the indexes as they are.
    """
    if not any(_is_finished(store.tuning, part.physical_rows) for written in added for part in written.fragments):
        return staged
    try:
        return _extended(store, staged)
    except StorageError:
        # The staged rows are complete without it. The next write that finishes a fragment retries.
        return staged


def _is_finished(tuning: Tuning, rows: int) -> bool:
    return tuning.fold_tiers[-1][0] <= rows <= tuning.extended_rows_max


def _extended(store: Store, staged: StagedVersion) -> StagedVersion:
    location = staged.location
    dataset = store.open(location, staged.version)
    planned = list(_planned(store.tuning, dataset))
    built = [build_segment(store, location, staged.version, plan) for plan, _ in planned]
    segments = [segment for segment in built if segment is not None]
    operation = index_operation(segments, [part for _, taken in planned for part in taken])
    current = stage_operation(store, dataset, location, operation)
    if current is dataset:
        return staged
    # The intermediate version is never published, so its manifest is not among the needed files.
    between = manifest_file(location, staged.version)
    files = [record for record in staged.files if record.path != between]
    files += [record for segment in segments for record in segment.files]
    return staged_version(store, current, location, files)


def _planned(tuning: Tuning, dataset: LanceDataset) -> Iterator[tuple[SegmentPlan, tuple[Segment, ...]]]:
    """A segment for every index with enough uncovered finished fragments, and the segments that it absorbs."""
    rows = indexes.fragment_rows(dataset)
    rows_max = tuning.extended_rows_max
    specs = [
        IndexSpec(name, kind) for name in dataset.schema.names for kind, traits in TRAITS.items() if traits.is_extended
    ]
    for found in indexes.coverage_of(dataset, specs) if indexes.lance_indexes(dataset) else []:
        finished: list[int] = []
        size = 0
        # Newest first: the bound then always includes the fragments of this write.
        for number in reversed(found.uncovered):
            if found.segments and _is_finished(tuning, rows[number]) and size + rows[number] <= rows_max:
                finished.append(number)
                size += rows[number]
        if size >= tuning.extended_rows_min:
            lacking = replace(found, uncovered=tuple(finished))
            taken = absorbed(lacking, rows, rows_max)
            fragments = (*finished, *(number for part in taken for number in sorted(part.fragments)))
            total = sum(rows[number] for number in fragments)
            yield SegmentPlan(found.spec, found.name, fragments, total, is_first=False), taken
