"""Operations that read: bodies, headers and statuses as clients of Omnigraph 0.10 know them."""

import json
from typing import Any

import httpx2
import pytest

import omnigraph
from omnigraph import Graph
from omnigraph.wire.http.models.branches import BranchListOutput
from omnigraph.wire.http.models.commits import CommitListOutput, CommitOutput
from omnigraph.wire.http.models.errors import ErrorOutput
from omnigraph.wire.http.models.graphs import HealthOutput, SchemaOutput, SnapshotOutput
from omnigraph.wire.http.models.queries import LegacyReadOutput, QueriesCatalogOutput, ReadOutput
from tests.features.server.live import BASE, READ_ALL

NAMES = ["ann", "bo", "cy"]


def query(client: httpx2.Client, text: str = READ_ALL, **body: Any) -> httpx2.Response:
    return client.post(f"{BASE}/query", json={"query": text, **body})


def problem(response: httpx2.Response, status: int) -> str:
    """The text of an error in the envelope."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    return ErrorOutput.model_validate_json(response.content, extra="forbid").error


def test_health_names_the_version_without_a_token(client: httpx2.Client) -> None:
    response = client.get("/healthz")
    form = HealthOutput.model_validate_json(response.content, extra="forbid")
    assert (form.status, form.version) == ("ok", omnigraph.__version__)
    assert "source_version" not in response.json()


def test_an_open_server_does_not_list_its_graphs(client: httpx2.Client) -> None:
    assert "graph_list" in problem(client.get("/graphs"), 403)


def test_a_query_answers_with_its_rows_its_target_and_its_commit(client: httpx2.Client, graph: Graph) -> None:
    response = query(client)
    assert response.headers["content-type"] == "application/json"
    form = response.json()
    ReadOutput.model_validate(form, extra="forbid")
    assert form["target"] == {"branch": "main", "snapshot": None}
    assert (form["query_name"], form["row_count"], form["columns"]) == ("everyone", 3, ["p.name", "p.age"])
    assert [row["p.name"] for row in form["rows"]] == NAMES
    assert form["graph_commit_id"] == graph.snapshot().commit_id


def test_a_branch_or_a_commit_is_read_and_echoed(client: httpx2.Client, graph: Graph) -> None:
    form = query(client, branch="dev").json()
    assert (form["target"], form["row_count"]) == ({"branch": "dev", "snapshot": None}, 4)
    first = graph.commit("main~1").id
    form = query(client, snapshot=first).json()
    assert (form["target"], form["row_count"]) == ({"branch": None, "snapshot": first}, 0)


def test_the_route_of_earlier_releases_has_no_commit_and_names_its_successor(client: httpx2.Client) -> None:
    response = client.post(f"{BASE}/read", json={"query_source": READ_ALL, "query_name": "everyone"})
    LegacyReadOutput.model_validate_json(response.content, extra="forbid")
    assert (response.headers["deprecation"], response.headers["link"]) == ("true", '<query>; rel="successor-version"')


def test_parameters_are_bound_and_undeclared_ones_are_ignored(client: httpx2.Client) -> None:
    text = "query q($n: String, $a: I64?) { match { $p: Person {name: $n} } return { $p.age as age } }"
    form = query(client, text, params={"n": "bo", "a": "9007199254740993", "other": [1]}).json()
    assert form["rows"] == [{"age": 27}]
    assert query(client, text, params=None, name="q").status_code == 400


def test_a_query_without_rows_has_its_columns(client: httpx2.Client) -> None:
    form = query(client, 'query q() { match { $p: Person {name: "nobody"} } return { $p.name } }').json()
    assert (form["row_count"], form["rows"], form["columns"]) == (0, [], ["p.name"])


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        ({"query": "query q() {"}, 400, "error"),
        ({"query": "query q() { match { $p: Persn } return { $p } }"}, 400, "T1"),
        ({"query": READ_ALL, "name": "other"}, 400, "other"),
        ({"query": READ_ALL + READ_ALL.replace("everyone", "b")}, 400, "one is needed"),
        ({"query": ""}, 400, "queries"),
        ({"query": READ_ALL, "branch": "nope"}, 404, "nope"),
        ({"query": READ_ALL, "branch": " "}, 400, "must not be empty"),
        ({"query": READ_ALL, "snapshot": "nope"}, 404, "nope"),
        ({"query": READ_ALL, "snapshot": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}, 404, "01ARZ"),
        ({"query": READ_ALL, "snapshot": "main"}, 404, "main"),
        ({"query": READ_ALL, "branch": "main", "snapshot": "x"}, 400, "exclude"),
        ({"query": READ_ALL, "params": [1]}, 400, "object"),
        ({"query": 'query q() { insert Note {text: "t"} }'}, 400, "POST /mutate"),
        ({"query": "query q($n: I32) { match { $p: Person {age: $n} } return { $p } }"}, 400, "'n' not provided"),
    ],
)
def test_what_a_query_gets_wrong_is_told_in_the_envelope(
    client: httpx2.Client, body: dict[str, Any], status: int, text: str
) -> None:
    response = client.post(f"{BASE}/query", json=body)
    assert text in problem(response, status)


def test_a_compile_error_has_its_diagnostics_with_places(client: httpx2.Client) -> None:
    form = query(client, "query q() {\n  match { $p: Persn }\n  return { $p } }").json()
    [found] = form["problem"]["diagnostics"]
    assert (found["code"], found["line"], found["column"]) == ("T1", 2, 15)
    assert (form["code"], form["problem"]["code"]) == ("bad_request", "compile_error")


def test_a_query_that_takes_too_long_is_stopped(graph: Graph) -> None:
    from tests.features.server.live import running, serving_of

    with running(serving_of(graph, query_seconds=1e-9)) as live, live.client() as client:
        form = query(client).json()
        assert form["resource_limit"]["resource"] == "query_time_ms"


def test_the_snapshot_lists_tables_edges_first(client: httpx2.Client) -> None:
    form = client.get(f"{BASE}/snapshot", params={"branch": "dev"}).json()
    SnapshotOutput.model_validate(form, extra="forbid")
    assert [item["type_name"] for item in form["datasets"]] == ["Knows", "Note", "Person"]
    assert [item["entity_count"] for item in form["datasets"]] == [2, 0, 4]
    assert form["graph_branch"] == "dev"


def test_the_schema_is_the_text_as_it_was_written(client: httpx2.Client, graph: Graph) -> None:
    form = client.get(f"{BASE}/schema").json()
    SchemaOutput.model_validate(form, extra="forbid")
    assert form == {"schema_source": graph.schema_text()}


def test_branches_are_sorted_by_code_point(client: httpx2.Client) -> None:
    for name in ("Zeta", "alpha"):
        client.post(f"{BASE}/branches", json={"name": name})
    form = client.get(f"{BASE}/branches").json()
    BranchListOutput.model_validate(form, extra="forbid")
    assert form["branches"] == sorted(form["branches"])
    assert {"Zeta", "alpha", "dev", "main"} <= set(form["branches"])
    for name in ("Zeta", "alpha"):
        client.delete(f"{BASE}/branches/{name}")


def test_commits_are_listed_newest_first_and_found_by_id(client: httpx2.Client, graph: Graph) -> None:
    form = client.get(f"{BASE}/commits", params={"branch": "dev"}).json()
    CommitListOutput.model_validate(form, extra="forbid")
    ids = [item["graph_commit_id"] for item in form["commits"]]
    assert ids == [commit.id for commit in graph.commits("dev")]
    assert [item["graph_branch"] for item in form["commits"]] == ["dev", None, None]
    loaded = form["commits"][1]
    assert (loaded["actor_id"], loaded["message"], loaded["parent_commit_id"]) == ("loader", "the first people", ids[2])
    shown = client.get(f"{BASE}/commits/{ids[0]}").json()
    CommitOutput.model_validate(shown, extra="forbid")
    assert shown == form["commits"][0]


@pytest.mark.parametrize("commit", ["nope", "main", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "main~1", "%2e%2e"])
def test_a_commit_that_does_not_exist_is_not_found(client: httpx2.Client, commit: str) -> None:
    assert "not found" in problem(client.get(f"{BASE}/commits/{commit}"), 404)


def test_stored_queries_are_listed_with_their_parameters(client: httpx2.Client) -> None:
    form = client.get(f"{BASE}/queries").json()
    QueriesCatalogOutput.model_validate(form, extra="forbid")
    assert [item["name"] for item in form["queries"]] == ["add", "by_name", "everyone"]
    add, by_name, everyone = form["queries"]
    assert (add["mutation"], add["params"][1]) == (True, {"name": "age", "kind": "int", "nullable": True})
    assert (by_name["description"], by_name["instruction"]) == ("One person.", "Use it.")
    assert "description" not in everyone


def test_an_export_is_json_lines_that_a_load_reads(client: httpx2.Client, graph: Graph) -> None:
    response = client.post(f"{BASE}/export", json={"branch": " dev "})
    assert response.headers["content-type"] == "application/x-ndjson; charset=utf-8"
    assert response.content == b"".join(graph.export("dev"))
    some = client.post(f"{BASE}/export", json={"branch": "dev", "type_names": ["Knows"]})
    assert [json.loads(line)["edge"] for line in some.text.splitlines()] == ["Knows", "Knows"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"branch": "nope"}, 404),
        ({"branch": "  "}, 400),
        ({"type_names": ["Nothing"]}, 404),
        ({"table_keys": ["node:Person"]}, 400),
        ({"type_names": None}, 400),
        ([], 400),
    ],
)
def test_an_export_answers_everything_in_the_envelope(client: httpx2.Client, body: Any, status: int) -> None:
    problem(client.post(f"{BASE}/export", json=body), status)


def test_a_wrong_media_type_of_an_export_is_in_the_envelope(client: httpx2.Client) -> None:
    problem(client.post(f"{BASE}/export", content=b"{}"), 415)
    problem(client.post(f"{BASE}/export", content=b"{", headers={"content-type": "application/json"}), 400)
    large = b'{"branch":"' + b"x" * 1_048_576 + b'"}'
    problem(client.post(f"{BASE}/export", content=large, headers={"content-type": "application/json"}), 413)


@pytest.mark.parametrize("path", ["/healthz", f"{BASE}/schema", f"{BASE}/branches", "/openapi.json"])
def test_head_is_get_without_its_body(client: httpx2.Client, path: str) -> None:
    got, headed = client.get(path), client.head(path)
    assert (headed.status_code, headed.content) == (got.status_code, b"")
    assert headed.headers["content-length"] == got.headers["content-length"]


def test_no_header_tells_about_the_server(client: httpx2.Client) -> None:
    assert set(client.get("/healthz").headers) == {"date", "content-type", "content-length"}
