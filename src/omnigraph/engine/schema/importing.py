"""Imports: data into a graph that is created from the inferred schema, or into one that exists and has its own."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from omnigraph.core.actors import Caller
from omnigraph.core.display import html_text
from omnigraph.core.ports import SystemClock, UlidSource
from omnigraph.engine.previews import WritePreview
from omnigraph.engine.results import LoadResult
from omnigraph.engine.schema.creation import Fillable, create_from_source, names_below, removed_on_failure
from omnigraph.engine.schema.misfits import misfits
from omnigraph.errors import Hint, NotAGraphError, UsageError
from omnigraph.ingest.infer.result import InferredSchema
from omnigraph.ingest.infer.run import infer
from omnigraph.lang.source import Source
from omnigraph.schema.catalog import Catalog
from omnigraph.storage.objects.durability import Durability
from omnigraph.storage.tables.store import Store
from omnigraph.write.load.mode import LoadMode

Progress = Callable[[int], None]


class Importing(Fillable, Protocol):
    """A graph that data is imported into. It stands above this module."""

    @property
    def uri(self) -> str: ...

    def catalog(self) -> Catalog: ...

    def load_preview(self, data: Any, mode: LoadMode = ..., /) -> WritePreview: ...


Graph = TypeVar("Graph", bound=Importing)


@dataclass(frozen=True, slots=True, repr=False)
class ImportResult(Generic[Graph]):
    """Outcome of an import: the graph, the schema that was inferred, and what was loaded."""

    graph: Graph
    schema: InferredSchema
    load: LoadResult
    created: bool
    """The graph did not exist, and has the inferred schema."""

    def __repr__(self) -> str:
        made = "a new graph" if self.created else "an existing graph"
        guesses = "".join(f"\n  {type_.name}: {line}" for type_ in self.schema.types for line in type_.guesses)
        return f"<ImportResult into {made} at {self.graph.uri}>{guesses}\n{self.load!r}"

    def _repr_html_(self) -> str:
        return html_text(repr(self))


def import_into(
    store: Store, data: Any, actor: Caller, progress: Progress | None, opened: Callable[[], Graph]
) -> ImportResult[Graph]:
    """Load data into the graph at a store; a graph that does not exist is created, and removed if the load fails."""
    try:
        graph = opened()
    except NotAGraphError:
        return _import_new(store, _inferred(data, store), actor, progress, opened)
    inferred = _fitting(data, store, graph)
    return ImportResult(graph, inferred, graph.load(inferred, actor=actor, progress=progress), created=False)


@dataclass(frozen=True, slots=True)
class ImportPreview:
    """The dry run of an import: the inferred schema, and the counts that it would commit."""

    schema: InferredSchema
    counts: WritePreview
    creates: bool


def preview_import(store: Store, data: Any, opened: Callable[[Store], Graph]) -> ImportPreview:
    """The dry run of ``import_into``. All rows are read and checked.

    For a graph that does not exist, an empty one is made in a temporary directory.
    """
    try:
        graph = opened(store)
    except NotAGraphError:
        inferred = _inferred(data, store)
        with tempfile.TemporaryDirectory(prefix="omnigraph-import-") as directory:
            scratch = Store(directory, None, Durability.OS)
            _create(scratch, inferred, None)
            return ImportPreview(inferred, opened(scratch).load_preview(inferred, LoadMode.APPEND), creates=True)
    inferred = _fitting(data, store, graph)
    return ImportPreview(inferred, graph.load_preview(inferred), creates=False)


def _inferred(data: Any, store: Store) -> InferredSchema:
    return data if isinstance(data, InferredSchema) else infer(data, store.options)


def _fitting(data: Any, store: Store, graph: Graph) -> InferredSchema:
    """The schema of data for an existing graph, whose own schema states types, keys and ends."""
    inferred = data if isinstance(data, InferredSchema) else infer(data, store.options, graph.catalog())
    _check_fit(graph, inferred)
    return inferred


def _import_new(
    store: Store,
    inferred: InferredSchema,
    actor: Caller,
    progress: Progress | None,
    opened: Callable[[], Graph],
) -> ImportResult[Graph]:
    kept = names_below(store)
    _create(store, inferred, actor)
    graph = opened()
    with removed_on_failure(store, graph.id, kept):
        loaded = graph.load(inferred, LoadMode.APPEND, actor=actor, progress=progress)
    return ImportResult(graph, inferred, loaded, created=True)


def _create(store: Store, inferred: InferredSchema, actor: Caller) -> None:
    clock = SystemClock()
    create_from_source(store, Source(inferred.text, "<inferred schema>"), clock, UlidSource(clock), actor)


def _check_fit(graph: Graph, inferred: InferredSchema) -> None:
    found = misfits(inferred, graph.catalog())
    if found:
        lines = "".join(f"\n  - {line}" for line in found)
        raise UsageError(
            f"the data does not fit the schema of {graph.uri}:{lines}",
            hint=Hint(
                "change the schema with graph.apply_schema, name the types of the files, or load the files with a "
                "column map: graph.load(..., map={...})",
                "change the schema with omnigraph schema apply, name the types of the files (Person=people.csv), or "
                "load the files with a column map: omnigraph load --map",
            ),
            misfits=tuple(found),
        )
