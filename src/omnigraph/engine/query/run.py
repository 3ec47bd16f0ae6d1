"""Queries: compiled once per text and schema, bound to parameters, run over a snapshot.

A query that meets few rows runs as closures (``exec.compiled``), any other one on the general operators.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from omnigraph.core.actors import Action, Need
from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.lru import Lru
from omnigraph.core.ports import Embedder
from omnigraph.core.profile import OperatorProfile, Profiler
from omnigraph.engine.query.drawable import Drawable
from omnigraph.engine.query.embedding import embed_texts
from omnigraph.engine.query.result import QueryResult
from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import UsageError
from omnigraph.exec.budget import Budget
from omnigraph.exec.fold import fold
from omnigraph.exec.graph_view import GraphView
from omnigraph.exec.shaper import Shaper
from omnigraph.history.state import ManifestState
from omnigraph.query.compile import compile_text
from omnigraph.query.entity_columns import entity_columns, followed_edges
from omnigraph.query.ir import MutationIR, QueryIR
from omnigraph.query.params import Values, bind_query, bind_values
from omnigraph.query.visibility.data_scope import DataScope
from omnigraph.schema.catalog import Catalog
from omnigraph.storage.tables.io_meter import IoMeter
from omnigraph.storage.tables.store import Store

COMPILED_MAX = 512
"""Compiled queries kept per graph."""

COMPILED_CHARS_MAX = 32_768
"""Characters of a text whose compiled query is kept. Texts that programs send with values in them may be a megabyte
long, and 512 of those would take gigabytes."""


@dataclass
class Compiler:
    """Compiled queries by text, name and schema."""

    _known: Lru[tuple[str, str | None, str, str], QueryIR | MutationIR] = field(
        default_factory=lambda: Lru(COMPILED_MAX)
    )

    def plan(
        self, snapshot: Snapshot, text: str, name: str | None, scope: DataScope | None = None
    ) -> QueryIR | MutationIR:
        """The plan of a text under the schema of a snapshot, inside a scope."""
        return self.compile(text, name, snapshot.state.schema_digest, snapshot.catalog, scope)

    def known(self, text: str, name: str | None, digest: str, scope: DataScope | None) -> QueryIR | MutationIR | None:
        """The plan of a text, if it was compiled before."""
        return self._known.get((text, name, digest, "" if scope is None else scope.digest))

    def compile(
        self, text: str, name: str | None, digest: str, catalog: Catalog, scope: DataScope | None = None
    ) -> QueryIR | MutationIR:
        """The plan of a text, or of the named query in it."""
        key = (text, name, digest, "" if scope is None else scope.digest)
        known = self._known.get(key)
        if known is not None:
            return known
        plan = compile_text(text, catalog, name=name, scope=scope)
        if len(text) <= COMPILED_CHARS_MAX:
            self._known.put(key, plan)
        return plan


def readable(plan: QueryIR | MutationIR) -> QueryIR:
    """The plan, if it is a read."""
    if isinstance(plan, MutationIR):
        raise UsageError(f"query `{plan.name}` writes; `query` runs reads", hint="run it with `mutate`")
    return plan


def bind_plan(plan: QueryIR, values: Values, catalog: Catalog, *, embedder: Embedder | None, now_ms: int) -> QueryIR:
    """A compiled read with its parameters, the time and all vectors in place."""
    return embed_texts(bind_query(plan, values, now_ms, fold), catalog, embedder)


def bound_query(
    plan: QueryIR | MutationIR,
    params: Mapping[str, object] | None,
    catalog: Catalog,
    *,
    embedder: Embedder | None,
    now_ms: int,
) -> QueryIR:
    """The same from the values that a caller passes."""
    query = readable(plan)
    return bind_plan(query, bind_values(query.parameters, params), catalog, embedder=embedder, now_ms=now_ms)


@dataclass(frozen=True, slots=True)
class NamedParts:
    """The node types of a query by the column of their ids, and the edge types that it follows."""

    columns: Mapping[str, str]
    edges: Sequence[str]

    @classmethod
    def of(cls, query: QueryIR, catalog: Catalog) -> NamedParts:
        return cls(entity_columns(query, catalog), followed_edges(query))

    def drawable(self, store: Store, state: ManifestState, catalog: Catalog) -> Drawable:
        """The nodes that rows of the query at a state name."""
        return Drawable(Snapshot(store, state, catalog), self.columns, self.edges)


def run_query(query: QueryIR, view: GraphView, budget: Budget, *, branch: str | None, stats: bool) -> QueryResult:
    """Run one bound query in this process, on the general operators."""
    if stats and view.is_restricted:
        # Operators are measured with their predicates, and tables with all of their rows.
        raise Need(Action.READ, branch).denied(": stats cannot apply the data rules of the actor", None)
    operators: list[OperatorProfile] | None = [] if stats else None
    profiler = Profiler(operators, IoMeter(view.store) if stats else None, view.remarks)
    rows = Shaper(view, budget, profiler).run(query)
    parts = NamedParts.of(query, view.catalog)
    # A picture would show more than a query inside a data scope.
    drawable = None if view.is_restricted else parts.drawable(view.store, view.state, view.catalog)
    return QueryResult(query.name, rows, branch, view.state.head, tuple(operators or ()), drawable)
