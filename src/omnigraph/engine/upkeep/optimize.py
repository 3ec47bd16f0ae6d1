"""Optimize: from the names of types to maintained tables, and the choice of the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from omnigraph.engine import plugs
from omnigraph.engine.engine_choice import BY_SPARK, EMBEDDED, check_engine, is_large
from omnigraph.engine.snapshot import Snapshot
from omnigraph.engine.upkeep.optimize_result import OptimizeResult
from omnigraph.manifest import branches
from omnigraph.storage.tables.store import Store
from omnigraph.storage.upkeep.work import HERE, Workers
from omnigraph.write.context import WriteContext, WriteOptions
from omnigraph.write.type_tables import refuse_external, stored_entities
from omnigraph.write.upkeep.optimize import OptimizeSettings, optimize


def maintain(
    context: WriteContext,
    branch: str,
    types: Sequence[str] | None,
    options: WriteOptions,
    progress: Callable[[int], None] | None,
    settings: OptimizeSettings,
) -> OptimizeResult:
    """Optimize the tables of all types of a branch, or of the named ones."""
    ref = branches.find_ref(context.manifests, branch)
    state = context.manifests.fresh(ref.incarnation)
    snapshot = Snapshot(context.store, state, context.manifests.catalog(state.schema_digest))
    chosen = stored_entities(snapshot.catalog)
    if types is not None:
        chosen = [item for name in types for item in snapshot.entities(name)]
        for entity in chosen:
            refuse_external(entity, f"{entity.name} is external: the program that writes its files maintains them")
    keys = list(dict.fromkeys(entity.table_key for entity in chosen))
    outcomes, commits = optimize(context, ref.incarnation, keys, settings, options, progress)
    return OptimizeResult(branch, tuple(outcomes), tuple(commits))


def workers_for(engine: str, spark: Any | None, store: Store) -> Callable[[int, int], Workers]:
    """The choice of workers by rows and bytes of a table. ``spark`` is a session, None for one of this machine."""
    if check_engine(engine) == EMBEDDED:
        return lambda rows, size: HERE
    cluster: list[Workers] = []

    def chosen(rows: int, size: int) -> Workers:
        is_wanted = rows >= store.tuning.spark_table_rows_min if engine == BY_SPARK else is_large(size)
        if not is_wanted:
            return HERE
        if not cluster:
            cluster.append(plugs.cluster().workers(str(store.root), spark))
        return cluster[0]

    return chosen
