"""The table of index kinds: how each is built, searched and maintained. Adding a kind means adding a row.

Rows say what is a fact about a kind. When an index is worth having is a decision of the writer
(``write.upkeep.index_choice``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa
from lance import LanceDataset
from lance.dataset import Index

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.tuning import Tuning
from omnigraph.storage.index.indexes import IndexKind
from omnigraph.storage.index.probes import Question, probe_filter, probe_neighbours, probe_words
from omnigraph.storage.index.segment_builders import SegmentPlan, build_text, build_values, build_vectors

Build = Callable[[LanceDataset, SegmentPlan, Tuning], Index | None]
"""Writes a segment; None if there is no value to index."""

Probe = Callable[[LanceDataset, str, Question], pa.Table]
"""Searches the index of a column."""


@dataclass(frozen=True, slots=True)
class IndexTraits:
    """One kind of index."""

    build: Build
    probe: Probe
    segment_rows_max: int
    """Largest segment in rows. A search reads every segment, and building one is the task that cannot be divided:
    words and vectors take much longer than values."""
    is_extended: bool
    """Cheap enough that an ordinary write extends it; otherwise only ``optimize`` does."""
    names_rows_by_address: bool
    """Segments must be rebuilt when their fragments are rewritten. Otherwise they name rows by stable ids."""
    statistics_type: str | None
    """Lance's ``index_type`` of segments whose scores depend on their row counts, which include deleted rows."""


TRAITS: Mapping[IndexKind, IndexTraits] = {
    IndexKind.BTREE: IndexTraits(
        build_values,
        probe_filter,
        segment_rows_max=16_777_216,
        is_extended=True,
        names_rows_by_address=True,
        statistics_type=None,
    ),
    IndexKind.TEXT: IndexTraits(
        build_text,
        probe_words,
        segment_rows_max=4_194_304,
        is_extended=True,
        names_rows_by_address=False,
        statistics_type="Inverted",
    ),
    IndexKind.NGRAM: IndexTraits(
        build_values,
        probe_filter,
        segment_rows_max=4_194_304,
        is_extended=False,
        names_rows_by_address=False,
        statistics_type=None,
    ),
    IndexKind.VECTOR: IndexTraits(
        build_vectors,
        probe_neighbours,
        segment_rows_max=1_048_576,
        is_extended=False,
        names_rows_by_address=False,
        statistics_type=None,
    ),
}


def segment_rows_max(kind: IndexKind) -> int:
    """Largest segment of an index of this kind, in rows."""
    return TRAITS[kind].segment_rows_max
