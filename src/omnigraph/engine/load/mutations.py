"""Mutations: from the text of a query to one commit on a branch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from omnigraph.core.commit import CommitKind
from omnigraph.core.ports import Embedder
from omnigraph.engine.idempotency import earlier_commit
from omnigraph.engine.previews import WritePreview
from omnigraph.engine.previews import preview as preview_of
from omnigraph.engine.query.run import Compiler
from omnigraph.engine.results import MutationResult
from omnigraph.errors import UsageError
from omnigraph.manifest import branches
from omnigraph.manifest.reader import Capture
from omnigraph.query.explain import statement_lines
from omnigraph.query.ir import MutationIR
from omnigraph.query.params import bind_mutation, bind_values
from omnigraph.write.attempt import run
from omnigraph.write.context import WriteContext, WriteOptions
from omnigraph.write.mutate.statements import PreparedMutation, prepare_mutation
from omnigraph.write.preview import Previewed
from omnigraph.write.staging import count_deltas
from omnigraph.write.vectors.mutation_vectors import MutationVectors

FindEmbedder = Callable[[], Embedder | None]
"""Finds the embedder on first use: that may read the environment, and fail."""

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

    def plan(self, capture: Capture) -> MutationIR:
        """The statements under the captured schema."""
        plan = self.compiler.compile(self.text, self.name, capture.state.schema_digest, capture.catalog)
        if not isinstance(plan, MutationIR):
            raise UsageError(
                f"query `{plan.name}` reads; `mutate` runs insert, update and delete", hint="run it with `query`"
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
    """The counts that a mutation would commit."""
    return preview_of(branch, lambda: _mutate(context, mutation, branch, WriteOptions(dry_run=True)))


def _mutate(context: WriteContext, mutation: Mutation, branch: str, options: WriteOptions) -> MutationResult:
    ref = branches.find_ref(context.manifests, branch)
    info = options.info(context, CommitKind.MUTATION)
    now_ms = info.created_at_us // 1000
    earlier = earlier_commit(context, ref.incarnation, options)
    query_name = mutation.name or ""
    if earlier is not None:
        return MutationResult(branch, query_name, 0, 0, earlier.actor, earlier)

    def prepare(vectors: MutationVectors, capture: Capture) -> PreparedMutation:
        nonlocal query_name
        plan = mutation.plan(capture)
        query_name = plan.name
        bound = bind_mutation(plan, bind_values(plan.parameters, mutation.params), now_ms)
        lines = statement_lines(plan)
        prepared = prepare_mutation(context.store, capture, bound, context.ids, vectors, context.profiler, lines)
        if options.dry_run:
            raise Previewed(capture, count_deltas(context.store, capture, prepared.deltas, prepared.modes))
        return prepared

    with closing(MutationVectors(context.store, mutation.find_embedder)) as vectors:
        prepared, published = run(context, ref.incarnation, partial(prepare, vectors), info, options)
    commit = published.commit if published else None
    return MutationResult(branch, query_name, prepared.affected_nodes, prepared.affected_edges, options.actor, commit)
