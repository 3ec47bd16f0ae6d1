"""Statistics of tables, counted by DuckDB in two passes over each source, with bounded memory.

The first pass counts forms, nulls and lengths of all columns. The second one copies the few columns that may be keys,
ends or enums into a temporary table, where uniqueness, values and overlaps are counted exactly. DuckDB spills what does
not fit into its memory.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from omnigraph.errors import InputError, OmnigraphError
from omnigraph.ingest.infer.arrow_columns import declared_type, held, readable
from omnigraph.ingest.infer.ends import compared_columns
from omnigraph.ingest.infer.facts import ColumnFacts, Overlap, TableFacts
from omnigraph.ingest.infer.keys import candidates
from omnigraph.ingest.infer.properties import ENUM_VALUES_MAX, guess_property
from omnigraph.ingest.infer.questions import Questions
from omnigraph.ingest.infer.sources import TableSource
from omnigraph.ingest.tables import SourceTable
from omnigraph.rows.limits import BATCH_ROWS

if TYPE_CHECKING:
    import duckdb

MEMORY_BYTES: Final = 1024 * 1024 * 1024
"""Memory of DuckDB; it spills the rest."""

_LOOKED_AT_MIN: Final = 2_000
"""Rows of a first batch that is looked at before all others, to ask fewer questions about them."""

_FEW: Final = 2 * ENUM_VALUES_MAX
"""Estimated number of values up to which a text column is looked at as an enum: the estimate errs."""


@dataclass
class Statistics:
    """The tables of one inference in a database of their own. Not thread-safe."""

    connection: duckdb.DuckDBPyConnection

    def first_pass(self, source: TableSource) -> TableFacts:
        """Facts about all columns of a source."""
        with source.open() as table:
            schema, is_text = table.schema, table.is_text
            types = [declared_type(field.type) for field in schema]
            counted = [index for index, type_ in enumerate(types) if type_ is not None]
            kept, batches = readable(schema, _batches(table), counted)
            questions = [
                Questions(index, type_, kept.field(f"c{index}").type) for index, type_ in enumerate(types) if type_
            ]
            first = next(batches, None)
            if first is not None and first.num_rows >= _LOOKED_AT_MIN:
                seen = self._ask(questions, kept, iter([first]))[1]
                questions = [item.only_possible(seen[item.index], is_json=source.is_json) for item in questions]
            rows, found = self._ask(questions, kept, batches if first is None else chain([first], batches))
        columns = tuple(
            replace(
                found.get(index, ColumnFacts(field.name, index + 1, None, held(field.type))),
                name=field.name,
                position=index + 1,
                is_written=is_text and not source.is_json,
                is_json=source.is_json,
                is_gapped=field.name in source.gapped,
                rows=rows,
            )
            for index, field in enumerate(schema)
        )
        facts = TableFacts(source.name, source.stem, source.given_type, rows, columns, source.declared)
        return replace(facts, columns=tuple(_as_stated(column, facts) for column in columns))

    def second_pass(self, source: TableSource, number: int, facts: TableFacts) -> TableFacts:
        """The same facts with exact uniqueness, and the values of columns that have few."""
        few = [column for column in facts.columns if _may_be_enum(column)]
        ids = (item for item in facts.columns if item.name == facts.declared.key or item.name.lower() == "id")
        keys = [*candidates(facts), *ids]
        wanted = {column.position - 1: column for column in [*few, *keys, *compared_columns(facts)]}
        if not wanted:
            return facts
        with source.open() as table:
            kept, batches = readable(table.schema, _batches(table), sorted(wanted))
            texts = ", ".join(f"{_key_text(column)} AS c{index}" for index, column in sorted(wanted.items()))
            self._run(f"CREATE TEMP TABLE t{number} AS SELECT {texts} FROM given", kept, batches)
        unique = {column.name for column in keys if self._is_unique(number, column, facts.rows)}
        values = {column.name: self._values(number, column) for column in few}
        return replace(
            facts,
            columns=tuple(
                replace(column, is_unique=column.name in unique, values=values.get(column.name, ()))
                for column in facts.columns
            ),
        )

    def overlap(self, number: int, column: ColumnFacts, other: int, key: ColumnFacts) -> Overlap:
        """The overlap of a column with the key of another table."""
        distinct, missing = self._query(
            f"SELECT count(*), count(*) FILTER (NOT EXISTS (FROM t{other} WHERE c{key.position - 1} = v)) "
            f"FROM (SELECT DISTINCT c{column.position - 1} AS v FROM t{number})"
        )[0]
        return Overlap(distinct, missing)

    def are_unique(self, number: int, columns: Sequence[ColumnFacts]) -> bool:
        """Tell if no two rows have the same values in some of the columns that were copied."""
        names = ", ".join(f"c{column.position - 1}" for column in columns)
        rows, distinct = self._query(
            f"SELECT (SELECT count(*) FROM t{number}), (SELECT count(*) FROM (SELECT DISTINCT {names} FROM t{number}))"
        )[0]
        return bool(rows and rows == distinct)

    def keep_distinct(self, table: SourceTable, column: str, number: int) -> None:
        """Keep the different values of one column as text."""
        index = table.schema.names.index(column)
        kept, batches = readable(table.schema, _batches(table), [index])
        values = f"SELECT DISTINCT trim(CAST(c{index} AS VARCHAR)) AS v FROM given"
        self._run(f"CREATE TEMP TABLE d{number} AS {values}", kept, batches)

    def distinct(self, numbers: Sequence[int], name: str) -> pa.RecordBatchReader:
        """The different values that were kept, in order."""
        union = " UNION ".join(f"SELECT v FROM d{number}" for number in numbers)
        query = f'SELECT v AS "{name}" FROM ({union}) WHERE v IS NOT NULL ORDER BY length(v), v'
        return self.connection.sql(query).to_arrow_reader(BATCH_ROWS)

    def _is_unique(self, number: int, column: ColumnFacts, rows: int) -> bool:
        name = f"c{column.position - 1}"
        distinct, has_empty = self._query(f"SELECT count(DISTINCT {name}), bool_or({name} = '') FROM t{number}")[0]
        return bool(distinct == rows and not has_empty)

    def _values(self, number: int, column: ColumnFacts) -> tuple[str, ...]:
        name = f"c{column.position - 1}"
        rows = self._query(
            f"SELECT DISTINCT {name} FROM t{number} WHERE {name} IS NOT NULL LIMIT {ENUM_VALUES_MAX + 1}"
        )
        return tuple(sorted(value for (value,) in rows)) if len(rows) <= ENUM_VALUES_MAX else ()

    def _ask(
        self, questions: Sequence[Questions], schema: pa.Schema, batches: Iterator[pa.RecordBatch]
    ) -> tuple[int, dict[int, ColumnFacts]]:
        """The number of rows, and the facts about columns by their index."""
        selected = "".join(f", {item.select()}" for item in questions)
        [row] = self._run(f"SELECT count(*){selected} FROM given", schema, batches)
        answers = iter(row[1:])
        return row[0], {item.index: item.facts(answers) for item in questions}

    def _run(self, statement: str, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> list[tuple[Any, ...]]:
        """Run a statement over ``given``. An error of the source is raised as it is, not as DuckDB wraps it."""
        failures: list[OmnigraphError] = []

        def watched() -> Iterator[pa.RecordBatch]:
            try:
                yield from batches
            except OmnigraphError as error:
                failures.append(error)
                raise

        try:
            with _translated():
                self.connection.register("given", pa.RecordBatchReader.from_batches(schema, watched()))
            return self._query(statement)
        except OmnigraphError:
            if failures:
                raise failures[0] from None
            raise
        finally:
            self.connection.unregister("given")

    def _query(self, statement: str) -> list[tuple[Any, ...]]:
        with _translated():
            return self.connection.execute(statement).fetchall()


@contextmanager
def _translated() -> Iterator[None]:
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"the statistics of the data cannot be counted: {reason}") from error


@contextmanager
def open_statistics() -> Iterator[Statistics]:
    """An empty database that is deleted with the block."""
    import duckdb

    with tempfile.TemporaryDirectory(prefix="omnigraph-infer-") as directory:
        settings: dict[str, Any] = {
            "memory_limit": f"{MEMORY_BYTES}B",
            "temp_directory": directory,
            "preserve_insertion_order": "false",
        }
        connection = duckdb.connect(":memory:", config=settings)
        try:
            connection.execute("SET TimeZone = 'UTC'")
            yield Statistics(connection)
        finally:
            connection.close()


def _batches(table: SourceTable) -> Iterator[pa.RecordBatch]:
    return (placed.batch for placed in table.batches)


def _as_stated(column: ColumnFacts, facts: TableFacts) -> ColumnFacts:
    """The column with the type that the header of its source states."""
    stated = facts.declared.types.get(column.name)
    return column if stated is None else replace(column, declared=stated)


def _may_be_enum(column: ColumnFacts) -> bool:
    guess = guess_property(column)
    is_text = guess is not None and guess.type.is_text and column.declared is not None and column.declared.is_text
    return is_text and 0 < column.distinct <= _FEW


def _key_text(column: ColumnFacts) -> str:
    """The text by which values of two tables are compared: that of their ids."""
    name = f"c{column.position - 1}"
    guess = guess_property(column)
    if column.is_written and guess is not None and guess.type.is_number:
        return f"trim({name})"
    return f"CAST({name} AS VARCHAR)"
