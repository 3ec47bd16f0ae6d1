"""Key database of a large load: DuckDB, spilling to a temporary directory.

It holds what constraints over several rows need: ids, endpoints and canonical texts of unique columns, with the place
of every row. The rows themselves are in fragments. Ids that ascend are unique, so they wait in memory and are inserted
only if a statement needs them: a first load of sorted nodes needs none.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from omnigraph.errors import StorageError
from omnigraph.rows.arrow_types import Entity, table_schema
from omnigraph.rows.typed_rows import TypedRows, counting
from omnigraph.rows.validate import text_column, unique_columns
from omnigraph.rows.violations import Place
from omnigraph.schema.catalog import EdgeType
from omnigraph.storage.scratch import ScratchDirectory
from omnigraph.write import limits
from omnigraph.write.load.id_order import IdOrder
from omnigraph.write.load.patterns import Patterns

if TYPE_CHECKING:
    import duckdb

Piece = tuple[int, TypedRows]
"""Number of the source, and its rows."""

ReadKeys = Callable[[Sequence[str]], Iterator[Piece]]
"""Reads some key columns of all rows of a type, in the order in which they were written, as often as it is called."""


@dataclass
class Stream:
    """Batches that a statement can read again on each run. A failure of the reader is raised unchanged."""

    schema: pa.Schema
    batches: Callable[[], Iterator[pa.RecordBatch]]
    failure: Exception | KeyboardInterrupt | None = None

    def reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, self._watched())

    def _watched(self) -> Iterator[pa.RecordBatch]:
        self.failure = None
        try:
            yield from self.batches()
        except (Exception, KeyboardInterrupt) as failure:
            # The database would keep only the text of the exception.
            self.failure = failure
            raise


@dataclass
class KeyTable:
    """The keys of one type. ``row`` counts the rows in the order in which they were written, from 0."""

    entity: Entity
    base: str
    columns: dict[str, str]
    patterns: Patterns
    """The omitted cells of rows; ``omitted`` holds the number of each row's pattern."""
    is_filled: bool = False
    """True while a table with filled key columns stands for the rows of an upsert."""
    has_parts: bool = False
    """True if several rows of an upsert make one entity."""
    written: int = 0
    superseded: int = 0
    order: IdOrder = field(default_factory=IdOrder)
    later: ReadKeys | None = None
    """Reads the rows, whose keys are in the database only when a statement needs them; None if they are there."""
    waiting: list[tuple[int, Piece]] = field(default_factory=list)
    """The ids of rows whose keys are not in the database yet, and the number of the first row of each piece."""
    waiting_bytes: int = 0

    @property
    def is_ascending(self) -> bool:
        """True if the ids ascend: then there are no duplicates."""
        return self.order.is_ascending

    @property
    def can_wait(self) -> bool:
        """True while no statement is likely to need the keys: they are ids only, and those ascend."""
        return len(self.columns) == 1 and self.is_ascending and self.waiting_bytes <= limits.KEYS_WAITING_BYTES_MAX

    @property
    def name(self) -> str:
        """The table of the keys, as the checks see them."""
        return f"{self.base}_filled" if self.is_filled else self.base

    @property
    def rows(self) -> int:
        """Number of distinct entities of the load."""
        return self.written - self.superseded

    @property
    def superseded_name(self) -> str:
        """Table of written rows that a later row with the same id replaces."""
        return f"{self.base}_superseded"

    @property
    def found_name(self) -> str:
        """Table of committed rows with an id of the input: id and address."""
        return f"{self.base}_found"

    @property
    def vanished_name(self) -> str:
        """Table of committed ids that an overwrite deletes."""
        return f"{self.base}_vanished"

    @property
    def parts_name(self) -> str:
        """Table of earlier rows that name a column which the last row with their id omits: last, column, row."""
        return f"{self.base}_parts"

    @property
    def dropped_name(self) -> str:
        """Table of written rows that are not needed: completed ones take their place, or they change nothing."""
        return f"{self.base}_dropped"

    @property
    def unchanged_name(self) -> str:
        """Table of committed addresses whose rows stay."""
        return f"{self.base}_unchanged"

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of a batch of keys."""
        numbers = {"row": pa.int64(), "source": pa.int32(), "line": pa.int64(), "omitted": pa.int32()}
        return pa.schema({**numbers, **dict.fromkeys(self.columns.values(), pa.string())})

    def tuple_of(self, columns: Sequence[str], alias: str) -> list[str]:
        """Columns of the type as columns of the database."""
        return [f"{alias}.{self.columns[column]}" for column in columns]


@dataclass
class KeyDatabase:
    """A database for keys. Not thread-safe."""

    connection: duckdb.DuckDBPyConnection
    memory: int = limits.KEY_DATABASE_BYTES
    memory_max: int = limits.KEY_DATABASE_BYTES_MAX

    def __post_init__(self) -> None:
        self._limit_memory()

    def run(self, statement: str, **given: Any) -> list[tuple[Any, ...]]:
        """Run a statement with Arrow data registered by name; the result must be small.

        A statement that runs out of memory gets more and runs again, so its input must be re-readable (``Stream``).
        """
        import duckdb

        self._complete(statement)
        streams = [data for data in given.values() if isinstance(data, Stream)]
        with _translated():
            while True:
                try:
                    with self._knowing(given):
                        return self.connection.execute(statement).fetchall()
                except duckdb.OutOfMemoryException:
                    if self.memory >= self.memory_max:
                        raise
                    self._grow()
                except duckdb.Error as error:
                    for failure in (stream.failure for stream in streams if stream.failure is not None):
                        raise failure from error
                    raise

    def _complete(self, statement: str) -> None:
        """Complete the tables that a statement reads."""

    def _grow(self) -> None:
        self.memory *= 2
        self._limit_memory()

    def _limit_memory(self) -> None:
        self.connection.execute(f"SET memory_limit = '{_size(self.memory)}'")

    def number(self, statement: str) -> int:
        """The single number that a statement returns."""
        return int(self.run(statement)[0][0])

    def stream_apart(self, query: str) -> Iterator[pa.RecordBatch]:
        """The rows of a query over tables that are not temporary; other statements may run meanwhile."""
        self._complete(query)
        with _translated():
            yield from self.connection.cursor().sql(query).to_arrow_reader(limits.STREAMED_ROWS)

    def stream(self, query: str, **given: Any) -> Iterator[pa.RecordBatch]:
        """The rows of a query, batch by batch."""
        self._complete(query)
        with self._knowing(given), _translated():
            yield from self.connection.sql(query).to_arrow_reader(limits.STREAMED_ROWS)

    @contextmanager
    def _knowing(self, given: Mapping[str, Any]) -> Iterator[None]:
        for name, data in given.items():
            self.connection.register(name, data.reader() if isinstance(data, Stream) else data)
        try:
            yield
        finally:
            for name in given:
                self.connection.unregister(name)


@dataclass
class InputKeys(KeyDatabase):
    """The keys of an input, one table per type."""

    grouped_rows: int = field(kw_only=True)
    """Rows whose hashes are grouped in one round."""
    sources: list[str] = field(default_factory=list)
    tables: dict[str, KeyTable] = field(default_factory=dict)

    def source(self, name: str) -> int:
        """The number of a source. Sources arrive one after the other."""
        if not self.sources or self.sources[-1] != name:
            self.sources.append(name)
        return len(self.sources) - 1

    def place(self, source: int, line: int) -> Place:
        return Place(self.sources[source], line)

    def add(self, entity: Entity, pieces: Sequence[Piece]) -> None:
        """Add the keys of rows, in the order in which they are written."""
        table = self.tables.get(entity.table_key) or self._create(entity)
        if not table.can_wait or any(rows.omitted is not None for _, rows in pieces):
            return self.add_all(entity, lambda: pieces)
        for source, rows in pieces:
            ids = replace(rows, batch=rows.batch.select(["id"]))
            table.waiting.append((self._note(table, rows), (source, ids)))
            table.waiting_bytes += ids.batch.nbytes + ids.lines.nbytes
        return None

    def add_all(self, entity: Entity, read: Callable[[], Iterable[Piece]]) -> None:
        """Add the keys of many rows with one statement: one per small piece costs several times more."""
        table = self.tables.get(entity.table_key) or self._create(entity)
        before = (table.written, table.order)

        def batches() -> Iterator[pa.RecordBatch]:
            table.written, table.order = before
            return (self._keys(table, self._note(table, rows), source, rows) for source, rows in read())

        self.run(f"INSERT INTO {table.name} SELECT * FROM given", given=Stream(table.schema, batches))

    def add_later(self, entity: Entity, rows: int, read: ReadKeys, order: IdOrder) -> None:
        """Add the keys of many rows that can be read again, at the first statement that needs them, if there is one."""
        table = self.tables.get(entity.table_key) or self._create(entity)
        table.written, table.order, table.later = rows, order, read

    def _complete(self, statement: str) -> None:
        for table in self.tables.values():
            if not (table.waiting or table.later) or not re.search(rf"\b{table.base}\b", statement):
                continue
            if table.later is not None:
                self._insert_later(table, table.later)
            else:
                self._insert_waiting(table)

    def _insert_later(self, table: KeyTable, read: ReadKeys) -> None:
        table.later, table.written, table.order = None, 0, IdOrder()
        self.add_all(table.entity, lambda: read(list(table.columns)))

    def _insert_waiting(self, table: KeyTable) -> None:
        waiting, table.waiting = table.waiting, []

        def batches() -> Iterator[pa.RecordBatch]:
            return (self._keys(table, first, source, rows) for first, (source, rows) in waiting)

        self.run(f"INSERT INTO {table.base} SELECT * FROM given", given=Stream(table.schema, batches))

    def _create(self, entity: Entity) -> KeyTable:
        wanted = ["id", *(("src", "dst") if isinstance(entity, EdgeType) else ())]
        wanted += [column for columns in unique_columns(entity) for column in columns]
        columns = {name: f"k{number}" for number, name in enumerate(dict.fromkeys(wanted))}
        patterns = Patterns(table_schema(entity).names)
        table = KeyTable(entity, f"t{len(self.tables)}", columns, patterns)
        texts = "".join(f", {name} VARCHAR" for name in columns.values())
        self.run(f'CREATE TABLE {table.name} ("row" BIGINT, source INTEGER, line BIGINT, omitted INTEGER{texts})')
        self.tables[entity.table_key] = table
        return table

    def _note(self, table: KeyTable, rows: TypedRows) -> int:
        """Count rows and follow the order of their ids; the number of the first."""
        first = table.written
        table.order = table.order.followed_by(text_column(table.entity, "id", rows.batch))
        table.written += rows.batch.num_rows
        return first

    def _keys(self, table: KeyTable, first: int, source: int, rows: TypedRows) -> pa.RecordBatch:
        count = rows.batch.num_rows
        keys = {
            "row": counting(first, count),
            "source": pa.repeat(pa.scalar(source, pa.int32()), count),
            "line": rows.lines.cast(pa.int64()),
            "omitted": table.patterns.numbers(rows.omitted, count),
        }
        for column, name in table.columns.items():
            keys[name] = text_column(table.entity, column, rows.batch)
        return pa.RecordBatch.from_pydict(keys, table.schema)

    def rows_at(self, table: KeyTable, places: Iterable[Place]) -> dict[int, Place]:
        """The rows at some places, by number."""
        found = self.run(
            f'SELECT t."row", t.source, t.line FROM {table.name} t SEMI JOIN given '
            "ON t.source = given.source AND t.line = given.line",
            given=self._numbered(places),
        )
        return {row: self.place(source, line) for row, source, line in found}

    def set_aside(self, table: KeyTable, places: Iterable[Place]) -> None:
        """Remove rows from the input by place."""
        given = self._numbered(places)
        chosen = f"FROM {table.name} t SEMI JOIN given ON t.source = given.source AND t.line = given.line"
        before = self.number(f"SELECT count(*) FROM {table.name}")
        self.run(f'CREATE TABLE IF NOT EXISTS {table.superseded_name} ("row" BIGINT)')
        self.run(f'INSERT INTO {table.superseded_name} SELECT t."row" {chosen}', given=given)
        for name in {table.base, table.name}:
            self.run(f"DELETE FROM {name} WHERE (source, line) IN (SELECT (source, line) FROM given)", given=given)
        table.superseded += before - self.number(f"SELECT count(*) FROM {table.name}")

    def _numbered(self, places: Iterable[Place]) -> pa.Table:
        """Places as numbers of sources and lines. A source that was read in turns with others has several numbers."""
        numbers: dict[str, list[int]] = {}
        for number, name in enumerate(self.sources):
            numbers.setdefault(name, []).append(number)
        rows = [(number, place.line) for place in places for number in numbers.get(place.source, ())]
        return pa.table(
            {
                "source": pa.array([number for number, _ in rows], pa.int32()),
                "line": pa.array([line for _, line in rows], pa.int64()),
            }
        )


@contextmanager
def _translated() -> Iterator[None]:
    import duckdb

    try:
        yield
    except (duckdb.IOException, duckdb.OutOfMemoryException) as error:
        raise StorageError(
            f"the key database of the load failed: {error}",
            hint=f"it needs space in {tempfile.gettempdir()}; set TMPDIR to use another directory",
        ) from error


def _size(count: int) -> str:
    return f"{count // 2**20}MiB"


K = TypeVar("K", bound=KeyDatabase)


@contextmanager
def open_keys(make: Callable[[duckdb.DuckDBPyConnection], K], threads: int | None = None) -> Iterator[K]:
    """A database that is deleted on exit; ``make`` is ``KeyDatabase`` or a subclass.

    ``threads`` defaults to the number of processors, up to ``KEY_DATABASE_THREADS_MAX``.
    """
    import duckdb

    with closing(ScratchDirectory("omnigraph-load-")) as scratch:
        connection = duckdb.connect(
            ":memory:",
            config={
                "temp_directory": os.path.join(scratch.path, "spill"),
                # Every table has a column for the order, so storage order is not needed.
                "preserve_insertion_order": "false",
                "autoinstall_known_extensions": "false",
                "threads": threads or min(os.cpu_count() or 1, limits.KEY_DATABASE_THREADS_MAX),
            },
        )
        try:
            yield make(connection)
        finally:
            connection.close()
