"""What all loads with Spark have in common: a journal to go on from, bad rows set aside if asked to, one commit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from omnigraph.engine.graph import Graph
from omnigraph.engine.load.run import Loader, LoadRequest
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
from omnigraph.write.load.plan import LoadMode
from omnigraph.write.vectors.load_vectors import has_embedded_properties

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Unrepeatable:
    """An input that nobody can be sure to read again in the same slices."""

    why: str


Identity = Mapping[str, Any] | Unrepeatable
"""What makes two inputs the same, as plain values."""


class Work(Protocol):
    """What a load reads, and how its tasks write it."""

    @property
    def spark(self) -> SparkSession: ...

    def identity(self, catalog: Catalog) -> Identity:
        """The input as it is now."""
        ...

    def write(self, writer: SliceWriter, journal: Journal | None, mode: LoadMode, watch: Watch) -> LoadInput:
        """Run the tasks that no earlier run of this load has finished."""
        ...

    def records(self, whole: LoadInput, wanted: Mapping[int, Sequence[int]]) -> Mapping[int, Mapping[int, object]]:
        """Records of lines of the input, by number of the slice and line in it."""
        ...


@dataclass(frozen=True)
class Run:
    """One load."""

    work: Work
    checks: Checks
    watch: Watch
    reject_to: str | None = None
    resume: bool = False

    def load(self, graph: Graph, request: LoadRequest) -> LoadResult:
        """Load as one commit; to ``resume`` is to go on with the same load that was killed, if there is one."""
        rejects = None if self.reject_to is None else Rejects(self.reject_to, self.work.records)
        journal = self._journal(graph, request)
        if journal is not None and not request.idempotency_key:
            request = replace(request, idempotency_key=journal.key)
        loader = self._loader(request, journal, rejects)
        kept = nullcontext() if journal is None else journal.kept_if_killed()
        with kept, nullcontext() if rejects is None else rejects.kept():
            result = graph.load_with(loader, request)
            return result if rejects is None else rejects.told(result)

    def preview(self, graph: Graph, request: LoadRequest) -> WritePreview:
        """What the load would do. It has no journal: nothing of it stays that could be gone on with."""
        return graph.preview_with(self._loader(request, None, None), request)

    def _loader(self, request: LoadRequest, journal: Journal | None, rejects: Rejects | None) -> Loader:
        mode = request.parsed_mode()

        def write(writer: SliceWriter) -> LoadInput:
            return self.work.write(writer, journal, mode, self.watch)

        return partial(load_slices, self.work.spark, write, self.checks, self.watch, rejects)

    def _journal(self, graph: Graph, request: LoadRequest) -> Journal | None:
        try:
            snapshot = graph.snapshot(request.branch)
        except NotFoundError:
            if request.base is None:
                raise
            snapshot = graph.snapshot(request.base)
        identity = self.work.identity(snapshot.catalog)
        if isinstance(identity, Unrepeatable):
            if self.resume:
                raise UsageError(f"this load cannot be resumed: {identity.why}", hint="load it without resume")
            return None
        embedder = graph.embedder if has_embedded_properties(snapshot.catalog) else None
        asked = {
            **identity,
            "branch": request.branch,
            "mode": request.parsed_mode().value,
            "schema": snapshot.state.schema_digest,
            "idempotency_key": request.idempotency_key,
            "is_rejecting": self.reject_to is not None,
            # Vectors of two models, or of one and of nobody, do not belong into one load.
            "model": embedder.model if embedder is not None else None,
        }
        found = Journal.take_over(snapshot.store, asked) if self.resume else None
        return found or Journal.start(snapshot.store, asked)


def undoing(store: Store, journal: Journal | None) -> Callable[[InputSlice], None]:
    """How the fragments of a slice are taken away, unless another run of the load may publish them."""

    def undo(input_slice: InputSlice) -> None:
        if journal is None or journal.is_ended_by_us():
            discard_slice(store, input_slice)

    return undo


def undo_noted(store: Store, journal: Journal | None, before: Collection[int]) -> None:
    """Take away what tasks of a failed job wrote whose outcomes never came here, but not what was there before."""
    try:
        if journal is not None and journal.is_ended_by_us():
            for number, input_slice in journal.finished().items():
                if number not in before:
                    discard_slice(store, input_slice)
    except OmnigraphError:
        # What could not be found is garbage for cleanup; the reason of the failure matters more.
        return


def disposable(journal: Journal | None, ours: Sequence[InputSlice]) -> Callable[[], Sequence[InputSlice]] | None:
    """The slices of this run, if no other run may publish them; None if there can be no other."""
    return None if journal is None else lambda: ours if journal.is_ended_by_us() else []
