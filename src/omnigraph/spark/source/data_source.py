"""The data source ``omnigraph``: reads a type as a Spark table, and writes frames into a type.

A frame reads one snapshot: its commit is fixed when the frame is created. A write is an atomic load of one commit; the
driver runs all checks. Neither can use a session, because Spark runs data sources in separate Python processes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from omnigraph.core.tables import TablePin
from omnigraph.errors import UsageError
from omnigraph.rows.arrow_types import table_schema
from omnigraph.spark.cluster import limits
from omnigraph.spark.cluster.python_workers import freeze_imports
from omnigraph.spark.cluster.spark_types import arrow_schema, cast_for_spark, spark_schema
from omnigraph.spark.source.change_columns import change_schema
from omnigraph.spark.source.change_options import ChangeOptions, is_change_feed, parse_change_options
from omnigraph.spark.source.change_stream import ChangeReader, ChangeStreamReader
from omnigraph.spark.source.options import SourceOptions, parse_options
from omnigraph.spark.source.reporting import reported
from omnigraph.spark.source.table_options import is_creating, read_options, with_options, written_options
from omnigraph.spark.source.writing import SourceStreamWriter, SourceWriter, Writing
from omnigraph.storage.tables.filters import RowFilter
from omnigraph.storage.tables.scan import fragment_groups, scan
from omnigraph.storage.tables.store import Store
from omnigraph.write.load.mode import LoadMode


class OmnigraphSource(DataSource):  # type: ignore[misc, unused-ignore] # untyped where pyspark is not installed
    """``spark.read.format("omnigraph").option("type", ...).load(path)``."""

    defaults: ClassVar[Mapping[str, str]] = {}
    """Options of the session, ``spark.omnigraph.*``, that apply where a frame has none of its own."""

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        # Options are parsed when they are used: for a table of the catalog, Spark passes them with the schema.
        self._given: dict[str, str] = dict(options)
        self._commit: str | None = None

    @classmethod
    def name(cls) -> str:
        return "omnigraph"

    @property
    def _is_feed(self) -> bool:
        return is_change_feed(self._given)

    @reported
    def schema(self) -> StructType:
        if self._is_feed:
            return change_schema(self._feed_options().typed_entity())
        options = self._parsed()
        snapshot = options.snapshot()
        self._commit = snapshot.commit_id
        entity = options.entity(snapshot.catalog)
        options.filter(entity)
        columns = spark_schema(entity, options.chosen_columns(entity))
        return with_options(columns, options.of_table) if is_creating(self._given) else columns

    @reported
    def streamReader(self, schema: StructType) -> ChangeStreamReader:  # noqa: N802 - Spark's name
        if not self._is_feed:
            raise UsageError("only changes can be read as a stream", hint='set .option("readChangeFeed", "true")')
        return ChangeStreamReader(self._feed_options(), schema)

    @reported
    def reader(self, schema: StructType) -> SourceReader | ChangeReader:
        if self._is_feed:
            return ChangeReader(self._feed_options(), schema)
        options = self._parsed(read_options(schema))
        snapshot = options.snapshot() if self._commit is None else options.graph().snapshot(at=self._commit)
        entity = options.entity(snapshot.catalog)
        unknown = [name for name in schema.names if name not in table_schema(entity).names]
        if unknown:
            raise UsageError(f"{entity.name} has no column {unknown[0]!r}")
        return SourceReader(snapshot.store, snapshot.state.tables[entity.table_key], schema, options.filter(entity))

    @reported
    def writer(self, schema: StructType, overwrite: bool) -> SourceWriter:
        options = self._target(schema)
        mode = LoadMode.OVERWRITE if overwrite else LoadMode(options.load)
        return SourceWriter(Writing.of(options, schema, mode))

    @reported
    def streamWriter(self, schema: StructType, overwrite: bool) -> SourceStreamWriter:  # noqa: N802 - Spark's name
        options = self._target(schema)
        if options.query is None:
            hint = 'set .option("query", ...) to a name that stays the same across restarts'
            raise UsageError("a stream needs a name for exactly-once writes", hint=hint)
        if overwrite:
            raise UsageError("a stream cannot overwrite a type", hint='use outputMode("append")')
        return SourceStreamWriter(Writing.of(options, schema, LoadMode(options.load)))

    def _feed_options(self) -> ChangeOptions:
        return parse_change_options(self._given, self.defaults)

    def _parsed(self, of_table: Mapping[str, str] | None = None) -> SourceOptions:
        """The options of the frame, over those of its table in the catalog, over those of the session."""
        return parse_options({**(of_table or {}), **self._given}, self.defaults)

    def _target(self, schema: StructType) -> SourceOptions:
        """The options of a write. A table of the catalog is used only if the frame names no type."""
        named = {name.lower() for name in self._given}
        is_named = "type" in named or "store" in named or "path" in named
        return self._parsed({} if is_named else written_options(schema))


@dataclass(frozen=True)
class FragmentPartition(InputPartition):  # type: ignore[misc, unused-ignore] # untyped where pyspark is not installed
    """Fragments that one task reads."""

    fragments: tuple[int, ...]


class SourceReader(DataSourceReader):  # type: ignore[misc, unused-ignore] # untyped where pyspark is not installed
    """Reads one pinned table by fragments.

    Accepts no filter pushdown: up to version 4.3 Spark reuses the filters of one use of a frame for all others, which
    then lack rows (ADR 15). The option ``where`` belongs to the frame instead.
    """

    def __init__(self, store: Store, pin: TablePin, schema: StructType, where: RowFilter | None = None) -> None:
        self._store = store
        self._pin = pin
        self._schema = schema
        self._where = where

    def partitions(self) -> Sequence[FragmentPartition]:
        groups = [*fragment_groups(self._store, self._pin, self._store.tuning.partition_rows)]
        # Spark requires at least one partition, even for an empty table.
        return [FragmentPartition(group) for group in groups or [()]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, FragmentPartition)
        freeze_imports()
        schema = arrow_schema(self._schema)
        if not partition.fragments:
            return
        for batch in scan(
            self._store,
            self._pin,
            self._schema.names,
            self._where,
            blobs_as_bytes=True,
            batch_rows=limits.FACT_BATCH_ROWS,
            fragments=partition.fragments,
        ):
            yield cast_for_spark(batch, schema)
