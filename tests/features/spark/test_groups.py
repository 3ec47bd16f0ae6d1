"""Facts in buckets: nothing is lost or counted twice on the way, and tasks that hash otherwise are refused."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from omnigraph.errors import SparkError
from omnigraph.spark.load.checks.facts import Emission, FactRole
from omnigraph.spark.load.checks.groups import Buckets, Grouping, _group, _pack, grouped, packed
from omnigraph.write.load.keys import KeyDatabase, open_keys

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COUNTING = Grouping(
    'SELECT space, role, key, CAST(sum(times) AS BIGINT) AS times, min("row") AS first FROM facts GROUP BY ALL',
    "space int, role int, key string, times long, first long",
)


def test_every_fact_arrives_once_whatever_the_number_of_buckets(spark: SparkSession) -> None:
    facts = [(number % 3, number % 7, f"k{number % 40}", number, None) for number in range(500)]
    frame = spark.createDataFrame(facts, "space int, role int, key string, row long, id string").repartition(3)
    expected = Counter((space, role, key) for space, role, key, _, _ in facts)
    for count in (1, 5):
        buckets = Buckets(count, Buckets.for_facts(1, 1_000_000).probe)
        rows = grouped(packed(frame, buckets), buckets, COUNTING).collect()
        assert {(row.space, row.role, row.key): row.times for row in rows} == expected
        assert len(rows) == len(expected), "all facts of a key are in one bucket"


def test_references_are_counted_together_before_they_travel() -> None:
    keys = pa.record_batch({"key": ["a", "b", "a"], "row": pa.array([1, 2, 3]), "id": pa.nulls(3, pa.utf8())})
    buckets = Buckets.for_facts(3, 1_000_000)
    for role, blocks_of_facts in ((FactRole.REFERENCE, 2), (FactRole.INPUT, 3)):
        [made] = _pack(buckets, iter([(Emission(0, role, ("src",)), keys)]))
        [facts] = [pa.ipc.read_record_batch(pa.py_buffer(block), _SCHEMA) for block in made.column("facts").to_pylist()]
        assert facts.num_rows == blocks_of_facts
        [counted] = _group(COUNTING, iter([made]))
        assert dict(zip(counted.column("key").to_pylist(), counted.column("times").to_pylist(), strict=True)) == {
            "a": 2,
            "b": 1,
        }


_SCHEMA = pa.schema([("key", pa.utf8()), ("row", pa.int64()), ("times", pa.int64())])


def test_a_task_that_hashes_otherwise_is_refused() -> None:
    ours = Buckets.for_facts(1, 1_000_000)
    with open_keys(KeyDatabase) as database:
        ours.check(database)
        with pytest.raises(SparkError, match="hash keys differently"):
            Buckets(ours.count, ours.probe + 1).check(database)


def test_the_number_of_buckets_follows_the_number_of_facts() -> None:
    assert [Buckets.for_facts(facts, 100).count for facts in (0, 1, 100, 101, 3_000)] == [1, 1, 1, 2, 30]
