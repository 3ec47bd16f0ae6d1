"""Facts in buckets: nothing is lost or counted twice on the way, and only doubtful buckets are grouped."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa

from omnigraph.spark.load.checks.facts import SPACES_PER_TABLE, Emission, FactRole
from omnigraph.spark.load.checks.groups import Buckets, Grouping, _group, _pack, grouped, is_clean, packed

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
        buckets = Buckets(count)
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


def clean(*facts: tuple[int, int, list[str]]) -> bool:
    """The answer of the proof for keys by space and role."""
    return is_clean(
        [
            pa.record_batch(
                {"space": pa.array([space] * len(keys), pa.int32()), "role": [role] * len(keys), "key": keys}
            )
            for space, role, keys in facts
        ]
    )


def test_only_distinct_keys_and_known_references_need_no_grouping() -> None:
    given, held, end = FactRole.INPUT, FactRole.COMMITTED, FactRole.REFERENCE
    assert clean()
    assert clean((0, given, ["a", "b"]), (1, given, ["a"]), (1, held, ["b"]))
    assert clean((0, given, ["a"]), (0, held, ["b"]), (0, end, ["a", "b", "a"]), (0, end + 1, ["b"]))
    assert not clean((0, given, ["a", "a"]))
    assert not clean((0, given, ["a"]), (0, given, ["a"]), (0, end, ["a"]))
    assert not clean((0, given, ["a"]), (0, held, ["a"])), "the row exists"
    assert not clean((0, given, ["a"]), (0, end, ["b"])), "the node is missing"
    assert not clean((0, end, ["a"])), "the node is missing"
    assert not clean((0, given, ["a"]), (1, given, ["b"]), (1, end, ["a"])), "a node of another type"
    assert not clean((0, FactRole.REPLACED, ["a"]))
    assert not clean((SPACES_PER_TABLE - 1, given, ["a"])), "edges of a node are counted"


def test_keys_of_one_bucket_are_looked_up() -> None:
    keys = [f"key-{number}" for number in range(50_000)]
    emission, batch = Emission(0, FactRole.INPUT, ("id",)), pa.record_batch({"key": keys, "row": range(50_000)})
    [made] = _pack(Buckets(20), iter([(emission, batch)]))
    parts = [pa.ipc.read_record_batch(pa.py_buffer(block), _SCHEMA) for block in made.column("facts").to_pylist()]
    assert made.column("bucket").to_pylist() == [*range(20)]
    assert sorted(key for part in parts for key in part.column("key").to_pylist()) == sorted(keys)
    for part in parts:
        known = part.column("key").to_pylist()
        assert clean((0, FactRole.INPUT, known), (0, FactRole.REFERENCE, known))


def test_the_number_of_buckets_follows_the_number_of_facts() -> None:
    assert [Buckets.for_facts(facts, 100).count for facts in (0, 1, 100, 101, 3_000)] == [1, 1, 1, 2, 30]
