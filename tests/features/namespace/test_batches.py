"""Programs that write with Lance alone commit to several tables at once: all of them or none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import lance_namespace as ln
import pyarrow as pa
import pytest
from lance_namespace_urllib3_client import ApiClient, Configuration
from lance_namespace_urllib3_client.api.table_api import TableApi
from lance_namespace_urllib3_client.exceptions import ApiException

from omnigraph import Graph
from omnigraph.namespace import OmnigraphNamespace, TableConflicts, commit, stage
from omnigraph.storage.objects.version_names import DETACHED_BIT
from tests.features.namespace.conftest import Served
from tests.features.namespace.staged import KNOWS, NOTE, PERSON, edges, rows

DETACHED = f"d{DETACHED_BIT}.manifest"


def test_two_tables_become_one_commit(namespace: OmnigraphNamespace, graph: Graph) -> None:
    staged = [
        stage(namespace, PERSON, rows("ann")),
        stage(namespace, KNOWS, edges(("ann", "p1"))),
    ]
    before = graph.snapshot().counts()

    made = commit(namespace, staged, actor="etl", message="from Lance", provenance={"run": "7"})

    assert before == {"edge:Knows": 1, "node:Note": 0, "node:Person": 20}
    assert graph.snapshot().counts() == {"edge:Knows": 2, "node:Note": 0, "node:Person": 21}
    written = graph.commit(made)
    assert (written.actor, written.message, written.provenance) == ("etl", "from Lance", {"run": "7"})
    assert {change.key: change.inserted for change in written.tables} == {"edge:Knows": 1, "node:Person": 1}
    assert not graph.verify().problems


def test_a_refused_table_refuses_the_whole_batch(namespace: OmnigraphNamespace, graph: Graph) -> None:
    head = graph.snapshot().commit_id
    staged = [stage(namespace, PERSON, rows("ann")), stage(namespace, KNOWS, edges(("ann", "nowhere")))]

    with pytest.raises(ln.TableSchemaValidationError, match="'nowhere' not found"):
        commit(namespace, staged)

    assert graph.snapshot().commit_id == head


def test_a_conflict_names_every_table_that_moved(namespace: OmnigraphNamespace, graph: Graph) -> None:
    staged = [
        stage(namespace, PERSON, rows("ben")),
        stage(namespace, KNOWS, edges(("p1", "p3"))),
        stage(namespace, NOTE, delete="true"),
    ]
    commit(namespace, [stage(namespace, PERSON, rows("ann")), stage(namespace, KNOWS, edges(("p1", "p4")))])
    head = graph.snapshot().commit_id

    with pytest.raises(TableConflicts) as conflict:
        commit(namespace, staged)

    assert conflict.value.tables == {"edge:Knows": [2, 3], "node:Person": [2, 3]}
    assert "node:Person is at version 3, and the staged version was made from version 2" in str(conflict.value)
    assert graph.snapshot().commit_id == head


def test_a_version_made_from_an_older_one_conflicts_whatever_number_it_names(
    namespace: OmnigraphNamespace, graph: Graph
) -> None:
    staged = stage(namespace, PERSON, rows("ben"))
    graph.mutate('query q() { insert Person { name: "ann" } }')
    assert staged.create_table_version is not None
    staged.create_table_version.version = 4

    with pytest.raises(TableConflicts, match="was made from another version") as conflict:
        commit(namespace, [staged])

    assert conflict.value.tables == {"node:Person": [3, 3]}


def test_batches_on_different_tables_both_stand(namespace: OmnigraphNamespace, graph: Graph) -> None:
    first = [stage(namespace, PERSON, rows("ann"))]
    second = [stage(namespace, KNOWS, edges(("p1", "p3")))]

    commit(namespace, first)
    commit(namespace, second)

    assert graph.snapshot().counts() == {"edge:Knows": 2, "node:Note": 0, "node:Person": 21}


def test_an_edge_to_a_node_deleted_meanwhile_is_refused(namespace: OmnigraphNamespace, graph: Graph) -> None:
    staged = [stage(namespace, KNOWS, edges(("p1", "p3")))]
    graph.mutate('query q() { delete Person where name = "p3" }')

    with pytest.raises(ln.TableSchemaValidationError, match="'p3' not found"):
        commit(namespace, staged)


def test_a_repeated_key_answers_with_the_first_commit(namespace: OmnigraphNamespace, graph: Graph) -> None:
    staged = [stage(namespace, PERSON, rows("ann"))]

    first = commit(namespace, staged, idempotency_key="job-7")

    assert commit(namespace, staged, idempotency_key="job-7") == first
    assert graph.snapshot().commit_id == first
    with pytest.raises(ln.InvalidInputError, match="use another key for another batch"):
        commit(namespace, [stage(namespace, NOTE, delete="true")], idempotency_key="job-7")


@pytest.mark.parametrize("way", ["identifier", "field"])
def test_a_batch_goes_to_its_branch(namespace: OmnigraphNamespace, graph: Graph, way: str) -> None:
    graph.create_branch("draft/1")
    staged = stage(namespace, ["draft/1", "Person"], rows("ann")).to_dict()
    if way == "field":
        staged["create_table_version"] |= {"id": ["Person"], "branch": "draft/1"}

    namespace.batch_commit_tables({"operations": [staged]})

    assert graph.snapshot("draft/1").counts()["node:Person"] == 21
    assert graph.snapshot().counts()["node:Person"] == 20


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        ({"version": 3}, None),
        ({"expected_current_version": 2}, None),
        ({"metadata": {"expected_current_version": "2"}}, None),
        ({"version": 3, "expected_current_version": 2}, None),
        ({"expected_current_version": 1}, TableConflicts),
        ({"version": 9}, TableConflicts),
        ({"version": 3, "expected_current_version": 1}, ln.InvalidInputError),
        ({"metadata": {"expected_current_version": "two"}}, ln.InvalidInputError),
        ({}, ln.InvalidInputError),
        ({"version": 0}, ln.InvalidInputError),
    ],
)
def test_the_expected_version_of_a_table_is_compared(
    namespace: OmnigraphNamespace, graph: Graph, fields: dict[str, Any], refused: type[Exception] | None
) -> None:
    staged = stage(namespace, PERSON, rows("ann")).to_dict()
    del staged["create_table_version"]["version"]
    staged["create_table_version"] |= fields

    if refused is None:
        namespace.batch_commit_tables({"operations": [staged]})
    else:
        with pytest.raises(refused):
            namespace.batch_commit_tables({"operations": [staged]})

    assert graph.snapshot().counts()["node:Person"] == (21 if refused is None else 20)


def test_versions_of_several_tables_are_created_with_the_older_operations(
    namespace: OmnigraphNamespace, graph: Graph
) -> None:
    staged = [stage(namespace, PERSON, rows("ann")), stage(namespace, KNOWS, edges(("ann", "p1")))]
    entries = [operation.to_dict()["create_table_version"] for operation in staged]

    several = namespace.batch_create_table_versions({"entries": entries, "context": {"actor": "etl"}})
    single = namespace.create_table_version(stage(namespace, NOTE, delete="true").create_table_version)

    assert [version.version for version in several.versions] == [3, 3]
    assert graph.commit(several.transaction_id).actor == "etl"
    assert (single.version.version, single.transaction_id) == (2, graph.snapshot().commit_id)
    assert namespace.describe_transaction({"id": [several.transaction_id]}).status == "Succeeded"


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ([], "no operation"),
        ([{}], "holds 0 operations"),
        ([{"declare_table": {"id": PERSON}, "deregister_table": {"id": PERSON}}], "holds 2 operations"),
        ([{"drop_table": {"id": PERSON}}], "expected one of"),
        (["x"], "operations[0] is 'x'"),
        ([{"create_table_version": "x"}], "create_table_version of operations[0] is 'x'"),
        ("x", "expected a list"),
        ([{"delete_table_versions": {"id": PERSON}}], "graph.cleanup"),
        ([{"declare_table": {"id": PERSON}}], "graph.apply_schema"),
        ([{"create_table_version": {"id": PERSON, "version": 3}}], "detached"),
        ([{"create_table_version": {"id": PERSON, "version": 3, "manifest_path": "x/1.manifest"}}], "detached"),
        (
            [{"create_table_version": {"id": PERSON, "version": 3, "manifest_path": f"x/{DETACHED}"}}],
            "not a manifest of",
        ),
        ([{"create_table_version": {"id": PERSON, "version": 5, "manifest_path": DETACHED}}], "there is no version"),
        ([{"create_table_version": {"id": ["@x", "Person"], "manifest_path": DETACHED, "version": 3}}], "to a branch"),
        ([{"deregister_table": {"id": PERSON}}, {"deregister_table": {"id": PERSON}}], "more than once"),
        ([{"deregister_table": {"id": PERSON}}, {"deregister_table": {"id": ["review/q1", "Note"]}}], "one branch"),
        ([{"deregister_table": {"id": ["main", "Nobody"]}}], "no table 'Nobody'"),
    ],
)
def test_a_malformed_batch_is_refused(served: Served, operations: Any, expected: str) -> None:
    head = served.graph.snapshot().commit_id

    with pytest.raises(ln.LanceNamespaceError) as refused:
        served.namespace.batch_commit_tables({"operations": operations})

    assert expected in str(refused.value)
    assert served.graph.snapshot().commit_id == head


@pytest.mark.parametrize("context", [{"allow_drop": "yes"}, {"actor": 7}, "x"])
def test_a_malformed_context_is_refused(served: Served, context: Any) -> None:
    with pytest.raises(ln.InvalidInputError, match="expected"):
        served.namespace.batch_commit_tables({"operations": [{"deregister_table": {"id": NOTE}}], "context": context})


def test_a_version_whose_files_cleanup_deleted_is_refused(namespace: OmnigraphNamespace, graph: Graph) -> None:
    staged = stage(namespace, PERSON, rows("ann"))
    graph.cleanup(grace="0s")

    with pytest.raises(ln.TableVersionNotFoundError, match="stage the write again"):
        commit(namespace, [staged])

    commit(namespace, [stage(namespace, PERSON, rows("ann"))])
    assert graph.snapshot().counts()["node:Person"] == 21


def test_a_generated_client_commits_and_conflicts_over_rest(
    address: str, namespace: OmnigraphNamespace, graph: Graph
) -> None:
    staged = [stage(namespace, PERSON, rows("ann")), stage(namespace, KNOWS, edges(("ann", "p1")))]
    api = TableApi(ApiClient(Configuration(host=address)))
    request = ln.BatchCommitTablesRequest(operations=staged, context={"actor": "rest"})

    answer = api.batch_commit_tables(request)
    with pytest.raises(ApiException) as conflict:
        api.batch_commit_tables(request)

    assert graph.commit(answer.transaction_id).actor == "rest"
    assert [result.create_table_version.version.version for result in answer.results] == [3, 3]
    body = json.loads(conflict.value.body)
    assert (conflict.value.status, body["code"]) == (409, ln.ErrorCode.CONCURRENT_MODIFICATION)
    assert json.loads(body["detail"]) == {"tables": {"edge:Knows": [2, 3], "node:Person": [2, 3]}}


def test_several_graphs_take_batches_of_their_own(graph: Graph, served: Served) -> None:
    namespace = OmnigraphNamespace(graphs={"one": graph, "other": served.graph})
    staged = stage(namespace, ["one", "main", "Person"], rows("ann"))
    elsewhere = stage(namespace, ["other", "main", "Note"], delete="true")

    with pytest.raises(ln.InvalidInputError, match="one/main, other/main"):
        commit(namespace, [staged, elsewhere])
    made = commit(namespace, [staged])

    assert graph.snapshot().commit_id == made


def test_types_are_declared_dropped_and_changed_in_one_commit(namespace: OmnigraphNamespace, graph: Graph) -> None:
    answer = namespace.batch_commit_tables(
        {
            "operations": [
                {
                    "declare_table": {
                        "id": ["main", "City"],
                        "properties": {"declaration": "node City { name: String @key }"},
                    }
                },
                {"deregister_table": {"id": NOTE}},
                stage(namespace, PERSON, rows("ann")),
            ],
            "context": {"message": "reshape", "allow_drop": "true"},
        }
    )

    declared, dropped, changed = answer.results
    assert graph.snapshot().counts() == {"edge:Knows": 1, "node:City": 0, "node:Person": 21}
    assert graph.commit(answer.transaction_id).message == "reshape"
    assert (declared.declare_table.managed_versioning, changed.create_table_version.version.version) == (True, 3)
    assert dropped.deregister_table.id == NOTE
    commit(namespace, [stage(namespace, ["main", "City"], rows("rome").select(["id", "name"]))])
    assert graph.snapshot().counts()["node:City"] == 1
    assert Path(declared.declare_table.location).is_dir()
    assert not graph.verify().problems


@pytest.mark.parametrize(
    ("operation", "error", "expected"),
    [
        (("declare_table", "City", "node Town { name: String @key }"), ln.InvalidInputError, "declares something else"),
        (("declare_table", "City", "node City { } node Town { }"), ln.InvalidInputError, "declares something else"),
        (("declare_table", "City", "node City { name: Text }"), ln.InvalidInputError, "Text"),
        (("declare_table", "City", 'node City @external("/city.parquet")'), ln.InvalidInputError, "external"),
        (("declare_table", "Note", "node Note { a: I64 }"), ln.TableAlreadyExistsError, "there is a type 'node:Note'"),
        (("declare_table", "Likes", "edge Likes: Person -> Nobody"), ln.InvalidInputError, "Nobody"),
        (("deregister_table", "Person", None), ln.InvalidInputError, "Person"),
        (("deregister_table", "Knows", None), ln.InvalidInputError, "allow"),
    ],
)
def test_a_schema_change_that_graph_would_refuse_is_refused(
    served: Served, operation: tuple[str, str, str | None], error: type[Exception], expected: str
) -> None:
    kind, name, declaration = operation
    request = {"id": ["main", name], "properties": None if declaration is None else {"declaration": declaration}}
    head = served.graph.snapshot().commit_id

    with pytest.raises(error) as refused:
        getattr(served.namespace, kind)(request)

    assert expected in str(refused.value)
    assert served.graph.snapshot().commit_id == head


def test_a_batch_that_drops_and_changes_a_type_is_refused(namespace: OmnigraphNamespace, graph: Graph) -> None:
    graph.load([{"type": "Note", "data": {"text": "x"}}], mode="append")
    staged = stage(namespace, NOTE, delete="true").to_dict()["create_table_version"]

    with pytest.raises(ln.InvalidInputError, match="more than once"):
        namespace.batch_commit_tables(
            {"operations": [{"create_table_version": staged}, {"deregister_table": {"id": NOTE}}]}
        )


def test_a_concurrent_schema_change_composes_with_an_added_column(namespace: OmnigraphNamespace, graph: Graph) -> None:
    staged = stage(namespace, PERSON, add_columns=pa.table({"id": ["p1"], "score": [1.5]}))
    graph.apply_schema(graph.schema_text() + "\nnode City { name: String @key }")

    commit(namespace, [staged])

    text = graph.schema_text()
    assert "score: F64?" in text
    assert "node City" in text
