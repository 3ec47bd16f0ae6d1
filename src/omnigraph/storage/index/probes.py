"""Searching an index with Lance, by kind of index. Every probe returns a table with the addresses of the rows found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from lance import LanceDataset

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.storage.index.segment_builders import VECTORS_PER_PARTITION
from omnigraph.storage.index.text_index import match_text
from omnigraph.storage.tables.filters import RowFilter, filter_sql

EFFORT = 4
"""Nodes that a search of a vector graph keeps in view, per row requested. With 2, recall at ten was 94 % over random
vectors, which are the hardest case."""

PROBED_BYTES = 64 * 1024 * 1024
"""Quantized vectors that a search reads, in bytes: all of them in most tables, the closest ones in large tables."""

PROBES_MIN = 8
"""Partitions that a search reads, however wide the vectors are."""


@dataclass(frozen=True, slots=True)
class Words:
    """Rows that hold a token of an analyzed query (see ``text_index.analyzed_query``)."""

    query: str
    edits: int


@dataclass(frozen=True, slots=True)
class Neighbours:
    """About ``count`` rows whose vectors are closest to one."""

    vector: Sequence[float]
    count: int


Question = RowFilter | Words | Neighbours


def probe_filter(dataset: LanceDataset, column: str, question: Question) -> pa.Table:
    """Rows that satisfy a filter. Lance chooses the index by the form of the filter, so the column is not named."""
    assert not isinstance(question, Words | Neighbours)
    return dataset.scanner(columns=[], filter=filter_sql(question), with_row_address=True).to_table()


def probe_words(dataset: LanceDataset, column: str, question: Question) -> pa.Table:
    """Covered rows that hold a token, with their scores. Uncovered rows are not searched."""
    assert isinstance(question, Words)
    return match_text(dataset, column, question.query, question.edits, with_row_address=True, fast_search=True)


def probe_neighbours(dataset: LanceDataset, column: str, question: Question) -> pa.Table:
    """Approximate nearest rows with their vectors. Lance compares every row that the index does not cover."""
    assert isinstance(question, Neighbours)
    nearest = {
        "column": column,
        "q": np.array(question.vector, np.float32),
        "k": question.count,
        "ef": EFFORT * question.count,
        "nprobes": max(PROBES_MIN, PROBED_BYTES // (VECTORS_PER_PARTITION * len(question.vector))),
    }
    scanner = dataset.scanner(columns=[column, "_distance"], nearest=nearest, with_row_address=True)
    return scanner.to_table().combine_chunks()
