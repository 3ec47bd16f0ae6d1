"""SQL over the tables of a snapshot, by DuckDB: one select statement in a sandbox without other inputs."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from omnigraph.errors import Hint, InputError, LimitExceeded, OmnigraphError, QueryCancelled
from omnigraph.exec.sql.sandbox import READ_ONLY_HINT, check_statement
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
    "allow_persistent_secrets": "false",
}
_CANCEL_POLL_SECONDS = 0.05
"""Delay between the request to cancel a statement and the interrupt, at most."""


def run_sql(
    tables: Mapping[str, TableSource],
    text: str,
    params: SqlParams | None = None,
    *,
    seconds_max: float | None = None,
    bytes_max: int | None = None,
    cancel: threading.Event | None = None,
) -> pa.Table:
    """The rows of one select statement over tables by name; raises InputError for anything else.

    Setting ``cancel`` from another thread raises QueryCancelled here.
    """
    cancelled = cancel or threading.Event()
    with _connection(bytes_max) as connection, _translated(tables.values(), seconds_max, bytes_max, cancelled):
        for name, source in tables.items():
            connection.register(name, source)
        # From here on a statement cannot change the settings above.
        connection.execute("SET lock_configuration = true")
        _require_select(connection, text)
        check_statement(connection, text, tables)
        with _timeout(connection, seconds_max), _cancelled(connection, cancel):
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
        raise InputError(f"expected a select statement, found {kind}", hint=READ_ONLY_HINT, statement=kind)


@contextmanager
def _timeout(connection: duckdb.DuckDBPyConnection, seconds: float | None) -> Iterator[None]:
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
def _cancelled(connection: duckdb.DuckDBPyConnection, cancel: threading.Event | None) -> Iterator[None]:
    """Interrupt the running statement once the event is set."""
    if cancel is None:
        yield
        return
    is_done = threading.Event()

    def watch() -> None:
        while not is_done.is_set():
            if cancel.wait(_CANCEL_POLL_SECONDS):
                # Repeated: an interrupt before the statement has started is lost.
                connection.interrupt()
                is_done.wait(_CANCEL_POLL_SECONDS)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        is_done.set()
        watcher.join()


@contextmanager
def _translated(
    sources: Iterable[TableSource], seconds: float | None, bytes_max: int | None, cancelled: threading.Event
) -> Iterator[None]:
    """Translate DuckDB errors. If reading a table failed, raise the original error of that read."""
    import duckdb

    try:
        yield
    except OmnigraphError:
        raise
    except duckdb.InterruptException as error:
        if cancelled.is_set():
            raise QueryCancelled("the statement was cancelled") from error
        raise LimitExceeded(
            f"the statement took longer than {seconds} s",
            hint=Hint("narrow it, or raise the limit with timeout=", "narrow it, or raise the limit with --timeout"),
            resource="seconds",
            limit=seconds,
        ) from error
    except duckdb.OutOfMemoryException as error:
        raise LimitExceeded(
            f"the statement needs more than {bytes_max:,} bytes" if bytes_max else f"out of memory: {error}",
            hint=Hint(
                "narrow it, or raise the limit with memory_limit= or OMNIGRAPH_QUERY_MEMORY",
                "narrow it, or raise the limit with OMNIGRAPH_QUERY_MEMORY",
            ),
            resource="bytes",
            limit=bytes_max,
        ) from error
    except duckdb.PermissionException as error:
        raise InputError(f"the statement is not allowed: {error}", hint=READ_ONLY_HINT) from error
    except duckdb.Error as error:
        for failure in (failure for source in sources for failure in source.failures):
            raise failure from error
        raise InputError(f"the statement failed: {error}", hint=_hint(error)) from error


def _hint(error: Exception) -> Hint:
    """The next step for a statement that DuckDB refuses."""
    import duckdb

    if isinstance(error, duckdb.InvalidInputException):
        return Hint(
            "give a value for each ? as a list, or for each $name as a dict: params={...}",
            "give a value for each parameter with --params",
        )
    if isinstance(error, duckdb.ParserException):
        return Hint("SQL is that of DuckDB; graph.query runs queries of Omnigraph", "SQL is that of DuckDB")
    return Hint(
        "tables are named like types: print(graph.schema) shows types and properties",
        "tables are named like types: omnigraph schema show prints types and properties",
    )


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
