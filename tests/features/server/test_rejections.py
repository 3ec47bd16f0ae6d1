"""What happens before a handler, and in which order: requests that are wrong in one way, and in two ways at once."""

import json
from collections.abc import Iterator

import httpx2
import pytest

from omnigraph import Action, Graph
from omnigraph.server.access.states import State
from tests.features.server.conftest import STORED
from tests.features.server.live import BASE, READ_ALL, Live, queries_of, running, serving_of
from tests.features.server.test_matrix import Rules

JSON = {"content-type": "application/json"}
NDJSON = {"content-type": "application/x-ndjson"}
TOKEN = {"authorization": "Bearer secret"}
LARGE = b'"' + b"x" * (1024 * 1024) + b'"'
BOTH = json.dumps({"query": READ_ALL, "branch": "main", "snapshot": "x"}).encode()
BAD_TEXT = json.dumps({"query": "nonsense"}).encode()
NO_BRANCH = json.dumps({"query": READ_ALL, "branch": "nope"}).encode()


@pytest.fixture(scope="module")
def denying(graph: Graph) -> Iterator[httpx2.Client]:
    """A server with a policy that denies everything."""
    serving = serving_of(
        graph,
        tokens={"ann": "secret"},
        authorizer=Rules(frozenset(Action)),
        state=State.POLICY_ENABLED,
        queries=queries_of(graph, *STORED),
    )
    with running(serving) as live, live.client() as client:
        yield client


@pytest.mark.parametrize(
    "path", ["/", "/nope", "/graphs/", "/graphs/kb/", f"{BASE}/nope", f"{BASE}/query/", "//graphs"]
)
def test_an_unknown_path_is_a_bare_404_without_authentication(denying: httpx2.Client, path: str) -> None:
    for method in ("GET", "POST", "DELETE", "HEAD"):
        response = denying.request(method, denying.base_url.join("").copy_with(raw_path=path.encode()))
        assert (response.status_code, response.content) == (404, b"")
        assert "content-type" not in response.headers


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("POST", "/healthz", "GET,HEAD"),
        ("PUT", "/graphs", "GET,HEAD"),
        ("GET", f"{BASE}/query", "POST"),
        ("POST", f"{BASE}/blob", "GET,HEAD"),
        ("PATCH", f"{BASE}/branches", "GET,HEAD,POST"),
        ("GET", f"{BASE}/branches/dev", "DELETE"),
        ("DELETE", f"{BASE}/branches/merge", "POST"),
        ("OPTIONS", f"{BASE}/load", "POST"),
    ],
)
def test_another_method_is_a_bare_405_that_names_the_right_ones(
    denying: httpx2.Client, method: str, path: str, allow: str
) -> None:
    response = denying.request(method, path)
    assert (response.status_code, response.content) == (405, b"")
    assert sorted(response.headers["allow"].split(",")) == sorted(allow.split(","))


@pytest.mark.parametrize(
    ("content", "headers", "status", "start"),
    [
        (b"{}", {}, 415, "Expected request with `Content-Type: application/json`"),
        (b"{}", {"content-type": "text/json"}, 415, "Expected request"),
        (LARGE, JSON, 413, "Failed to buffer the request body: length limit exceeded"),
        (b"{", JSON, 400, "Failed to parse the request body as JSON: "),
        (b"", JSON, 400, "Failed to parse the request body as JSON: "),
        (b"{} {}", JSON, 400, "Failed to parse the request body as JSON: "),
        (b"\xff", JSON, 400, "Failed to parse the request body as JSON: "),
        (b"\xef\xbb\xbf{}", JSON, 400, "Failed to parse the request body as JSON: "),
        (b'{"query":NaN}', JSON, 400, "Failed to parse the request body as JSON: "),
        (b'{"query":"\\ud800"}', JSON, 400, "Failed to parse the request body as JSON: "),
        (b'{"query":"\x01"}', JSON, 400, "Failed to parse the request body as JSON: "),
        (b"[" * 200, JSON, 400, "Failed to parse the request body as JSON: recursion limit exceeded"),
        (b"1" * 5000, JSON, 400, "Failed to parse the request body as JSON: number out of range"),
        (b"{}", JSON, 422, "Failed to deserialize the JSON body into the target type: missing field `query`"),
        (b'{"query":5}', JSON, 422, "Failed to deserialize the JSON body into the target type: query: "),
        (b"[]", JSON, 422, "Failed to deserialize the JSON body into the target type: expected an object"),
        (
            b'{"query":"a","query":"b"}',
            JSON,
            422,
            "Failed to deserialize the JSON body into the target type: duplicate",
        ),
    ],
)
def test_a_body_that_cannot_be_taken_apart_is_rejected_as_plain_text(
    client: httpx2.Client, content: bytes, headers: dict[str, str], status: int, start: str
) -> None:
    response = client.post(f"{BASE}/query", content=content, headers=headers)
    assert (response.status_code, response.headers["content-type"]) == (status, "text/plain; charset=utf-8")
    assert response.text.startswith(start)


