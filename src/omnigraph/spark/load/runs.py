"""One run of a Spark load: its journal, its rejected rows and its commit, for every kind of source."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from omnigraph.engine.graph import Graph
from omnigraph.engine.load.run import Loader
from omnigraph.engine.load_options import LoadOptions
from omnigraph.engine.previews import WritePreview
from omnigraph.engine.results import LoadResult
from omnigraph.errors import NotFoundError, OmnigraphError, UsageError
from omnigraph.schema.catalog import Catalog
from omnigraph.spark.cluster.progress import Watch
from omnigraph.spark.load.input import LoadInput
from omnigraph.spark.load.journal import Journal
from omnigraph.spark.load.publish import Checks, load_slices
from omnigraph.spark.load.rejects import Rejects
from omnigraph.spark.load.slices import InputSlice, SliceWriter, discard_slice
from omnigraph.storage.tables.store import Store
from omnigraph.write.load.mode import LoadMode
from omnigraph.write.load.reject.file import RejectFile
from omnigraph.write.vectors.load_vectors import has_embedded_properties

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Unrepeatable:
    """An input without a reproducible division into slices, so that a load of it cannot be resumed."""

    why: str


Identity = Mapping[str, Any] | Unrepeatable
"""The identity of an input as JSON values: equal for inputs with the same slices of the same rows."""


class LoadSource(Protocol):
    """The input of a load: its identity, and the tasks that write it."""

    @property
    def spark(self) -> SparkSession: ...

    def identity(self, catalog: Catalog) -> Identity:
        """The identity of the input in its current state."""
        ...

    def write(self, writer: SliceWriter, journal: Journal | None, mode: LoadMode, watch: Watch) -> LoadInput:
        """Run the tasks that no earlier run of this load has completed."""
        ...

    def records(self, whole: LoadInput, wanted: Mapping[int, Sequence[int]]) -> Mapping[int, Mapping[int, object]]:
        """Records of input lines, by number of the slice and line in it."""
        ...


@dataclass(frozen=True)
class Run:
    """One run of a load."""

    source: LoadSource
    checks: Checks
    watch: Watch

    def load(self, graph: Graph, options: LoadOptions) -> LoadResult:
        """Load as one atomic commit. With ``resume``, continue an identical load that was killed, if there is one."""
        file = None if options.reject_to is None else RejectFile(os.fspath(options.reject_to))
        rejects = None if file is None else Rejects(file, self.source.records)
        journal = self._journal(graph, options)
        if journal is not None and not options.idempotency_key:
            options = replace(options, idempotency_key=journal.key)
        loader = self._loader(options, journal, rejects)
        kept = nullcontext() if journal is None else journal.kept_if_killed()
        with kept, nullcontext() if file is None else file.kept():
            result = graph.load_with(loader, options)
            return result if rejects is None else rejects.counted(result)

    def preview(self, graph: Graph, options: LoadOptions) -> WritePreview:
        """Preview the load. It has no journal, because it leaves nothing to resume."""
        rejects = None if options.reject_to is None else Rejects(None, self.source.records)
        seen = graph.preview_with(self._loader(options, None, rejects), options)
        return seen if rejects is None else replace(seen, rejected=rejects.count, rejections=rejects.shown)

    def _loader(self, options: LoadOptions, journal: Journal | None, rejects: Rejects | None) -> Loader:
        mode = options.parsed_mode()

        def write(writer: SliceWriter) -> LoadInput:
            return self.source.write(writer, journal, mode, self.watch)

        return partial(load_slices, self.source.spark, write, self.checks, self.watch, rejects)

    def _journal(self, graph: Graph, options: LoadOptions) -> Journal | None:
        try:
            snapshot = graph.snapshot(options.branch)
        except NotFoundError:
            if options.base is None:
                raise
            snapshot = graph.snapshot(options.base)
        identity = self.source.identity(snapshot.catalog)
        if isinstance(identity, Unrepeatable):
            if options.resume:
                raise UsageError(f"this load cannot be resumed: {identity.why}", hint="load without resume")
            return None
        embedder = graph.embedder if has_embedded_properties(snapshot.catalog) else None
        parameters = {
            **identity,
            "branch": options.branch,
            "mode": options.parsed_mode().value,
            "schema": snapshot.state.schema_digest,
            "idempotency_key": options.idempotency_key,
            "is_rejecting": options.reject_to is not None,
            # A resumed load must not mix vectors of two models, or rows with and without vectors.
            "model": embedder.model if embedder is not None else None,
        }
        found = Journal.take_over(snapshot.store, parameters) if options.resume else None
        return found or Journal.start(snapshot.store, parameters)


def undoing(store: Store, journal: Journal | None) -> Callable[[InputSlice], None]:
    """A function that deletes the fragments of a slice, unless another run of the load may publish them."""

    def undo(input_slice: InputSlice) -> None:
        if journal is None or journal.claim_end():
            discard_slice(store, input_slice)

    return undo


def undo_noted(store: Store, journal: Journal | None, before: Collection[int]) -> None:
    """Delete slices whose outcomes reached the journal but not the driver; keep those of earlier runs (``before``)."""
    try:
        if journal is not None and journal.claim_end():
            for number, input_slice in journal.finished().items():
                if number not in before:
                    discard_slice(store, input_slice)
    except OmnigraphError:
        # Slices that cannot be found are garbage for cleanup; the caller's original error takes precedence.
        return


def disposable(journal: Journal | None, own: Sequence[InputSlice]) -> Callable[[], Sequence[InputSlice]] | None:
    """A function for the slices of this run that no other run may publish; None if no other run is possible."""
    return None if journal is None else lambda: own if journal.claim_end() else []
