"""Operations that write: one request is one commit, and its answer says what was changed."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnigraph import Graph
from omnigraph.wire.http.models.branches import BranchCreateOutput, BranchDeleteOutput, BranchMergeOutput
from omnigraph.wire.http.models.graphs import SchemaApplyOutput
from omnigraph.wire.http.models.loads import GraphBatchLoadOutput, IngestOutput
from omnigraph.wire.http.models.mutations import ChangeOutput
from omnigraph.wire.http.models.queries import ReadOutput
from tests.features.server.live import BASE, READ_ALL
from tests.features.server.test_reads import problem

ADD = "query add($name: String, $age: I32?) { insert Person {name: $name, age: $age} }"
NDJSON = {"content-type": "application/x-ndjson"}
CONDITION = "omnigraph-if-graph-commit"


def people(client: httpx2.Client, branch: str) -> list[str]:
    form = client.post(f"{BASE}/query", json={"query": READ_ALL, "branch": branch}).json()
    return [row["p.name"] for row in form["rows"]]


def head(graph: Graph, branch: str) -> str:
    return graph.snapshot(branch).commit_id


@pytest.mark.parametrize("route", ["mutate", "change"])
@pytest.mark.parametrize("names", [("query", "name"), ("query_source", "query_name")])
def test_a_mutation_is_one_commit(client: httpx2.Client, branch: str, route: str, names: tuple[str, str]) -> None:
    body = {names[0]: ADD, names[1]: "add", "params": {"name": "eve", "age": 3, "extra": 1}, "branch": branch}
    response = client.post(f"{BASE}/{route}", json=body)
    form = response.json()
    ChangeOutput.model_validate(form, extra="forbid")
    assert (form["branch"], form["query_name"]) == (branch, "add")
    assert (form["affected_nodes"], form["affected_edges"], form["actor_id"]) == (1, 0, None)
    assert form["commit"]["graph_branch"] == branch
    assert response.headers.get("deprecation") == ("true" if route == "change" else None)
    assert "eve" in people(client, branch)


def test_a_mutation_that_matches_nothing_makes_no_commit(client: httpx2.Client, branch: str) -> None:
    body = {"query": 'query q() { delete Person where name = "nobody" }', "branch": branch}
    form = client.post(f"{BASE}/mutate", json=body).json()
    assert (form["commit"], form["affected_nodes"]) == (None, 0)


def test_a_text_and_its_earlier_name_are_one_field(client: httpx2.Client) -> None:
    response = client.post(f"{BASE}/mutate", json={"query": ADD, "query_source": ADD})
    assert (response.status_code, response.headers["content-type"]) == (422, "text/plain; charset=utf-8")


def test_a_conditional_mutation_runs_on_the_expected_head_only(
    client: httpx2.Client, graph: Graph, branch: str
) -> None:
    expected = head(graph, branch)
    body = {"query": ADD, "params": {"name": "eve"}, "branch": branch}
    url = f"{BASE}/mutate/if-graph-commit"
    assert client.post(url, json=body, headers={CONDITION: expected}).status_code == 200
    response = client.post(url, json=body, headers={CONDITION: expected})
    problem(response, 412)
    form = response.json()
    assert "code" not in form
    assert form["precondition_failure"] == {"expected": expected, "actual": head(graph, branch)}


@pytest.mark.parametrize("value", ["", "*", '"01A"', 'W/"01A"', "01A,01B", "01A 01B"])
def test_a_condition_is_one_raw_id(client: httpx2.Client, value: str) -> None:
    problem(client.post(f"{BASE}/mutate/if-graph-commit", json={"query": ADD}, headers={CONDITION: value}), 400)
    problem(client.post(f"{BASE}/queries/add/if-graph-commit", headers={CONDITION: value}), 400)


def test_a_condition_must_be_given_once_and_only_where_it_counts(client: httpx2.Client) -> None:
    url = f"{BASE}/mutate/if-graph-commit"
    problem(client.post(url, json={"query": ADD}), 400)
    problem(client.post(url, json={"query": ADD}, headers=[(CONDITION, "01A"), (CONDITION, "01A")]), 400)
    for route in ("mutate", "change"):
        text = problem(client.post(f"{BASE}/{route}", json={"query": ADD}, headers={CONDITION: "01A"}), 400)
        assert "/mutate/if-graph-commit" in text
    text = problem(client.post(f"{BASE}/queries/add", headers={CONDITION: "01A"}), 400)
    assert "/queries/{name}/if-graph-commit" in text


def test_an_unknown_query_or_a_read_is_no_mutation(client: httpx2.Client) -> None:
    problem(client.post(f"{BASE}/mutate", json={"query": READ_ALL}), 400)
    problem(client.post(f"{BASE}/mutate", json={"query": ADD, "name": "other"}), 400)
    problem(client.post(f"{BASE}/mutate", json={"query": ADD, "params": {"name": "x"}, "branch": "nope"}), 404)


def test_stored_queries_read_and_write(client: httpx2.Client, branch: str) -> None:
    form = client.post(f"{BASE}/queries/by_name", json={"params": {"name": "bo"}}).json()
    ReadOutput.model_validate(form, extra="forbid")
    assert form["rows"] == [{"p.name": "bo", "p.age": 27}]
    form = client.post(f"{BASE}/queries/add", json={"params": {"name": "eve"}, "branch": branch}).json()
    ChangeOutput.model_validate(form, extra="forbid")
    assert "eve" in people(client, branch)


@pytest.mark.parametrize("content", [b"", b"null", b"{}", b" \n "])
def test_the_body_of_a_stored_query_may_be_missing(client: httpx2.Client, content: bytes) -> None:
    assert client.post(f"{BASE}/queries/everyone", content=content).json()["row_count"] == 3


@pytest.mark.parametrize(
    ("name", "body", "status"),
    [
        ("nope", b"", 404),
        ("everyone", b"[1]", 400),
        ("everyone", b"{", 400),
        ("everyone", b'{"branch":5}', 400),
        ("everyone", b'{"expect_mutation":true}', 400),
        ("add", b'{"expect_mutation":false}', 400),
        ("add", b'{"snapshot":"01A"}', 400),
        ("everyone", b'{"branch":"main","snapshot":"01A"}', 400),
        ("by_name", b"", 400),
    ],
)
def test_mistakes_with_stored_queries_are_in_the_envelope(
    client: httpx2.Client, name: str, body: bytes, status: int
) -> None:
    problem(client.post(f"{BASE}/queries/{name}", content=body), status)


def test_a_conditional_stored_query_must_be_a_mutation(client: httpx2.Client, graph: Graph, branch: str) -> None:
    url = f"{BASE}/queries/{{}}/if-graph-commit"
    headers = {CONDITION: head(graph, branch)}
    problem(client.post(url.format("everyone"), headers=headers), 400)
    body = {"params": {"name": "eve"}, "branch": branch}
    assert client.post(url.format("add"), json=body, headers=headers).status_code == 200
    problem(client.post(url.format("add"), json=body, headers=headers), 412)


@pytest.mark.parametrize("route", ["load", "ingest"])
def test_a_load_takes_json_leniently(client: httpx2.Client, branch: str, route: str) -> None:
    data = '// two\n{"type":"Person","data":{"name":"eve","age":"?","x":1}}{"edge":"Knows","from":"eve","to":"ann"}'
    form = client.post(f"{BASE}/{route}", json={"data": data, "branch": branch}).json()
    IngestOutput.model_validate(form, extra="forbid")
    assert (form["mode"], form["branch_created"], form["base_branch"]) == ("merge", False, None)
    assert form["nodes"] == [{"name": "Person", "entities_loaded": 1}]
    assert (form["total_entities"], form["commit"]["graph_branch"]) == (2, branch)


def test_a_load_creates_a_missing_branch_from_another_one(client: httpx2.Client) -> None:
    body: dict[str, Any] = {"data": "", "branch": "made", "from": "dev"}
    form = client.post(f"{BASE}/load", json=body).json()
    assert (form["branch_created"], form["base_branch"], form["total_entities"]) == (True, "dev", 0)
    assert form["commit"] is not None, "a load is a commit, also an empty one"
    assert "dee" in people(client, "made")
    assert not client.post(f"{BASE}/load", json=body).json()["branch_created"]
    client.delete(f"{BASE}/branches/made")


def test_a_load_into_a_missing_branch_is_not_found_and_creates_nothing(client: httpx2.Client) -> None:
    assert "'gone' not found" in problem(client.post(f"{BASE}/load", json={"data": "", "branch": "gone"}), 404)
    problem(client.post(f"{BASE}/load/ndjson", params={"branch": "gone"}, headers=NDJSON), 404)
    assert "gone" not in client.get(f"{BASE}/branches").json()["branches"]


def test_json_lines_are_read_strictly(client: httpx2.Client, branch: str) -> None:
    url = f"{BASE}/load/ndjson"
    lines = b'{"type":"Person","data":{"name":"eve"}}\r\n\n{"edge":"Knows","from":"eve","to":"ann"}'
    form = client.post(url, params={"branch": branch, "mode": "append"}, content=lines, headers=NDJSON).json()
    GraphBatchLoadOutput.model_validate(form, extra="forbid")
    assert (form["mode"], form["total_entities"]) == ("append", 2)
    assert "uri" not in form
    for wrong in (b'{"type":"Person","data":{"name":"x","x":1}}', b"// no", b'{"type":"Person","type":"Person"}'):
        text = problem(client.post(url, params={"branch": branch}, content=wrong, headers=NDJSON), 400)
        assert text.startswith("line 1: "), text
    for wrong, reason in ((b"// no", "at column 1"), (b"BZh", "at column 2"), (b"\xef\xbb\xbf{}", "at column 2")):
        response = client.post(url, params={"branch": branch}, content=wrong, headers=NDJSON)
        assert reason in problem(response, 400)
        assert response.json()["problem"]["hint"] == 'a line is like {"type": "Person", "data": {...}}'


def test_an_append_of_an_existing_id_is_a_key_conflict(client: httpx2.Client, branch: str) -> None:
    line = b'{"type":"Person","data":{"name":"ann"}}'
    response = client.post(
        f"{BASE}/load/ndjson", params={"branch": branch, "mode": "append"}, content=line, headers=NDJSON
    )
    problem(response, 409)
    assert response.json()["key_conflict"] == {"entity_kind": "node", "type_name": "Person", "entity_id": "ann"}


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (b"{}", {"content-type": "application/json"}, 415),
        (b"{}", {}, 415),
        (b"\xff", NDJSON, 400),
        (b"x" * (32 * 1024 * 1024 + 1), NDJSON, 413),
    ],
)
def test_rejections_of_json_lines_are_in_the_envelope(
    client: httpx2.Client, content: bytes, headers: dict[str, str], status: int
) -> None:
    response = client.post(f"{BASE}/load/ndjson", content=content, headers=headers)
    problem(response, status)
    assert status != 413 or response.json()["resource_limit"]["resource"] == "graph_batch_request_bytes"


def test_a_compressed_body_is_not_taken_for_a_file(client: httpx2.Client, branch: str) -> None:
    body = {"data": "BZh91AY&SY", "branch": branch}
    assert "not JSON" in problem(client.post(f"{BASE}/load", json=body), 400)


def test_branches_are_created_deleted_and_merged(client: httpx2.Client, graph: Graph) -> None:
    made = client.post(f"{BASE}/branches", json={"name": " a/b ", "from": "dev"}).json()
    BranchCreateOutput.model_validate(made, extra="forbid")
    assert (made["from"], made["name"], made["actor_id"]) == ("dev", "a/b", None)
    problem(client.post(f"{BASE}/branches", json={"name": "a/b"}), 409)
    problem(client.post(f"{BASE}/branches", json={"name": "no spaces"}), 400)
    problem(client.post(f"{BASE}/branches", json={"name": "c", "from": "nope"}), 404)
    gone = client.delete(f"{BASE}/branches/a%2Fb").json()
    BranchDeleteOutput.model_validate(gone, extra="forbid")
    assert gone["name"] == "a/b"
    problem(client.delete(f"{BASE}/branches/a%2Fb"), 404)
    assert client.delete(f"{BASE}/branches/a/b").status_code == 404
    problem(client.delete(f"{BASE}/branches/main"), 400)


def test_a_merge_says_how_it_ended_and_may_delete_its_source(client: httpx2.Client, branch: str) -> None:
    client.post(f"{BASE}/branches", json={"name": "target", "from": branch})
    client.post(f"{BASE}/mutate", json={"query": ADD, "params": {"name": "eve"}, "branch": branch})
    body: dict[str, Any] = {"source": branch, "target": "target"}
    form = client.post(f"{BASE}/branches/merge", json=body).json()
    BranchMergeOutput.model_validate(form, extra="forbid")
    assert form["outcome"] == "fast_forward"
    assert "branch_deleted" not in form
    form = client.post(f"{BASE}/branches/merge", json={**body, "delete_branch": True}).json()
    assert (form["outcome"], form["branch_deleted"]) == ("already_up_to_date", True)
    problem(client.post(f"{BASE}/branches/merge", json=body), 404)
    problem(client.post(f"{BASE}/branches/merge", json={"source": "target", "target": "target"}), 400)
    client.delete(f"{BASE}/branches/target")


def test_a_merge_into_its_own_parent_that_cannot_be_deleted_is_still_a_merge(client: httpx2.Client) -> None:
    client.post(f"{BASE}/branches", json={"name": "other"})
    form = client.post(
        f"{BASE}/branches/merge", json={"source": "main", "target": "other", "delete_branch": True}
    ).json()
    assert (form["branch_deleted"], "main" in form["branch_delete_error"]) == (False, True)
    client.delete(f"{BASE}/branches/other")


def test_conflicts_of_a_merge_are_all_listed(client: httpx2.Client, branch: str) -> None:
    client.post(f"{BASE}/branches", json={"name": "theirs", "from": branch})
    update = 'query q($age: I32) { update Person set {age: $age} where name = "ann" }'
    for name, age in ((branch, 1), ("theirs", 2)):
        client.post(f"{BASE}/mutate", json={"query": update, "params": {"age": age}, "branch": name})
    response = client.post(f"{BASE}/branches/merge", json={"source": "theirs", "target": branch})
    assert "node type 'Person', entity id 'ann' (divergent_update)" in problem(response, 409)
    [conflict] = response.json()["merge_conflicts"]
    assert (conflict["kind"], conflict["property"], conflict["base"], conflict["source"]) == (
        *("divergent_update", "age", 31, 2),
    )
    client.delete(f"{BASE}/branches/theirs")


def test_violations_are_counted_and_sampled(client: httpx2.Client, branch: str) -> None:
    body = {"data": '{"edge":"Knows","from":"ann","to":"nobody"}', "branch": branch}
    form = client.post(f"{BASE}/load", json=body).json()
    assert (form["code"], form["problem"]["code"]) == ("bad_request", "violation")
    assert form["problem"]["violations"]["total"] == 1
    assert form["error"].startswith("record 1: ")
    assert "nobody" in json.dumps(form["problem"]["violations"]["samples"])


def test_a_repeated_write_with_one_key_is_made_once(client: httpx2.Client, branch: str, graph: Graph) -> None:
    body = {"query": ADD, "params": {"name": "eve"}, "branch": branch}
    headers = {
        "idempotency-key": "k1",
        "omnigraph-message": "caf%C3%A9%0A%09why",
        "omnigraph-provenance-run": "r7",
        "omnigraph-provenance-%4a%6Fb-%c3%9c": "%0A",
        "omnigraph-provenance-": "ignored",
        "x-actor-id": "mallory",
    }
    first, second = (client.post(f"{BASE}/mutate", json=body, headers=headers).json() for _ in range(2))
    assert first["commit"] == second["commit"]
    commit = first["commit"]
    assert (commit["message"], commit["provenance"], commit["actor_id"]) == (
        "café\n\twhy",
        {"run": "r7", "Job-Ü": "\n"},
        None,
    )
    assert commit["idempotency_key"] == "anonymous:k1"
    for name, value in (("idempotency-key", ""), ("omnigraph-message", "%ff"), ("omnigraph-message", "a%1Bb")):
        problem(client.post(f"{BASE}/mutate", json=body, headers={name: value}), 400)


def test_a_schema_is_applied_unless_a_stored_query_needs_the_old_one(client: httpx2.Client, graph: Graph) -> None:
    text = graph.schema_text()
    url = f"{BASE}/schema/apply"
    form = client.post(url, json={"schema_source": text + "\nnode Extra { a: String }"}).json()
    SchemaApplyOutput.model_validate(form, extra="forbid")
    assert (form["applied"], form["supported"], form["step_count"]) == (True, True, 1)
    assert form["steps"][0]["kind"] == "add_type"
    again = client.post(url, json={"schema_source": text + "\nnode Extra { a: String }"}).json()
    assert (again["applied"], again["steps"], again["commit"]) == (False, [], None)
    head_before = head(graph, "main")
    problem(client.post(url, json={"schema_source": text.replace("  age: I32?\n", "")}), 400)
    assert head(graph, "main") == head_before
    problem(client.post(url, json={"schema_source": "node {"}), 400)
    assert client.post(url, json={"schema_source": text}).json()["applied"], "the type is dropped again"


def test_a_request_names_no_new_table_outside_the_graph(client: httpx2.Client, graph: Graph, tmp_path: Path) -> None:
    pq.write_table(pa.table({"no": [1], "total": [2.5]}), tmp_path / "orders.parquet")
    before, url = graph.schema_text(), f"{BASE}/schema/apply"
    text = f'{before}\nnode Order @external("{tmp_path}/orders.parquet") {{ no: I64 @key }}'
    answer = problem(client.post(url, json={"schema_source": text}), 400)
    assert "takes no address of a table" in answer
    graph.apply_schema(text)
    form = client.post(url, json={"schema_source": text.replace("no: I64 @key", "no: I64 @key total: F64?")}).json()
    assert form["applied"], "the table is known"
    problem(client.post(url, json={"schema_source": text.replace("orders.parquet", "*.parquet")}), 400)
    assert client.post(url, json={"schema_source": before, "allow_data_loss": True}).json()["applied"]


def test_a_mutation_answers_with_the_rows_that_it_returns(client: httpx2.Client, branch: str) -> None:
    text = (
        "query q($rows: [{ name: String, age: I32? }]) "
        "{ for $r in $rows { upsert Person { name: $r.name, age: $r.age } returning { name, age } } }"
    )
    rows = [{"name": "flo", "age": 4}, {"name": "gus", "age": None}]
    form = client.post(f"{BASE}/mutate", json={"query": text, "params": {"rows": rows}, "branch": branch}).json()
    ChangeOutput.model_validate(form, extra="forbid")
    assert (form["columns"], form["rows"]) == (["name", "age"], rows)
    assert (
        "rows"
        not in client.post(
            f"{BASE}/mutate", json={"query": ADD, "params": {"name": "hal", "age": 1}, "branch": branch}
        ).json()
    )
