"""The change feed over HTTP: pages, cursors that fit nothing else, baselines, and errors that say enough."""

import json
from typing import Any

import httpx2
import pytest

from omnigraph import Graph
from omnigraph.wire.http.models.changes import ChangeBaselineRecord, ChangeFeedOutput, CommitChangesOutput
from omnigraph.wire.http.models.errors import ChangeErrorOutput
from tests.features.server.live import BASE

URL = f"{BASE}/changes"


def poll(client: httpx2.Client, **params: Any) -> dict[str, Any]:
    response = client.get(URL, params=params)
    assert response.status_code == 200, response.text
    form: dict[str, Any] = response.json()
    ChangeFeedOutput.model_validate(form, extra="forbid")
    return form


def refused(response: httpx2.Response, status: int) -> dict[str, Any]:
    assert response.status_code == status, response.text
    ChangeErrorOutput.model_validate_json(response.content, extra="forbid")
    form: dict[str, Any] = response.json()
    return form


def ids(page: dict[str, Any]) -> list[str]:
    return [change["id"] for block in page["blocks"] for change in block["changes"]]


def test_a_feed_starts_now_unless_it_is_asked_otherwise(client: httpx2.Client) -> None:
    page = poll(client)
    assert (page["blocks"], page["caught_up"]) == ([], True)
    assert ids(poll(client, start="beginning")) == ["ann", "bo", "cy", "k-bo", "k-cy"]


def test_pages_end_within_commits_and_go_on_there(client: httpx2.Client) -> None:
    first = poll(client, start="beginning", limit=2, branch=" dev ")
    assert ids(first) == ["ann", "bo"]
    assert "cursor" not in first
    assert "caught_up" not in first
    second = poll(client, page_token=first["next_page_token"], branch="dev")
    assert ids(second) == ["cy", "k-bo", "k-cy", "dee"]
    assert second["caught_up"]
    assert ids(poll(client, cursor=second["cursor"], branch="dev")) == []


def test_filters_select_within_and_across_dimensions(client: httpx2.Client) -> None:
    assert ids(poll(client, start="beginning", kind="edge")) == ["k-bo", "k-cy"]
    assert ids(poll(client, start="beginning", type=["Person", "Note"], op=["insert"])) == ["ann", "bo", "cy"]
    assert ids(poll(client, start="beginning", kind="edge", op="delete")) == []


def test_a_feed_continues_after_a_commit(client: httpx2.Client, graph: Graph) -> None:
    loaded = graph.commit("main").id
    assert ids(poll(client, start=f"after:{graph.commit('main~1').id}")) == ["ann", "bo", "cy", "k-bo", "k-cy"]
    assert ids(poll(client, start=f"after:{loaded}")) == []


@pytest.mark.parametrize(
    "params",
    [
        {"limit": "0"},
        {"limit": "-1"},
        {"limit": "x"},
        {"kind": "nodes"},
        {"op": "upsert"},
        {"other": "1"},
        {"branch": ["main", "dev"]},
        {"branch": " "},
        {"cursor": "a", "start": "now"},
        {"cursor": "a", "page_token": "b"},
        {"start": "yesterday"},
        {"cursor": "junk"},
        {"page_token": "junk"},
        {"start": "after:nope"},
        {"type": "Nothing", "start": "beginning"},
    ],
)
def test_what_a_reader_gets_wrong_is_told(client: httpx2.Client, params: dict[str, Any]) -> None:
    refused(client.get(URL, params=params), 404 if params.get("type") else 400)


def test_a_page_too_large_is_a_limit(client: httpx2.Client) -> None:
    form = refused(client.get(URL, params={"limit": 8193}), 413)
    assert form["resource_limit"] == {"resource": "commit_changes_page_changes", "limit": 8192, "actual": 8193}


def test_a_cursor_fits_only_its_own_question(client: httpx2.Client) -> None:
    page = poll(client, start="beginning", limit=1)
    token, cursor = page["next_page_token"], poll(client)["cursor"]
    for params in ({"cursor": token}, {"page_token": cursor}, {"cursor": cursor, "branch": "dev"},
                   {"cursor": cursor, "kind": "node"}, {"cursor": cursor[:-2]}, {"cursor": "A" * 5000}):  # fmt: skip
        assert refused(client.get(URL, params=params), 400)["error"].startswith("change cursor rejected: ")
    assert poll(client, cursor=cursor, kind=["node", "edge"])["caught_up"], "all kinds are the same as none"


def test_an_unknown_branch_is_not_found(client: httpx2.Client) -> None:
    assert "nope" in refused(client.get(URL, params={"branch": "nope"}), 404)["error"]


def test_changes_of_a_commit_come_in_pages(client: httpx2.Client, graph: Graph) -> None:
    url = f"{BASE}/commits/{graph.commit('main').id}/changes"
    form = client.get(url, params={"limit": 3}).json()
    CommitChangesOutput.model_validate(form, extra="forbid")
    assert form["cause"]["actor_id"] == "loader"
    assert len(form["changes"]) == 3
    rest = client.get(url, params={"page_token": form["next_page_token"]}).json()
    assert ([change["id"] for change in rest["changes"]], "next_page_token" in rest) == (["k-bo", "k-cy"], False)
    edge = rest["changes"][0]["after"]
    assert edge["endpoints"] == {"from": "ann", "to": "bo"}
    refused(client.get(url, params={"limit": 0}), 400)
    refused(client.get(url, params={"branch": "main"}), 400)
    refused(client.get(url, params={"page_token": "junk"}), 400)


def test_the_changes_of_a_missing_commit_are_not_found(client: httpx2.Client) -> None:
    missing = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
    assert refused(client.get(f"{BASE}/commits/{missing}/changes"), 404)["error"] == f"commit '{missing}' not found"


def test_a_baseline_is_an_export_with_a_cursor_that_continues_it(client: httpx2.Client, graph: Graph) -> None:
    response = client.post(f"{URL}/baseline", json={"branch": "dev", "kind": ["node"]})
    assert response.headers["content-type"] == "application/x-ndjson; charset=utf-8"
    *lines, last = response.text.splitlines()
    assert [json.loads(line)["data"]["id"] for line in lines] == ["ann", "bo", "cy", "dee"]
    record = ChangeBaselineRecord.model_validate_json(last, extra="forbid").baseline
    assert record.snapshot_commit_id == graph.snapshot("dev").commit_id
    assert poll(client, cursor=record.resume_cursor, branch="dev", kind="node")["caught_up"]


@pytest.mark.parametrize(
    ("content", "status", "is_plain"),
    [
        (b'{"branch": "nope"}', 404, False),
        (b'{"branch": " "}', 400, False),
        (b'{"kind": ["nodes"]}', 422, True),
        (b'{"kind": null}', 422, True),
        (b"{", 400, True),
    ],
)
def test_the_body_of_a_baseline_is_rejected_as_plain_text(
    client: httpx2.Client, content: bytes, status: int, is_plain: bool
) -> None:
    response = client.post(f"{URL}/baseline", content=content, headers={"content-type": "application/json"})
    assert response.status_code == status
    assert response.headers["content-type"].startswith("text/plain") is is_plain
