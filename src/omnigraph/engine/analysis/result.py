"""Results of an algorithm: one row per node, facts about the whole graph, and writing values back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.suggestions import did_you_mean
from omnigraph.engine.query.result import QueryResult
from omnigraph.errors import UsageError
from omnigraph.exec.adjacency import Rows
from omnigraph.exec.shape.result_rows import table_rows

if TYPE_CHECKING:
    from omnigraph.engine.load.run import Loader
    from omnigraph.engine.load_options import LoadOptions
    from omnigraph.engine.results import LoadResult
    from omnigraph.exec.analytics.nodes import NodeSpace


class LoadWith(Protocol):
    """``Graph.load_with``."""

    def __call__(self, loader: Loader, options: LoadOptions) -> LoadResult: ...


@dataclass(frozen=True)
class AnalysisResult(QueryResult):
    """Rows of ``type``, ``id`` and values, in the order of the tables. ``facts`` are about the whole graph."""

    facts: Mapping[str, bool | int | float] = field(default_factory=dict)
    _load_with: LoadWith | None = field(default=None, repr=False)
    _space: NodeSpace | None = field(default=None, repr=False)
    _values: Mapping[str, pa.Array] = field(default_factory=dict, repr=False)

    def top(self, count: int = 10, column: str | None = None) -> QueryResult:
        """The rows with the largest values of a column, by default the first one; equal ones by type and id."""
        assert self._space is not None
        rows = self._at(self._space.largest(self._values[self.column(column)], count))
        order = pc.sort_indices(
            rows, sort_keys=[(self.column(column), "descending"), ("type", "ascending"), ("id", "ascending")]
        )
        found = rows.take(order[:count])
        return QueryResult(self.query_name, table_rows(found), self.branch, self.commit_id)

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
            raise UsageError("a commit was analysed, and commits do not change", hint='write(..., branch="...")')
        assert self._load_with is not None
        assert self._space is not None
        name = self.column(column)
        loader = WriteBack(self._space, property, self._values[name], types)
        options = LoadOptions(
            branch=target,
            base=base,
            actor=actor,
            message=message or f"{self.query_name} of {self.commit_id} as {property}",
            idempotency_key=idempotency_key,
            provenance={"analysis": self.query_name, "commit": self.commit_id},
        )
        return self._load_with(loader, options)

    def column(self, name: str | None = None) -> str:
        """A column of values, by default the first; raises if there is none of that name."""
        known = list(self._values)
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
        assert self._space is not None
        types, ids = self._space.columns_at(numbers)
        values = [array.take(pa.array(numbers)) for array in self._values.values()]
        return pa.Table.from_arrays([types, ids, *values], schema=self.rows.schema)
