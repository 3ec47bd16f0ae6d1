"""The database for keys: its memory grows for a statement that cannot do with less, and what it reads may fail."""

from collections.abc import Iterator

import pyarrow as pa
import pytest

from omnigraph.errors import CorruptionError, StorageError
from omnigraph.write.load.keys import KeyDatabase, Stream, open_keys

MEGABYTE = 2**20
ROWS = 200_000
COUNT = "SELECT count(*) FROM (SELECT id FROM ids GROUP BY id ORDER BY max(id || 'x'))"


def ids() -> Stream:
    table = pa.table({"id": [f"person-{number:09}" for number in range(ROWS)]})
    return Stream(table.schema, lambda: iter(table.to_batches(10_000)))


def test_a_statement_that_needs_more_memory_gets_it_and_reads_all_again() -> None:
    with open_keys(lambda connection: KeyDatabase(connection, MEGABYTE)) as keys:
        assert keys.run(COUNT, ids=ids()) == [(ROWS,)]
        assert keys.memory > MEGABYTE


def test_beyond_the_limit_the_load_fails_and_says_why() -> None:
    with open_keys(lambda connection: KeyDatabase(connection, MEGABYTE, 2 * MEGABYTE)) as keys:
        with pytest.raises(StorageError, match="memory"):
            keys.run(COUNT, ids=ids())
        assert keys.memory == 2 * MEGABYTE


def test_what_fails_in_reading_is_raised_as_it_is() -> None:
    def broken() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"id": ["a"]})
        raise CorruptionError("a file is gone")

    with open_keys(lambda connection: KeyDatabase(connection, MEGABYTE)) as keys:
        with pytest.raises(CorruptionError, match="a file is gone"):
            keys.run("SELECT count(*) FROM ids", ids=Stream(pa.schema({"id": pa.string()}), broken))
        assert keys.run("SELECT count(*) FROM ids", ids=ids()) == [(ROWS,)]
