"""Reads of one graph in this process: closures where few rows are met, the general operators otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from omnigraph.core.lru import Lru
from omnigraph.core.ports import Embedder
from omnigraph.engine.query.choice import QueryLimits
from omnigraph.engine.query.memory import query_memory
from omnigraph.engine.query.result import QueryResult
from omnigraph.engine.query.run import COMPILED_MAX, NamedParts, bind_plan, readable, run_query
from omnigraph.exec.budget import NEVER, Budget
from omnigraph.exec.columns import Columns
from omnigraph.exec.compiled.query import BriefBudget, CompiledQuery, Programs, compile_query
from omnigraph.exec.graph_view import GraphView
from omnigraph.exec.shape.result_rows import value_rows
from omnigraph.query.ir import MutationIR, QueryIR
from omnigraph.query.params import Values, bind_values
from omnigraph.schema.catalog import Catalog


@dataclass
class _Known:
    """A plan that has run before, with its compiled form from the second run on."""

    plan: QueryIR
    parts: NamedParts
    compiled: CompiledQuery | None = None
    is_new: bool = True


class Reads:
    """Runs plans. A plan is identified by its object: whatever rewrote it, the rewritten one is compiled and run."""

    def __init__(self, columns: Columns) -> None:
        self._programs = Programs(columns)
        self._known: Lru[int, _Known] = Lru(COMPILED_MAX)

    def run(
        self,
        plan: QueryIR | MutationIR,
        view: GraphView,
        params: Mapping[str, object] | None,
        limits: QueryLimits,
        *,
        branch: str | None,
        embedder: Embedder | None,
        now_ms: int,
    ) -> QueryResult:
        """The rows of a plan."""
        query = readable(plan)
        values = bind_values(query.parameters, params)
        known = self._remembered(query, view.catalog)
        if known.compiled is not None and not limits.stats:
            rows = self._few_rows(known.compiled, view, values, limits, now_ms)
            if rows is not None:
                data = value_rows(known.compiled.schema, rows)
                return QueryResult(query.name, data, branch, view.state.head, drawable=known.parts.drawable(view))
        budget = Budget(limits.timeout, query_memory(limits.memory_limit), limits.cancel or NEVER)
        bound = bind_plan(query, values, view.catalog, embedder=embedder, now_ms=now_ms)
        return run_query(bound, view, budget, branch=branch, stats=limits.stats)

    def at_once(
        self, plan: QueryIR, view: GraphView, params: Mapping[str, object] | None, *, branch: str, now_ms: int
    ) -> QueryResult | None:
        """The rows of a plan whose program and values are in memory; None if the read would take longer."""
        known = self._known.get(id(plan))
        if known is None or known.plan is not plan or known.compiled is None:
            return None
        call = known.compiled.call(bind_values(plan.parameters, params), now_ms, BriefBudget())
        rows = self._programs.run(known.compiled, view, call, is_at_once=True)
        if rows is None:
            return None
        return QueryResult(plan.name, value_rows(known.compiled.schema, rows), branch, view.state.head)

    def is_small(self, plan: QueryIR, view: GraphView, is_outdated: bool, *, compiles: bool) -> bool | None:
        """True for a plan that a run here brings into memory, so that it can be answered immediately from then on.

        False for one that does not start from keys, or that ran here in vain. None if only compiling it could tell.
        ``is_outdated``: there is a newer version, which no plan has run on here.
        """
        known = self._known.get(id(plan))
        if known is None or known.plan is not plan or known.is_new:
            if not compiles:
                return None
            # Kept also if it has no compiled form: another process runs it, so no run here would ever find that out.
            known = _Known(plan, NamedParts.of(plan, view.catalog), compile_query(plan, view.catalog), is_new=False)
            self._known.put(id(plan), known)
        if known.compiled is None:
            return False
        return is_outdated or self._programs.is_worth_trying(known.compiled, view)

    def _remembered(self, plan: QueryIR, catalog: Catalog) -> _Known:
        known = self._known.get(id(plan))
        if known is None or known.plan is not plan:
            # Compiling costs more than it saves for a query that runs once.
            known = _Known(plan, NamedParts.of(plan, catalog))
            self._known.put(id(plan), known)
        elif known.is_new:
            known.is_new, known.compiled = False, compile_query(plan, catalog)
        return known

    def _few_rows(
        self, compiled: CompiledQuery, view: GraphView, values: Values, limits: QueryLimits, now_ms: int
    ) -> Sequence[tuple[Any, ...]] | None:
        budget = Budget(limits.timeout, None, limits.cancel or NEVER)
        rows = self._programs.run(compiled, view, compiled.call(values, now_ms, budget))
        if rows is None or limits.memory_limit is None:
            return rows
        # The general operators know what may be held, and raise.
        return rows if _size(compiled, rows) <= limits.memory_limit else None


def _size(compiled: CompiledQuery, rows: Sequence[tuple[Any, ...]]) -> int:
    """An estimate of the bytes of some rows, as columns of Arrow would hold them."""
    lengths = sum([len(row[place] or ()) for place in compiled.sized for row in rows])
    return 8 * len(compiled.schema) * len(rows) + lengths
