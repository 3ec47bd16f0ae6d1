"""SQL expressions of a mapping, evaluated by DuckDB over batches of rows in a sandbox without other inputs.

An expression sees one row. Spark's casts that are written as functions, ``nvl`` and a ``concat`` that gives null for a
null are defined here, so that expressions for both engines give the same values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from omnigraph.errors import InputError, LimitExceeded, UsageError
from omnigraph.ingest.mapping import Expression

if TYPE_CHECKING:
    pass

_SETTINGS: Final[dict[str, str | bool | int | float | list[str]]] = {
    # No files, extensions or other databases; lock_configuration prevents a statement from enabling them.
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    # Otherwise an unknown table name would resolve to a Python variable of the caller.
    "python_enable_replacements": "false",
    "temp_directory": "",
    "memory_limit": "1GB",
    # One thread keeps the order of rows.
    "threads": "1",
}
_CASTS: Final = {
    "bigint": "BIGINT",
    "boolean": "BOOLEAN",
    "double": "DOUBLE",
    "float": "FLOAT",
    "int": "INTEGER",
    "smallint": "SMALLINT",
    "string": "VARCHAR",
    "timestamp": "TIMESTAMP",
    "tinyint": "TINYINT",
}
_CONCATENATED_MAX: Final = 32
"""Arguments of ``concat``: a macro has a fixed number, so there is one for each."""
_QUOTED: Final = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|--[^\n]*|/\*.*?\*/""", re.DOTALL)
_CAST_CALL: Final = re.compile(rf"\b({'|'.join(_CASTS)})(\s*\()", re.IGNORECASE)
_FORBIDDEN: Final = {"WINDOW": "a window function", "SUBQUERY": "a subquery"}
_SOURCE: Final = "source"

ReportRow = Callable[[int, Expression, str], None]
"""Receives the position of a row, the expression that fails for it, and the reason."""

Evaluated = tuple[pa.Array, list[pa.Array]]
"""Positions of the rows that are kept, and the value of every expression for them."""


class RowSql:
    """Expressions over rows of one schema, and the predicate that selects rows."""

    def __init__(self, schema: pa.Schema, where: Expression | None, columns: Sequence[Expression]) -> None:
        import duckdb

        self._connection = duckdb.connect(":memory:", config=_SETTINGS)
        self._where = where
        self._columns = columns
        self._row = "row"
        while self._row in schema.names:
            self._row += "_"
        self._prepare_connection()
        empty = schema.empty_table()
        for expression in (*columns, *([] if where is None else [where])):
            self._check(expression, empty)
        numbers = pa.array([], pa.int64())
        none = pa.RecordBatch.from_arrays([pa.nulls(0, item.type) for item in schema], schema=schema)
        self._types = [array.type for array in self._run(none, numbers)[1]]

    def close(self) -> None:
        """Release the database."""
        self._connection.close()

    def evaluate(self, batch: pa.RecordBatch, report: ReportRow) -> Evaluated:
        """The kept rows and values. A value that fails is reported and null; a row without a predicate is left out."""
        found = list(self._pieces(batch, pa.array(range(batch.num_rows), pa.int64()), report))
        rows = pa.concat_arrays([piece[0] for piece in found])
        return rows, [pa.concat_arrays(arrays) for arrays in zip(*(piece[1] for piece in found), strict=True)]

    def _pieces(self, batch: pa.RecordBatch, rows: pa.Array, report: ReportRow) -> Iterator[Evaluated]:
        """The values of a batch; a failing one is halved until a single row fails."""
        import duckdb

        try:
            yield self._run(batch, rows)
        except (duckdb.DataError, duckdb.InvalidInputException):
            if batch.num_rows == 1:
                yield self._one_row(batch, rows, report)
                return
            half = batch.num_rows // 2
            yield from self._pieces(batch.slice(0, half), rows.slice(0, half), report)
            yield from self._pieces(batch.slice(half), rows.slice(half), report)

    def _one_row(self, batch: pa.RecordBatch, rows: pa.Array, report: ReportRow) -> Evaluated:
        """The values of a row for which an expression fails."""
        import duckdb

        try:
            kept, _ = self._run(batch, rows, [])
        except (duckdb.DataError, duckdb.InvalidInputException) as problem:
            assert self._where is not None
            report(rows[0].as_py(), self._where, _reason(problem))
            return rows.slice(1), [pa.nulls(0, type_) for type_ in self._types]
        values = []
        for expression, type_ in zip(self._columns, self._types, strict=True):
            try:
                values.append(self._run(batch, rows, [expression])[1][0])
            except (duckdb.DataError, duckdb.InvalidInputException) as problem:
                report(rows[0].as_py(), expression, _reason(problem))
                values.append(pa.nulls(len(kept), type_))
        return kept, values

    def _run(self, batch: pa.RecordBatch, rows: pa.Array, columns: Sequence[Expression] | None = None) -> Evaluated:
        listed = "".join(f", ({_portable(item)}\n)" for item in (self._columns if columns is None else columns))
        chosen = "" if self._where is None else f" WHERE ({_portable(self._where)}\n)"
        with self._known(pa.Table.from_batches([batch.append_column(self._row, rows)])), _translated():
            found = self._connection.sql(f'SELECT "{self._row}"{listed} FROM {_SOURCE}{chosen}').to_arrow_table()
        arrays = [_whole(column) for column in found.columns]
        return arrays[0], arrays[1:]

    def _prepare_connection(self) -> None:
        run = self._connection.execute
        run("SET TimeZone = 'UTC'")
        # As in Spark, text is compared with a number as a number: the columns of a CSV file are text.
        run("SET old_implicit_casting = true")
        for name, kind in _CASTS.items():
            run(f'CREATE MACRO "{name}"(x) AS CAST(x AS {kind})')
        run("CREATE MACRO nvl(a, b) AS coalesce(a, b)")
        names = [f"a{number}" for number in range(_CONCATENATED_MAX)]
        forms = (f"({', '.join(names[:count])}) AS {' || '.join(names[:count])}" for count in range(1, len(names) + 1))
        run(f"CREATE MACRO concat {', '.join(forms)}")
        run("SET lock_configuration = true")

    def _check(self, expression: Expression, empty: pa.Table) -> None:
        """Raise UsageError unless the text is one expression over a row of the source."""
        import duckdb

        at, text = expression.at, _portable(expression)
        try:
            [(tree,)] = self._connection.execute("SELECT json_serialize_sql(?)", [f"SELECT {text}"]).fetchall()
            _refuse_other_than_row(at, json.loads(tree))
            with self._known(empty):
                rows = self._connection.sql(f"SELECT ({text}\n) FROM {_SOURCE}").to_arrow_table().num_rows
        except duckdb.Error as error:
            raise UsageError(f"{at}: {error}", hint="expressions are DuckDB SQL in this engine", at=at) from error
        if rows:
            raise UsageError(f"{at}: an aggregate has no value for a single row", at=at)

    @contextmanager
    def _known(self, table: pa.Table) -> Iterator[None]:
        self._connection.register(_SOURCE, table)
        try:
            yield
        finally:
            self._connection.unregister(_SOURCE)


