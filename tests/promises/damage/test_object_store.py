"""The same in a bucket: small files carry their checksums, and a damaged one is found, set aside and restored."""

from __future__ import annotations

import pytest

import omnigraph
from tests.promises.protocol.graphs import SCHEMA, insert, names
from tests.support.faults.s3 import Bucket, Server

pytestmark = pytest.mark.s3


def put(bucket: Bucket, key: str, content: bytes) -> None:
    bucket.client.put_object(Bucket=bucket.name, Key=f"g/{key}", Body=content)


def test_refs_and_heads_of_a_bucket_are_repaired(s3_server: Server, s3_bucket: Bucket) -> None:
    options = s3_server.storage_options()
    graph = omnigraph.create(s3_bucket.uri("g"), SCHEMA, storage_options=options)
    for branch in ("lost", "torn", "cut"):
        graph.create_branch(branch)
        insert(graph, branch, branch=branch)
    insert(graph, "newest", branch="cut")
    s3_bucket.client.delete_object(Bucket=s3_bucket.name, Key="g/refs/lost.json")
    put(s3_bucket, "refs/torn.json", b"{}")
    newest = min(key for key in s3_bucket.keys(f"g/branches/{graph.snapshot('cut').state.incarnation}/__manifest/_v"))
    put(s3_bucket, newest.removeprefix("g/"), b"cut")
    damaged = {newest.removeprefix("g/"), "refs/lost.json", "refs/torn.json"}
    again = omnigraph.open(graph.uri, storage_options=options)
    assert {item.branch for item in again.branches().damaged} == {"lost", "torn", "cut"}
    assert not again.verify().is_clean
    preview = omnigraph.repair(graph.uri, storage_options=options)
    assert {step.path for step in preview.steps} == damaged
    assert omnigraph.repair(graph.uri, apply=True, storage_options=options).is_clean
    mended = omnigraph.open(graph.uri, storage_options=options)
    assert [names(mended.snapshot(branch)) for branch in ("lost", "torn", "cut")] == [["lost"], ["torn"], ["cut"]]
    assert mended.verify().is_clean
    assert {key.removeprefix("g/aside/").rpartition(".")[0] for key in s3_bucket.keys("g/aside/")} >= damaged - {
        "refs/lost.json"
    }
