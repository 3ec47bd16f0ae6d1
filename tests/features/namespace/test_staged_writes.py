"""Ordinary writes of Lance, staged as detached versions, become commits under all checks of the graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lance
import lance_namespace as ln
import pyarrow as pa
import pytest
from lance.fragment import write_fragments

import omnigraph
from omnigraph import Graph
from omnigraph.errors import UsageError
from omnigraph.namespace import OmnigraphNamespace, commit, stage
from tests.features.namespace.staged import (
    KNOWS,
    NOTE,
    PERSON,
    current,
    detached,
    edges,
    hand_over,
    operation,
    rows,
)
from tests.support.tuning import EAGER


def ages(graph: Graph, *names: str) -> list[int | None]:
    result = graph.query("query q() { match { $p: Person } return { $p.name as name, $p.age as age } }").to_pylist()
    found = {row["name"]: row["age"] for row in result}
    return [found[name] for name in names]


@pytest.mark.parametrize(
    ("write", "count", "changes"),
    [
        ({"rows": rows("ann", age=[3])}, 21, (1, 0, 0)),
        ({"rows": pa.table({"id": ["ann"], "name": ["ann"]})}, 21, (1, 0, 0)),
        ({"rows": rows("ann").slice(0, 0)}, 20, (0, 0, 0)),
        ({"rows": rows("p1", "new", age=[77, 1]), "mode": "upsert"}, 21, (1, 1, 0)),
        ({"update": {"age": "age + 100"}, "where": "name in ('p1', 'p2')"}, 20, (0, 2, 0)),
        ({"update": {"bio": "'x'"}}, 20, (0, 20, 0)),
        ({"delete": "name = 'p5'"}, 19, (0, 0, 1)),
        ({"delete": "name = 'nobody'"}, 20, (0, 0, 0)),
        ({"rows": rows("p1", "p2", age=[1, 2]), "mode": "overwrite"}, 2, (0, 2, 18)),
    ],
    ids=["append", "fewer columns", "no rows", "upsert", "update", "update all", "delete", "delete none", "overwrite"],
)
def test_each_staged_write_is_adopted_with_exact_counts(
    namespace: OmnigraphNamespace, graph: Graph, write: dict[str, Any], count: int, changes: tuple[int, int, int]
) -> None:
    made = commit(namespace, [stage(namespace, PERSON, **write)])

    assert graph.snapshot().counts()["node:Person"] == count
    (change,) = graph.commit(made).tables
    assert (change.inserted, change.updated, change.deleted) == changes
    assert not graph.verify().problems


def test_several_changes_of_a_table_are_staged_on_top_of_each_other(
    namespace: OmnigraphNamespace, graph: Graph
) -> None:
    added = stage(namespace, PERSON, rows("ann", age=[1]))
    updated = stage(namespace, PERSON, update={"age": "age + 1"}, where="name = 'ann'", on=added)
    deleted = stage(namespace, PERSON, delete="name = 'p5'", on=updated)

    made = commit(namespace, [deleted])

    (change,) = graph.commit(made).tables
    assert (change.inserted, change.updated, change.deleted) == (1, 0, 1)
    assert ages(graph, "ann", "p1") == [2, 1]
    with pytest.raises(UsageError, match="was not staged for"):
        stage(namespace, KNOWS, delete="true", on=added)


@pytest.mark.parametrize("altered", [False, True], ids=["fresh table", "altered table"])
def test_an_overwrite_of_lance_itself_keeps_the_columns_of_the_table(
    namespace: OmnigraphNamespace, graph: Graph, altered: bool
) -> None:
    """Lance's overwrite numbers columns again, in the order of the rows, and forgets metadata and required ones."""
    if altered:
        text = graph.schema_text()
        graph.apply_schema(text.replace("age: I64?", "age: I64? zip: String?"))
        graph.apply_schema(text.replace("age: I64?", "age: I64? tags: [String]?"), allow_data_loss=True)
    before = current(namespace, PERSON)
    given = rows("p1", "p2", "eve", age=[7, 2, 8])
    given = given.append_column("tags", pa.array([["a"], None, None])) if altered else given
    fragments = write_fragments(given, before.uri, mode="overwrite")

    made = hand_over(namespace, PERSON, detached(before, lance.LanceOperation.Overwrite(given.schema, fragments)))

    after = current(namespace, PERSON)
    assert after.schema.equals(before.schema, check_metadata=True)
    assert [field.id() for field in after.lance_schema.fields()] == [
        field.id() for field in before.lance_schema.fields()
    ]
    (change,) = graph.commit(made).tables
    assert (change.inserted, change.updated, change.deleted) == (1, 2, 18)
    assert ages(graph, "p1", "eve") == [7, 8]
    assert not graph.verify().problems


