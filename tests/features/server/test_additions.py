"""Every operation beyond Omnigraph 0.10: its marks and members, and its answers to wrong requests.

The cells are generated from the route table, so a new row is tested without another line here.
"""

import json
from typing import Any

import httpx2
import pytest

from omnigraph import Graph
from omnigraph.server.http.bodies import JsonBody, OptionalJsonBody
from omnigraph.server.routes.table import ADDITIONS
from omnigraph.wire.http.openapi import JSON
from tests.features.server.conftest import small_graph
from tests.features.server.live import BASE
from tests.features.server.requests import MISSING_COMMIT, SAMPLES, settled

ROUTES = {route.operation.id: route for route in ADDITIONS}
IN_QUERY = [name for name, route in ROUTES.items() if {"branch"} <= {item.name for item in route.operation.parameters}]
IN_BODY = [
    name
    for name, route in ROUTES.items()
    if isinstance(route.body, JsonBody | OptionalJsonBody) and "branch" in route.body.model.model_fields
]
JSON_BODIES = [name for name, route in ROUTES.items() if isinstance(route.body, JsonBody)]
AT_COMMIT = [name for name in IN_BODY if "snapshot" in ROUTES[name].body.model.model_fields]  # type: ignore[attr-defined]
TAGGED = [name for name, route in ROUTES.items() if 304 in route.operation.replies]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    graph = small_graph(tmp_path_factory.mktemp("additions") / "kb.omni")
    graph.create_branch("spare")
    return graph


def send(client: httpx2.Client, name: str, graph: Graph, **changes: Any) -> httpx2.Response:
    """The sample of an operation, with changed members of its query string or JSON body."""
    sample = SAMPLES[name]
    options = sample.options("main", graph)
    for place in ("params", "json"):
        if place in changes:
            options[place] = {**options.get(place, {}), **changes.pop(place)}
    options |= changes
    if "content" in changes:
        options.pop("json", None)
    return client.request(sample.method, sample.path, **options)


def problem(response: httpx2.Response) -> dict[str, Any]:
    form: dict[str, Any] = response.json()
    assert form["error"], form
    assert form["problem"]["code"], form
    return form


def test_every_addition_is_marked_and_left_out_of_the_document_of_the_reference(client: httpx2.Client) -> None:
    whole = client.get("/openapi.json").json()["paths"]
    part = client.get("/openapi.json", params={"only": "0.10"}).json()["paths"]
    for route in ADDITIONS:
        operation = route.operation
        assert whole[operation.path][operation.method.lower()]["x-omnigraph-addition"] is True
        assert operation.method.lower() not in part.get(operation.path, {})
    assert sum(map(len, part.values())) == 28


def test_no_two_models_share_a_name(client: httpx2.Client) -> None:
    # Those that do would appear under the names of their modules.
    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    assert [name for name in schemas if "__" in name] == []


@pytest.mark.parametrize("name", [name for name in ROUTES if not SAMPLES[name].is_missing])
def test_an_answer_has_exactly_the_members_of_its_model(name: str, client: httpx2.Client, graph: Graph) -> None:
    response = send(client, name, graph)
    replies = ROUTES[name].operation.replies
    model = replies[response.status_code].content[JSON]
    assert model is not None
    form = response.json() if response.status_code == 200 else settled(client, response)
    assert form.get("state") != "failed", form
    assert json.loads(model.model_validate(form).model_dump_json(by_alias=True, exclude_unset=True)) == form


@pytest.mark.parametrize("name", IN_QUERY)
def test_an_unknown_branch_in_the_query_string_is_missing(name: str, client: httpx2.Client, graph: Graph) -> None:
    response = send(client, name, graph, params={"branch": "nowhere"})
    assert (response.status_code, problem(response)["code"]) == (404, "not_found")


@pytest.mark.parametrize("name", IN_BODY)
def test_an_unknown_branch_in_the_body_is_missing(name: str, client: httpx2.Client, graph: Graph) -> None:
    response = send(client, name, graph, json={"branch": "nowhere"})
    if response.status_code == 202:
        job = settled(client, response)
        assert (job["state"], job["error"]["code"]) == ("failed", "not_found")
    else:
        assert (response.status_code, problem(response)["code"]) == (404, "not_found")


@pytest.mark.parametrize("name", [*IN_QUERY, *IN_BODY])
def test_a_branch_without_a_name_is_refused(name: str, client: httpx2.Client, graph: Graph) -> None:
    place = {"params" if name in IN_QUERY else "json": {"branch": "  "}}
    response = send(client, name, graph, **place)
    assert (response.status_code, problem(response)["error"]) == (400, "branch must not be empty")


@pytest.mark.parametrize("name", [*(name for name in IN_QUERY if "load" not in name and name != "doctor"), *AT_COMMIT])
def test_a_branch_together_with_a_commit_is_refused_before_either_is_looked_up(
    name: str, client: httpx2.Client, graph: Graph
) -> None:
    place = "params" if name in IN_QUERY else "json"
    response = send(client, name, graph, **{place: {"branch": "nowhere", "snapshot": MISSING_COMMIT}})
    assert (response.status_code, problem(response)["error"]) == (400, "branch and snapshot exclude each other")