def _portable(expression: Expression) -> str:
    """The text with Spark's casts quoted: DuckDB's parser takes their names for types, except as quoted functions."""
    assert expression.sql is not None
    text, parts, end = expression.sql, [], 0
    for quoted in _QUOTED.finditer(text):
        parts += [_CAST_CALL.sub(r'"\1"\2', text[end : quoted.start()]), quoted.group()]
        end = quoted.end()
    return "".join([*parts, _CAST_CALL.sub(r'"\1"\2', text[end:])])


def _refuse_other_than_row(at: str, tree: Any) -> None:
    if tree["error"]:
        raise UsageError(f"{at}: {tree['error_message']}", at=at)
    node = tree["statements"][0]["node"]
    is_one = len(tree["statements"]) == 1 and len(node.get("select_list", ())) == 1
    if not is_one or node["from_table"]["type"] != "EMPTY" or node["where_clause"] is not None:
        raise UsageError(f"{at}: expected one SQL expression", at=at)
    for kind in _classes(node["select_list"][0]):
        if kind in _FORBIDDEN:
            raise UsageError(f"{at}: {_FORBIDDEN[kind]} is not allowed; an expression sees one row", at=at)


def _classes(tree: Any) -> Iterator[str]:
    """The classes of all expressions in a tree."""
    if isinstance(tree, dict):
        if isinstance(tree.get("class"), str):
            yield tree["class"]
        for value in tree.values():
            yield from _classes(value)
    elif isinstance(tree, list):
        for item in tree:
            yield from _classes(item)


def _reason(problem: Exception) -> str:
    return str(problem).partition("\n")[0]


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays([pa.nulls(0, column.type), *column.chunks])


@contextmanager
def _translated() -> Iterator[None]:
    """Translate errors that no single row causes."""
    import duckdb

    try:
        yield
    except (duckdb.DataError, duckdb.InvalidInputException):
        raise
    except duckdb.OutOfMemoryException as error:
        raise LimitExceeded(
            f"an expression of the mapping needs too much memory: {error}", hint="shorten its values", resource="bytes"
        ) from error
    except duckdb.Error as error:
        raise InputError(f"an expression of the mapping failed: {error}") from error
