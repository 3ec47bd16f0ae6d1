"""Queries: compiled once per text and schema, bound to parameters, run over a snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from omnigraph.core.lru import Lru
from omnigraph.core.ports import Embedder
from omnigraph.core.profile import OperatorProfile, Profiler
from omnigraph.engine.query.embedding import embed_texts
from omnigraph.engine.query.result import QueryResult
from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import UsageError
from omnigraph.exec.budget import Budget
from omnigraph.exec.graph_view import GraphView
from omnigraph.exec.shaper import Shaper
from omnigraph.query.compile import compile_text
from omnigraph.query.ir import MutationIR, QueryIR
from omnigraph.query.params import bind_query, bind_values
from omnigraph.schema.catalog import Catalog
from omnigraph.storage.tables.io_meter import IoMeter

COMPILED_MAX = 512
"""Compiled queries kept per graph."""


@dataclass
class Compiler:
    """Compiled queries by text, name and schema."""

    _known: Lru[tuple[str, str | None, str], QueryIR | MutationIR] = field(default_factory=lambda: Lru(COMPILED_MAX))

    def plan(self, snapshot: Snapshot, text: str, name: str | None) -> QueryIR | MutationIR:
        """The plan of a text under the schema of a snapshot."""
        return self.compile(text, name, snapshot.state.schema_digest, snapshot.catalog)

    def compile(self, text: str, name: str | None, digest: str, catalog: Catalog) -> QueryIR | MutationIR:
        """The plan of a text, or of the named query in it."""
        key = (text, name, digest)
        known = self._known.get(key)
        if known is not None:
            return known
        plan = compile_text(text, catalog, name=name)
        self._known.put(key, plan)
        return plan


def bound_query(
    snapshot: Snapshot,
    plan: QueryIR | MutationIR,
    params: Mapping[str, object] | None,
    *,
    embedder: Embedder | None,
    now_ms: int,
) -> QueryIR:
    """A compiled read with its parameters, the time and all vectors in place."""
    if isinstance(plan, MutationIR):
        raise UsageError(f"query `{plan.name}` writes; `query` runs reads", hint="run it with `mutate`")
    bound = bind_query(plan, bind_values(plan.parameters, params), now_ms)
    return embed_texts(bound, snapshot.catalog, embedder)


def run_query(query: QueryIR, view: GraphView, budget: Budget, *, branch: str | None, stats: bool) -> QueryResult:
    """Run one bound query in this process."""
    operators: list[OperatorProfile] | None = [] if stats else None
    profiler = Profiler(operators, IoMeter(view.store) if stats else None, view.remarks)
    rows = Shaper(view, budget, profiler).run(query)
    return QueryResult(query.name, rows, branch, view.state.head, tuple(operators or ()))
