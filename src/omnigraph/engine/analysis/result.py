"""Results of an algorithm: one row per node, facts about the whole graph, and writing values back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.suggestions import did_you_mean
from omnigraph.engine.query.result import QueryResult
from omnigraph.errors import Hint, UsageError
from omnigraph.exec.adjacency import Rows
from omnigraph.exec.analytics.result_rows import WALK, window_pairs
from omnigraph.exec.shape.result_rows import ResultRows, table_rows

if TYPE_CHECKING:
    from omnigraph.engine.load.run import Loader
    from omnigraph.engine.load_options import LoadOptions
    from omnigraph.engine.query.drawable import Drawn
    from omnigraph.engine.results import LoadResult
    from omnigraph.exec.analytics.nodes import NodeSpace


class LoadWith(Protocol):
    """``Graph.load_with``."""

    def __call__(self, loader: Loader, options: LoadOptions) -> LoadResult: ...


@dataclass(frozen=True, slots=True)
class Source:
    """Parts of the rows: the nodes, the values of each column, and the way to write them back."""

    space: NodeSpace
    values: Mapping[str, pa.Array]
    load_with: LoadWith


@dataclass(frozen=True, repr=False)
class AnalysisResult(QueryResult):
    """Rows of ``type``, ``id`` and values, in the order of the tables. ``facts`` are about the whole graph."""

    facts: Mapping[str, bool | int | float] = field(default_factory=dict)
    source: InitVar[Source | None] = None

    def __post_init__(self, data: ResultRows, drawable: Drawn, source: Source | None) -> None:
        super().__post_init__(data, drawable)
        assert source is not None, "an algorithm names what it has read"
        object.__setattr__(self, "_source", source)

    if TYPE_CHECKING:
        # Attributes that are not fields.
        _source: ClassVar[Source]

    def top(self, count: int = 10, column: str | None = None) -> QueryResult:
        """The rows with the largest values of a column, by default the first one; equal ones by type and id."""
        source = self._source
        rows = self._at(source.space.largest(source.values[self.column(column)], count))
        order = pc.sort_indices(
            rows, sort_keys=[(self.column(column), "descending"), ("type", "ascending"), ("id", "ascending")]
        )
        found = rows.take(order[:count])
        return self._with(table_rows(found))

    def write(
        self,
        property: str,
        *,
        column: str | None = None,
        types: Sequence[str] | None = None,
        branch: str | None = None,
        base: str | None = None,
        actor: str | None = None,
        message: str | None = None,
        idempotency_key: str | None = None,
    ) -> LoadResult:
        """Make a column a property of the nodes, as one commit; everything else about them stays.

        The branch is the one that was read, by default; with ``base`` a missing one is forked from there first. Nodes
        that were deleted meanwhile stay so, and nodes that came since keep what they have.
        """
        from omnigraph.engine.analysis.write_back import WriteBack
        from omnigraph.engine.load_options import LoadOptions

        target = branch or self.branch
        if target is None:
            raise UsageError(
                "a commit was analysed, and commits do not change",
                hint=Hint('write(..., branch="...")', "name one with --into"),
            )
        name = self.column(column)
        loader = WriteBack(self._source.space, property, self._source.values[name], types)
        options = LoadOptions(
            branch=target,
            base=base,
            actor=actor,
            message=message or f"{self.query_name} of {self.commit_id} as {property}",
            idempotency_key=idempotency_key,
            provenance={"analysis": self.query_name, "commit": self.commit_id},
        )
        return self._source.load_with(loader, options)

    def pairs(self, window: int = 5) -> Iterator[pa.RecordBatch]:
        """Pairs ``node`` and ``context`` of walks, at most ``window`` places apart: the examples of node2vec.

        Batches are computed one after the other; a walk is never divided.
        """
        if WALK not in self.columns:
            raise UsageError(f"{self.query_name} gives no walks", hint="pairs are made of graph.analyze.random_walks()")
        if window < 1:
            raise UsageError(f"window is {window}, expected at least 1", hint="the default is 5")
        for batch in self.batches():
            yield from window_pairs(batch.column(WALK), window)

    def column(self, name: str | None = None) -> str:
        """A column of values, by default the first; raises if there is none of that name."""
        known = list(self._source.values)
        if not known:
            raise UsageError(
                f"{self.query_name} gives no value for every node", hint="iterate over the rows, or use pairs()"
            )
        if name is None:
            return known[0]
        if name not in known:
            raise UsageError(
                f"{self.query_name} gives no {name!r}",
                hint=did_you_mean(name, known) or f"its columns are {', '.join(known)}",
            )
        return name

    def _at(self, numbers: Rows) -> pa.Table:
        """The rows with some numbers."""
        types, ids = self._source.space.columns_at(numbers)
        values = [array.take(pa.array(numbers)) for array in self._source.values.values()]
        return pa.Table.from_arrays([types, ids, *values], schema=self._data.schema)
