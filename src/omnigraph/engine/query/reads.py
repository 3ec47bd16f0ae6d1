"""Reads of one graph in this process: closures where few rows are met, the general operators otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.lru import Lru
from omnigraph.core.ports import Embedder
from omnigraph.engine.query.choice import QueryLimits
from omnigraph.engine.query.memory import query_memory
from omnigraph.engine.query.result import QueryResult
from omnigraph.engine.query.run import COMPILED_MAX, NamedParts, bind_plan, readable, run_query
from omnigraph.exec.budget import NEVER, Budget
from omnigraph.exec.columns import Columns
from omnigraph.exec.graph_view import GraphView
from omnigraph.exec.shape.result_rows import ValueRows
from omnigraph.history.state import ManifestState
from omnigraph.query.ir import MutationIR, QueryIR
from omnigraph.query.params import Values, bind_values
from omnigraph.schema.catalog import Catalog
from omnigraph.storage.tables.store import Store

if TYPE_CHECKING:
    from omnigraph.exec.compiled.query import Binding, CompiledQuery, Programs


@dataclass(slots=True)
class _Known:
    """A plan that has run before, with its compiled form from the second run on."""

    plan: QueryIR
    catalog: Catalog
    parts: NamedParts
    compiled: CompiledQuery | None = None
    is_new: bool = True


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a plan: what is the same whichever executor does it."""

    params: Mapping[str, object] | None
    limits: QueryLimits
    branch: str | None
    """The branch that the result names."""
    now_ms: int
    is_restricted: bool = False
    """True if the plan was compiled inside a data scope."""


class Reads:
    """Runs plans. A plan is identified by its object: whatever rewrote it, the rewritten one is compiled and run."""

    def __init__(self, store: Store, columns: Columns) -> None:
        self._store = store
        self._columns = columns
        self._known: Lru[int, _Known] = Lru(COMPILED_MAX)

    @cached_property
    def _programs(self) -> Programs:
        # With the first query that runs a second time.
        from omnigraph.exec.compiled.query import Programs

        return Programs(self._columns)

    def run(self, plan: QueryIR | MutationIR, view: GraphView, run: Run, *, embedder: Embedder | None) -> QueryResult:
        """The rows of a plan."""
        query, limits = readable(plan), run.limits
        values = bind_values(query.parameters, run.params)
        known = self._remembered(query, view.catalog)
        if known.compiled is not None and not limits.stats:
            budget = Budget(limits.timeout, None, limits.cancel or NEVER)
            found = self._few_rows(known, self._programs.get(known.compiled, view), view.state, values, run, budget)
            if found is not None:
                return found
        budget = Budget(limits.timeout, query_memory(limits.memory_limit), limits.cancel or NEVER)
        bound = bind_plan(query, values, view.catalog, embedder=embedder, now_ms=run.now_ms)
        return run_query(bound, view, budget, branch=run.branch, stats=limits.stats)

    def at_once(self, plan: QueryIR, state: ManifestState, run: Run, *, is_brief: bool = False) -> QueryResult | None:
        """The rows of a plan whose program and values are in memory; None if the read would take longer.

        ``is_brief`` bounds the search of paths and reached nodes too: others wait for the thread.
        """
        known = self._known.get(id(plan))
        if known is None or known.plan is not plan or known.compiled is None or run.limits.stats:
            return None
        made = self._programs.made(known.compiled, state)
        if made is None:
            return None
        budget = _brief_budget() if is_brief else Budget(run.limits.timeout, None, run.limits.cancel or NEVER)
        return self._few_rows(known, made, state, bind_values(plan.parameters, run.params), run, budget)

    def follow(self, view: GraphView) -> None:
        """Prepare for reads of a state that this process has just committed, where that takes some microseconds."""
        if "_programs" in vars(self):
            self._programs.follow(view)

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
            compiled = _compiled(plan, view.catalog)
            known = _Known(plan, view.catalog, NamedParts.of(plan, view.catalog), compiled, is_new=False)
            self._known.put(id(plan), known)
        if known.compiled is None:
            return False
        return is_outdated or self._programs.is_worth_trying(known.compiled, view)

    def _remembered(self, plan: QueryIR, catalog: Catalog) -> _Known:
        known = self._known.get(id(plan))
        if known is None or known.plan is not plan:
            # Compiling costs more than it saves for a query that runs once.
            known = _Known(plan, catalog, NamedParts.of(plan, catalog))
            self._known.put(id(plan), known)
        elif known.is_new:
            known.is_new, known.compiled = False, _compiled(plan, catalog)
        return known

    def _few_rows(
        self, known: _Known, binding: Binding, state: ManifestState, values: Values, run: Run, budget: Budget
    ) -> QueryResult | None:
        compiled, memory_limit = known.compiled, run.limits.memory_limit
        assert compiled is not None, "a binding is one of a compiled query"
        rows = binding.run(compiled.call(values, run.now_ms, budget))
        if rows is None or (memory_limit is not None and _size(compiled, rows) > memory_limit):
            # The general operators know what may be held, and raise.
            return None
        # A picture would show more than the query.
        draw = None if run.is_restricted else partial(known.parts.drawable, self._store, state, known.catalog)
        return QueryResult(known.plan.name, ValueRows(compiled.form, rows), run.branch, state.head, drawable=draw)


def _compiled(plan: QueryIR, catalog: Catalog) -> CompiledQuery | None:
    from omnigraph.exec.compiled.query import compile_query

    return compile_query(plan, catalog)


def _brief_budget() -> Budget:
    from omnigraph.exec.compiled.query import BriefBudget

    return BriefBudget()


def _size(compiled: CompiledQuery, rows: Sequence[tuple[Any, ...]]) -> int:
    """An estimate of the bytes of some rows, as columns of Arrow would hold them."""
    lengths = sum([len(row[place] or ()) for place in compiled.sized for row in rows])
    return 8 * len(compiled.form.names) * len(rows) + lengths
