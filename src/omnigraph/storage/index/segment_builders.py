"""Writing one index segment with Lance, by kind of index. The segment belongs to no version until it is committed."""

from __future__ import annotations

import os
from typing import Any

from lance import LanceDataset
from lance.dataset import Index

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.tuning import Tuning
from omnigraph.storage.index.indexes import IndexKind, IndexSpec

VECTORS_PER_PARTITION = 4_096
"""Vectors of one partition of quantized vectors. A search reads whole partitions, the closest ones first."""

GRAPH_INDEX = "IVF_HNSW_SQ"

# Lance partitions the n-grams of a segment, writes every partition, and then merges them pairwise, which takes most of
# the time of a small segment: 8 instead of 1.5 s for 1,000 rows. It reads the setting once per process, and only from
# the environment.
os.environ.setdefault("LANCE_NGRAM_NUM_PARTITIONS", "1")


@dataclass(frozen=True, slots=True)
class SegmentPlan:
    """A segment to be built: the fragments that it will cover, and their rows."""

    spec: IndexSpec
    name: str
    fragments: tuple[int, ...]
    rows: int
    is_first: bool
    """True if the index has no segment yet."""


def build_values(dataset: LanceDataset, plan: SegmentPlan, _: Tuning) -> Index | None:
    """A segment over scalar values or n-grams: Lance needs nothing but its type."""
    return _write(dataset, plan, plan.spec.kind.value)


def build_text(dataset: LanceDataset, plan: SegmentPlan, _: Tuning) -> Index | None:
    """A segment of a full-text index."""
    # Until the merge its files are in a staging directory, where no search finds them.
    return dataset.merge_existing_index_segments([_write(dataset, plan, plan.spec.kind.value)])


def build_vectors(dataset: LanceDataset, plan: SegmentPlan, tuning: Tuning) -> Index | None:
    """A segment over vectors; None if every value is null, because Lance has nothing to train with."""
    if not _has_vectors(dataset, plan.spec.column, plan.fragments):
        return None
    index_type, partitions = _vector_index(plan.rows, tuning.graph_vectors_min)
    return _write(dataset, plan, index_type, num_partitions=partitions, metric="L2")


def _write(dataset: LanceDataset, plan: SegmentPlan, index_type: str, **options: Any) -> Index:
    return dataset.create_index_uncommitted(
        plan.spec.column,
        index_type,
        name=plan.name,
        fragment_ids=list(plan.fragments),
        # Lance refuses a second segment under one name unless it may replace the first; nothing is committed here, so
        # nothing is replaced.
        replace=not plan.is_first,
        **options,
    )


def _vector_index(vectors: int, graph_vectors_min: int) -> tuple[str, int]:
    """Lance's type of a segment with that many vectors, and its number of partitions. One index may mix both types.

    A graph is searched as a whole and has a higher recall undivided: one partition per segment, and nothing to train.
    """
    if vectors >= graph_vectors_min:
        return GRAPH_INDEX, 1
    return IndexKind.VECTOR.value, 1 + vectors // VECTORS_PER_PARTITION


def _has_vectors(dataset: LanceDataset, column: str, fragments: tuple[int, ...]) -> bool:
    """Search for a value that is not null, reading until the first one."""
    parts = [fragment for fragment in dataset.get_fragments() if fragment.fragment_id in set(fragments)]
    scanner = dataset.scanner(columns=[column], fragments=parts)
    return any(batch.column(0).null_count < len(batch) for batch in scanner.to_batches())
