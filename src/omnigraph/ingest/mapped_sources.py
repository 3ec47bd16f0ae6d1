"""Sources of a mapping in this process: files by path, and tables, records and open files by name.

An entry reads its source from the start. A source that gives its rows only once is copied to a temporary file if
several entries read it.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, BinaryIO, Final

import pyarrow as pa

from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import Hint, UsageError
from omnigraph.ingest.files.content import READ_BYTES, Content, open_content
from omnigraph.ingest.files.delimited import open_delimited
from omnigraph.ingest.files.find import FoundFile, find_sources
from omnigraph.ingest.files.formats import format_named, format_of
from omnigraph.ingest.files.json_files import open_json
from omnigraph.ingest.frames import is_columns, is_frame, open_frame
from omnigraph.ingest.mapping import LoadMapping, SourceSpec, parse_source
from omnigraph.ingest.objects import ACCEPTED, as_items, as_record
from omnigraph.ingest.tables import Report, SourceTable, refuse
from omnigraph.rows.rejected.records import json_form
from omnigraph.rows.typed_rows import PlacedBatch

ReportIn = Callable[[str], Report]
"""The report of malformed rows of a file, by its name."""

OpenTable = Callable[[ReportIn], AbstractContextManager[SourceTable]]

_IGNORED: Final = {"multiline", "enforceschema", "mergeschema", "inferschema"}
"""Options of Spark's readers that change nothing here: values may span lines, and files are read by their names."""
_CSV_OPTIONS: Final = ("sep", "delimiter", "header")


