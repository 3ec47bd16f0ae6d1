"""Documents behind the names and data that a user gives: text files, and rows of tables with a text.

A directory or a prefix in an object store stands for the text files below it, which are named by their path there.
Files are found here and read by the process that divides them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Final

from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import InputError, NotFoundError, UsageError
from omnigraph.ingest.documents.chunking import title_of
from omnigraph.ingest.documents.pipeline import PipelineTypes
from omnigraph.ingest.files.find import DATA_ENDINGS, find_sources
from omnigraph.ingest.files.formats import open_table
from omnigraph.ingest.frames import is_columns, is_frame, open_frame
from omnigraph.ingest.tables import SourceTable
from omnigraph.rows.arrow_types import ID
from omnigraph.storage.objects.outside_files import SourceFile
from omnigraph.storage.objects.source_files import find_files, open_ranges
from omnigraph.storage.objects.uri import is_remote

TEXT_ENDINGS: Final = (".txt", ".md", ".markdown", ".rst", ".text")
"""Name endings of text files."""

FILE_BYTES_MAX: Final = 256 * 1024 * 1024
"""Bytes of one text file, which is held in memory."""

TEXT: Final = "text"


@dataclass(frozen=True, slots=True)
class Document:
    """A document as it was found: the file that holds its text, or the values of a row."""

    id: str
    file: SourceFile | None = None
    values: Mapping[str, Any] = field(default_factory=dict)

    def read(self) -> tuple[str, Mapping[str, Any]]:
        """The text, and the other values."""
        if self.file is None:
            others = {name: value for name, value in self.values.items() if name != TEXT}
            return self.values[TEXT], others
        with open_ranges(self.file) as read:
            content = read(0, self.file.size)
        try:
            return content.decode("utf-8-sig"), self.values
        except UnicodeDecodeError as error:
            raise InputError(
                f"{self.file.path} is not UTF-8 text: {error.reason} at byte {error.start}",
                hint="convert it to UTF-8 text first",
                path=self.file.path,
            ) from error

    def title(self, text: str) -> str:
        """The title of a text, by default the name of its file."""
        return title_of(text, PurePosixPath(self.id).stem or self.id)

    @property
    def source(self) -> str | None:
        """The address of its file."""
        return None if self.file is None else self.file.path


def find_documents(data: Any, types: PipelineTypes, options: Mapping[str, str]) -> Iterator[Document]:
    """All documents, in the order of the input. Raises UsageError for an id that appears twice."""
    seen: set[str] = set()
    for document in _documents(data, types, options):
        if document.id in seen:
            raise UsageError(f"the document {document.id!r} is given twice", hint="ids of documents must be unique")
        seen.add(document.id)
        yield document


def _documents(data: Any, types: PipelineTypes, options: Mapping[str, str]) -> Iterator[Document]:
    if isinstance(data, str | os.PathLike):
        yield from _at(os.fspath(data), types, options)
    elif is_frame(data) or is_columns(data):
        opened = open_frame(data, "the frame")
        yield from _rows(_records(opened), types, "the frame")
    elif isinstance(data, Mapping):
        yield from _rows([data], types, "the record")
    elif isinstance(data, Iterable):
        yield from _listed(data, types, options)
    else:
        raise UsageError(
            f"documents must be files, a table or records, got {type(data).__name__}",
            hint='for example graph.load_documents("texts/"), or [{"id": "a", "text": "..."}]',
        )


def _listed(data: Iterable[Any], types: PipelineTypes, options: Mapping[str, str]) -> Iterator[Document]:
    for number, item in enumerate(data, 1):
        if isinstance(item, Mapping) and not is_columns(item):
            yield from _rows([item], types, f"record {number}")
        else:
            yield from _documents(item, types, options)


def _at(path: str, types: PipelineTypes, options: Mapping[str, str]) -> Iterator[Document]:
    if is_remote(path) and (path.endswith("/") or path.count("/") == 2):
        yield from _files(find_files(path, options, TEXT_ENDINGS), path)
    elif not is_remote(path) and os.path.isdir(path):
        yield from _below(path, options)
    else:
        for found in find_sources(path, options):
            if found.name.lower().endswith(DATA_ENDINGS):
                with open_table(found.source) as table:
                    yield from _rows(_records(table), types, found.name)
            else:
                source = found.source
                files = [source] if isinstance(source, SourceFile) else find_files(source, options, ("",))
                yield from _files(files, "")


def _below(directory: str, options: Mapping[str, str]) -> Iterator[Document]:
    found = []
    for parent, directories, names in os.walk(directory):
        directories[:] = sorted(name for name in directories if not name.startswith((".", "_")))
        found += [os.path.join(parent, name) for name in names if name.lower().endswith(TEXT_ENDINGS)]
    if not found:
        raise NotFoundError(
            f"the directory {directory!r} holds no texts",
            hint=f"the names of texts end in {', '.join(TEXT_ENDINGS)}",
            path=directory,
        )
    for path in sorted(found):
        [file] = find_files(path, options, ("",))
        yield _file(file, os.path.relpath(path, directory).replace(os.sep, "/"))


def _files(files: Sequence[SourceFile], prefix: str) -> Iterator[Document]:
    if not files:
        raise NotFoundError(f"there are no texts below {prefix!r}", hint=f"they end in {', '.join(TEXT_ENDINGS)}")
    for file in sorted(files, key=lambda item: item.path):
        yield _file(file, file.path.removeprefix(prefix).lstrip("/") if prefix else file.path)


def _file(file: SourceFile, id_: str) -> Document:
    if file.size > FILE_BYTES_MAX:
        raise InputError(f"{file.path} has {file.size:,} bytes, at most {FILE_BYTES_MAX:,} are read", path=file.path)
    return Document(id_, file)


def _records(table: SourceTable | Iterator[Mapping[str, object]]) -> Iterator[Mapping[str, Any]]:
    if isinstance(table, SourceTable):
        for placed in table.batches:
            yield from placed.batch.to_pylist()
    else:
        yield from table


def _rows(records: Iterable[Mapping[str, Any]], types: PipelineTypes, source: str) -> Iterator[Document]:
    """Documents of rows: an id, a text, and properties of the document type."""
    node, rule = types.document, types.pipeline.documents
    key = node.key[0] if node.key else None
    for number, record in enumerate(records, 1):
        values = {name: value for name, value in record.items() if value is not None}
        id_ = values.pop(ID, None) if key is None else values.pop(key, values.pop(ID, None))
        text = values.pop(TEXT, values.pop(rule.text, None) if rule.text else None)
        for name, value in ((key or ID, id_), (TEXT, text)):
            if not isinstance(value, str) or (name != TEXT and not value):
                raise InputError(
                    f"{source}:{number}: a document needs the text column {name!r}",
                    hint=f"the columns are {', '.join(record)}",
                )
        for name in values:
            if name not in node.properties or name == rule.digest:
                hint = did_you_mean(name, node.properties) or f"{node.name} has {', '.join(node.properties)}"
                raise InputError(f"{source}: {node.name} has no property {name!r}", hint=hint)
        assert isinstance(id_, str)
        yield Document(id_, None, {**values, TEXT: text})