def test_columns_that_lance_rewrites_alone_are_read_everywhere(namespace: OmnigraphNamespace, graph: Graph) -> None:
    """Lance puts rewritten columns into a second file of a fragment. Rows that this process remembers are outdated."""
    assert ages(graph, "p1", "p2") == [1, 2]
    dataset = current(namespace, PERSON)
    (fragment,) = dataset.get_fragments()
    rewritten, fields = fragment.update_columns(pa.table({"id": ["p1", "p2"], "age": [51, 52]}), left_on="id")
    update = lance.LanceOperation.Update(
        updated_fragments=[rewritten], fields_modified=fields, update_mode="rewrite_columns"
    )

    made = hand_over(namespace, PERSON, detached(dataset, update))

    (change,) = graph.commit(made).tables
    assert (change.inserted, change.updated, change.deleted) == (0, 2, 0)
    assert ages(graph, "p1", "p2", "p3") == [51, 52, 3]
    graph.mutate('query q() { update Person set { bio: "x" } where age = 51 }')
    graph.load([{"type": "Person", "data": {"name": "p2", "bio": "y"}}], mode="upsert")
    for number in range(20):
        graph.mutate(f'query q() {{ insert Person {{ name: "n{number}" }} }}')
    graph.mutate('query q() { insert Person { name: "new", age: 60 } }')
    graph.optimize()
    assert ages(graph, "p1", "p2", "p3", "new") == [51, 52, 3, 60]
    assert ages(omnigraph.open(graph.uri), "p1", "p2", "p3", "new") == [51, 52, 3, 60]
    assert [change.id for table in graph.diff(f"{made}~1", made) for change in table] == ["p1", "p2"]
    assert not graph.verify().problems


@pytest.mark.parametrize("forgotten", ["fields_modified", "fields_for_preserving_frag_bitmap"])
def test_an_index_that_would_miss_rows_is_refused(tmp_path: Path, forgotten: str) -> None:
    schema = "node Person { name: String @key  age: I64? @index }"
    graph = omnigraph.create(tmp_path / "graph", schema, tuning=EAGER)
    graph.load([{"type": "Person", "data": {"name": f"p{n}", "age": n}} for n in range(50)], mode="append")
    graph.optimize()
    namespace = OmnigraphNamespace(graph)
    dataset = current(namespace, PERSON)
    (fragment,) = dataset.get_fragments()
    if forgotten == "fields_modified":
        rewritten, _ = fragment.update_columns(pa.table({"id": ["p1"], "age": [500]}), left_on="id")
        update = lance.LanceOperation.Update(updated_fragments=[rewritten], update_mode="rewrite_columns")
    else:
        new = write_fragments(pa.table({"id": ["z"], "age": [9], "name": ["z"]}).cast(dataset.schema), dataset)
        left = [fragment.delete("id = 'p1'")]
        update = lance.LanceOperation.Update(updated_fragments=left, new_fragments=new, update_mode="rewrite_rows")

    with pytest.raises(ln.InvalidInputError, match=forgotten):
        hand_over(namespace, PERSON, detached(dataset, update))


