"""``graph.spark_sql``: the rows of plain Spark SQL, from frames that have only what the query needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import AnalysisException

from omnigraph.engine.graph import Graph, create
from omnigraph.spark.jobs.needs import MARK, plan_needs
from omnigraph.spark.jobs.sql import cloned
from omnigraph.spark.source.registration import register

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = """
node Person { name: String @key
    age: I32?
    born: Date?
    note: String? }
node City { name: String @key }
edge Knows: Person -> Person { since: I32? }
edge LivesIn: Person -> City
"""
QUERIES = {
    "one table": "SELECT name FROM Person WHERE age > 30 AND born < DATE '1990-01-01' AND name LIKE 'p3%'",
    "a self-join": "SELECT a.name, b.age FROM Person a JOIN Knows k ON k.src = a.id "
    "JOIN Person b ON b.id = k.dst WHERE a.age IN (7, 8, 10) AND b.note IS NOT NULL",
    "an outer join": "SELECT p.name, l.dst FROM Person p LEFT JOIN LivesIn l ON l.src = p.id AND l.dst <> 'c1'",
    "groups": "SELECT dst, count(*) AS n, max(since) FROM Knows WHERE since IN (1, 2, 3) GROUP BY dst HAVING n > 1",
    "a union": "SELECT name, 1 FROM Person WHERE age < 3 UNION SELECT name, age FROM City NATURAL JOIN Person",
    "subqueries": "WITH old AS (SELECT * FROM Person WHERE age > (SELECT avg(since) FROM Knows WHERE since > 1)) "
    "SELECT name FROM old p WHERE NOT EXISTS (SELECT 1 FROM Knows k WHERE k.src = p.id)",
    "without a column": "SELECT * EXCEPT (note, born) FROM Person WHERE age IS NULL OR NOT age = 4",
    "a window": "SELECT name, rank() OVER (PARTITION BY note ORDER BY age, name) FROM Person WHERE length(note) = 2",
    "quotes": "SELECT count(*) FROM Person WHERE note = 'it\\'s' OR note = 'a\\\\b'",
}  # fmt: skip


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    made = create(tmp_path_factory.mktemp("sql") / "graph", SCHEMA, durability="os")
    notes = ["it's", "a\\b", "no", None]
    people = [
        {
            "name": f"p{number}",
            "age": number if number % 9 else None,
            "born": f"{1950 + number}-02-03",
            "note": notes[number % 4],
        }
        for number in range(60)
    ]
    made.load(
        [
            *({"type": "Person", "data": person} for person in people),
            *({"type": "City", "data": {"name": f"c{number}"}} for number in range(3)),
            *(
                {"edge": "Knows", "from": f"p{number}", "to": f"p{number * 7 % 60}", "data": {"since": number % 5}}
                for number in range(0, 60, 2)
            ),
            *({"edge": "LivesIn", "from": f"p{number}", "to": f"c{number % 3}"} for number in range(0, 60, 3)),
        ]
    )
    return made


@pytest.fixture(scope="module")
def plain(graph: Graph, spark: SparkSession) -> SparkSession:
    """A session with whole tables as views."""
    register(spark)
    other = cloned(spark)
    for name in graph.catalog().nodes | graph.catalog().edges:
        frame = other.read.format("omnigraph").options(type=name, at=graph.snapshot().commit_id).load(graph.uri)
        frame.createOrReplaceTempView(name)
    return other


def rows(frame: DataFrame) -> list[str]:
    return sorted(map(repr, frame.collect()))


@pytest.mark.parametrize("name", QUERIES)
def test_the_answer_is_that_of_plain_spark_sql(
    graph: Graph, spark: SparkSession, plain: SparkSession, name: str
) -> None:
    found = graph.spark_sql(QUERIES[name], spark=spark)
    expected = plain.sql(QUERIES[name])
    assert found.schema == expected.schema
    assert rows(found) == rows(expected)


def options_of(frame: DataFrame) -> dict[str, dict[str, str]]:
    """The options of every table in a plan."""
    found = {}
    plan = frame._jdf.queryExecution().optimizedPlan()  # type: ignore[operator] # untyped in pyspark
    leaves = plan.collectLeaves()
    for place in range(leaves.size()):
        leaf = leaves.apply(place)
        relation = leaf.relation() if leaf.getClass().getSimpleName() == "DataSourceV2ScanRelation" else leaf
        options = relation.options()
        found[options.get(MARK)] = {name: options.get(name) for name in ("columns", "where") if options.get(name)}
    return found


def test_frames_have_the_needed_columns_and_conditions(graph: Graph, spark: SparkSession) -> None:
    text = "SELECT p.name FROM Person p JOIN Knows k ON k.src = p.id WHERE p.age = 30 AND k.since > 1"
    frame = graph.spark_sql(text, spark=spark)
    assert sorted(options_of(frame)["Person"]["columns"].split(",")) == ["age", "id", "name"]
    assert "`age` = 30" in options_of(frame)["Person"]["where"]
    assert sorted(options_of(frame)["Knows"]["columns"].split(",")) == ["since", "src"]
    assert "BroadcastHashJoin" in frame._jdf.queryExecution().executedPlan().toString()  # type: ignore[operator] # as above
    twice = graph.spark_sql("SELECT * FROM City a, City b WHERE a.name = 'c0' AND b.name = 'c1'", spark=spark)
    assert plan_needs(twice)["City"].conditions
    assert twice.count() == 1


def test_a_session_keeps_its_views_and_a_query_its_commit(graph: Graph, spark: SparkSession, tmp_path: Path) -> None:
    spark.range(3).createOrReplaceTempView("City")
    own = create(tmp_path / "own", "node City { name: String @key }", durability="os")
    own.load([{"type": "City", "data": {"name": "a"}}])
    frame = own.spark_sql("SELECT * FROM City", spark=spark)
    own.load([{"type": "City", "data": {"name": "b"}}])
    assert [row.name for row in frame.collect()] == ["a"]
    assert own.spark_sql("SELECT count(*) AS n FROM City", at="HEAD~1", spark=spark).collect()[0].n == 1
    assert spark.table("City").count() == 3
    spark.catalog.dropTempView("City")
    with pytest.raises(AnalysisException, match="Nothing"):
        own.spark_sql("SELECT * FROM Nothing", spark=spark)
