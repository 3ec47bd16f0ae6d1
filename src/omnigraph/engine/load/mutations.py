"""Mutations: from the text of a query to one commit on a branch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Final

import pyarrow as pa

from omnigraph.core.actors import Action, Need
from omnigraph.core.commit import CommitKind
from omnigraph.core.ports import FindEmbedder
from omnigraph.engine.idempotency import earlier_commit
from omnigraph.engine.previews import WritePreview
from omnigraph.engine.query.run import Compiler
from omnigraph.engine.results import MutationResult
from omnigraph.engine.tabular import ReturnedRows
from omnigraph.errors import UsageError
from omnigraph.exec.budget import Budget
from omnigraph.exec.fold import fold
from omnigraph.exec.graph_view import Derived, GraphView
from omnigraph.exec.shaper import Shaper
from omnigraph.history.state import ManifestState
from omnigraph.manifest import branches
from omnigraph.manifest.reader import Capture
from omnigraph.query.ir import InsertEdge, InsertNode, MutationIR, QueryIR
from omnigraph.query.params import bind_mutation, bind_values
from omnigraph.query.visibility.data_scope import DataScope
from omnigraph.schema.catalog import Catalog
from omnigraph.write.attempt import WriteJob, commit, prepare
from omnigraph.write.context import WriteContext, WriteOptions
from omnigraph.write.guard import ChangeGuard
from omnigraph.write.mutate.checked import PreparedMutation
from omnigraph.write.mutate.statements import prepare_mutation
from omnigraph.write.preview import Previewed
from omnigraph.write.vectors.load_vectors import has_embedded_properties
from omnigraph.write.vectors.mutation_vectors import MutationVectors

MUTATION: Final = "Mutation"
"""A mutation as a whole, in its profile."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """The text and parameters of a mutation, and what running it needs."""

    compiler: Compiler
    text: str
    params: Mapping[str, object] | None
    name: str | None
    find_embedder: FindEmbedder
    derived: Derived
    """Caches that the patterns of the mutation read through."""
    guard: ChangeGuard | None = None
    """The data rules of the actor."""

    def scope(self, capture: Capture) -> DataScope | None:
        """The part of the captured graph that statements may find; None if all of it."""
        return None if self.guard is None else self.guard.readable(capture.catalog)

    def plan(self, capture: Capture) -> MutationIR:
        """The statements under the captured schema."""
        digest, catalog = capture.state.schema_digest, capture.catalog
        plan = self.compiler.compile(self.text, self.name, digest, catalog, self.scope(capture))
        if not isinstance(plan, MutationIR):
            raise UsageError(
                f"query `{plan.name}` reads; `mutate` runs statements that write", hint="run it with `query`"
            )
        return plan


def mutate(context: WriteContext, mutation: Mutation, branch: str, options: WriteOptions) -> MutationResult:
    """Run the statements of a mutation query as one commit."""
    profiler = context.profiler
    with profiler.step(MUTATION) as step:
        result = _mutate(context, mutation, branch, options)
        step.rows = result.affected_nodes + result.affected_edges
    return replace(result, operators=tuple(profiler.entries or ()))


def preview(context: WriteContext, mutation: Mutation, branch: str) -> WritePreview:
    """The counts that a mutation would commit on the newest state."""
    head = branches.find_head(context.manifests, branch)
    with _job(context, mutation, head.incarnation, WriteOptions()) as job:
        capture, prepared = prepare(context, job)
        seen = WritePreview.of(branch, Previewed(capture.state.head, prepared.counts(capture)))
        return replace(seen, returned=_returned(prepared))


def _mutate(context: WriteContext, mutation: Mutation, branch: str, options: WriteOptions) -> MutationResult:
    ref = branches.find_ref(context.manifests, branch)
    earlier = earlier_commit(context, ref.incarnation, options)
    if earlier is not None:
        return MutationResult(branch, mutation.name or "", 0, 0, earlier.actor, earlier)
    with _job(context, mutation, ref.incarnation, options) as job:
        prepared, published = commit(context, job)
    made = published.commit if published else None
    return MutationResult(
        branch,
        prepared.query_name,
        prepared.affected_nodes,
        prepared.affected_edges,
        options.actor,
        made,
        returned=_returned(prepared),
    )


def _returned(prepared: PreparedMutation) -> ReturnedRows | None:
    rows = prepared.returned
    return None if rows is None else ReturnedRows(prepared.query_name, rows)


def _is_brief(context: WriteContext, mutation: Mutation, incarnation: str) -> bool:
    """True if all statements insert single entities, and no text has to be embedded while others wait."""
    capture = context.manifests.capture(context.manifests.warm(incarnation))
    is_plain = all(isinstance(item, InsertNode | InsertEdge) for item in mutation.plan(capture).statements)
    return is_plain and not has_embedded_properties(capture.catalog)


@contextmanager
def _job(
    context: WriteContext, mutation: Mutation, incarnation: str, options: WriteOptions
) -> Iterator[WriteJob[PreparedMutation]]:
    """The write of a mutation; vectors made for it are kept until it ends."""
    info = options.info(context, CommitKind.MUTATION)
    with closing(MutationVectors(context.store, mutation.find_embedder)) as vectors:

        def prepared(capture: Capture) -> PreparedMutation:
            plan, is_restricted = mutation.plan(capture), mutation.scope(capture) is not None
            if is_restricted and context.profiler.is_on:
                # Steps are measured with their predicates, and tables with all of their rows.
                reason = ": stats cannot apply the data rules of the actor"
                raise Need(Action.CHANGE, capture.state.branch).denied(reason, None)
            bound = bind_mutation(plan, bind_values(plan.parameters, mutation.params), info.created_at_us // 1000, fold)

            def read_rows(state: ManifestState, catalog: Catalog, query: QueryIR) -> pa.Table:
                view = GraphView(context.store, state, catalog, mutation.derived, is_restricted=is_restricted)
                return Shaper(view, Budget(), context.profiler).run(query).table()

            return prepare_mutation(
                context.store, capture, bound, plan, context.ids, vectors, context.profiler, read_rows, mutation.guard
            )

        is_brief = not context.profiler.is_on and _is_brief(context, mutation, incarnation)
        yield WriteJob(incarnation, prepared, info, options, local=attrgetter("local"), is_brief=is_brief)
