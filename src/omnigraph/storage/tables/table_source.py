"""A pinned table as an Arrow dataset, for engines that push down columns and filters.

The table is opened on the first read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from omnigraph.core.hints import verify_hint
from omnigraph.core.tables import TablePin
from omnigraph.errors import CorruptionError, OmnigraphError
from omnigraph.storage.objects.failures import foreign
from omnigraph.storage.tables.lance_table import open_table
from omnigraph.storage.tables.port import ScanOptions
from omnigraph.storage.tables.store import Store


@dataclass(frozen=True, slots=True)
class RowTest:
    """A test that rows must pass to exist for the engine, and the columns that it reads."""

    columns: Sequence[str]
    mask: Callable[[pa.RecordBatch], npt.NDArray[np.bool_]]

    def passing(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch.filter(pa.array(self.mask(batch)))


class TableSource(pads.Dataset):  # type: ignore[misc] # pyarrow has no types
    """One table at one version. ``failures`` holds the original errors of reads, which engines wrap in their own."""

    def __init__(self, store: Store, pin: TablePin, schema: pa.Schema, test: RowTest | None = None) -> None:
        # The constructor of Arrow's class accepts only its own datasets, so it is not called.
        self.pin = pin
        self.failures: list[OmnigraphError] = []
        self._store = store
        self._test = test
        self._schema = pa.schema([pa.field(field.name, field.type, field.nullable) for field in schema])

    @property
    def schema(self) -> pa.Schema:
        return self._schema

    def scanner(
        self, columns: Sequence[str] | None = None, filter: pc.Expression | None = None, **_options: Any
    ) -> _Scan:
        """Some columns of the rows that satisfy a filter."""
        return _Scan(self, self._schema.names if columns is None else list(columns), filter)

    def batches(self, columns: list[str], where: pc.Expression | None) -> Iterator[pa.RecordBatch]:
        """The same, batch by batch. Filters that Lance cannot evaluate are evaluated here."""
        try:
            # Arrow does not expose the columns of an expression. Its text contains their names, and perhaps others,
            # which are then read in vain.
            named = [] if where is None else [name for name in self._schema.names if name in str(where)]
            is_pushed = where is None or self._takes(named)
            tested = () if self._test is None else self._test.columns
            read = list(dict.fromkeys([*columns, *(() if is_pushed else named), *tested]))
            for batch in self._read(read, where if is_pushed else None):
                rows = pa.Table.from_batches([batch if self._test is None else self._test.passing(batch)])
                for part in (rows if is_pushed else rows.filter(where)).select(columns).to_batches():
                    yield self._plain(part)
        except foreign() as error:
            failure = CorruptionError(
                f"table {self.pin.key} at version {self.pin.table_version} cannot be read: {error}",
                hint=verify_hint("lists missing files"),
                table=self.pin.key,
            )
            self.failures.append(failure)
            raise failure from error
        except OmnigraphError as error:
            self.failures.append(error)
            raise

    def _read(self, columns: list[str], pushed: pc.Expression | None) -> Iterator[pa.RecordBatch]:
        if self.pin.is_external:
            return open_table(self._store, self.pin).scan(columns, None, ScanOptions(blobs_as_bytes=True))
        dataset = self._store.open(self.pin.location, self.pin.lance_version)
        return dataset.scanner(
            columns=columns, filter=pushed, blob_handling="all_binary", batch_size=65_536
        ).to_batches()

    def _takes(self, named: list[str]) -> bool:
        """True if the table evaluates an expression over some columns."""
        if self.pin.is_external:
            return False
        dataset = self._store.open(self.pin.location, self.pin.lance_version)
        return _takes_expressions(dataset.schema) and not any(map(self._is_unsigned, named))

    def _is_unsigned(self, name: str) -> bool:
        return bool(pa.types.is_unsigned_integer(self._schema.field(name).type))

    def _plain(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        fields = [self._schema.field(name) for name in batch.schema.names]
        arrays = [column.cast(field.type) for column, field in zip(batch.columns, fields, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _takes_expressions(schema: pa.Schema) -> bool:
    """False if a column holds durations or lists of unsigned numbers: Lance then accepts no expression on the table."""
    return not any(
        pa.types.is_duration(field.type)
        or (
            pa.types.is_list(field.type)
            and (pa.types.is_unsigned_integer(field.type.value_type) or pa.types.is_duration(field.type.value_type))
        )
        for field in schema
    )


@dataclass(frozen=True)
class _Scan:
    """A scan as an engine requests it: columns and a filter."""

    source: TableSource
    columns: list[str]
    where: pc.Expression | None

    @property
    def projected_schema(self) -> pa.Schema:
        return pa.schema([self.source.schema.field(name) for name in self.columns])

    def to_reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.projected_schema, self.source.batches(self.columns, self.where))
