"""Outcomes of a write (done, not done, unknown) when the store loses responses or becomes unreachable."""

import pytest

import omnigraph
from omnigraph.errors import NotFoundError, OmnigraphError, OutcomeUnknown
from tests.promises.protocol.graphs import SCHEMA, insert, names
from tests.support.faults.fault import DropAt, RespondAt
from tests.support.faults.s3 import Bucket, Server

pytestmark = pytest.mark.s3

SWAP = 4
"""The last of the four requests of a warm insert is the swap."""


@pytest.fixture
def warm(s3_server: Server, s3_bucket: Bucket) -> omnigraph.Graph:
    # Few and short retries inside the client: otherwise a store that is away takes half a minute to be noticed.
    options = s3_server.storage_options() | {"client_max_retries": "1", "client_retry_timeout": "1"}
    graph = omnigraph.create(s3_bucket.uri("g"), SCHEMA, storage_options=options)
    insert(graph, "warm")
    return graph


def _cold(graph: omnigraph.Graph) -> omnigraph.Graph:
    return omnigraph.open(graph.uri, storage_options=graph._store.options)


@pytest.mark.parametrize(
    "fault",
    [DropAt(SWAP, after=True), RespondAt(SWAP, 500, after=True), DropAt(SWAP), RespondAt(SWAP, 503)],
    ids=["lost answer", "wrong answer", "lost request", "refused request"],
)
def test_a_lost_answer_to_the_swap_makes_one_commit(
    s3_server: Server, warm: omnigraph.Graph, fault: DropAt | RespondAt
) -> None:
    with s3_server.proxy.inject(fault) as injected:
        made = insert(warm, "a").commit
    assert injected.hit is not None
    cold = _cold(warm)
    assert [commit.id for commit in cold.commits()].count(made.id) == 1
    assert len(list(cold.commits())) == 3
    assert names(cold) == ["a", "warm"]


@pytest.mark.parametrize("applied", [False, True], ids=["not applied", "applied"])
def test_a_store_that_goes_away_in_the_swap_leaves_an_outcome_to_be_asked_for(
    s3_server: Server, warm: omnigraph.Graph, applied: bool
) -> None:
    with s3_server.proxy.inject(DropAt(SWAP, times=100_000, after=applied)), pytest.raises(OutcomeUnknown) as unknown:
        insert(warm, "a")
    commit_id = unknown.value.commit_id
    assert unknown.value.facts["commit"] == commit_id
    assert commit_id in str(unknown.value.hint)
    for handle in (warm, _cold(warm)):
        if applied:
            assert handle.commit(commit_id).id == commit_id
        else:
            with pytest.raises(NotFoundError):
                handle.commit(commit_id)
    assert names(warm) == (["a", "warm"] if applied else ["warm"])
    insert(warm, "b")
    assert "b" in names(_cold(warm))


@pytest.mark.parametrize("position", range(1, SWAP))
def test_a_store_that_goes_away_before_the_swap_has_changed_nothing(
    s3_server: Server, warm: omnigraph.Graph, position: int
) -> None:
    with s3_server.proxy.inject(DropAt(position, times=100_000)), pytest.raises(OmnigraphError) as failed:
        insert(warm, "a")
    assert not isinstance(failed.value, OutcomeUnknown)
    assert names(_cold(warm)) == ["warm"]
    insert(warm, "a")
    assert names(_cold(warm)) == ["a", "warm"]


def test_a_swap_that_lost_against_another_handle_is_made_again(s3_server: Server, warm: omnigraph.Graph) -> None:
    other = _cold(warm)
    insert(other, "theirs")
    insert(warm, "ours")
    assert names(other) == ["ours", "theirs", "warm"]
