"""Mutations: from the text of a query to one commit on a branch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.metadata import version
from math import isfinite
from operator import attrgetter
from typing import Final

import pyarrow as pa

from omnigraph.core.actors import Action, Need
from omnigraph.core.commit import CommitKind, GraphCommit
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
from omnigraph.history.plan import CommitInfo
from omnigraph.history.state import ManifestState
from omnigraph.manifest import branches
from omnigraph.manifest.queue import Share
from omnigraph.manifest.reader import Capture
from omnigraph.query.ir import InsertEdge, InsertNode, MutationIR, QueryIR
from omnigraph.query.params import bind_mutation, bind_values
from omnigraph.query.visibility.data_scope import DataScope
from omnigraph.schema.catalog import Catalog
from omnigraph.write.attempt import WaveMember, WriteJob, commit, prepare
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
        job = WriteJob(
            incarnation,
            partial(_prepared, context, mutation, info, vectors),
            info,
            options,
            local=attrgetter("local"),
            is_brief=not context.profiler.is_on and _is_brief(context, mutation, incarnation),
        )
        if job.is_brief:
            offering = OfferedMutation(context, mutation, incarnation)
            job = replace(job, offering=offering, made=offering.reported)
        yield job


def _prepared(
    context: WriteContext, mutation: Mutation, info: CommitInfo, vectors: MutationVectors, capture: Capture
) -> PreparedMutation:
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


@dataclass(frozen=True, slots=True)
class OfferedMutation:
    """A mutation of single inserts as a text that another process runs, and such texts of others.

    The other process sees the text, the parameters and the metadata of the commit. What depends on the caller stays
    with it: rules for the actor's data, vectors, and returned rows.
    """

    context: WriteContext
    mutation: Mutation
    incarnation: str

    def text(self) -> str | None:
        mutation, plan = self.mutation, self._plan()
        if mutation.guard is not None or plan.returning or not _is_exact(mutation.params):
            return None
        return json.dumps([_version(), plan.name, mutation.text, mutation.params])

    def reported(self, commit: GraphCommit) -> PreparedMutation:
        """The result for the writer if another process has prepared the mutation: the counts of its commit."""
        counts = {"node": 0, "edge": 0}
        for change in commit.tables:
            counts[change.key.partition(":")[0]] += change.inserted + change.updated + change.deleted
        name, (nodes, edges) = self._plan().name, counts.values()
        return PreparedMutation(self.context.store, {}, {}, frozenset(), "", nodes, edges, query_name=name)

    def _plan(self) -> MutationIR:
        manifests = self.context.manifests
        return self.mutation.plan(manifests.capture(manifests.warm(self.incarnation)))

    def receive(self, text: str, info: CommitInfo) -> Share | None:
        release, name, query, params = json.loads(text)
        if release != _version():
            return None
        mutation = replace(self.mutation, text=query, params=params, name=name, guard=None)
        vectors = MutationVectors(self.context.store, _no_embedder)

        def prepared(capture: Capture) -> PreparedMutation:
            if has_embedded_properties(capture.catalog):
                raise UsageError("texts are embedded by the process that writes them")
            return _prepared(self.context, mutation, info, vectors, capture)

        job = WriteJob(self.incarnation, prepared, info, WriteOptions(), local=attrgetter("local"))
        return WaveMember(self.context, job)


@cache
def _version() -> str:
    """The release, because another one may read a statement in another way."""
    return version("omnigraph")


def _no_embedder() -> None:
    return None


def _is_exact(value: object) -> bool:
    """True if a parameter is the same after a way through JSON."""
    match value:
        case dict():
            return all(type(name) is str and _is_exact(item) for name, item in value.items())
        case list():
            return all(map(_is_exact, value))
        case float():
            return type(value) is float and isfinite(value)
    return value is None or type(value) in (str, int, bool)
