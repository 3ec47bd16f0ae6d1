"""Mutations of one branch, from what a caller says to what they did."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Final

from omnigraph.core.commit import CommitKind, GraphCommit
from omnigraph.core.ports import Embedder
from omnigraph.engine.query.run import Compiler
from omnigraph.engine.results import MutationResult
from omnigraph.errors import UsageError
from omnigraph.manifest import branches
from omnigraph.manifest.commit_log import find_by_idempotency_key
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
"""Looks for the embedder when one is needed: finding it may read the environment, and fail."""

MUTATION: Final = "Mutation"
"""A mutation as a whole, in its profile."""


def mutate(
    context: WriteContext,
    compiler: Compiler,
    text: str,
    params: Mapping[str, object] | None,
    name: str | None,
    branch: str,
    options: WriteOptions,
    find_embedder: FindEmbedder,
) -> MutationResult:
    """Run the statements of a mutation query as one commit."""
    profiler = context.profiler
    with profiler.step(MUTATION) as step:
        result = _mutate(context, compiler, text, params, name, branch, options, find_embedder)
        step.rows = result.affected_nodes + result.affected_edges
    return replace(result, operators=tuple(profiler.entries or ()))


def _mutate(
    context: WriteContext,
    compiler: Compiler,
    text: str,
    params: Mapping[str, object] | None,
    name: str | None,
    branch: str,
    options: WriteOptions,
    find_embedder: FindEmbedder,
) -> MutationResult:
    ref = branches.find_ref(context.manifests, branch)
    info = options.info(context, CommitKind.MUTATION)
    now_ms = info.created_at_us // 1000
    earlier = earlier_commit(context, ref.incarnation, options)
    if earlier is not None:
        return MutationResult(branch, name or "", 0, 0, earlier.actor, earlier)
    query_name = name or ""

    def prepare(vectors: MutationVectors, capture: Capture) -> PreparedMutation:
        nonlocal query_name
        plan = compiler.compile(text, name, capture.state.schema_digest, capture.catalog)
        if not isinstance(plan, MutationIR):
            raise UsageError(
                f"query `{plan.name}` reads; `mutate` runs insert, update and delete", hint="run it with `query`"
            )
        query_name = plan.name
        bound = bind_mutation(plan, bind_values(plan.parameters, params), now_ms)
        lines = statement_lines(plan)
        prepared = prepare_mutation(context.store, capture, bound, context.ids, vectors, context.profiler, lines)
        if options.dry_run:
            raise Previewed(capture, count_deltas(context.store, capture, prepared.deltas, prepared.modes))
        return prepared

    with closing(MutationVectors(context.store, find_embedder)) as vectors:
        prepared, published = run(context, ref.incarnation, partial(prepare, vectors), info, options)
    commit = published.commit if published else None
    return MutationResult(branch, query_name, prepared.affected_nodes, prepared.affected_edges, options.actor, commit)


def earlier_commit(context: WriteContext, incarnation: str, options: WriteOptions) -> GraphCommit | None:
    """The commit that an earlier call made under the same idempotency key."""
    if options.idempotency_key is None:
        return None
    return find_by_idempotency_key(context.store, context.manifests.fresh(incarnation), options.idempotency_key)