@pytest.mark.parametrize("name", AT_COMMIT)
@pytest.mark.parametrize("commit", [MISSING_COMMIT, "HEAD~1", "../../etc/passwd", "main", ""])
def test_a_commit_is_named_by_its_id_and_nothing_else(
    name: str, commit: str, client: httpx2.Client, graph: Graph
) -> None:
    body = {key: value for key, value in SAMPLES[name].options("main", graph)["json"].items() if key != "branch"}
    response = client.post(SAMPLES[name].path, json={**body, "snapshot": commit})
    assert response.status_code == 404, response.text
    assert problem(response)["code"] == "not_found"


@pytest.mark.parametrize("name", JSON_BODIES)
@pytest.mark.parametrize(
    ("content", "status"),
    [(b"{", 400), (b"[]", 400), (b"null", 400), (b"\xff\xfe", 400), (b"[" * 200, 400), (b'{"a":1,"a":2}', 400)],
    ids=["cut off", "array", "null", "no utf-8", "deep", "repeated"],
)
def test_a_body_that_is_no_object_is_refused_in_the_envelope(
    name: str, content: bytes, status: int, client: httpx2.Client, graph: Graph
) -> None:
    headers = {"content-type": "application/json"}
    response = send(client, name, graph, content=content, headers=headers)
    assert response.status_code == status
    assert problem(response)["code"] == "bad_request"


@pytest.mark.parametrize("name", JSON_BODIES)
def test_unknown_members_and_members_of_a_wrong_type_are_refused(
    name: str, client: httpx2.Client, graph: Graph
) -> None:
    unknown = send(client, name, graph, json={"nope": 1})
    assert (unknown.status_code, "unknown field `nope`" in problem(unknown)["error"]) == (400, True)
    for member in SAMPLES[name].options("main", graph)["json"]:
        wrong = send(client, name, graph, json={member: {"a": [1]}})
        assert wrong.status_code == 400, (member, wrong.text)
        assert problem(wrong)["code"] == "bad_request"


@pytest.mark.parametrize("name", JSON_BODIES)
def test_a_body_of_another_media_type_is_refused(name: str, client: httpx2.Client, graph: Graph) -> None:
    response = send(client, name, graph, content=b"{}", headers={"content-type": "text/plain"})
    assert (response.status_code, problem(response)["code"]) == (415, "bad_request")


@pytest.mark.parametrize("name", [name for name, route in ROUTES.items() if route.is_strict])
def test_unknown_and_repeated_parameters_are_refused(name: str, client: httpx2.Client, graph: Graph) -> None:
    response = send(client, name, graph, params={"nope": "1"})
    assert (response.status_code, "unknown field `nope`" in problem(response)["error"]) == (400, True)
    single = next((item.name for item in ROUTES[name].operation.parameters if item.where == "query"), None)
    if single is not None and SAMPLES[name].options("main", graph).get("params", {}).get(single):
        sample = SAMPLES[name]
        options = sample.options("main", graph)
        query = [*options.pop("params").items(), (single, "x")]
        twice = client.request(sample.method, sample.path, params=query, **options)
        assert (twice.status_code, "duplicate field" in problem(twice)["error"]) == (400, True)


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        (name, item.name)
        for name, route in ROUTES.items()
        for item in route.operation.parameters
        if route.is_strict and item.where == "query" and item.type in (int, bool)
    ],
)
def test_a_wrong_value_of_a_parameter_names_it(name: str, parameter: str, client: httpx2.Client, graph: Graph) -> None:
    options = SAMPLES[name].options("main", graph)
    response = send(client, name, graph, params={**options.get("params", {}), parameter: "some"})
    assert response.status_code == 400
    assert f"query string: {parameter}: " in problem(response)["error"]


@pytest.mark.parametrize("name", TAGGED)
def test_an_answer_that_the_caller_has_already_is_not_sent_again(
    name: str, client: httpx2.Client, graph: Graph
) -> None:
    first = send(client, name, graph)
    assert first.headers["cache-control"] == "private, no-cache"
    again = send(client, name, graph, headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    other = send(client, name, graph, headers={"if-none-match": f'"{MISSING_COMMIT}"'})
    assert (other.status_code, other.content) == (200, first.content)


def test_a_tag_is_the_commit_and_changes_with_it(client: httpx2.Client, graph: Graph, branch: str) -> None:
    for path in ("snapshot", "catalog"):
        first = client.get(f"{BASE}/{path}", params={"branch": branch})
        assert first.headers["etag"] == f'"{first.json()["graph_commit_id"]}"'
        graph.mutate('query q() { insert Note {text: "t"} }', branch=branch)
        again = client.get(
            f"{BASE}/{path}", params={"branch": branch}, headers={"if-none-match": first.headers["etag"]}
        )
        assert (again.status_code, again.headers["etag"] != first.headers["etag"]) == (200, True)
    schema = client.get(f"{BASE}/schema")
    assert schema.headers["etag"] == f'"{graph.snapshot().commit_id}"'
    assert client.get(f"{BASE}/schema", headers={"if-none-match": schema.headers["etag"]}).status_code == 304


def test_answers_at_a_commit_are_immutable_and_those_at_a_branch_are_not(client: httpx2.Client, graph: Graph) -> None:
    commit = graph.snapshot().commit_id
    for path in ("catalog", "entities/node/Person/ann", "sample"):
        at_commit = client.get(f"{BASE}/{path}", params={"snapshot": commit})
        assert "immutable" in at_commit.headers["cache-control"]
    for ends, is_fixed in (((commit, commit), True), ((commit, "main"), False), (("main", commit), False)):
        diff = client.get(f"{BASE}/diff", params=dict(zip(("from", "to"), ends, strict=True)))
        assert ("immutable" in diff.headers["cache-control"]) is is_fixed