def test_columns_that_a_version_adds_become_properties(namespace: OmnigraphNamespace, graph: Graph) -> None:
    scores = pa.table({"id": ["p1", "p2"], "score": [0.5, 1.5], "tags": [["a"], None]})

    made = commit(namespace, [stage(namespace, PERSON, add_columns=scores)], message="scores")

    assert "score: F64? tags: [String]?" in graph.schema_text()
    found = graph.query("query q() { match { $p: Person } return { $p.name, $p.score, $p.tags } order { $p.name } }")
    assert found.to_pylist()[:3] == [
        {"p.name": "p0", "p.score": None, "p.tags": None},
        {"p.name": "p1", "p.score": 0.5, "p.tags": ["a"]},
        {"p.name": "p10", "p.score": None, "p.tags": None},
    ]
    (change,) = graph.commit(made).tables
    assert (change.inserted, change.updated, change.deleted) == (0, 2, 0)
    graph.mutate('query q() { update Person set { score: 9.0 } where name = "p3" }')
    commit(namespace, [stage(namespace, PERSON, update={"score": "score * 2"}, where="score is not null")])
    assert graph.query("query q() { match { $p: Person } return { sum($p.score) as s } }").scalar() == 22.0
    assert not graph.verify().problems


def test_columns_and_rows_of_several_tables_are_one_commit(namespace: OmnigraphNamespace, graph: Graph) -> None:
    scores = pa.table({"id": ["p1"], "score": [0.5]})
    weights = pa.table({"id": current(namespace, KNOWS).to_table().column("id"), "weight": [2]})
    more = stage(namespace, PERSON, rows("ann"))

    commit(
        namespace,
        [
            stage(namespace, PERSON, add_columns=scores, on=more),
            stage(namespace, KNOWS, add_columns=weights),
            stage(namespace, NOTE, pa.table({"id": ["n1"], "text": ["hello"]})),
        ],
    )

    assert graph.snapshot().counts() == {"edge:Knows": 1, "node:Note": 1, "node:Person": 21}
    query = "query q() { match { $p: Person  $p knows $q } return { $p.score } }"
    assert graph.query(query).to_pylist() == [{"p.score": 0.5}]
    assert "edge Knows: Person -> Person { since: I64? weight: I64? }" in graph.schema_text()
    assert not graph.verify().problems


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([1], pa.int8()), "cast it to int32"),
        (pa.array([{"a": 1}]), "no property has this type"),
        (pa.array([b"x"], pa.large_binary()), "no property has this type"),
        (pa.array([1], pa.timestamp("us")), "cast it to timestamp[ms, tz=UTC]"),
    ],
    ids=["int8", "struct", "blob", "timestamp"],
)
def test_a_column_that_no_property_can_be_is_refused(
    namespace: OmnigraphNamespace, graph: Graph, column: pa.Array, expected: str
) -> None:
    head = graph.snapshot().commit_id
    staged = stage(namespace, PERSON, add_columns=pa.table({"id": ["p1"], "extra": column}))

    with pytest.raises(ln.InvalidInputError) as refused:
        commit(namespace, [staged])

    assert expected in str(refused.value)
    assert graph.snapshot().commit_id == head


@pytest.mark.parametrize("kind", ["BTREE", "INVERTED", "IVF_FLAT"])
def test_an_index_of_another_program_is_adopted_and_survives_maintenance(tmp_path: Path, kind: str) -> None:
    schema = "node Person { name: String @key  age: I64?  bio: String?  taste: Vector(4)? }"
    graph = omnigraph.create(tmp_path / "graph", schema, tuning=EAGER)
    people = [
        {"type": "Person", "data": {"name": f"p{n}", "age": n, "bio": f"number {n}", "taste": [n, 0, 0, 0]}}
        for n in range(300)
    ]
    graph.load(people, mode="append")
    namespace = OmnigraphNamespace(graph)
    column = {"BTREE": "age", "INVERTED": "bio", "IVF_FLAT": "taste"}[kind]

    made = commit(namespace, [stage(namespace, PERSON, index=column, index_type=kind)])

    (change,) = graph.commit(made).tables
    assert (change.inserted, change.updated, change.deleted) == (0, 0, 0)
    graph.mutate('query q() { delete Person where name = "p7" }')
    for _ in range(2):
        dataset = lance.dataset(namespace_client=namespace, table_id=PERSON)
        assert f"{column}_idx" in [index.name for index in dataset.describe_indices()]
        assert dataset.count_rows("age >= 6 and age < 9") == 2
        if kind == "INVERTED":
            assert dataset.to_table(full_text_query="8", columns=["name", "_score"]).column("name").to_pylist() == [
                "p8"
            ]
        if kind == "IVF_FLAT":
            nearest = {"column": "taste", "q": [8.0, 0.0, 0.0, 0.0], "k": 1, "nprobes": 10}
            assert dataset.to_table(nearest=nearest, columns=["name", "_distance"]).column("name").to_pylist() == ["p8"]
        assert not graph.verify().problems
        graph.optimize()


