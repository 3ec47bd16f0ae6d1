"""The systems of the engine benchmark: each loads the same files in its best form and answers questions about them.

Omnigraph is one of them. A system that is not installed is skipped, with a note on how to install it.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.engine_data import Data
from benchmarks.engine_queries import SCHEMA, Parameters

Rows = list[tuple[Any, ...]]
Parts = dict[str, float]
"""Seconds of the parts of a load."""

LIMIT_SECONDS = 300
LIMIT_BYTES = 2 << 30
BATCH = 100_000
BUFFER_POOL = 8 << 30
"""More than any question needs; the default of Ladybug is most of the machine, which others need too."""

# A hybrid search of LanceDB cannot name the scores of its two halves and is warned about it at every call. The library
# reads this once, when it is imported.
os.environ.setdefault("LANCEDB_LOG", "error")

INSTALL = "pip install -r benchmarks/requirements.txt, in an environment of its own"


class System(Protocol):
    name: str

    def load(self, data: Data, place: Path) -> Parts: ...
    def open(self, place: Path) -> None: ...
    def ask(self, text: str, parameters: Parameters) -> Any: ...
    def rows(self, answer: Any) -> Rows: ...
    def recover(self) -> None:
        """Restore a usable connection after a failed question; most systems need nothing."""
        return


def arrow_rows(table: pa.Table) -> Rows:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def reader(path: Path, columns: list[str] | None = None) -> pa.RecordBatchReader:
    """The rows of a Parquet file, a batch at a time."""
    file = pq.ParquetFile(path)
    schema = file.schema_arrow if columns is None else pa.schema([file.schema_arrow.field(name) for name in columns])

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in file.iter_batches(BATCH, columns=columns):
            yield batch.cast(schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


class Omnigraph(System):
    name = "omnigraph"
    needs = "omnigraph"

    def __init__(self) -> None:
        self.prepared: dict[tuple[str, str | None], Any] = {}

    def load(self, data: Data, place: Path) -> Parts:
        import omnigraph

        graph = omnigraph.create(place, SCHEMA)
        parts: Parts = {}
        for type_name, path in (("Person", data.persons), ("Document", data.documents)):
            parts[type_name] = timed(lambda: graph.load(reader(path), "append", type_name=type_name))  # noqa: B023 # called before the loop advances
        edges = ["from", "to", "since"]
        parts["Follows"] = timed(lambda: graph.load(reader(data.follows, edges), "append", type_name="Follows"))
        return parts

    def open(self, place: Path) -> None:
        import omnigraph

        self.graph = omnigraph.open(place)
        print(f"optimized in {timed(self.graph.optimize):.1f} s", file=sys.stderr, flush=True)

    def ask(self, text: str, parameters: Parameters, branch: str | None = None) -> pa.Table | list[dict[str, Any]]:
        """Prepared, as with Ladybug: rows of Python where there are few, Arrow where there are many."""
        prepared = self.prepared.get((text, branch))
        if prepared is None:
            prepared = self.prepared[text, branch] = self.graph.prepare(text, branch=branch)
        # Questions share parameters, and a query refuses those that it does not declare.
        declared = {name: parameters[name] for name in prepared.parameters}
        result = prepared.run(declared, timeout=LIMIT_SECONDS, memory_limit=LIMIT_BYTES)
        return result.to_arrow() if result.stored_values is None else result.to_dicts()

    def rows(self, answer: pa.Table | list[dict[str, Any]]) -> Rows:
        return [tuple(row.values()) for row in answer] if isinstance(answer, list) else arrow_rows(answer)


class RawLance(System):
    """The persons as a Lance dataset with the indexes that the graph has."""

    name = "lance"
    needs = "lance"

    def load(self, data: Data, place: Path) -> Parts:
        import lance

        def write() -> None:
            dataset = lance.write_dataset(reader(data.persons), str(place))
            dataset.create_scalar_index("key", "BTREE")
            dataset.create_scalar_index("cohort", "BTREE")

        return {"Person": timed(write)}

    def open(self, place: Path) -> None:
        import lance

        self.dataset = lance.dataset(str(place))

    def ask(self, text: str, parameters: Parameters) -> pa.Table:
        condition, _, columns = text.format(**parameters).partition(" | ")
        return self.dataset.scanner(columns=columns.split(", "), filter=condition).to_table()

    def rows(self, answer: pa.Table) -> Rows:
        return arrow_rows(answer)


class Ladybug(System):
    name = "ladybug"
    needs = "ladybug"

    def __init__(self) -> None:
        self.prepared: dict[str, Any] = {}

    def load(self, data: Data, place: Path) -> Parts:
        connection = self._connect(place)
        connection.execute(
            "CREATE NODE TABLE Person(key STRING PRIMARY KEY, name STRING, age INT32, city STRING, cohort INT32, "
            "about STRING)"
        )
        connection.execute("CREATE REL TABLE Follows(FROM Person TO Person, since INT32)")
        parts = {"Person": timed(lambda: connection.execute(f"COPY Person FROM '{data.persons}'"))}
        parts["Follows"] = timed(lambda: self.copy_edges(connection, data))
        connection.close()
        self.database.close()
        return parts

    def copy_edges(self, connection: Any, data: Data) -> None:
        connection.execute(f'COPY Follows FROM (LOAD FROM "{data.follows}" RETURN `from`, `to`, since)')

    def open(self, place: Path) -> None:
        self.place = place
        self.connection = self._connect(place)
        self.connection.set_query_timeout(LIMIT_SECONDS * 1000)

    def close(self) -> None:
        """Let another process open the database: Ladybug locks it."""
        self.prepared.clear()
        self.connection.close()
        self.database.close()

    def recover(self) -> None:
        """A buffer pool that ran full stays full."""
        self.close()
        self.open(self.place)

    def _connect(self, place: Path) -> Any:
        import ladybug

        self.database = ladybug.Database(str(place), buffer_pool_size=BUFFER_POOL)
        return ladybug.Connection(self.database)

    def ask(self, text: str, parameters: Parameters) -> list[list[Any]]:
        if text not in self.prepared:
            with warnings.catch_warnings():
                # Preparing is marked as deprecated in favour of a call that prepares every time.
                warnings.simplefilter("ignore", DeprecationWarning)
                self.prepared[text] = self.connection.prepare(text, parameters)
        result = self.connection.execute(self.prepared[text], parameters)
        try:
            return result.get_all()
        finally:
            result.close()

    def rows(self, answer: list[list[Any]]) -> Rows:
        return [tuple(row) for row in answer]


class DuckDB(System):
    """Native tables, with the edges as they are, by key, and a second time by number of the person."""

    name = "duckdb"
    needs = "duckdb"

    def load(self, data: Data, place: Path) -> Parts:
        import duckdb

        def write() -> None:
            with duckdb.connect(str(place)) as connection:
                connection.execute(
                    "CREATE TABLE person AS SELECT CAST(file_row_number AS INTEGER) AS number, * EXCLUDE "
                    f"(file_row_number) FROM read_parquet('{data.persons}', file_row_number = true)"
                )
                connection.execute(f'CREATE TABLE follows AS SELECT "from", "to", since FROM \'{data.follows}\'')
                connection.execute(f"CREATE TABLE follows_numbers AS SELECT source, target FROM '{data.follows}'")

        return {"all": timed(write)}

    def open(self, place: Path) -> None:
        import duckdb

        self.connection = duckdb.connect(str(place), read_only=True)

    def ask(self, text: str, parameters: Parameters) -> Rows:
        return self.connection.execute(text, parameters).fetchall()

    def rows(self, answer: Rows) -> Rows:
        return answer


class LanceDB(System):
    """The documents, with the same kinds of index as in the graph."""

    name = "lancedb"
    needs = "lancedb"

    def load(self, data: Data, place: Path) -> Parts:
        import lancedb

        def write() -> None:
            table = lancedb.connect(str(place)).create_table("document", reader(data.documents))
            table.create_scalar_index("slug", index_type="BTREE")
            table.create_index(metric="l2", vector_column_name="embedding", index_type="IVF_HNSW_SQ")
            table.create_fts_index("body", stem=True, remove_stop_words=True, ascii_folding=True)

        return {"Document": timed(write)}

    def open(self, place: Path) -> None:
        import lancedb
        from lancedb.rerankers import RRFReranker

        self.table = lancedb.connect(str(place)).open_table("document")
        self.fusion = RRFReranker()

    def ask(self, text: str, parameters: Parameters) -> pa.Table:
        match text:
            case "vector":
                search = self.table.search(parameters["vector"], vector_column_name="embedding").refine_factor(2)
                columns = ["slug", "_distance"]
            case "text":
                search = self.table.search(parameters["words"], query_type="fts", fts_columns="body")
                columns = ["slug", "_score"]
            case _:
                search = self.table.search(query_type="hybrid", vector_column_name="embedding", fts_columns="body")
                search = search.vector(parameters["vector"]).text(parameters["words"]).rerank(self.fusion)
                search, columns = search.refine_factor(2), ["slug"]
        return search.select(columns).limit(10).to_arrow().select(columns)

    def rows(self, answer: pa.Table) -> Rows:
        return arrow_rows(answer)


class NumberedDuckDB(DuckDB):
    """The same database, queried over the numbered edges."""

    name = "duckdb_numbers"

    def __init__(self, other: DuckDB) -> None:
        self.other = other

    def open(self, place: Path) -> None:
        self.connection = self.other.connection


def timed(action: Any) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def installed() -> list[System]:
    """The systems that can be imported, Omnigraph first; a line about each of the others."""
    systems: list[System] = []
    duckdb = DuckDB()
    for system in (Omnigraph(), RawLance(), Ladybug(), duckdb, NumberedDuckDB(duckdb), LanceDB()):
        if importlib.util.find_spec(system.needs) is None:
            print(f"without {system.name}: no module {system.needs}; to compare with it: {INSTALL}", file=sys.stderr)
        else:
            systems.append(system)
    return systems
