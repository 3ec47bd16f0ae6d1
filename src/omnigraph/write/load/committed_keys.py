"""Key columns of committed tables, streamed into statements of the key database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.history.state import ManifestState
from omnigraph.rows.arrow_types import Entity
from omnigraph.rows.ends.references import with_types
from omnigraph.rows.validate import text_column
from omnigraph.storage.tables.scan import scan
from omnigraph.storage.tables.store import Store
from omnigraph.write import limits
from omnigraph.write.load.keys import Stream


@dataclass(frozen=True, slots=True)
class CommittedKeys:
    """The committed side of the checks. Records the tables read, which become part of the plan."""

    store: Store
    state: ManifestState
    tables_read: set[str]

    def rows(self, table_key: str) -> int:
        """Number of rows of a table. This counts as a read: a concurrent writer may add the first row."""
        self.tables_read.add(table_key)
        return self.state.tables[table_key].rows

    def keys(self, entity: Entity, columns: Sequence[str]) -> Stream:
        """Columns as canonical texts, named c0, c1 ..., with the row ``address``, which is also the storage order."""
        self.tables_read.add(entity.table_key)
        pin = self.state.tables[entity.table_key]
        names = with_types(entity, columns)

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in scan(self.store, pin, names, with_address=True, ahead_bytes=limits.KEYS_AHEAD_BYTES):
                texts = [text_column(entity, column, batch) for column in columns]
                yield pa.RecordBatch.from_arrays([*texts, batch.column("_rowaddr")], schema=schema)

        fields = [pa.field(f"c{number}", pa.string()) for number in range(len(columns))]
        schema = pa.schema([*fields, pa.field("address", pa.uint64())])
        return Stream(schema, batches)
