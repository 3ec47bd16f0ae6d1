"""Blobs over HTTP: whole, in ranges, under conditions, and by their headers alone."""

import httpx2
import pytest

from omnigraph import Graph
from tests.features.server.conftest import PHOTO
from tests.features.server.live import BASE
from tests.features.server.test_reads import problem

URL = f"{BASE}/blob"
SELECTOR = {"entity": "node", "type": "Person", "id": "ann", "property": "photo"}


def get(client: httpx2.Client, **headers: str) -> httpx2.Response:
    return client.get(URL, params=SELECTOR, headers={name.replace("_", "-"): value for name, value in headers.items()})


@pytest.fixture(scope="module")
def etag(client: httpx2.Client) -> str:
    return str(get(client).headers["etag"])


def test_a_blob_has_its_bytes_and_headers(client: httpx2.Client, graph: Graph) -> None:
    response = get(client)
    assert (response.status_code, response.content) == (200, PHOTO)
    assert response.headers["content-type"] == "application/octet-stream"
    assert response.headers["accept-ranges"] == "bytes"
    assert response.headers["omnigraph-snapshot-id"] == graph.snapshot().commit_id
    assert len(response.headers["etag"]) == 34


def test_head_has_the_headers_and_ignores_a_range(client: httpx2.Client) -> None:
    got = get(client)
    headed = client.head(URL, params=SELECTOR, headers={"range": "bytes=0-1"})
    assert (headed.status_code, headed.content) == (200, b"")
    assert {**headed.headers, "date": ""} == {**got.headers, "date": ""}


def test_a_blob_is_read_at_a_branch_or_at_a_commit(client: httpx2.Client, graph: Graph) -> None:
    for place in ({"branch": "dev"}, {"snapshot": graph.commit("dev").id}):
        assert client.get(URL, params={**SELECTOR, **place}).content == PHOTO
    old = {**SELECTOR, "snapshot": graph.commit("main~1").id}
    problem(client.get(URL, params=old), 404)


@pytest.mark.parametrize(
    ("header", "start", "end"),
    [("bytes=0-3", 0, 4), ("bytes=1000-", 1000, 1024), ("bytes=-10", 1014, 1024), ("BYTES=5-5", 5, 6),
     ("bytes=1000-9999", 1000, 1024), ("bytes=-9999", 0, 1024), (f"bytes=9-{2**63 - 1}", 9, 1024),
     (f"bytes=9-{2**64 - 1}", 9, 1024), (f"bytes=-{2**63}", 0, 1024)],
)  # fmt: skip
def test_one_range_is_answered_with_its_bytes(client: httpx2.Client, header: str, start: int, end: int) -> None:
    response = get(client, range=header)
    assert (response.status_code, response.content) == (206, PHOTO[start:end])
    assert response.headers["content-range"] == f"bytes {start}-{end - 1}/1024"


@pytest.mark.parametrize(
    "header",
    [
        "bytes=3-1",
        "bytes=0-1,4-5",
        "items=0-1",
        "bytes=a-b",
        "bytes",
        "bytes=-",
        "bytes=" + "9" * 40 + "-",
        f"bytes=0-{2**64}",
    ],
)
def test_ranges_that_cannot_be_followed_are_ignored(client: httpx2.Client, header: str) -> None:
    response = get(client, range=header)
    assert (response.status_code, response.content) == (200, PHOTO)


@pytest.mark.parametrize("header", ["bytes=1024-", "bytes=5000-6000", "bytes=-0", f"bytes={2**64 - 1}-"])
def test_a_range_outside_the_blob_is_refused(client: httpx2.Client, header: str) -> None:
    response = get(client, range=header)
    problem(response, 416)
    assert response.headers["content-range"] == "bytes */1024"
    assert response.json()["blob_range"]["length"] == 1024


def test_conditions_compare_tags(client: httpx2.Client, etag: str) -> None:
    unmodified = get(client, if_none_match=f'"x", W/{etag}')
    assert (unmodified.status_code, unmodified.content, unmodified.headers["etag"]) == (304, b"", etag)
    assert unmodified.headers["content-length"] == "1024"
    assert get(client, if_none_match=f',"x", , {etag},').status_code == 304
    assert get(client, if_match=f',"x" ,, {etag},').status_code == 200
    assert get(client, if_none_match="*").status_code == 304
    assert get(client, if_none_match='"x"').status_code == 200
    assert get(client, if_match=f'"x", {etag}').status_code == 200
    assert get(client, if_match="*").status_code == 200


@pytest.mark.parametrize("weak", ['"x"', "W/{}", "junk", "{}, junk", "{0}{0}", ",", ""])
def test_a_match_that_does_not_hold_is_a_failed_precondition(client: httpx2.Client, etag: str, weak: str) -> None:
    response = get(client, if_match=weak.format(etag))
    problem(response, 412)
    assert response.json()["code"] == "conflict"
    headed = client.head(URL, params=SELECTOR, headers={"if-match": weak.format(etag)})
    assert (headed.status_code, headed.content) == (412, b"")


def test_a_range_needs_the_tag_of_if_range(client: httpx2.Client, etag: str) -> None:
    assert get(client, range="bytes=0-0", if_range=etag).status_code == 206
    assert get(client, range="bytes=0-0", if_range='"x"').status_code == 200
    assert get(client, range="bytes=0-0", if_range=f"W/{etag}").status_code == 200


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"entity": "nodes"}, 400),
        ({"entity": None}, 400),
        ({"id": None}, 400),
        ({"more": "1"}, 400),
        ({"branch": "main", "snapshot": "x"}, 400),
        ({"property": "name"}, 400),
        ({"property": "nope"}, 404),
        ({"type": "Nope"}, 404),
        ({"id": "nobody"}, 404),
        ({"id": "bo"}, 404),
        ({"branch": "nope"}, 404),
        ({"snapshot": "nope"}, 404),
        ({"entity": "edge"}, 404),
    ],
)
def test_selectors_that_name_no_blob_are_refused_in_the_envelope(
    client: httpx2.Client, change: dict[str, str | None], status: int
) -> None:
    params = {name: value for name, value in {**SELECTOR, **change}.items() if value is not None}
    problem(client.get(URL, params=params), status)
    assert client.head(URL, params=params).status_code == status


def test_a_repeated_selector_is_refused(client: httpx2.Client) -> None:
    problem(client.get(f"{URL}?entity=node&entity=node&type=Person&id=ann&property=photo"), 400)


def test_a_large_blob_is_streamed_in_parts(client: httpx2.Client, graph: Graph, branch: str) -> None:
    import base64

    size = 9 * 1024 * 1024
    content = bytes(size)
    person = {"type": "Person", "data": {"name": "big", "photo": "base64:" + base64.b64encode(content).decode()}}
    graph.load([person], "merge", branch=branch)
    params = {**SELECTOR, "id": "big", "branch": branch}
    with client.stream("GET", URL, params=params) as response:
        assert response.headers["content-length"] == str(size)
        parts = list(response.iter_bytes())
    assert b"".join(parts) == content
    ranged = client.get(URL, params=params, headers={"range": "bytes=1-5000000"})
    assert (ranged.status_code, len(ranged.content)) == (206, 5_000_000)
