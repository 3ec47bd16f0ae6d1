"""Optimize on S3: the same, and what it asks of the store when there is nothing to do."""

import pytest

import omnigraph
from tests.features.maintenance.graphs import answers, create, exported, load_people, uncovered
from tests.support.faults.s3 import Bucket, Server

pytestmark = pytest.mark.s3


def test_a_graph_in_a_bucket_is_compacted_and_indexed(s3_server: Server, s3_bucket: Bucket) -> None:
    options = s3_server.storage_options()
    graph = create(s3_bucket.uri("g"), storage_options=options)
    load_people(graph, 0, 60)
    load_people(graph, 60, 100)
    before = answers(graph), exported(graph)
    assert len(graph.optimize().commits) == 1
    stranger = omnigraph.open(s3_bucket.uri("g"), storage_options=options)
    assert uncovered(stranger) == {}
    assert (answers(stranger), exported(stranger)) == before
    assert stranger.verify().is_clean


def test_a_call_with_nothing_to_do_reads_manifests_only(s3_server: Server, s3_bucket: Bucket) -> None:
    options = s3_server.storage_options()
    graph = create(s3_bucket.uri("g"), storage_options=options)
    load_people(graph, 0, 60)
    graph.optimize()
    with s3_server.proxy.recording() as log:
        assert graph.optimize().commits == ()
    warm = log.requests()
    assert {request.kind.value for request in warm} <= {"LIST", "GET", "HEAD"}
    stranger = omnigraph.open(s3_bucket.uri("g"), storage_options=options)
    with s3_server.proxy.recording() as log:
        assert stranger.optimize().commits == ()
    cold = log.requests()
    read = [request.key for request in (*warm, *cold) if request.kind.value in ("GET", "HEAD")]
    assert not [key for key in read if "__manifest" not in key and ("/data/" in key or "/_indices/" in key)]
    # The newest version of the manifest, asked for twice, whatever the number of tables.
    assert [request.kind.value for request in warm].count("GET") == 0
    tables = len(stranger.snapshot().counts())
    assert len(cold) <= 8 + 3 * tables
