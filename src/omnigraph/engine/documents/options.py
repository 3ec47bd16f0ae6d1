"""Options of the document pipeline, declared once for Python and the command line."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any

from omnigraph.core.actors import Caller, actor_id
from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.limits import BATCH_DOCUMENTS
from omnigraph.engine.engine_choice import EMBEDDED
from omnigraph.errors import UsageError
from omnigraph.manifest.layout import MAIN
from omnigraph.write.context import WriteOptions

if TYPE_CHECKING:
    from omnigraph.ingest.documents.pipeline import DocumentPipeline


@dataclass(frozen=True, slots=True)
class DocumentOptions:
    """Options of ``load_documents``."""

    pipeline: DocumentPipeline | Mapping[str, Any] | None = None
    """The types of documents and chunks, the division of texts, and the links to entities."""
    _: KW_ONLY
    branch: str = MAIN
    """The branch to write to."""
    base: str | None = None
    """A branch that is forked first if ``branch`` does not exist."""
    atomic: bool = True
    """One visible commit at the end; otherwise one for each batch."""
    batch: int = BATCH_DOCUMENTS
    """Documents that are processed together."""
    prune: bool = False
    """Remove documents that the input no longer has."""
    refresh: bool = False
    """Divide and link unchanged documents again, for example after new entities. Vectors of equal chunks are kept."""
    engine: str = EMBEDDED
    """``embedded`` or ``spark``, whose executors read, divide and embed; ``auto`` is ``embedded``."""
    spark: Any = None
    """A Spark session; by default one of this machine."""
    partitions: int | None = None
    """Parts of a batch that are worked on at the same time: threads here, tasks on Spark."""
    requests_per_minute: int | None = None
    """Calls of the embedder per minute, over all parts together."""
    source_options: Mapping[str, str] | None = None
    """Options of the object store that holds the documents; by default those of the graph."""
    actor: Caller = None
    """The author of the commits."""
    message: str | None = None
    """The message of the commits."""
    provenance: Mapping[str, str] | None = None
    """Keys and values that the commits record."""
    progress: Callable[[int], None] | None = None
    """Called with the number of documents processed so far."""

    def __post_init__(self) -> None:
        for name in ("batch", "partitions", "requests_per_minute"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"{name} is {value}, expected at least 1")

    def write_options(self, data: object, **facts: str) -> WriteOptions:
        """The options of a commit, with the input in its provenance."""
        shown = os.fspath(data) if isinstance(data, str | os.PathLike) else f"<{type(data).__name__}>"
        provenance = {"documents": str(shown), **facts, **(self.provenance or {})}
        return WriteOptions(actor_id(self.actor), self.message or f"documents of {shown}", None, provenance)
