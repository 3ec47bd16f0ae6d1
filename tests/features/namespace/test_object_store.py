"""The namespace, batches and mirrors in a bucket, with the requests of a batch counted."""

from __future__ import annotations

import lance
import pyarrow as pa
import pytest

import omnigraph
from omnigraph.namespace import OmnigraphNamespace, commit, stage
from tests.support.faults.fixtures import s3_bucket, s3_server
from tests.support.faults.s3 import Bucket, Server

__all__ = ["s3_bucket", "s3_server"]

SCHEMA = "node Person { name: String @key }\nnode City { name: String @key }\nedge Knows: Person -> Person"


def names(*given: str) -> pa.Table:
    return pa.table({"id": list(given), "name": list(given)})


def test_tables_in_a_bucket_are_read_committed_and_mirrored(s3_server: Server, s3_bucket: Bucket) -> None:
    options = s3_server.storage_options()
    graph = omnigraph.create(s3_bucket.uri("graph"), SCHEMA, storage_options=options)
    namespace = OmnigraphNamespace(graph)

    commit(
        namespace, [stage(namespace, ["main", "Person"], names("ann")), stage(namespace, ["main", "City"], names("x"))]
    )
    mirrored = graph.mirror(s3_bucket.uri("mirror"))

    dataset = lance.dataset(namespace_client=namespace, table_id=["main", "Person"], storage_options=options)
    assert dataset.to_table().column("name").to_pylist() == ["ann"]
    people = lance.dataset(s3_bucket.uri("mirror/Person.lance"), storage_options=options)
    assert people.to_table().column("name").to_pylist() == ["ann"]
    assert [table.rows for table in mirrored.tables] == [1, 0, 1]


@pytest.mark.parametrize("commits", [10, pytest.param(1000, marks=pytest.mark.long)])
def test_a_batch_costs_the_same_after_many_commits(s3_server: Server, s3_bucket: Bucket, commits: int) -> None:
    graph = omnigraph.create(s3_bucket.uri("graph"), SCHEMA, storage_options=s3_server.storage_options())
    namespace = OmnigraphNamespace(graph)

    def requests(number: int) -> int:
        staged = [
            stage(namespace, ["main", "Person"], names(f"p{number}")),
            stage(namespace, ["main", "City"], names(f"c{number}")),
        ]
        s3_server.proxy.reset()
        commit(namespace, staged)
        return len(s3_server.proxy.requests())

    # Now and then a commit also moves old commits from the manifest to the log, so the best of three counts.
    few = min(requests(number) for number in (-1, -2, -3))
    for number in range(commits):
        graph.mutate(f'query q() {{ insert Person {{ name: "m{number}" }} }}')
    many = min(requests(number) for number in (-4, -5, -6))

    assert many == few == 13