@pytest.mark.parametrize(
    "media_type",
    ["application/json", "APPLICATION/JSON; charset=utf-8", "application/problem+json", "application/json;"],
)
def test_json_media_types_are_taken(client: httpx2.Client, media_type: str) -> None:
    body = json.dumps({"query": READ_ALL, "unknown": 1}).encode()
    assert client.post(f"{BASE}/query", content=body, headers={"content-type": media_type}).status_code == 200


def test_a_deep_value_that_is_a_text_is_no_depth(client: httpx2.Client) -> None:
    body = {"query": READ_ALL, "params": {"text": "[" * 1000, "list": [[[["x"]]]] * 60}}
    assert client.post(f"{BASE}/query", json=body).status_code == 200


@pytest.mark.parametrize("path", ["snapshot", "commits", "load/ndjson"])
def test_query_strings_of_ordinary_routes_are_rejected_as_plain_text(client: httpx2.Client, path: str) -> None:
    method = "POST" if "load" in path else "GET"
    response = client.request(method, f"{BASE}/{path}?branch=main&branch=dev")
    assert (response.status_code, response.headers["content-type"]) == (400, "text/plain; charset=utf-8")
    assert response.text == "Failed to deserialize query string: duplicate field `branch`"


def test_a_plus_is_a_space_and_unknown_names_are_ignored(client: httpx2.Client) -> None:
    assert client.get(f"{BASE}/snapshot?branch=+dev+&other=1&other=2").json()["graph_branch"] == "dev"


def test_a_path_that_is_no_text_is_rejected(client: httpx2.Client) -> None:
    response = client.delete(f"{BASE}/branches/%FF")
    assert (response.status_code, response.text) == (400, "Invalid URL: Invalid UTF-8 in `branch`")