class MappedSources:
    """The sources of one load. Temporary files are deleted at the end."""

    def __init__(self, mapping: LoadMapping, given: Mapping[str, Any], options: Mapping[str, str]) -> None:
        self._mapping = mapping
        self._given = given
        self._options = options
        self._open_until_end = ExitStack()
        self._parts: dict[str, list[OpenTable]] = {}
        self._schemas: dict[str, pa.Schema | None] = {}

    def __enter__(self) -> MappedSources:
        return self

    def __exit__(self, *_: object) -> None:
        self._open_until_end.close()

    def schema(self, name: str) -> pa.Schema:
        """The columns of a source, for checks: those of its first file, or of all files that name their types."""
        whole = self._whole_schema(name)
        if whole is not None:
            return whole
        with self._tables(name)[0](refuse) as table:
            return table.schema

    def tables(self, name: str, report: ReportIn) -> Iterator[AbstractContextManager[SourceTable]]:
        """The tables of a source, one per file, each to be opened in turn."""
        whole = self._whole_schema(name)
        for opened in self._tables(name):
            yield _widened(opened, report, whole)

    def _whole_schema(self, name: str) -> pa.Schema | None:
        """The columns of all files of a source, whose names may differ; None for one file, and for CSV."""
        if name not in self._schemas:
            found: list[pa.Schema] = []
            parts = self._tables(name)
            for opened in parts if len(parts) > 1 else ():
                with opened(refuse) as table:
                    if table.header_line is not None:
                        found.clear()
                        break
                    found.append(table.schema)
            fields: dict[str, pa.Field] = {}
            for field in (field for schema in found for field in schema):
                if field.name not in fields or pa.types.is_null(fields[field.name].type):
                    fields[field.name] = field
            self._schemas[name] = pa.schema(list(fields.values())) if found else None
        return self._schemas[name]

    def _tables(self, name: str) -> list[OpenTable]:
        if name not in self._parts:
            given = self._given.get(name)
            if given is None:
                self._parts[name] = self._files(name, self._spec(name))
            elif isinstance(given, str | os.PathLike) or _is_paths(given) or _is_spec(given):
                paths = [os.fspath(path) for path in given] if _is_paths(given) else given
                source = os.fspath(paths) if isinstance(paths, os.PathLike) else paths
                self._parts[name] = self._files(name, parse_source(source, f"sources.{name}"))
            else:
                self._parts[name] = [self._in_memory(name, given)]
        return self._parts[name]

    def _spec(self, name: str) -> SourceSpec:
        spec = self._mapping.sources.get(name)
        if spec is None:
            known = [*self._given, *self._mapping.sources]
            hint = did_you_mean(name, known) or f"the sources are {', '.join(known) or 'none'}"
            raise UsageError(f"there is no source {name!r}", hint=hint, source=name)
        return spec

    def _files(self, name: str, spec: SourceSpec) -> list[OpenTable]:
        _check_options(name, spec)
        found = [file for path in spec.paths for file in find_sources(path, self._options)]
        return [_file_opener(file, spec) for file in found]

    def _in_memory(self, name: str, data: Any) -> OpenTable:
        label = f"<{name}>"
        if hasattr(data, "read"):
            spec = self._mapping.sources.get(name)
            stream = self._copy(data) if self._is_shared(name) else data
            return _stream_opener(stream, label, None if spec is None else spec.format)
        if not (is_frame(data) or is_columns(data)):
            return _records_opener(self._records(name, data), label)
        if isinstance(data, pa.RecordBatchReader) and self._is_shared(name):
            return _stream_opener(self._copied_batches(data), label)
        return _frame_opener(data, label)

    def _is_shared(self, name: str) -> bool:
        return sum(spec.source == name for spec in self._mapping.entities) > 1

    def _file(self) -> Any:
        return self._open_until_end.enter_context(tempfile.TemporaryFile())

    def _copy(self, stream: BinaryIO) -> BinaryIO:
        file: BinaryIO = self._file()
        while chunk := stream.read(READ_BYTES):
            file.write(chunk)
        return file

    def _copied_batches(self, reader: pa.RecordBatchReader) -> BinaryIO:
        file: BinaryIO = self._file()
        with pa.ipc.new_stream(file, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
        return file

    def _records(self, name: str, data: Any) -> BinaryIO:
        """Records as JSON lines. Their columns are known when all of them were seen."""
        if isinstance(data, Mapping):
            raise UsageError(f"source {name!r}: a dict of {', '.join(map(repr, data))} is not a table", hint=ACCEPTED)
        file: BinaryIO = self._file()
        for item in as_items(data):
            file.write(json.dumps(json_form(as_record(item))).encode() + b"\n")
        return file


def _is_paths(given: object) -> bool:
    if not isinstance(given, list | tuple) or not given:
        return False
    return all(isinstance(item, str | os.PathLike) for item in given)


def _is_spec(given: object) -> bool:
    return isinstance(given, Mapping) and "path" in given and set(given) <= {"path", "format", "options"}


def _check_options(name: str, spec: SourceSpec) -> None:
    known = _CSV_OPTIONS if spec.format == "csv" else ()
    for option in spec.options:
        if option.lower() not in (*known, *_IGNORED):
            raise UsageError(
                f"source {name!r}: the option {option!r} of {spec.format} files needs Spark",
                hint=Hint(
                    f"load with graph.load_spark; known here: {', '.join(_CSV_OPTIONS)}",
                    f"load with --engine spark; known here: {', '.join(_CSV_OPTIONS)}",
                ),
                source=name,
            )
    if spec.format == "orc":
        raise UsageError(
            f"source {name!r}: ORC files need Spark",
            hint=Hint("load with graph.load_spark", "load with --engine spark"),
            source=name,
        )
    format_named(spec.format)


def _file_opener(file: FoundFile, spec: SourceSpec) -> OpenTable:
    @contextmanager
    def opened(report: ReportIn) -> Iterator[SourceTable]:
        with open_content(file.source) as content:
            yield _table(content, spec, report(content.name))

    return opened


def _table(content: Content, spec: SourceSpec, report: Report) -> SourceTable:
    if spec.format != "csv":
        return format_named(spec.format).open_table(content, report)
    options = {name.lower(): value for name, value in spec.options.items()}
    separator = options.get("sep", options.get("delimiter"))
    has_header = options.get("header", "true").lower() != "false"
    return open_delimited(content, report, separator, has_header=has_header)


def _stream_opener(stream: BinaryIO, label: str, format_name: str | None = None) -> OpenTable:
    @contextmanager
    def opened(report: ReportIn) -> Iterator[SourceTable]:
        if hasattr(stream, "seekable") and stream.seekable():
            stream.seek(0)
        with open_content(stream) as content:
            content.name = label
            yield format_of(content, format_name).open_table(content, report(label))

    return opened


def _records_opener(file: BinaryIO, label: str) -> OpenTable:
    @contextmanager
    def opened(report: ReportIn) -> Iterator[SourceTable]:
        file.seek(0)
        with open_content(file) as content:
            content.name = label
            yield open_json(content, report(label))

    return opened


def _frame_opener(data: Any, label: str) -> OpenTable:
    @contextmanager
    def opened(report: ReportIn) -> Iterator[SourceTable]:
        table = open_frame(data, label)
        if not isinstance(table, SourceTable):
            with tempfile.TemporaryFile() as file:
                for record in table:
                    file.write(json.dumps(json_form(record)).encode() + b"\n")
                with _records_opener(file, label)(report) as mixed:
                    yield mixed
                return
        yield table

    return opened


@contextmanager
def _widened(opened: OpenTable, report: ReportIn, schema: pa.Schema | None) -> Iterator[SourceTable]:
    """A table with null columns for those that only other files of its source have."""
    with opened(report) as table:
        missing = [] if schema is None else [field for field in schema if field.name not in table.schema.names]
        if not missing:
            yield table
            return
        whole = pa.schema([*table.schema, *missing])

        def batches() -> Iterator[PlacedBatch]:
            for batch, lines in table.batches:
                arrays = [*batch.columns, *(pa.nulls(batch.num_rows, field.type) for field in missing)]
                yield PlacedBatch(pa.RecordBatch.from_arrays(arrays, schema=whole), lines)

        yield SourceTable(table.name, whole, batches(), table.is_text, table.header_line)
