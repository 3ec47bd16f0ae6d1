"""Saved reviews over HTTP: versions, comments, limits, rights, and that maintenance leaves them alone."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from omnigraph import Graph
from omnigraph.core.lru import Lru
from omnigraph.engine.reviews.files import Kept, ReviewFiles
from omnigraph.engine.reviews.review import Comment, Heads, Review, ReviewState, Signature
from omnigraph.errors import UsageError
from omnigraph.policy import Policy
from omnigraph.policy.read_bundle import parse_bundle
from omnigraph.server.access.states import State
from omnigraph.storage.tables.store import Store
from tests.features.server.conftest import small_graph
from tests.features.server.live import BASE, running, serving_of
from tests.features.server.requests import MISSING_COMMIT, heads

CHOICE = {"type": "Person", "id": "ann", "property": "age", "take": "value", "value": 7, "base": 1, "source": 2}
POLICY = """
version: 1
groups: {writers: [ann], readers: [bob], others: [eve]}
protected_branches: [main]
rules:
  - id: all
    allow: {actors: {group: writers}, actions: [read, change]}
  - id: reads
    allow: {actors: {group: readers}, actions: [read]}
  - id: some
    allow: {actors: {group: others}, actions: [read], branch_scope: protected}
"""


def save(client: httpx2.Client, graph: Graph, **more: Any) -> dict[str, Any]:
    body = {"source": "dev", "title": "one more person", **heads("dev", graph), **more}
    answer = client.post(f"{BASE}/reviews", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_review_keeps_heads_choices_and_comments(client: httpx2.Client, graph: Graph) -> None:
    saved = save(client, graph, choices=[CHOICE])
    assert (saved["state"], saved["version"], saved["comments"]) == ("open", 1, [])
    where = {"type": "Person", "id": "dee"}
    for text, about in (("who is <b>dee</b>?", where), ("fine", None)):
        sent = client.post(
            f"{BASE}/reviews/{saved['id']}/comments", json={"text": text, "about": about, **heads("dev", graph)}
        )
        assert sent.json()["text"] == text
    found = client.get(f"{BASE}/reviews/{saved['id']}").json()
    assert found["choices"] == [{**CHOICE, "target": None, "kind": None}]
    assert [(item["text"], item["about"]) for item in found["comments"]] == [
        ("who is <b>dee</b>?", {**where}),
        ("fine", None),
    ]
    listed = client.get(f"{BASE}/reviews", params={"state": "open", "source": "dev"}).json()["reviews"]
    assert listed[0] == {name: value for name, value in found.items() if name not in ("choices", "comments")}
    assert listed[0]["comments_total"] == 2
    assert client.get(f"{BASE}/reviews", params={"source": "main"}).json() == {"reviews": []}


def test_of_two_changes_of_one_version_one_wins(client: httpx2.Client, graph: Graph) -> None:
    place = f"{BASE}/reviews/{save(client, graph)['id']}"

    def change(title: str) -> int:
        return client.post(place, json={"version": 1, "title": title}).status_code

    with ThreadPoolExecutor(4) as pool:
        statuses = sorted(pool.map(change, ["a", "b", "c", "d"]))
    assert statuses == [200, 412, 412, 412]
    assert client.get(place).json()["version"] == 2
    closed = client.post(place, json={"version": 2, "state": "merged", "merge_commit_id": graph.snapshot().commit_id})
    assert (closed.json()["state"], closed.json()["version"]) == ("merged", 3)
    assert client.get(f"{BASE}/reviews", params={"state": "merged"}).json()["reviews"][0]["version"] == 3


def test_only_the_last_two_versions_are_kept(client: httpx2.Client, graph: Graph, tmp_path: Path) -> None:
    saved = save(client, graph)
    for version in range(1, 6):
        client.post(f"{BASE}/reviews/{saved['id']}", json={"version": version, "title": str(version)})
    folder = Path(graph.uri) / "reviews" / saved["id"]
    assert sorted(file.name for file in folder.iterdir()) == ["000005.json", "000006.json"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"source": "nope"}, 404),
        ({"source": " "}, 400),
        ({"title": "x" * 201}, 400),
        ({"source_commit_id": "short"}, 400),
        ({"choices": [{**CHOICE, "take": "mine"}]}, 400),
        ({"choices": "all"}, 400),
        ({"more": 1}, 400),
    ],
)
def test_wrong_reviews_are_refused(client: httpx2.Client, graph: Graph, body: dict[str, Any], status: int) -> None:
    sent = {"source": "dev", **heads("dev", graph), **body}
    answer = client.post(f"{BASE}/reviews", json=sent)
    assert (answer.status_code, "error" in answer.json()) == (status, True)


def test_wrong_changes_and_comments_are_refused(client: httpx2.Client, graph: Graph) -> None:
    place = f"{BASE}/reviews/{save(client, graph)['id']}"
    for body in (
        {},
        {"version": 0},
        {"version": 1, "state": "done"},
        {"version": 1, "source_commit_id": MISSING_COMMIT},
    ):
        assert client.post(place, json=body).status_code == 400, body
    for text in ("", "   ", "x" * 10_001):
        assert client.post(f"{place}/comments", json={"text": text, **heads("dev", graph)}).status_code == 400
    for name in (MISSING_COMMIT, "..", "%2e%2e%2fomnigraph", "x"):
        assert client.get(f"{BASE}/reviews/{name}").status_code == 404


def test_maintenance_leaves_reviews_alone(tmp_path: Path) -> None:
    graph = small_graph(tmp_path / "kb.omni")
    with running(serving_of(graph)) as live, live.client() as client:
        saved = save(client, graph)
        graph.cleanup(keep=1, grace="0s")
        graph.optimize()
        assert graph.verify().is_clean
        assert client.get(f"{BASE}/reviews/{saved['id']}").json() == saved


SIGNED = Signature("ann", 1)
HEADS = Heads("a", "b")


def review(number: int, state: ReviewState = ReviewState.OPEN) -> Review:
    return Review(f"{number:026}", 1, "", "dev", "main", HEADS, (), state, SIGNED, SIGNED)


def test_the_oldest_review_that_is_not_open_makes_room(tmp_path: Path) -> None:
    store = ReviewFiles(Store(tmp_path).objects, Lru(100), reviews_max=3)
    states = (ReviewState.OPEN, ReviewState.CLOSED, ReviewState.MERGED, ReviewState.OPEN, ReviewState.OPEN)
    for number, state in enumerate(states):
        store.add(review(number, state))
    assert [int(found.id) for found, _ in store.all()] == [4, 3, 0]
    with pytest.raises(UsageError, match="3 open reviews"):
        store.add(review(5))


def test_a_review_has_a_bounded_number_of_comments(tmp_path: Path) -> None:
    store = ReviewFiles(Store(tmp_path).objects, Lru(100), comments_max=2)
    store.add(review(1))
    for number in (1, 2):
        store.add_comment(review(1).id, Comment(f"{number:026}", "x", SIGNED, HEADS))
    assert [comment.text for comment in store.comments(review(1).id)] == ["x", "x"]
    with pytest.raises(UsageError, match="2 comments"):
        store.add_comment(review(1).id, Comment(f"{3:026}", "x", SIGNED, HEADS))


def test_a_damaged_review_is_reported_and_not_shown(client: httpx2.Client, graph: Graph) -> None:
    saved = save(client, graph)
    file = Path(graph.uri) / "reviews" / saved["id"] / "000001.json"
    file.write_bytes(file.read_bytes().replace(b"one more", b"two more"))
    assert client.get(f"{BASE}/reviews/{saved['id']}").status_code == 500
    file.unlink()


@pytest.fixture(scope="module")
def policed(graph: Graph) -> Iterator[dict[str, httpx2.Client]]:
    tokens = {name: f"token-{name}" for name in ("ann", "bob", "eve")}
    policy = Policy(parse_bundle(POLICY), "kb")
    with running(serving_of(graph, tokens=tokens, authorizer=policy, state=State.POLICY_ENABLED)) as live:
        clients = {name: live.client(token) for name, token in tokens.items()}
        yield clients
        for client in clients.values():
            client.close()


def test_reading_a_review_needs_both_branches_and_writing_needs_the_source(
    policed: dict[str, httpx2.Client], graph: Graph
) -> None:
    saved = save(policed["ann"], graph)
    place = f"{BASE}/reviews/{saved['id']}"
    assert (saved["created_by"], saved["updated_by"]) == ("ann", "ann")
    assert policed["bob"].get(place).status_code == 200
    assert policed["bob"].post(place, json={"version": 1, "title": "mine"}).status_code == 403
    assert policed["bob"].post(f"{place}/comments", json={"text": "x", **heads("dev", graph)}).status_code == 403
    assert policed["bob"].post(f"{BASE}/reviews", json={"source": "dev", **heads("dev", graph)}).status_code == 403
    hidden, missing = (policed["eve"].get(f"{BASE}/reviews/{name}") for name in (saved["id"], MISSING_COMMIT))
    assert (hidden.status_code, hidden.json()["error"]) == (404, missing.json()["error"])


def test_files_of_reviews_are_read_once(client: httpx2.Client, graph: Graph) -> None:
    saved = save(client, graph)
    kept: Kept = Lru(10)
    store = ReviewFiles(graph.snapshot().store.objects, kept)
    assert store.find(saved["id"]) == store.find(saved["id"])
    assert len(kept) == 1