# route, body, headers -> what the first of two mistakes must answer: status, and whether it is plain text
TWO_MISTAKES = [
    # No token is noticed before anything about the graph, the id before the body.
    ("POST", "/graphs/nope/query", b"{", JSON, 401, False),
    ("POST", "/graphs/no_pe/query", b"{", {**JSON, **TOKEN}, 400, False),
    ("POST", "/graphs/nope/query", b"{", {**JSON, **TOKEN}, 404, False),
    ("POST", "/graphs/nope/query", b"{}", TOKEN, 404, False),
    # The media type before the size, the size before the syntax, the syntax before the shape, all before the policy.
    ("POST", f"{BASE}/query", LARGE, TOKEN, 415, True),
    ("POST", f"{BASE}/query", LARGE + b"{", {**JSON, **TOKEN}, 413, True),
    ("POST", f"{BASE}/query", b"{", {**JSON, **TOKEN}, 400, True),
    ("POST", f"{BASE}/query", b"{}", {**JSON, **TOKEN}, 422, True),
    ("POST", f"{BASE}/query", BOTH, {**JSON, **TOKEN}, 400, False),
    # The policy before the branch and before the text of the query.
    ("POST", f"{BASE}/query", BAD_TEXT, {**JSON, **TOKEN}, 403, False),
    ("POST", f"{BASE}/query", NO_BRANCH, {**JSON, **TOKEN}, 403, False),
    ("POST", f"{BASE}/read", b'{"query_source":"x"}', {**JSON, **TOKEN}, 403, False),
    # A commit that does not exist is noticed where its branch would be: in front of the policy.
    ("POST", f"{BASE}/query", b'{"query":"x","snapshot":"nope"}', {**JSON, **TOKEN}, 404, False),
    # The condition: after the body of a mutation, before the body of the conditional routes.
    ("POST", f"{BASE}/mutate", b"{}", {**JSON, **TOKEN, "omnigraph-if-graph-commit": "x"}, 422, True),
    ("POST", f"{BASE}/mutate", BAD_TEXT, {**JSON, **TOKEN, "omnigraph-if-graph-commit": "x"}, 400, False),
    ("POST", f"{BASE}/mutate/if-graph-commit", b"{}", {**JSON, **TOKEN}, 400, False),
    ("POST", f"{BASE}/mutate/if-graph-commit", b"{}", TOKEN, 400, False),
    ("POST", f"{BASE}/mutate/if-graph-commit", b"{}", {**TOKEN, "omnigraph-if-graph-commit": "x"}, 415, True),
    ("POST", f"{BASE}/mutate", BAD_TEXT, {**JSON, **TOKEN}, 403, False),
    # A stored query: condition, body, policy (hidden), then everything else.
    ("POST", f"{BASE}/queries/nope", b"{", {**TOKEN, "omnigraph-if-graph-commit": "x"}, 400, False),
    ("POST", f"{BASE}/queries/nope", b"{", TOKEN, 400, False),
    ("POST", f"{BASE}/queries/everyone", b'{"expect_mutation":true}', TOKEN, 404, False),
    # A load: the body, the missing branch, and only then the policy.
    ("POST", f"{BASE}/load", b'{"data":5}', {**JSON, **TOKEN}, 422, True),
    ("POST", f"{BASE}/load", b'{"data":"x","branch":"nope"}', {**JSON, **TOKEN}, 404, False),
    ("POST", f"{BASE}/load", b'{"data":"x"}', {**JSON, **TOKEN}, 403, False),
    ("POST", f"{BASE}/load", b'{"data":"x","branch":"nope","from":"gone"}', {**JSON, **TOKEN}, 403, False),
    ("POST", f"{BASE}/load/ndjson?branch=a&branch=b", b"", TOKEN, 400, True),
    ("POST", f"{BASE}/load/ndjson?branch=nope", b"", TOKEN, 404, False),
    ("POST", f"{BASE}/load/ndjson", b"\xff", TOKEN, 403, False),
    # Streams: the body and the branch, then the policy.
    ("POST", f"{BASE}/export", b'{"branch":" "}', {**JSON, **TOKEN}, 400, False),
    ("POST", f"{BASE}/export", b'{"branch":"nope"}', {**JSON, **TOKEN}, 403, False),
    ("POST", f"{BASE}/changes/baseline", b'{"branch":" "}', {**JSON, **TOKEN}, 400, False),
    ("POST", f"{BASE}/changes/baseline", b'{"branch":"nope"}', {**JSON, **TOKEN}, 403, False),
    # Changes: the query string, the limit, the branch, the policy, and only then the cursor.
    ("GET", f"{BASE}/changes?limit=0&nope=1", b"", TOKEN, 400, False),
    ("GET", f"{BASE}/changes?limit=0", b"", TOKEN, 400, False),
    ("GET", f"{BASE}/changes?cursor=a&start=now", b"", TOKEN, 403, False),
    ("GET", f"{BASE}/changes?limit=9999", b"", TOKEN, 403, False),
    ("GET", f"{BASE}/commits/nope/changes?limit=0", b"", TOKEN, 400, False),
    ("GET", f"{BASE}/commits/nope/changes", b"", TOKEN, 404, False),
    # A commit by id: the policy, then the look.
    ("GET", f"{BASE}/commits/nope", b"", TOKEN, 403, False),
    ("GET", f"{BASE}/blob?entity=node", b"", TOKEN, 400, False),
    ("GET", f"{BASE}/blob?entity=node&type=T&id=i&property=p&branch=a&snapshot=b", b"", TOKEN, 400, False),
    ("GET", f"{BASE}/blob?entity=node&type=T&id=i&property=p", b"", TOKEN, 403, False),
    ("POST", f"{BASE}/branches/merge", b'{"source":"nope"}', {**JSON, **TOKEN}, 403, False),
    ("POST", f"{BASE}/branches", b'{"name":"no name"}', {**JSON, **TOKEN}, 403, False),
    ("DELETE", f"{BASE}/branches/nope", b"", TOKEN, 403, False),
    ("POST", f"{BASE}/schema/apply", b'{"schema_source":"x"}', {**JSON, **TOKEN}, 403, False),
    ("GET", f"{BASE}/snapshot?branch=nope", b"", TOKEN, 403, False),
]


