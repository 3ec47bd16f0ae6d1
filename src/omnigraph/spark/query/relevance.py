"""BM25 relevance on Spark: tasks count the words of their fragments, and score them with the sums of all counts.

Counting is a separate job at planning time; fragments without a word of the query are not read again. If the embedded
executor would take scores from an index, every task does so for its fragments, and nothing is counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.tables import TablePin
from omnigraph.exec.search import scoring_index, text_of
from omnigraph.query import expressions as ir
from omnigraph.rows.arrow_types import ID
from omnigraph.spark.cluster import limits
from omnigraph.spark.cluster.python_workers import mapped
from omnigraph.spark.cluster.tasks import run_tasks
from omnigraph.spark.query.tables import QueryTables
from omnigraph.storage.index.reads import search_text
from omnigraph.storage.index.relevance import CountedTexts, TextCounts
from omnigraph.storage.index.text_index import words_of
from omnigraph.storage.tables.row_addresses import OFFSET_BITS
from omnigraph.storage.tables.scan import fragment_groups, scan
from omnigraph.storage.tables.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PAIRS = pa.schema([("id", pa.string()), ("score", pa.float32())])

Fragments = tuple[int, ...]


@dataclass(frozen=True)
class Relevance:
    """BM25 scores of one text column, computed per fragment."""

    store: Store
    pin: TablePin
    column: str
    query: str
    words: tuple[str, ...]
    groups: tuple[Fragments, ...]
    """The fragments of every task."""
    total: TextCounts | None = None
    """Word counts of the whole column; None if an index provides the scores."""

    def frame(self, spark: SparkSession, id_: str, score: str) -> DataFrame:
        """Ids and scores of the rows with a word of the query, in the named columns."""
        from pyspark.sql import functions as f

        tasks = max(len(self.groups), 1)
        found = mapped(spark.range(0, tasks, 1, tasks), self.read, "id string, score float").toDF(id_, score)
        rows = self.pin.rows if self.total is None else self.total.found_max
        return f.broadcast(found) if rows * limits.TEXT_BYTES <= self.store.tuning.broadcast_bytes else found

    def count(self, fragments: Fragments) -> TextCounts:
        """Word counts of some fragments. Runs on executors."""
        batches = self._scan([self.column], fragments)
        return TextCounts.sum((CountedTexts(batch[self.column], self.words).counts() for batch in batches), self.words)

    def read(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The scores of the tasks with these numbers. Runs on executors."""
        tasks = [number for batch in numbers for number in batch.column(0).to_pylist() if number < len(self.groups)]
        for number in tasks:
            fragments = self.groups[number]
            yield from self._looked_up(fragments) if self.total is None else self._computed(fragments, self.total)

    def _computed(self, fragments: Fragments, total: TextCounts) -> Iterator[pa.RecordBatch]:
        for batch in self._scan([ID, self.column], fragments):
            found = CountedTexts(batch[self.column], self.words).scored(total)
            yield _pairs(batch[ID].take(pa.array(found.rows)), pa.array(found.scores))

    def _looked_up(self, fragments: Fragments) -> Iterator[pa.RecordBatch]:
        """Scores of these fragments from the index, which scores against all rows of the table."""
        addresses, scores = search_text(self.store, self.pin, self.column, self.query, 0)
        here = np.isin(addresses >> np.uint64(OFFSET_BITS), np.array(fragments, np.uint64))
        known = pa.array(addresses[here])
        for batch in self._scan([ID], fragments, with_address=True) if len(known) else ():
            places = pc.index_in(batch["_rowaddr"], value_set=known)
            yield _pairs(batch[ID].filter(places.is_valid()), pa.array(scores[here]).take(places.drop_null()))

    def _scan(
        self, columns: list[str], fragments: Fragments, *, with_address: bool = False
    ) -> Iterator[pa.RecordBatch]:
        rows = limits.QUERY_BATCH_ROWS
        return scan(self.store, self.pin, columns, with_address=with_address, batch_rows=rows, fragments=fragments)


def relevance(tables: QueryTables, ranking: ir.Bm25) -> Relevance:
    """Plan the scores of a ranking. Runs a job if words must be counted."""
    assert isinstance(ranking.text, ir.Property)
    table = tables.view.node_table(tables.types[ranking.text.variable])
    query = text_of(ranking.query) or ""
    scores = Relevance(table.store, table.pin, ranking.text.name, query, tuple(words_of(query)), ())
    if not scores.words:
        return scores
    groups = tuple(fragment_groups(table.store, table.pin, table.store.tuning.partition_rows))
    if scoring_index(table, scores.column) is not None:
        return replace(scores, groups=groups)
    key = (table.pin.location, scores.column, scores.words)
    if key not in tables.text_counts:
        tables.text_counts[key] = run_tasks(tables.spark, scores.count, groups)
    counts = tables.text_counts[key]
    holding = tuple(group for group, counted in zip(groups, counts, strict=True) if counted.found_max)
    return replace(scores, groups=holding, total=TextCounts.sum(counts, scores.words))


def _pairs(ids: pa.Array, scores: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([ids, scores], schema=_PAIRS)
