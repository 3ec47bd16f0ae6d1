"""Cleanup in a bucket: the same, with few requests, and none more for writers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import HistoryCleaned
from omnigraph.storage.objects import bucket as bucket_objects
from tests.promises.cleanup.reachable import files, needed
from tests.promises.protocol.graphs import SCHEMA, insert, names, person
from tests.support.faults.s3 import Bucket, Server

pytestmark = pytest.mark.s3


@pytest.fixture
def graph(s3_server: Server, s3_bucket: Bucket) -> omnigraph.Graph:
    return omnigraph.create(s3_bucket.uri("g"), SCHEMA, storage_options=s3_server.storage_options())


def clean(graph: omnigraph.Graph, keep: int | None = None) -> None:
    """The store counts in seconds: what was written in the second of a run waits for the next one.

    Garbage of live manifests waits for other garbage, and not for a moment.
    """
    for _ in range(200):
        if not graph.cleanup(keep=keep, grace="0s").waiting.until_us:
            return
    raise AssertionError("something waits for ever")


def download(bucket: Bucket, place: Path) -> Path:
    """A copy on local disk is a graph too."""
    for key in bucket.keys("g/"):
        path = place / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bucket.client.get_object(Bucket=bucket.name, Key=key)["Body"].read())
    return place / "g"


def test_a_bucket_holds_what_is_needed_and_nothing_else(
    graph: omnigraph.Graph, s3_server: Server, s3_bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucket_objects, "DELETED_AT_ONCE_MAX", 50)
    sleeper = omnigraph.open(graph.uri, storage_options=s3_server.storage_options())
    names(sleeper)
    for number in range(70):
        insert(graph, f"p{number}")
    graph.create_branch("review")
    insert(graph, "on-review", branch="review")
    graph.delete_branch("review")
    old = list(graph.commits())[1].id
    graph.load([person("only")], "overwrite")
    client = s3_bucket.client
    client.put_object(Bucket=s3_bucket.name, Key="g/nodes/stray/data/x.lance", Body=b"stray")
    clean(graph, keep=1)
    copy = download(s3_bucket, tmp_path)
    assert needed(copy) <= files(copy)
    extra = files(copy) - needed(copy)
    assert {path for path in extra if not path.startswith(("__manifest/data/", "__manifest/_transactions/"))} == set()
    assert graph.verify().is_clean
    with pytest.raises(HistoryCleaned):
        graph.snapshot(at=old)
    insert(sleeper, "late")
    stranger = omnigraph.open(graph.uri, storage_options=s3_server.storage_options())
    assert names(stranger) == ["late", "only"]
    assert stranger.verify().is_clean


def test_a_run_with_nothing_to_do_asks_little_and_writers_ask_nothing_more(
    graph: omnigraph.Graph, s3_server: Server
) -> None:
    for number in range(5):
        insert(graph, f"p{number}")
    clean(graph, keep=1)
    with s3_server.proxy.recording() as log:
        graph.cleanup()
    counts = Counter(request.kind.value for request in log.requests())
    tables = len(graph.snapshot().counts())
    assert set(counts) <= {"LIST", "GET", "HEAD", "PUT"}
    assert counts["PUT"] == 1
    assert sum(counts.values()) <= 30 + 3 * tables
    with s3_server.proxy.recording() as log:
        insert(graph, "next")
    assert [request.kind.value for request in log.requests()] == ["PUT"] * 4