@pytest.mark.parametrize(("method", "url", "content", "headers", "status", "is_plain"), TWO_MISTAKES)
def test_of_two_mistakes_the_first_in_order_is_answered(
    denying: httpx2.Client,
    method: str,
    url: str,
    content: bytes,
    headers: dict[str, str],
    status: int,
    is_plain: bool,
) -> None:
    response = denying.request(method, url, content=content, headers=headers)
    assert response.status_code == status, response.text
    assert response.headers["content-type"].startswith("text/plain") is is_plain


def test_a_graph_of_a_cluster_keeps_its_schema_and_says_so_only_to_callers_with_rights(graph: Graph) -> None:
    for denied, status in ((frozenset(), 409), (frozenset({Action.SCHEMA_APPLY}), 403)):
        serving = serving_of(
            graph,
            tokens={"ann": "secret"},
            authorizer=Rules(denied),
            state=State.POLICY_ENABLED,
            is_declared=True,
        )
        with running(serving) as live, live.client("secret") as client:
            assert client.post(f"{BASE}/schema/apply", json={"schema_source": "node {"}).status_code == status


@pytest.mark.parametrize(
    ("path", "members", "status"),
    [
        ("query", [("query", READ_ALL), ("x", 1), ("x", 2)], 200),
        ("query", [("query", READ_ALL), ("x", 1), ("x", 2), ("branch", None), ("branch", None)], 422),
        ("branches", [("name", "twice"), ("from", "main"), ("from", "main")], 422),
        ("mutate", [("query", READ_ALL), ("query_source", READ_ALL)], 422),
        ("mutate", [("query_source", READ_ALL), ("query_source", READ_ALL)], 422),
        ("export", [("x", 1), ("x", 2)], 400),
    ],
)
def test_a_member_may_be_repeated_if_it_is_ignored(
    client: httpx2.Client, path: str, members: list[tuple[str, object]], status: int
) -> None:
    content = "{" + ",".join(f"{json.dumps(name)}:{json.dumps(value)}" for name, value in members) + "}"
    response = client.post(f"{BASE}/{path}", content=content.encode(), headers=JSON)
    assert response.status_code == status, response.text
    if status == 422:
        assert response.text.startswith("Failed to deserialize the JSON body into the target type: duplicate field `")


def test_a_client_that_waits_to_send_its_body_is_told_that_the_connection_ends(live: Live) -> None:
    for media_type, status in (("application/json", b"413"), ("text/plain", b"415")):
        length = 99_999_999 if status == b"413" else 10
        head = (
            f"POST {BASE}/query HTTP/1.1\r\nhost: x\r\ncontent-type: {media_type}\r\n"
            f"content-length: {length}\r\nexpect: 100-continue\r\n\r\n"
        )
        with live.connect() as connection:
            connection.sendall(head.encode())
            answer = b""
            while part := connection.recv(1000):
                answer += part
        assert answer.startswith(b"HTTP/1.1 " + status)
        assert b"\r\nconnection: close\r\n" in answer


def test_a_large_body_is_refused_before_it_is_sent(live: Live) -> None:
    head = (
        f"POST {BASE}/query HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        "content-length: 99999999\r\nexpect: 100-continue\r\n\r\n"
    )
    with live.connect() as connection:
        connection.sendall(head.encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 413")