def test_names_of_the_indexes_of_the_schema_are_reserved(namespace: OmnigraphNamespace) -> None:
    dataset = current(namespace, PERSON)
    fragments = [fragment.fragment_id for fragment in dataset.get_fragments()]
    index = dataset.create_index_uncommitted("age", "BTREE", name="btree_1", fragment_ids=fragments)
    staged = detached(dataset, lance.LanceOperation.CreateIndex(new_indices=[index], removed_indices=[]))

    with pytest.raises(ln.InvalidInputError, match="give the index another name"):
        hand_over(namespace, PERSON, staged)


def test_a_version_that_is_none_of_the_table_is_refused(
    namespace: OmnigraphNamespace, graph: Graph, tmp_path: Path
) -> None:
    dataset = current(namespace, PERSON)
    head = graph.snapshot().commit_id
    dropped = lance.LanceOperation.Project(dataset.schema.remove(1))
    other = rows("eve", age=["old"])
    retyped = lance.LanceOperation.Overwrite(other.schema, write_fragments(other, dataset.uri, mode="overwrite"))
    elsewhere = lance.write_dataset(rows("eve").select(dataset.schema.names), tmp_path / "elsewhere")
    far = [fragment.metadata for fragment in elsewhere.get_fragments()]

    for staged, expected in ((dropped, "has no column 'age'"), (retyped, "has string in column 'age'")):
        with pytest.raises(ln.InvalidInputError, match=expected):
            hand_over(namespace, PERSON, detached(dataset, staged))
    with pytest.raises(ln.LanceNamespaceError):
        hand_over(namespace, PERSON, detached(dataset, lance.LanceOperation.Append(far)))
    assert graph.snapshot().commit_id == head
    assert not graph.verify().problems


def test_a_version_that_shares_files_may_not_change_their_columns(namespace: OmnigraphNamespace) -> None:
    dataset = current(namespace, PERSON)
    metadata = {b"omnigraph:property-id": b"1"}
    schema = pa.schema([field.with_metadata(metadata) if field.name == "age" else field for field in dataset.schema])

    with pytest.raises(ln.InvalidInputError, match="changes columns that it shares"):
        hand_over(namespace, PERSON, detached(dataset, lance.LanceOperation.Project(schema)))


@pytest.mark.parametrize(
    ("table", "write", "expected"),
    [
        (PERSON, {"rows": rows("p3")}, "'p3' is in the staged version twice"),
        (PERSON, {"rows": rows("a", "a")}, "'a' is in the staged version twice"),
        (PERSON, {"rows": rows("zed", id=["other"])}, "'other' of Person is not the one of its key, 'zed'"),
        (KNOWS, {"rows": edges(("p1", "nowhere"))}, "'nowhere' not found in Person"),
        (PERSON, {"delete": "name = 'p2'"}, "'p2' not found in Person"),
        (PERSON, {"update": {"name": "'q'"}, "where": "name = 'p3'"}, "'p3' of Person is not the one of its key, 'q'"),
        (PERSON, {"rows": rows("p3"), "mode": "overwrite"}, "not found in Person"),
    ],
    ids=["existing id", "id twice", "key", "dangling edge", "edge left behind", "changed key", "overwritten ends"],
)
def test_what_a_load_would_refuse_is_refused(
    namespace: OmnigraphNamespace, graph: Graph, table: list[str], write: dict[str, Any], expected: str
) -> None:
    head = graph.snapshot().commit_id
    staged = [stage(namespace, table, **write)]

    with pytest.raises(ln.TableSchemaValidationError) as refused:
        commit(namespace, staged)

    assert expected in str(refused.value)
    assert graph.snapshot().commit_id == head


