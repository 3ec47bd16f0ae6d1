"""Maintenance of a branch: from the names of types to what was done to their tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from omnigraph.engine.optimize_result import OptimizeResult
from omnigraph.engine.snapshot import Snapshot
from omnigraph.manifest import branches
from omnigraph.write.context import WriteContext, WriteOptions
from omnigraph.write.optimize import Settings, optimize


def maintain(
    context: WriteContext,
    branch: str,
    types: Sequence[str] | None,
    options: WriteOptions,
    progress: Callable[[int], None] | None,
    *,
    compact: bool,
    index: bool,
) -> OptimizeResult:
    """Optimize the tables of all types of a branch, or of the named ones."""
    ref = branches.find_ref(context.manifests, branch)
    state = context.manifests.fresh(ref.incarnation)
    snapshot = Snapshot(context.store, state, context.manifests.catalog(state.schema_digest))
    chosen = snapshot.entities() if types is None else [item for name in types for item in snapshot.entities(name)]
    keys = list(dict.fromkeys(entity.table_key for entity in chosen))
    outcomes, commits = optimize(context, ref.incarnation, keys, Settings(compact, index), options, progress)
    return OptimizeResult(branch, tuple(outcomes), tuple(commits))
