"""Optimize: from the names of types to maintained tables, and the choice of the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from omnigraph.engine import plugs
from omnigraph.engine.engine_choice import BY_SPARK, EMBEDDED, check_engine, is_large
from omnigraph.engine.snapshot import Snapshot
from omnigraph.engine.upkeep.optimize_result import OptimizeResult
from omnigraph.errors import OmnigraphError
from omnigraph.exec.graph_view import Derived, GraphView
from omnigraph.manifest import branches
from omnigraph.manifest.reader import Capture
from omnigraph.storage.tables.store import Store
from omnigraph.storage.upkeep.work import HERE, Workers
from omnigraph.write.context import WriteContext, WriteOptions
from omnigraph.write.type_tables import refuse_external, stored_entities
from omnigraph.write.upkeep.optimize import OptimizeSettings, optimize

LISTED_EDGES_MAX: Final = 4_000_000
"""Edges of a table whose neighbour lists are built: a second and some hundred megabytes. Those of more are built when
a query needs them, because a machine that maintains a graph need not have the memory that queries of it take."""


def maintain(
    context: WriteContext,
    branch: str,
    types: Sequence[str] | None,
    options: WriteOptions,
    progress: Callable[[int], None] | None,
    settings: OptimizeSettings,
    derived: Derived,
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
    if settings.index and context.store.root.path is not None:
        _build_lists(context.store, context.manifests.capture(context.manifests.fresh(ref.incarnation)), derived, keys)
    return OptimizeResult(branch, tuple(outcomes), tuple(commits))


def _build_lists(store: Store, capture: Capture, derived: Derived, keys: Sequence[str]) -> None:
    """Build the neighbour lists that the first traversals would build, as an index of the edges.

    They are files beside the graph, for every process that opens it. The cache of a graph in a bucket belongs to one
    machine, which need not be the one that reads.
    """
    view = GraphView(store, capture.state, capture.catalog, derived)
    for edge in capture.catalog.edges.values():
        pair = edge.pairs[0]
        keyed = [edge.table_key, *(capture.catalog.nodes[name].table_key for name in pair)]
        tables = [capture.state.tables[key] for key in keyed]
        is_sized = store.tuning.indexed_edges_min <= tables[0].rows <= LISTED_EDGES_MAX
        if edge.table_key not in keys or not edge.is_single or not is_sized or any(pin.is_external for pin in tables):
            continue
        # A query that needs the lists builds them itself and reports the error.
        with suppress(OmnigraphError):
            derived.topologies.get(view.pins(edge.name, pair if edge.has_types else None))


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