def test_every_constraint_is_checked_on_the_difference(tmp_path: Path) -> None:
    graph = omnigraph.create(
        tmp_path / "graph",
        """
        node Person {
          name: String @key  email: String? @unique  kind: enum(a, b)?  age: I64?  nick: String
          @range(age, 0..120)
        }
        edge Knows: Person -> Person @card(0..1)
        """,
    )
    graph.load([{"type": "Person", "data": {"name": n, "nick": n, "email": n}} for n in ("ann", "bob")], mode="append")
    graph.load([{"edge": "Knows", "from": "ann", "to": "bob"}], mode="append")
    namespace = OmnigraphNamespace(graph)

    def person(**values: Any) -> pa.Table:
        return pa.table({"id": ["eve"], "name": ["eve"], "nick": ["e"]} | {name: [one] for name, one in values.items()})

    def overwritten(given: pa.Table) -> dict[str, Any]:
        dataset = current(namespace, PERSON)
        fragments = write_fragments(given, dataset.uri, mode="overwrite")
        staged = detached(dataset, lance.LanceOperation.Overwrite(given.schema, fragments))
        return operation(namespace, PERSON, staged)

    whole = pa.table(
        {
            "id": pa.array([None, "bob"]),
            "name": ["ann", "bob"],
            "email": pa.nulls(2, pa.string()),
            "kind": pa.nulls(2, pa.string()),
            "age": pa.nulls(2, pa.int64()),
            "nick": pa.array([None, "b"]),
        }
    )
    for staged, expected in (
        (stage(namespace, PERSON, person(email="ann")), "email"),
        (stage(namespace, PERSON, person(kind="c")), "'c'"),
        (stage(namespace, PERSON, person(age=121)), "121"),
        (stage(namespace, KNOWS, pa.table({"id": ["k"], "src": ["ann"], "dst": ["ann"]})), "ann"),
        (overwritten(whole), "1 rows of Person have no id"),
        (overwritten(whole), "nick"),
    ):
        with pytest.raises(ln.TableSchemaValidationError) as refused:
            namespace.batch_commit_tables({"operations": [staged]})
        assert expected in str(refused.value)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, "got none"),
        ({"rows": rows("a"), "delete": "true"}, "got rows and delete"),
        ({"rows": rows("a"), "mode": "merge"}, "the modes are append, upsert, overwrite"),
        ({"rows": rows("a").drop_columns(["name"])}, "lack the columns ['name']"),
        ({"rows": rows("a").append_column("x", pa.array([1]))}, "unknown columns ['x']"),
        ({"rows": rows("a").drop_columns(["age"]), "mode": "upsert"}, "lack the columns ['age']"),
        ({"rows": rows("a", age=["old"])}, "'age' is string, and the table has int64"),
        ({"rows": [1, 2]}, "not Arrow data"),
        ({"update": {"x": "1"}}, "'x' cannot be updated"),
        ({"update": {"id": "'1'"}}, "'id' cannot be updated"),
        ({"update": {}}, "no column is updated"),
        ({"add_columns": pa.table({"id": ["a"]})}, "new columns are needed"),
        ({"add_columns": pa.table({"id": ["a"], "age": [1]})}, "'age' exists"),
        ({"index": "x"}, "no column 'x'"),
    ],
)
def test_a_wrong_argument_of_stage_says_what_is_expected(
    served_namespace: OmnigraphNamespace, arguments: dict[str, Any], expected: str
) -> None:
    with pytest.raises(UsageError) as refused:
        stage(served_namespace, PERSON, **arguments)
    assert expected in str(refused.value)
