"""Lance clients read any branch and any commit by name, with their own filters, vector searches and text searches."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime

import lance
import lance_namespace as ln
import lancedb
import pytest
from lance_namespace_urllib3_client import ApiClient, Configuration
from lance_namespace_urllib3_client.api.table_api import TableApi

from omnigraph import Graph
from omnigraph.namespace import OmnigraphNamespace
from tests.features.namespace.conftest import Served


@pytest.fixture
def refs(served: Served) -> dict[str, set[str]]:
    """Every form of a ref, with the people younger than three there."""
    loaded = served.graph.commit(served.loaded)
    instant = datetime.fromtimestamp((loaded.created_at_us + 1000) / 1e6, UTC)
    return {
        "main": {"p1", "p2"},
        "review/q1": {"p0", "p1", "p2", "new"},
        f"@{served.loaded}": {"p0", "p1", "p2"},
        f"@{instant.isoformat()}": {"p0", "p1", "p2"},
        f"@{instant:%Y-%m-%d %H:%M:%S.%f}": {"p0", "p1", "p2"},
        "@main~1": {"p0", "p1", "p2"},
        "@review/q1": {"p0", "p1", "p2", "new"},
    }


def test_pylance_filters_every_form_of_a_ref(client: ln.LanceNamespace, refs: dict[str, set[str]]) -> None:
    def names(ref: str) -> set[str]:
        dataset = lance.dataset(namespace_client=client, table_id=[ref, "Person"])
        return set(dataset.to_table(columns=["name"], filter="age < 3").column("name").to_pylist())

    assert {ref: names(ref) for ref in refs} == refs


@pytest.mark.parametrize("ref", ["main", "review/q1", "@main~1"])
def test_pylance_searches_vectors_and_texts(client: ln.LanceNamespace, ref: str) -> None:
    dataset = lance.dataset(namespace_client=client, table_id=[ref, "Person"])

    near = dataset.to_table(
        nearest={"column": "taste", "q": [7.0, 0.0, 1.0, 2.0], "k": 1}, columns=["name", "_distance"]
    )
    found = dataset.to_table(full_text_query="number 11", columns=["name", "_score"], limit=1)

    assert near.column("name").to_pylist() == ["p7"]
    assert found.column("name").to_pylist() == ["p11"]


@pytest.mark.parametrize("way", ["class", "rest"])
def test_lancedb_lists_counts_filters_and_searches(served: Served, refs: dict[str, set[str]], way: str) -> None:
    database = (
        lancedb.connect_namespace("rest", {"uri": served.address})
        if way == "rest"
        else lancedb.connect_namespace("omnigraph.namespace.OmnigraphNamespace", {"root": served.graph.uri})
    )

    assert list(database.list_namespaces().namespaces) == ["main", "review/q1"]
    assert list(database.list_tables(namespace_path=["main"]).tables) == ["Knows", "Note", "Person"]
    for ref, expected in refs.items():
        table = database.open_table("Person", namespace_path=[ref])
        near = table.search([7.0, 0.0, 1.0, 2.0]).limit(1).select(["name", "_distance"]).to_list()
        found = table.search("number 11", query_type="fts").limit(1).select(["name", "_score"]).to_list()
        assert (table.count_rows(), table.count_rows("age < 3")) == (17 + len(expected), len(expected))
        assert ([row["name"] for row in near], [row["name"] for row in found]) == (["p7"], ["p11"])


def test_an_open_table_is_reopened_at_its_version_elsewhere(client: ln.LanceNamespace, served: Served) -> None:
    """A program that divides its work sends the number of the version to its workers."""
    dataset = lance.dataset(namespace_client=client, table_id=["@main~1", "Person"])
    head = lance.dataset(namespace_client=client, table_id=["main", "Person"])

    assert lance.dataset(head.uri, version=dataset.version).count_rows() == 20
    assert pickle.loads(pickle.dumps(lance.dataset(head.uri, version=dataset.version))).count_rows() == 20
    again = lance.dataset(namespace_client=client, table_id=["main", "Person"], version=dataset.version)
    assert (again.count_rows(), head.checkout_version(dataset.version).count_rows()) == (20, 20)
    assert [head.checkout_version(number).count_rows() for number in (1, 2, 3, 4)] == [0, 20, 20, 19]


def test_names_and_identifiers_of_tables_are_listed(client: ln.LanceNamespace) -> None:
    assert client.list_namespaces(ln.ListNamespacesRequest(id=[])).namespaces == ["main", "review/q1"]
    assert client.list_namespaces(ln.ListNamespacesRequest(id=["main"])).namespaces == []
    assert client.list_tables(ln.ListTablesRequest(id=["review/q1"])).tables == ["Knows", "Note", "Person"]
    assert client.list_tables(ln.ListTablesRequest(id=[])).tables == []


def test_identifiers_of_all_tables_are_listed(served: Served) -> None:
    over_rest = TableApi(ApiClient(Configuration(host=served.address))).list_all_tables(delimiter=".")
    in_process = served.namespace.list_all_tables({}).tables

    assert in_process == sorted(
        f"{ref}${name}" for ref in ("main", "review/q1") for name in ("Knows", "Note", "Person")
    )
    assert over_rest.tables == [identifier.replace("$", ".") for identifier in in_process]


def test_refs_and_tables_are_described(client: ln.LanceNamespace, served: Served) -> None:
    person = ["@main~1", "Person"]
    ref = client.describe_namespace(ln.DescribeNamespaceRequest(id=["@main~1"]))
    described = client.describe_table(
        ln.DescribeTableRequest(id=person, load_detailed_metadata=True, with_table_uri=True)
    )
    version = client.list_table_versions(ln.ListTableVersionsRequest(id=person, limit=1)).versions[0]

    assert ref.properties == {"branch": "main", "commit": served.loaded}
    assert (described.managed_versioning, described.is_only_declared, described.version) == (True, False, 3)
    assert described.properties["commit"] == served.loaded == version.metadata["commit"]
    assert (described.stats.num_fragments, described.stats.num_deleted_rows) == (1, 0)
    types = {field.name: field.type.type for field in described.var_schema.fields}
    assert types == {"id": "utf8", "age": "int64", "bio": "utf8", "name": "utf8", "taste": "fixed_size_list"}
    assert version.timestamp_millis == served.graph.commit(served.loaded).created_at_us // 1000
    assert client.count_table_rows(ln.CountTableRowsRequest(id=person)).count == 20
    assert client.count_table_rows(ln.CountTableRowsRequest(id=person, version=1)).count == 0
    client.table_exists(ln.TableExistsRequest(id=person))
    client.namespace_exists(ln.NamespaceExistsRequest(id=["review/q1"]))


def test_indexes_and_statistics_are_described(client: ln.LanceNamespace) -> None:
    person = ["main", "Person"]
    indexes = client.list_table_indices(ln.ListTableIndicesRequest(id=person)).indexes
    statistics = client.get_table_stats(ln.GetTableStatsRequest(id=person))

    columns = sorted((index.columns[0], index.index_type) for index in indexes)
    assert columns == [
        ("bio", "Inverted"),
        ("id", "BTree"),
        ("name", "BTree"),
        ("name", "Inverted"),
        ("taste", "IVF_SQ"),
    ]
    assert all(
        (index.num_indexed_rows, index.num_unindexed_rows, index.size_bytes > 0) == (19, 0, True) for index in indexes
    )
    assert (statistics.num_rows, statistics.num_indices, statistics.total_bytes > 0) == (19, 5, True)
    assert (statistics.fragment_stats.num_fragments, statistics.fragment_stats.lengths.max) == (1, 19)
    for index in indexes:
        request = ln.DescribeTableIndexStatsRequest(id=person, index_name=index.index_name)
        one = client.describe_table_index_stats(request)
        assert (one.num_indexed_rows, one.distance_type) == (19, "L2" if index.columns == ["taste"] else None)
    assert client.list_table_indices(ln.ListTableIndicesRequest(id=person, version=2)).indexes == []


def test_a_commit_is_described_as_a_transaction(client: ln.LanceNamespace, served: Served) -> None:
    described = client.describe_transaction(ln.DescribeTransactionRequest(id=[served.loaded]))

    assert described.status == "Succeeded"
    assert described.properties == {"commit": served.loaded, "branch": "main", "kind": "maintenance"}
    with pytest.raises(ln.TransactionNotFoundError, match="there is no commit"):
        client.describe_transaction(ln.DescribeTransactionRequest(id=["01ARZ3NDEKTSV4RRFFQ69G5FAV"]))


def test_several_graphs_are_namespaces_above_branches(served: Served) -> None:
    by_name = OmnigraphNamespace(graphs={"kb": served.graph, "copy": served.graph.uri})
    by_text = ln.connect("omnigraph.namespace.OmnigraphNamespace", {"graph.kb": served.graph.uri})

    assert by_name.list_namespaces(ln.ListNamespacesRequest()).namespaces == ["copy", "kb"]
    assert by_name.list_namespaces(ln.ListNamespacesRequest(id=["kb"])).namespaces == ["main", "review/q1"]
    assert "kb$review/q1$Person" in by_name.list_all_tables(ln.ListTablesRequest()).tables
    assert by_name.describe_transaction({"id": ["kb", served.loaded]}).status == "Succeeded"
    for namespace in (by_name, by_text):
        assert lance.dataset(namespace_client=namespace, table_id=["kb", "main", "Person"]).count_rows() == 19


def test_lists_come_in_pages(client: ln.LanceNamespace) -> None:
    seen: list[int] = []
    token = None
    for _ in range(5):
        request = ln.ListTableVersionsRequest(id=["main", "Person"], limit=2, page_token=token)
        page = client.list_table_versions(request)
        seen += [version.version for version in page.versions]
        token = page.page_token
        if token is None:
            break
    first = client.list_tables(ln.ListTablesRequest(id=["main"], limit=2))
    rest = client.list_tables(ln.ListTablesRequest(id=["main"], limit=2, page_token=first.page_token))

    assert seen == [4, 3, 2, 1]
    assert (first.tables, rest.tables, rest.page_token) == (["Knows", "Note"], ["Person"], None)


def test_versions_are_those_of_the_branch_itself(graph: Graph, namespace: OmnigraphNamespace) -> None:
    """Both sides of a merge have versions with the same numbers; those of the source are not the target's."""
    graph.create_branch("draft")
    for number in range(2):
        graph.mutate(f'query q() {{ insert Person {{ name: "draft{number}" }} }}', branch="draft")
    graph.mutate('query q() { insert Person { name: "main0" } }')
    graph.merge("draft")
    states = [snapshot.counts()["node:Person"] for snapshot in (graph.snapshot(at="main~1"), graph.snapshot())]

    versions = namespace.list_table_versions({"id": ["main", "Person"]}).versions

    dataset = lance.dataset(namespace_client=namespace, table_id=["main", "Person"])
    rows = [dataset.checkout_version(version.version).count_rows() for version in versions]
    assert [version.version for version in versions] == [4, 3, 2, 1]
    assert rows == [*reversed(states), 20, 0]


