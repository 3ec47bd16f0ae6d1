"""Creation of graphs: from a schema, or from data whose schema is inferred and whose rows are loaded.

With data the creation is atomic as a whole: if the load fails, the new graph is removed again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, Protocol, TypeVar

from omnigraph.core.actors import Caller, actor_id
from omnigraph.core.ports import Clock, IdSource
from omnigraph.engine.results import LoadResult
from omnigraph.engine.schema.inputs import SchemaInput, schema_input
from omnigraph.errors import AlreadyExistsError, NotAGraphError, OmnigraphError, StorageError
from omnigraph.lang.pg_parser import parse_schema
from omnigraph.lang.source import Source
from omnigraph.manifest.create import create_graph, refuse_existing
from omnigraph.manifest.layout import MAIN_MANIFEST, STAMP_PATH, Stamp, read_stamp
from omnigraph.manifest.reader import Manifests
from omnigraph.rows.arrow_types import table_schema
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.compile import accept
from omnigraph.storage.objects.protocol import create_backoff_seconds
from omnigraph.storage.tables.store import Store
from omnigraph.write.external.sealing import first_seals
from omnigraph.write.load.mode import LoadMode
from omnigraph.write.type_tables import external_entities, stored_entities, table_id

CREATE_ATTEMPTS_MAX: Final = 6
"""Attempts to open or create a graph that others create at the same time; the waits add up to about a second."""


def create_from_source(store: Store, schema: Source, clock: Clock, ids: IdSource, actor: Caller) -> Stamp:
    """Accept a schema, put an empty table for each of its types where the store is, and seal external tables."""
    accepted = accept(parse_schema(schema), domain=ids.new_id())
    catalog = Catalog(accepted)
    tables = {table_id(entity): (entity.table_key, table_schema(entity)) for entity in stored_entities(catalog)}
    return create_graph(
        store,
        accepted,
        schema.text,
        tables,
        first_seals(store, catalog, external_entities(catalog)),
        commit_id=ids.new_id(),
        graph_id=ids.new_id(),
        created_at_us=clock.now_us(),
        actor=actor_id(actor),
    )


class Fillable(Protocol):
    """A graph that data can be loaded into."""

    @property
    def id(self) -> str: ...

    def load(
        self,
        data: Any,
        mode: LoadMode = ...,
        /,
        *,
        actor: Caller = ...,
        progress: Callable[[int], None] | None = ...,
    ) -> LoadResult: ...


Filled = TypeVar("Filled", bound=Fillable)


def create_with(
    store: Store, schema: Any, clock: Clock, ids: IdSource, actor: Caller, opened: Callable[[Stamp], Filled]
) -> Filled:
    """A new graph with a schema in any form. The rows of data that the schema is inferred from are loaded too.

    The graph is opened without a request: one that failed would report a graph as not created which exists.
    """
    refuse_existing(store)
    given = schema_input(schema, store.options)
    kept = names_below(store)
    stamp = create_from_source(store, given.source, clock, ids, actor)
    return _filled(store, opened(stamp), given, kept, actor)


def open_or_create(
    store: Store, schema: Any, clock: Clock, ids: IdSource, opened: Callable[[Stamp | None], Filled]
) -> Filled:
    """The graph that exists, or a new one. Of several concurrent processes, one creates it and the others open it.

    A creation that meets the unfinished files of another one can fail in many ways, so it is tried again.
    """
    given: SchemaInput | None = None
    failure: OmnigraphError | None = None
    for attempt in range(CREATE_ATTEMPTS_MAX):
        with suppress(NotAGraphError):
            return opened(None)
        given = given or schema_input(schema, store.options)
        kept = names_below(store)
        try:
            stamp = create_from_source(store, given.source, clock, ids, None)
        except (AlreadyExistsError, StorageError) as error:
            failure = error
            time.sleep(create_backoff_seconds(attempt))
        else:
            return _filled(store, opened(stamp), given, kept, None)
    assert failure is not None
    raise failure


def _filled(store: Store, graph: Filled, given: SchemaInput, kept: frozenset[str], actor: Caller) -> Filled:
    """The new graph with the data that its schema was inferred from."""
    if given.data is not None:
        with removed_on_failure(store, graph.id, kept):
            graph.load(given.data, LoadMode.APPEND, actor=actor)
    return graph


def names_below(store: Store) -> frozenset[str]:
    """The files and directories directly below the root."""
    level = store.objects.level("")
    return frozenset([*(file.path for file in level.files), *level.directories])


@contextmanager
def removed_on_failure(store: Store, graph_id: str, kept: frozenset[str]) -> Iterator[None]:
    """Remove a new graph if its first load fails, unless others wrote to it. Names that were below the root stay."""
    try:
        yield
    except BaseException:
        if _is_untouched(store, graph_id):
            _remove(store, kept)
        raise


def _is_untouched(store: Store, graph_id: str) -> bool:
    """Tell if the graph of this id still has its first commit only."""
    with suppress(NotAGraphError):
        manifests = Manifests(store.apart(), read_stamp(store))
        return manifests.stamp.graph_id == graph_id and len(manifests.fresh(graph_id).commits) == 1
    return False


def remove_graph(store: Store) -> None:
    """Remove a graph with everything below its root. A removal that was killed can be repeated."""
    _remove(store, frozenset())


def _remove(store: Store, kept: frozenset[str]) -> None:
    # The stamp goes first: without it there is no graph, whatever else is left. The manifest goes next, oldest version
    # first (Lance names count down): a creation after a killed removal completes what has a manifest, and must then
    # find all of its tables.
    store.objects.delete(STAMP_PATH)
    manifest = [file.path for file in store.objects.walk(MAIN_MANIFEST)] if MAIN_MANIFEST not in kept else []
    store.objects.delete_all(sorted(manifest, reverse=True))
    store.objects.delete_all([file.path for file in store.objects.walk("") if file.path.split("/", 1)[0] not in kept])
    for name in names_below(store) - kept:
        store.objects.prune(name)
    if not kept:
        store.objects.prune("")
