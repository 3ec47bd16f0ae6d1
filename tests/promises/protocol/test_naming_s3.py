"""Names in an object store: conditional deletes, and answers that mean "try again"."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import omnigraph
from omnigraph.errors import OutcomeUnknown, StorageError
from omnigraph.storage.objects.backends import parse_root
from omnigraph.storage.objects.bucket import BucketObjects
from omnigraph.storage.objects.s3 import S3Backend
from tests.promises.protocol.graphs import SCHEMA, insert, names
from tests.support.faults.fault import DropAt, RespondAt
from tests.support.faults.request_log import Request
from tests.support.faults.s3 import Bucket, Server
from tests.support.sampling import sampled

pytestmark = pytest.mark.s3

PATH = "refs/x.json"


@pytest.fixture
def objects(s3_server: Server, s3_bucket: Bucket) -> BucketObjects:
    return BucketObjects(S3Backend(), parse_root(s3_bucket.uri("g")), s3_server.storage_options())


def test_a_ref_with_another_content_is_not_deleted(objects: BucketObjects) -> None:
    objects.create(PATH, b"theirs")
    assert not objects.delete_if(PATH, b"mine")
    assert objects.read(PATH) == b"theirs"
    assert objects.delete_if(PATH, b"theirs")
    assert objects.read(PATH) is None
    assert not objects.delete_if(PATH, b"theirs")


def test_a_ref_that_changes_after_it_was_compared_is_not_deleted(objects: BucketObjects) -> None:
    objects.create(PATH, b"mine")
    compared = objects._store.head(PATH)["e_tag"]
    assert compared is not None
    objects.replace(PATH, b"theirs")
    assert S3Backend().delete_matching(objects._store, PATH, compared) is False
    assert objects.read(PATH) == b"theirs"


@pytest.mark.parametrize(
    "fault", [RespondAt(2, 501), RespondAt(2, 403), DropAt(2)], ids=["not implemented", "refused", "lost request"]
)
def test_a_store_without_conditional_deletes_still_deletes(
    s3_server: Server, objects: BucketObjects, fault: RespondAt | DropAt
) -> None:
    objects.create(PATH, b"mine")
    with s3_server.proxy.inject(fault) as injected:
        assert objects.delete_if(PATH, b"mine")
    assert injected.hit is not None
    assert (injected.hit.method, injected.hit.key) == ("DELETE", f"g/{PATH}")
    assert objects.read(PATH) is None


OTHER_SCHEMA = SCHEMA + "node City { name: String @key }\n"

CHANGES: dict[str, tuple[Callable[[omnigraph.Graph], object], list[str], list[str]]] = {
    "write": (lambda graph: insert(graph, "new"), ["main", "old"], ["new"]),
    "schema": (lambda graph: graph.apply_schema(OTHER_SCHEMA, branch="old"), ["main", "old"], []),
    "create": (lambda graph: graph.create_branch("new", "old"), ["main", "new", "old"], []),
    "rename": (lambda graph: graph.rename_branch("old", "new"), ["main", "new"], []),
    "delete": (lambda graph: graph.delete_branch("old"), ["main"], []),
}


def _fresh(server: Server, bucket: Bucket, place: str) -> omnigraph.Graph:
    graph = omnigraph.create(bucket.uri(place), SCHEMA, storage_options=server.storage_options())
    graph.create_branch("old")
    return graph


@pytest.mark.parametrize("change", sampled(CHANGES, 2))
def test_a_409_on_any_conditional_put_is_tried_again(s3_server: Server, s3_bucket: Bucket, change: str) -> None:
    """409: the store saw another conditional request for the path at the same time, and has kept neither."""
    make, branches, people = CHANGES[change]
    graph = _fresh(s3_server, s3_bucket, "undisturbed")
    with s3_server.proxy.recording() as log:
        make(graph)
    positions = [number for number, request in enumerate(log.requests(), 1) if _is_conditional_put(request)]
    assert positions
    for position in positions:
        graph = _fresh(s3_server, s3_bucket, f"disturbed-{position}")
        with s3_server.proxy.inject(RespondAt(position, 409)) as injected:
            make(graph)
        assert injected.hit is not None
        assert _is_conditional_put(injected.hit)
        cold = omnigraph.open(graph.uri, storage_options=s3_server.storage_options())
        assert [info.name for info in cold.branches()] == branches
        assert names(cold) == people
        assert len(list(cold.commits())) == 1 + len(people)


def test_a_graph_is_made_although_the_store_answers_409(s3_server: Server, s3_bucket: Bucket) -> None:
    schema, options = "node City { name: String @key }", s3_server.storage_options()
    with s3_server.proxy.recording() as log:
        omnigraph.create(s3_bucket.uri("undisturbed"), schema, storage_options=options)
    # The first two find out whether the store honours conditions at all.
    _, _, *positions = [number for number, request in enumerate(log.requests(), 1) if _is_conditional_put(request)]
    assert len(positions) > 3
    for position in positions:
        with s3_server.proxy.inject(RespondAt(position, 409)) as injected:
            graph = omnigraph.create(s3_bucket.uri(f"disturbed-{position}"), schema, storage_options=options)
        assert injected.hit is not None
        assert graph.verify().is_clean


def _is_ref(request: Request) -> bool:
    return request.method == "PUT" and "/refs/" in request.key


def _is_conditional_put(request: Request) -> bool:
    return request.method == "PUT" and request.precondition is not None


@pytest.mark.parametrize("change", ["create", "rename"])
def test_a_change_of_a_name_that_loses_the_store_never_claims_what_is_not_so(
    s3_server: Server, s3_bucket: Bucket, change: str
) -> None:
    """Credentials that end with the name or behind it: done is done, refused is not done, the rest is unknown."""
    act, after, _ = CHANGES[change]
    before = ["main", "old"]
    options = s3_server.storage_options()
    _fresh(s3_server, s3_bucket, "base")
    s3_bucket.copy("base", "undisturbed")
    graph = omnigraph.open(s3_bucket.uri("undisturbed"), storage_options=options)
    with s3_server.proxy.recording() as log:
        act(graph)
    first = next(number for number, request in enumerate(log.requests(), 1) if _is_ref(request))
    outcomes = set()
    for position in range(first, len(log.requests()) + 1):
        s3_bucket.copy("base", f"g{position}")
        graph = omnigraph.open(s3_bucket.uri(f"g{position}"), storage_options=options)
        outcome = "done"
        with s3_server.proxy.inject(RespondAt(position, 403, times=100_000)):
            try:
                act(graph)
            except OutcomeUnknown:
                outcome = "unknown"
            except StorageError:
                outcome = "refused"
        outcomes.add(outcome)
        cold = omnigraph.open(graph.uri, storage_options=options)
        found = sorted(branch.name for branch in cold.branches())
        assert found in {"done": [after], "refused": [before], "unknown": [before, after]}[outcome], position
    assert "done" in outcomes
    assert outcomes != {"done"}
