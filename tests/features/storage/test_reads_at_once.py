"""Reads on event loops never ask a bucket, whose answers take milliseconds."""

import pytest

import omnigraph
from omnigraph.engine.query.at_once import is_small, query_at_once
from tests.support.faults.s3 import Bucket, Server

POINT = "query q($n: String) { match { $p: Person {name: $n} } return { $p.age } }"


@pytest.mark.s3
def test_a_graph_in_a_bucket_is_not_read_at_once(s3_server: Server, s3_bucket: Bucket) -> None:
    options = s3_server.storage_options()
    graph = omnigraph.create(s3_bucket.uri("g"), "node Person { name: String @key age: I32? }", storage_options=options)
    graph.load({"Person": [{"name": "p1", "age": 1}]})
    for _ in range(4):
        assert graph.query(POINT, {"n": "p1"}).to_dicts() == [{"p.age": 1}]
    s3_server.proxy.reset()
    assert query_at_once(graph, POINT, {"n": "p1"}) is None
    assert is_small(graph, POINT) is False
    assert not s3_server.proxy.counts()