def test_versions_continue_across_a_rename(graph: Graph, namespace: OmnigraphNamespace) -> None:
    renamed = graph.schema_text().replace("node Person {", 'node Human @rename_from("Person") {')
    graph.apply_schema(renamed.replace("Person -> Person", "Human -> Human"))
    graph.mutate('query q() { insert Human { name: "new" } }')

    versions = namespace.list_table_versions({"id": ["main", "Human"]}).versions

    assert [version.version for version in versions] == [4, 3, 2, 1]
    assert [version.metadata["rows"] for version in versions] == ["21", "20", "20", "0"]


def test_versions_that_cleanup_gave_up_are_not_listed(graph: Graph, namespace: OmnigraphNamespace) -> None:
    for number in range(3):
        graph.mutate(f'query q() {{ insert Person {{ name: "new{number}" }} }}')
    graph.cleanup(keep=2, grace="0s")

    versions = namespace.list_table_versions({"id": ["main", "Person"]}).versions

    assert [version.version for version in versions] == [5, 4]
    with pytest.raises(ln.TableVersionNotFoundError, match="no readable version 3 on main; the newest one is 5"):
        namespace.describe_table({"id": ["main", "Person"], "version": 3})
    with pytest.raises(ln.NamespaceNotFoundError, match="cleanup"):
        namespace.list_tables({"id": ["@main~3"]})
