"""SQL over the tables of a snapshot, by DuckDB: one select statement in a sandbox without other inputs."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from omnigraph.errors import InputError, LimitExceeded, OmnigraphError
from omnigraph.storage.tables.table_source import TableSource

if TYPE_CHECKING:
    import duckdb

SqlParams = Sequence[object] | Mapping[str, object]

_SETTINGS = {
    # No files, extensions or other databases; lock_configuration prevents a statement from enabling them.
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    # Otherwise an unknown table name would resolve to a Python variable of the caller.
    "python_enable_replacements": "false",
    "temp_directory": "",
}
_READ_ONLY_HINT = "SQL reads the tables of the graph; graph.mutate and graph.load change it"


def run_sql(
    tables: Mapping[str, TableSource],
    text: str,
    params: SqlParams | None = None,
    *,
    seconds_max: float | None = None,
    bytes_max: int | None = None,
) -> pa.Table:
    """The rows of one select statement over tables by name; raises InputError for anything else."""
    with _connection(bytes_max) as connection, _translated(tables.values(), seconds_max, bytes_max):
        for name, source in tables.items():
            connection.register(name, source)
        # From here on a statement cannot change the settings above.
        connection.execute("SET lock_configuration = true")
        _require_select(connection, text)
        with _interrupted(connection, seconds_max):
            found = connection.sql(text, params=params)
            rows = found.to_arrow_table()
    return rows.rename_columns(_distinct(rows.column_names))


@contextmanager
def _connection(bytes_max: int | None) -> Iterator[duckdb.DuckDBPyConnection]:
    import duckdb

    memory = {} if bytes_max is None else {"memory_limit": f"{bytes_max}B"}
    connection = duckdb.connect(":memory:", config={**_SETTINGS, **memory})
    try:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection
    finally:
        connection.close()


def _require_select(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    import duckdb

    statements = connection.extract_statements(text)
    if len(statements) != 1:
        raise InputError(f"expected one SQL statement, found {len(statements)}", hint="write one select")
    if statements[0].type is not duckdb.StatementType.SELECT:
        kind = statements[0].type.name.lower()
        raise InputError(f"expected a select statement, found {kind}", hint=_READ_ONLY_HINT, statement=kind)


@contextmanager
def _interrupted(connection: duckdb.DuckDBPyConnection, seconds: float | None) -> Iterator[None]:
    """Interrupt the running statement after a timeout."""
    if seconds is None:
        yield
        return
    timer = threading.Timer(seconds, connection.interrupt)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def _translated(sources: Iterable[TableSource], seconds: float | None, bytes_max: int | None) -> Iterator[None]:
    """Translate DuckDB errors. If reading a table failed, raise the original error of that read."""
    import duckdb

    try:
        yield
    except OmnigraphError:
        raise
    except duckdb.InterruptException as error:
        raise LimitExceeded(
            f"the statement took longer than {seconds} s",
            hint="narrow it, or raise the limit with timeout=",
            resource="seconds",
            limit=seconds,
        ) from error
    except duckdb.OutOfMemoryException as error:
        raise LimitExceeded(
            f"the statement needs more than {bytes_max:,} bytes" if bytes_max else f"out of memory: {error}",
            hint="narrow it, or raise the limit with memory_limit= or OMNIGRAPH_QUERY_MEMORY",
            resource="bytes",
            limit=bytes_max,
        ) from error
    except duckdb.PermissionException as error:
        raise InputError(f"the statement is not allowed: {error}", hint=_READ_ONLY_HINT) from error
    except duckdb.Error as error:
        for failure in (failure for source in sources for failure in source.failures):
            raise failure from error
        raise InputError(f"the statement failed: {error}") from error


def _distinct(names: Sequence[str]) -> list[str]:
    """Unique column names: the second ``id`` becomes ``id_1``."""
    taken: set[str] = set()
    found = []
    for name in names:
        number, chosen = 0, name
        while chosen in taken or (number and chosen in names):
            number += 1
            chosen = f"{name}_{number}"
        taken.add(chosen)
        found.append(chosen)
    return found
