"""Key database of a large load: DuckDB, spilling to a temporary directory.

It holds what constraints over several rows need: ids, endpoints and canonical texts of unique columns, with the place
of every row. The rows themselves are in fragments.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import StorageError
from omnigraph.rows.arrow_types import Entity
from omnigraph.rows.typed_rows import TypedRows, counting
from omnigraph.rows.validate import text_column, unique_columns
from omnigraph.rows.violations import Place
from omnigraph.schema.catalog import EdgeType
from omnigraph.write import limits
from omnigraph.write.load.spill_directory import scratch_directory

if TYPE_CHECKING:
    import duckdb

Piece = tuple[int, TypedRows]
"""Number of the source, and its rows."""


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
    name: str
    columns: dict[str, str]
    written: int = 0
    superseded: int = 0
    is_ascending: bool = True
    last_id: str = ""

    def note_ids(self, ids: pa.Array) -> None:
        """Track if ids are strictly ascending, as minted ids and sorted files are: then there are no duplicates."""
        if self.is_ascending and len(ids):
            grows = pc.all(pc.less(ids.slice(0, len(ids) - 1), ids.slice(1)), min_count=0).as_py()
            self.is_ascending = grows and (self.written == 0 or self.last_id < ids[0].as_py())
            self.last_id = ids[-1].as_py()

    @property
    def rows(self) -> int:
        """Number of distinct entities of the load."""
        return self.written - self.superseded

    @property
    def superseded_name(self) -> str:
        """Table of written rows that a later row with the same id replaces."""
        return f"{self.name}_superseded"

    @property
    def found_name(self) -> str:
        """Table of committed rows with an id of the input: id and address."""
        return f"{self.name}_found"

    @property
    def vanished_name(self) -> str:
        """Table of committed ids that an overwrite deletes."""
        return f"{self.name}_vanished"

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of a batch of keys."""
        numbers = {"row": pa.int64(), "source": pa.int32(), "line": pa.int64()}
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

    def _grow(self) -> None:
        self.memory *= 2
        self._limit_memory()

    def _limit_memory(self) -> None:
        self.connection.execute(f"SET memory_limit = '{_size(self.memory)}'")

    def number(self, statement: str) -> int:
        """The single number that a statement returns."""
        return int(self.run(statement)[0][0])

    def stream(self, query: str, **given: Any) -> Iterator[pa.RecordBatch]:
        """The rows of a query, batch by batch."""
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
        self.add_all(entity, lambda: pieces)

    def add_all(self, entity: Entity, read: Callable[[], Iterable[Piece]]) -> None:
        """Add the keys of many rows with one statement: one per small piece costs several times more."""
        table = self.tables.get(entity.table_key) or self._create(entity)
        before = (table.written, table.is_ascending, table.last_id)

        def batches() -> Iterator[pa.RecordBatch]:
            table.written, table.is_ascending, table.last_id = before
            return (self._keys(table, source, rows) for source, rows in read())

        self.run(f"INSERT INTO {table.name} SELECT * FROM given", given=Stream(table.schema, batches))

    def _create(self, entity: Entity) -> KeyTable:
        wanted = ["id", *(("src", "dst") if isinstance(entity, EdgeType) else ())]
        wanted += [column for columns in unique_columns(entity) for column in columns]
        columns = {name: f"k{number}" for number, name in enumerate(dict.fromkeys(wanted))}
        table = KeyTable(entity, f"t{len(self.tables)}", columns)
        texts = "".join(f", {name} VARCHAR" for name in columns.values())
        self.run(f'CREATE TABLE {table.name} ("row" BIGINT, source INTEGER, line BIGINT{texts})')
        self.tables[entity.table_key] = table
        return table

    def _keys(self, table: KeyTable, source: int, rows: TypedRows) -> pa.RecordBatch:
        count = rows.batch.num_rows
        keys = {
            "row": counting(table.written, count),
            "source": pa.repeat(pa.scalar(source, pa.int32()), count),
            "line": rows.lines.cast(pa.int64()),
        }
        for column, name in table.columns.items():
            keys[name] = text_column(table.entity, column, rows.batch)
        table.note_ids(keys[table.columns["id"]])
        table.written += count
        return pa.RecordBatch.from_pydict(keys, table.schema)

    def set_aside(self, table: KeyTable, lines: Iterable[int]) -> None:
        """Remove rows from the input by line. Lines identify rows only if a table has one source."""
        given = pa.table({"line": pa.array(lines, pa.int64())})
        chosen = f"FROM {table.name} t SEMI JOIN given ON t.line = given.line"
        before = self.number(f"SELECT count(*) FROM {table.name}")
        self.run(f'CREATE TABLE IF NOT EXISTS {table.superseded_name} ("row" BIGINT)')
        self.run(f'INSERT INTO {table.superseded_name} SELECT t."row" {chosen}', given=given)
        self.run(f"DELETE FROM {table.name} WHERE line IN (SELECT line FROM given)", given=given)
        table.superseded += before - self.number(f"SELECT count(*) FROM {table.name}")


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

    with scratch_directory() as directory:
        connection = duckdb.connect(
            ":memory:",
            config={
                "temp_directory": os.path.join(directory, "spill"),
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
