"""The document pipeline: from files and tables to commits.

Documents are processed in batches. An atomic run of several batches commits them to a branch of its own and merges that
at the end; if it is interrupted, the next run finds the branch and skips the documents that it has already.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from typing import Any

import pyarrow as pa

from omnigraph.core.commit import CommitKind, GraphCommit
from omnigraph.core.ports import FindEmbedder
from omnigraph.core.tables import TablePin
from omnigraph.engine import plugs
from omnigraph.engine.branches import create_branch
from omnigraph.engine.documents.options import DocumentOptions
from omnigraph.engine.documents.result import DocumentCounts, DocumentsPreview, DocumentsResult
from omnigraph.engine.engine_choice import BY_SPARK, EMBEDDED, check_engine
from omnigraph.engine.load.run import row_embedding
from omnigraph.engine.merge.run import Engine, merge
from omnigraph.history.state import ManifestState
from omnigraph.ingest.documents.mentions import NameIndex
from omnigraph.ingest.documents.pipeline import MentionTypes, PipelineTypes, read_pipeline
from omnigraph.ingest.documents.sources import Document, find_documents
from omnigraph.manifest import branches, naming
from omnigraph.manifest.layout import MAIN
from omnigraph.rows.arrow_types import ID
from omnigraph.rows.embedding import embedded_properties
from omnigraph.storage.tables.scan import rows_with, scan
from omnigraph.write.attempt import WriteJob, commit
from omnigraph.write.context import WriteContext, WriteOptions
from omnigraph.write.documents.change import Batch, BatchWriter
from omnigraph.write.documents.parts import DocumentPart, DocumentWork, Fate, WorkedPart
from omnigraph.write.load.mode import LoadMode
from omnigraph.write.vectors.paced import PacedEmbedder

RunParts = Callable[[DocumentWork, Sequence[DocumentPart]], list[WorkedPart]]


def load_documents(
    context: WriteContext, data: Any, options: DocumentOptions, find_embedder: FindEmbedder
) -> DocumentsResult:
    """Process documents, as one visible commit or one for each batch."""
    engine = BY_SPARK if check_engine(options.engine) == BY_SPARK else EMBEDDED
    created = options.base is not None and not branches.has_branch(context.manifests, options.branch)
    if created:
        create_branch(context, options.branch, options.base or MAIN, None, options.write_options(data).actor)
    run = _Run(context, data, options, find_embedder)
    try:
        counts, commits, resumed = run.run()
    except BaseException:
        if created and not _has_commits(context, options):
            naming.delete_branch(context.manifests, options.branch)
        raise
    return DocumentsResult(options.branch, counts, tuple(commits), engine, created, resumed, tuple(run.remarks))


def preview(context: WriteContext, data: Any, options: DocumentOptions) -> DocumentsPreview:
    """The counts of a run. Documents are read and divided; nothing is embedded or written."""
    is_new = options.base is not None and not branches.has_branch(context.manifests, options.branch)
    known = options.base or MAIN if is_new else options.branch
    run = _Run(context, data, replace(options, branch=known), lambda: None)
    return DocumentsPreview(options.branch, branches.find_head(context.manifests, known).head, run.count())


def _has_commits(context: WriteContext, options: DocumentOptions) -> bool:
    """True if a branch is not as it was forked."""
    forked = branches.find_head(context.manifests, options.base or MAIN)
    return branches.find_head(context.manifests, options.branch).head != forked.head


@dataclass
class _Run:
    context: WriteContext
    data: Any
    options: DocumentOptions
    find_embedder: FindEmbedder
    seen: set[str] = field(default_factory=set)
    """Ids of the documents of the input so far."""
    indexes: dict[object, NameIndex] = field(default_factory=dict)
    """Names of entities, by the version of their table."""
    remarks: dict[str, None] = field(default_factory=dict)
    """Remarks, each once."""

    def run(self) -> tuple[DocumentCounts, list[GraphCommit], bool]:
        """Counts, commits, and whether an interrupted run was continued."""
        target = self.options.branch
        found = self._batches(self._types(target))
        first = list(islice(found, 2))
        batches = chain(first, found)
        if not self.options.atomic or (len(first) < 2 and not self.options.prune):
            counts, commits = self._process(target, batches)
            return counts, commits, False
        side = f"{target}-documents-{self._identity()}"
        resumed = branches.has_branch(self.context.manifests, side)
        if not resumed:
            create_branch(self.context, side, target, None, self._options().actor)
        counts, _ = self._process(side, batches)
        made = merge(self.context, side, target, None, (), Engine(EMBEDDED), self._options())
        naming.delete_branch(self.context.manifests, side)
        return counts, [] if made.commit is None else [made.commit], resumed

    def count(self) -> DocumentCounts:
        """The counts of all batches, without vectors and commits."""
        total = DocumentCounts()
        branch = self.options.branch
        types = self._types(branch)
        for documents in self._batches(types):
            state = branches.find_head(self.context.manifests, branch)
            total += _counted(Batch(types, self._worked(state, types, documents)))
        return total + DocumentCounts(removed=len(self._missing(branch, types)))

    def _process(self, branch: str, batches: Iterable[list[Document]]) -> tuple[DocumentCounts, list[GraphCommit]]:
        total, commits = DocumentCounts(), list[GraphCommit]()
        types = self._types(branch)
        for number, documents in enumerate(batches, 1):
            state = branches.find_head(self.context.manifests, branch)
            batch = Batch(types, self._worked(state, types, documents))
            total += _counted(batch)
            commits += self._committed(state, batch, batch_number=number)
            if self.options.progress is not None:
                self.options.progress(total.total)
        missing = self._missing(branch, types)
        if missing:
            state = branches.find_head(self.context.manifests, branch)
            commits += self._committed(state, Batch(types, (), missing), batch_number=0)
        return total + DocumentCounts(removed=len(missing)), commits

    def _committed(self, state: ManifestState, batch: Batch, batch_number: int) -> list[GraphCommit]:
        if batch.is_empty:
            return []
        options = self._options(batch=str(batch_number)) if batch_number else self._options()
        writer = BatchWriter(self.context.store, batch)
        info = options.info(self.context, CommitKind.LOAD)
        _, published = commit(self.context, WriteJob(state.incarnation, writer.prepare, info, options))
        return [] if published is None else [published.commit]

    def _worked(self, state: ManifestState, types: PipelineTypes, documents: list[Document]) -> list[WorkedPart]:
        pins = state.tables
        catalog = self.context.manifests.catalog(state.schema_digest)
        count = self._parts(len(documents))
        finder = self._paced(count)
        embedding = row_embedding(self.context.store, pins, catalog, LoadMode.UPSERT, finder)
        self._note_vectors(types, is_embedded=embedding is not None)
        work = DocumentWork(types, self._names(types, state), catalog, embedding, self.options.refresh)
        known = self._digests(pins[types.document.table_key], types, documents)
        parts = [
            DocumentPart(tuple(some), {item.id: known[item.id] for item in some if item.id in known})
            for some in _divided(documents, count)
        ]
        return self._runner()(work, parts)

    def _note_vectors(self, types: PipelineTypes, *, is_embedded: bool) -> None:
        missing = [] if is_embedded else embedded_properties(types.chunk)
        for prop in missing:
            said = f"no embedder is configured, so {types.chunk.name}.{prop.name} stays empty"
            self.remarks[
                f"{said}: pass one to omnigraph.open, or set OMNIGRAPH_EMBED_PROVIDER, then run with refresh"
            ] = None

    def _runner(self) -> RunParts:
        if self.options.engine == BY_SPARK:
            return partial(plugs.cluster().run_documents, str(self.context.store.root), spark=self.options.spark)
        return _run_here

    def _parts(self, documents: int) -> int:
        """The number of parts of a batch."""
        if self.options.partitions is not None:
            return min(self.options.partitions, documents)
        return min(documents, plugs.cluster().parallelism(self.options.spark)) if self.options.engine == BY_SPARK else 1

    def _paced(self, parts: int) -> FindEmbedder:
        """The embedder within its share of the rate, if one is given."""
        rate = self.options.requests_per_minute
        if rate is None:
            return self.find_embedder

        def found() -> PacedEmbedder | None:
            embedder = self.find_embedder()
            return None if embedder is None else PacedEmbedder(embedder, rate / parts)

        return found

    def _types(self, branch: str) -> PipelineTypes:
        state = branches.find_head(self.context.manifests, branch)
        return read_pipeline(self.options.pipeline, self.context.manifests.catalog(state.schema_digest))

    def _batches(self, types: PipelineTypes) -> Iterator[list[Document]]:
        given = self.options.source_options
        options = self.context.store.options if given is None else given
        documents = find_documents(self._rows(), types, options)
        while some := list(islice(documents, self.options.batch)):
            self.seen.update(document.id for document in some)
            yield some

    def _rows(self) -> Any:
        """The input; a frame of Spark as records."""
        is_frame = hasattr(self.data, "toLocalIterator")
        return (row.asDict() for row in self.data.toLocalIterator()) if is_frame else self.data

    def _names(self, types: PipelineTypes, state: ManifestState) -> tuple[NameIndex, ...]:
        """The names of entities on a state, kept while their table stays the same."""
        return tuple(self._index(mention, state.tables[mention.node.table_key]) for mention in types.mentions)

    def _index(self, mention: MentionTypes, pin: TablePin) -> NameIndex:
        key = (mention.rule, pin.location, pin.lance_version)
        if key not in self.indexes:
            names = list(dict.fromkeys([ID, *mention.rule.names]))
            rows = (batch.to_pylist() for batch in scan(self.context.store, pin, names))
            pairs = (pair for some in rows for row in some for pair in _named(row, mention.rule.names))
            self.indexes[key] = NameIndex.of(pairs, mention.rule.chars_min)
            if not self.indexes[key].ids:
                self.remarks[f"no {mention.node.name} has a name to look for"] = None
        return self.indexes[key]

    def _digests(self, pin: TablePin, types: PipelineTypes, documents: list[Document]) -> dict[str, str | None]:
        """The digests that the graph has, by document."""
        name = types.pipeline.documents.digest
        found: dict[str, str | None] = {}
        for batch in rows_with(self.context.store, pin, ID, [document.id for document in documents], (ID, name)):
            found.update(zip(batch.column(ID).to_pylist(), batch.column(name).to_pylist(), strict=True))
        return found

    def _missing(self, branch: str, types: PipelineTypes) -> frozenset[str]:
        """Documents of the graph that the input does not have, if those are removed."""
        if not self.options.prune:
            return frozenset()
        pin = branches.find_head(self.context.manifests, branch).tables[types.document.table_key]
        ids = pa.chunked_array(
            [batch.column(ID) for batch in scan(self.context.store, pin, [ID])] or [pa.array([], pa.string())]
        )
        return frozenset(id_ for id_ in ids.to_pylist() if id_ not in self.seen)

    def _options(self, **facts: str) -> WriteOptions:
        return self.options.write_options(self.data, **facts)

    def _identity(self) -> str:
        """A name for runs over the same input with the same pipeline."""
        said = [self.options.write_options(self.data).provenance, repr(self.options.pipeline), self.options.prune]
        return hashlib.sha256(json.dumps(said, default=str).encode()).hexdigest()[:12]


def _run_here(work: DocumentWork, parts: Sequence[DocumentPart]) -> list[WorkedPart]:
    if len(parts) == 1:
        return [work.run(parts[0])]
    with ThreadPoolExecutor(len(parts)) as pool:
        return list(pool.map(work.run, parts))


def _divided(documents: list[Document], parts: int) -> Iterator[list[Document]]:
    """Parts of about equal numbers of documents, in their order."""
    for number in range(parts):
        yield documents[len(documents) * number // parts : len(documents) * (number + 1) // parts]


def _named(row: dict[str, Any], names: Sequence[str]) -> Iterator[tuple[str, str]]:
    for name in names:
        value = row[name]
        for text in value if isinstance(value, list) else [value]:
            if text is not None:
                yield row[ID], text


def _counted(batch: Batch) -> DocumentCounts:
    fates = list(batch.fates().values())
    return DocumentCounts(
        new=fates.count(Fate.NEW),
        changed=fates.count(Fate.CHANGED),
        unchanged=fates.count(Fate.UNCHANGED),
        chunks=len(batch.ids(batch.types.chunk)),
        mentions=sum(len(batch.ids(mention.edge)) for mention in batch.types.mentions),
    )
