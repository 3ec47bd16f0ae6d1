"""Tables that a schema is inferred from: each can be opened any number of times.

A table of several files has the columns of all of them. As in ``neo4j-admin import``, only the first of several CSV
files needs a header: the first line of a later file is a header if it names a column of the first one. Without such a
name it is a row, if it holds a number or a date, or the first file is nothing but a header; otherwise it is refused.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, BinaryIO, Final, cast

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import InputError
from omnigraph.ingest.advice import is_value
from omnigraph.ingest.files.content import Content, open_content
from omnigraph.ingest.files.delimited import delimiter_of
from omnigraph.ingest.files.find import FoundFile
from omnigraph.ingest.files.formats import format_of, open_table
from omnigraph.ingest.frames import open_frame
from omnigraph.ingest.infer.facts import Declared
from omnigraph.ingest.infer.neo4j_headers import parse_header
from omnigraph.ingest.tables import Report, SourceTable, refuse
from omnigraph.rows.casting.arrow_casts import is_uuid, uuid_texts
from omnigraph.rows.typed_rows import PlacedBatch

Opener = Callable[[Report | None], AbstractContextManager[SourceTable]]


@dataclass(frozen=True, slots=True)
class TableSource:
    """A table that can be read again, and what is known about it before it is read."""

    name: str
    """The file, or the name that a caller gave, for messages."""
    stem: str
    """The name that the type is derived from."""
    given_type: str | None
    opener: Opener
    declared: Declared = field(default_factory=Declared)
    is_json: bool = False
    """Texts are JSON values: text in quotes is never a number."""
    pieces: tuple[tuple[str, Opener], ...] = ()
    """The files of a table of several, each with its name."""
    gapped: frozenset[str] = frozenset()
    """Columns of whole floats with missing values, of a pandas frame."""

    def open(self, report: Report | None = None) -> AbstractContextManager[SourceTable]:
        """The table while it is read. Malformed rows go to ``report``; without it, the first one raises."""
        return self.opener(report)

    def parts(self) -> tuple[tuple[str, Opener], ...]:
        """The table in parts that are read one after the other, so that the place of a row names its file."""
        return self.pieces or ((self.name, self.opener),)

    def adapted(self, adapt: Callable[[Opener], Opener]) -> TableSource:
        """The source with its rows changed."""
        pieces = tuple((name, adapt(opener)) for name, opener in self.pieces)
        return replace(self, opener=adapt(self.opener), pieces=pieces)


def open_pieces(files: Sequence[FoundFile]) -> tuple[tuple[str, Opener], ...]:
    """Each of several files."""

    def opener(file: FoundFile) -> Opener:
        @contextmanager
        def opened(report: Report | None) -> Iterator[SourceTable]:
            with _opened(files[0], None) as first, _further(file, first, files[0], report) as table:
                yield table

        return opened

    return tuple((file.name, opener(file)) for file in files) if len(files) > 1 else ()


def open_in_turn(openers: Sequence[Opener]) -> Opener:
    """The rows of several tables, one after the other."""

    @contextmanager
    def opened(report: Report | None) -> Iterator[SourceTable]:
        with ExitStack() as stack:
            yield _joined([stack.enter_context(opener(report)) for opener in openers])

    return opened


def open_files(files: Sequence[FoundFile]) -> Opener:
    """The rows of several files, one after the other."""

    @contextmanager
    def opened(report: Report | None) -> Iterator[SourceTable]:
        with ExitStack() as stack:
            first = stack.enter_context(_opened(files[0], report))
            if len(files) == 1:
                yield first
                return
            others = [stack.enter_context(_further(file, first, files[0], report)) for file in files[1:]]
            yield _joined([first, *others])

    return opened


def open_data(name: str, data: Any) -> Opener:
    """The rows of a frame or an Arrow table."""

    @contextmanager
    def opened(_: Report | None) -> Iterator[SourceTable]:
        table = open_frame(data, name)
        if not isinstance(table, SourceTable):
            raise _mixed(name, table)
        try:
            yield _with_uuid_texts(table)
        finally:
            # A relation of DuckDB has one open result a connection: the next table may need it.
            close = getattr(table.batches, "close", None)
            if close is not None:
                close()

    return opened


def _mixed(name: str, records: Iterator[Mapping[str, object]]) -> InputError:
    """The error of a frame with a column that has no Arrow type, which is found by its values."""
    kinds: dict[str, set[str]] = {}
    for record in islice(records, _MIXED_ROWS):
        for column, value in record.items():
            if value is not None:
                kinds.setdefault(column, set()).add(type(value).__name__)
    found = next(((column, sorted(types)) for column, types in kinds.items() if len(types) > 1), None)
    which, types = ("a column", "several types") if found is None else (f"column {found[0]!r}", " and ".join(found[1]))
    return InputError(
        f"{which} of {name} has values of {types}",
        hint="give the values of every column one type, such as frame.astype({...: str})",
        source=name,
    )


_MIXED_ROWS: Final = 100_000
"""Rows that are looked at to name a column of several types."""


def _with_uuid_texts(table: SourceTable) -> SourceTable:
    """The table with UUIDs as text: no property holds them otherwise."""
    if not any(is_uuid(field.type) for field in table.schema):
        return table
    schema = pa.schema([field.with_type(pa.utf8()) if is_uuid(field.type) else field for field in table.schema])

    def batches() -> Iterator[PlacedBatch]:
        for batch, lines in table.batches:
            arrays = [uuid_texts(array) if is_uuid(array.type) else array for array in batch.columns]
            yield PlacedBatch(pa.RecordBatch.from_arrays(arrays, schema=schema), lines)

    return replace(table, schema=schema, batches=batches())


@contextmanager
def _opened(file: FoundFile, report: Report | None) -> Iterator[SourceTable]:
    with open_table(file.source, report=report) as table:
        yield _with_uuid_texts(table)


@contextmanager
def _further(
    file: FoundFile, first: SourceTable, first_file: FoundFile, report: Report | None
) -> Iterator[SourceTable]:
    """A later file of a table: with its own header if that names a column of the first file, otherwise without one."""
    with open_content(file.source) as content:
        known = format_of(content)
        given = report or refuse(content.name, known.shape)
        table = known.open_table(content, given)
        if table.header_line is None or not set(table.schema.names).isdisjoint(first.schema.names):
            yield _with_uuid_texts(table)
            return
    is_header = not any(map(is_value, table.schema.names)) and parse_header(first.schema.names) is None
    if is_header and _has_rows(first_file):
        # Other names would be taken for a row.
        raise InputError(
            f"{file.name} has no column of {first.name}: {', '.join(table.schema.names)}",
            hint="give files of several types their own types; a header for files without one is a file by itself",
            path=file.name,
        )
    with open_content(file.source) as content:
        stream = cast(BinaryIO, _WithHeader(first.schema.names, content))
        with open_table(stream, "csv", lambda line, reason: given(line - 1, reason)) as table:
            if table.schema.names != first.schema.names:
                raise InputError(
                    f"{content.name} has other columns than {first.name}",
                    hint="files of one type have the same columns",
                    path=content.name,
                )
            lines = (PlacedBatch(placed.batch, pc.subtract(placed.lines, 1)) for placed in table.batches)
            yield replace(table, batches=lines, header_line=None)


def _has_rows(file: FoundFile) -> bool:
    with _opened(file, None) as table:
        return next(table.batches, None) is not None


class _WithHeader(io.RawIOBase):
    """The content of a CSV file behind a header."""

    def __init__(self, columns: Sequence[str], content: Content) -> None:
        self.name = content.name
        divider = delimiter_of(content.head.partition(b"\n")[0]).decode()
        line = divider.join('"' + column.replace('"', '""') + '"' for column in columns)
        self._chunks = iter([f"{line}\n".encode()])
        self._content = content.chunks()
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            chunk = next(self._chunks, None) or next(self._content, None)
            if chunk is None:
                return 0
            self._left = chunk
        taken = self._left[: len(buffer)]
        self._left = self._left[len(taken) :]
        buffer[: len(taken)] = taken
        return len(taken)


def _joined(tables: Sequence[SourceTable]) -> SourceTable:
    try:
        schema = pa.unify_schemas([table.schema for table in tables], promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        names = ", ".join(table.name for table in tables)
        reason = str(error).partition("\n")[0]
        raise InputError(
            f"the files {names} do not have the same columns: {reason}", hint="give a column one type in all files"
        ) from error

    def batches() -> Iterator[PlacedBatch]:
        for table in tables:
            for placed in table.batches:
                yield PlacedBatch(_widened(placed.batch, schema), placed.lines)

    return SourceTable(tables[0].name, schema, batches(), tables[0].is_text, tables[0].header_line)


def _widened(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    arrays = [
        batch.column(field.name).cast(field.type)
        if field.name in batch.schema.names
        else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
