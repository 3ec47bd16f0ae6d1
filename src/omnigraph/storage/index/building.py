"""Building index segments: which fragments go into which, and writing one.

A segment is built from what its plan says and nothing else, so it can be built anywhere. It is part of no version until
somebody commits it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lance import LanceDataset
from lance.dataset import Index

from omnigraph.core.tables import FileRecord
from omnigraph.storage.index.indexes import Coverage, IndexKind, IndexSpec, segment_rows_max
from omnigraph.storage.objects.durability import record_files, sync_directories
from omnigraph.storage.objects.failures import translated
from omnigraph.storage.tables.store import Store

VECTORS_PER_PARTITION = 4_096
"""Vectors of one partition of rounded vectors. A search looks at whole partitions, the closest ones first."""

GRAPH_VECTORS_MIN = 250_000
"""Vectors of a segment from which on a graph of neighbours is built over them. Below, looking at rounded vectors is as
fast and finds more, and building takes a hundredth of the time: 0.4 against 43 s for 50,000 vectors of 64 numbers."""

GRAPH_INDEX = "IVF_HNSW_SQ"

# Lance divides the n-grams of a segment, writes every part, and then joins the parts two by two, which takes most of
# the time of a small segment: 8 instead of 1.5 s for 1,000 rows. It asks once per process, and only the environment.
os.environ.setdefault("LANCE_NGRAM_NUM_PARTITIONS", "1")


@dataclass(frozen=True, slots=True)
class SegmentPlan:
    """A segment to be built: the fragments that it will cover, and their rows."""

    spec: IndexSpec
    name: str
    fragments: tuple[int, ...]
    rows: int
    is_first: bool
    """Whether the index has no segment yet."""


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
    """The uncovered fragments as segments: no more than it takes, of about the same size. A fragment is not divided."""
    total = sum(rows[number] for number in coverage.uncovered)
    if not total:
        return []
    bound = -(-total // max(1, -(-total // segment_rows_max(coverage.spec.kind))))
    groups: list[list[int]] = []
    size = 0
    for number in coverage.uncovered:
        # A group is full as soon as it has its share, so there is never one more than planned.
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
    spec = plan.spec
    index_type, options = spec.kind.value, dict[str, Any]()
    # Building blocks every other use of the handle.
    dataset = store.open_own(location, version)
    with translated(f"index {spec} of {location} could not be built", location=location):
        if spec.kind is IndexKind.VECTOR:
            if not _has_vectors(dataset, spec.column, plan.fragments):
                return None
            index_type, partitions = _vector_index(plan.rows)
            options = {"num_partitions": partitions, "metric": "L2"}
        built = dataset.create_index_uncommitted(
            spec.column,
            index_type,
            name=plan.name,
            fragment_ids=list(plan.fragments),
            replace=not plan.is_first,
            **options,
        )
        if spec.kind is IndexKind.TEXT:
            # Until then its files are in a staging directory, where no search finds them.
            built = dataset.merge_existing_index_segments([built])
    directory = f"{location}/_indices/{built.uuid}"
    sizes = {f"{directory}/{file.path}": file.size_bytes for file in built.files or []}
    sync_directories(store.root, [directory], store.durability)
    return BuiltSegment(built, record_files(store.root, list(sizes), sizes))


def _vector_index(vectors: int) -> tuple[str, int]:
    """The type of a segment over so many vectors, and its partitions. Types may be mixed in one index.

    A graph is searched as a whole and finds more if it is one, so there is one per segment, and nothing to train.
    """
    if vectors >= GRAPH_VECTORS_MIN:
        return GRAPH_INDEX, 1
    return IndexKind.VECTOR.value, 1 + vectors // VECTORS_PER_PARTITION


def _has_vectors(dataset: LanceDataset, column: str, fragments: tuple[int, ...]) -> bool:
    """Whether there is something to train with. Reads until the first vector."""
    parts = [fragment for fragment in dataset.get_fragments() if fragment.fragment_id in set(fragments)]
    scanner = dataset.scanner(columns=[column], fragments=parts)
    return any(batch.column(0).null_count < len(batch) for batch in scanner.to_batches())
