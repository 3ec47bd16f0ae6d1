"""The two writers of data, from what a caller says to what they did: mutations and loads of one branch."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from omnigraph.core.commit import CommitKind, GraphCommit
from omnigraph.engine import sources
from omnigraph.engine.queries import Compiler
from omnigraph.engine.results import LoadResult, MutationResult
from omnigraph.errors import UsageError
from omnigraph.manifest import branches
from omnigraph.manifest.commit_log import find_by_idempotency_key
from omnigraph.manifest.reader import Capture
from omnigraph.query.ir import MutationIR
from omnigraph.query.params import bind_mutation, bind_values
from omnigraph.rows.violations import Violations
from omnigraph.write.attempt import run
from omnigraph.write.context import WriteContext, WriteOptions
from omnigraph.write.load import LoadMode
from omnigraph.write.load_rows import load_rows
from omnigraph.write.mutate import PreparedMutation, prepare_mutation


def mutate(
    context: WriteContext,
    compiler: Compiler,
    text: str,
    params: Mapping[str, object] | None,
    name: str | None,
    branch: str,
    options: WriteOptions,
) -> MutationResult:
    """Run the statements of a mutation query as one commit."""
    ref = branches.find_ref(context.manifests, branch)
    info = options.info(context, CommitKind.MUTATION)
    now_ms = info.created_at_us // 1000
    earlier = _earlier(context, ref.incarnation, options)
    if earlier is not None:
        return MutationResult(branch, name or "", 0, 0, earlier.actor, earlier)
    query_name = name or ""

    def prepare(capture: Capture) -> PreparedMutation:
        nonlocal query_name
        plan = compiler.compile(text, name, capture.state.schema_digest, capture.catalog)
        if not isinstance(plan, MutationIR):
            raise UsageError(f"query `{plan.name}` reads; `mutate` runs insert, update and delete")
        query_name = plan.name
        bound = bind_mutation(plan, bind_values(plan.parameters, params), now_ms)
        return prepare_mutation(context.store, capture, bound, context.ids)

    prepared, published = run(context, ref.incarnation, prepare, info, options)
    commit = published.commit if published else None
    return MutationResult(branch, query_name, prepared.affected_nodes, prepared.affected_edges, options.actor, commit)


def load(
    context: WriteContext,
    data: sources.Loadable,
    mode: LoadMode,
    type_name: str | None,
    branch: str,
    options: WriteOptions,
    progress: Callable[[int], None] | None,
) -> LoadResult:
    """Load entities of any number of types as one commit."""
    ref = branches.find_ref(context.manifests, branch)
    info = options.info(context, CommitKind.LOAD)
    earlier = _earlier(context, ref.incarnation, options)
    if earlier is not None:
        return LoadResult(branch, mode.value, {}, {}, earlier.actor, earlier, repeated=True)
    catalog = context.manifests.catalog(context.manifests.warm(ref.incarnation).schema_digest)
    violations = Violations()
    rows = sources.read(data, catalog, type_name, context.ids.new_id, violations)
    counts, published = load_rows(context, ref.incarnation, rows, mode, violations, info, options, progress)
    return LoadResult(
        branch,
        mode.value,
        {key.removeprefix("node:"): count for key, count in counts.items() if key.startswith("node:")},
        {key.removeprefix("edge:"): count for key, count in counts.items() if key.startswith("edge:")},
        options.actor,
        published.commit,
        repeated=published.repeated,
    )


def load_mode(mode: str | LoadMode) -> LoadMode:
    """The mode of a name."""
    try:
        return LoadMode(mode)
    except ValueError:
        modes = ", ".join(known.value for known in LoadMode)
        raise UsageError(f"{mode!r} is not a load mode", hint=f"the modes are {modes}") from None


def _earlier(context: WriteContext, incarnation: str, options: WriteOptions) -> GraphCommit | None:
    """The commit that an earlier call made under the same idempotency key."""
    if options.idempotency_key is None:
        return None
    return find_by_idempotency_key(context.store, context.manifests.fresh(incarnation), options.idempotency_key)
