"""Arrow over HTTP: answers as streams, and loads of streams, also of streams that lie."""

import random
from typing import Any

import httpx2
import pyarrow as pa
import pytest

from omnigraph import Graph
from tests.features.server.live import BASE, READ_ALL
from tests.features.server.requests import ARROW, arrow_stream

ACCEPT = {"accept": ARROW}
PEOPLE = pa.table({"name": ["dan", "eli"], "age": pa.array([4, None], pa.int32())})


def load(
    client: httpx2.Client, content: bytes, headers: dict[str, str] | None = None, **params: Any
) -> httpx2.Response:
    sent = {"content-type": ARROW, **(headers or {})}
    return client.post(f"{BASE}/load/arrow", content=content, params={"type": "Person", **params}, headers=sent)


def read(response: httpx2.Response) -> pa.Table:
    assert (response.status_code, response.headers["content-type"]) == (200, ARROW), response.text
    return pa.ipc.open_stream(response.content).read_all()


class TestAnswers:
    def test_a_query_as_arrow_has_the_rows_and_the_commit(self, client: httpx2.Client, graph: Graph) -> None:
        response = client.post(f"{BASE}/query", json={"query": READ_ALL}, headers=ACCEPT)
        assert read(response).to_pylist() == [
            {"p.name": "ann", "p.age": 31},
            {"p.name": "bo", "p.age": 27},
            {"p.name": "cy", "p.age": None},
        ]
        assert response.headers["omnigraph-snapshot-id"] == graph.snapshot().commit_id

    def test_stored_reads_and_sql_answer_as_arrow_too(self, client: httpx2.Client) -> None:
        stored = read(client.post(f"{BASE}/queries/everyone", headers=ACCEPT))
        assert stored.num_rows == 3
        counted = read(client.post(f"{BASE}/sql", json={"sql": "select count(*) n from Person"}, headers=ACCEPT))
        assert counted.to_pylist() == [{"n": 3}]

    def test_an_export_as_arrow_holds_one_type_with_its_blobs(self, client: httpx2.Client) -> None:
        rows = read(client.post(f"{BASE}/export", json={"type_names": ["Person"]}, headers=ACCEPT)).to_pylist()
        assert {row["id"]: len(row["photo"] or b"") for row in rows} == {"ann": 1024, "bo": 0, "cy": 0}
        edges = read(client.post(f"{BASE}/export", json={"type_names": ["edge:Knows"]}, headers=ACCEPT))
        assert edges.column_names == ["id", "src", "dst", "since", "weight"]
        for types in ([], ["Person", "Knows"]):
            assert client.post(f"{BASE}/export", json={"type_names": types}, headers=ACCEPT).status_code == 400
        assert client.post(f"{BASE}/export", json={"type_names": ["Nope"]}, headers=ACCEPT).status_code == 404

    def test_a_mutation_answers_as_json_whatever_is_accepted(self, client: httpx2.Client, branch: str) -> None:
        body = {"params": {"name": "fay"}, "branch": branch}
        response = client.post(f"{BASE}/queries/add", json=body, headers=ACCEPT)
        assert response.json()["affected_nodes"] == 1

    @pytest.mark.parametrize(
        ("accept", "is_arrow"),
        [
            (f"application/json, {ARROW};q=0.5", True),
            (f"{ARROW.upper()}", True),
            (f"{ARROW};q=0", False),
            (f"{ARROW};q=0.000", False),
            ("*/*", False),
            ("application/json", False),
            ("", False),
        ],
    )
    def test_arrow_is_sent_only_to_callers_that_name_it(
        self, accept: str, is_arrow: bool, client: httpx2.Client
    ) -> None:
        response = client.post(f"{BASE}/query", json={"query": READ_ALL}, headers={"accept": accept})
        assert (response.headers["content-type"] == ARROW) is is_arrow


class TestLoads:
    def test_a_stream_is_loaded_as_one_commit(self, client: httpx2.Client, graph: Graph, branch: str) -> None:
        headers = {"omnigraph-message": "two%20people"}
        form = load(client, arrow_stream(PEOPLE), headers, branch=branch).json()
        assert (form["inserted"], form["commit"]["message"]) == (2, "two people")
        assert graph.nodes("Person", branch=branch).where(name="dan").first()["age"] == 4  # type: ignore[index]

    def test_an_answer_can_be_loaded_again(self, client: httpx2.Client, graph: Graph, branch: str) -> None:
        exported = client.post(f"{BASE}/export", json={"type_names": ["Person"]}, headers=ACCEPT).content
        form = load(client, exported, branch=branch).json()
        assert (form["unchanged"], form["inserted"], form["updated"]) == (3, 0, 0)

    def test_columns_are_mapped_ignored_and_given_constants(
        self, client: httpx2.Client, graph: Graph, branch: str
    ) -> None:
        table = pa.table({"full": ["gus"], "junk": [1]})
        params = {"map": "name=full", "ignore": "junk", "constant": ["age=9", 'tags=["x"]']}
        assert load(client, arrow_stream(table), branch=branch, **params).status_code == 200
        row = graph.nodes("Person", branch=branch).where(name="gus").first()
        assert row is not None
        assert (row["age"], row["tags"]) == (9, ["x"])

    def test_a_missing_branch_is_created_and_a_mode_is_obeyed(
        self, client: httpx2.Client, graph: Graph, branch: str
    ) -> None:
        made = load(client, arrow_stream(PEOPLE), branch=f"{branch}-new", **{"from": branch}).json()
        assert (made["branch_created"], made["base_branch"]) == (True, branch)
        ann = arrow_stream(pa.table({"name": ["ann"], "age": pa.array([1], pa.int32())}))
        assert load(client, ann, branch=branch, mode="append").status_code == 409
        assert load(client, ann, branch=branch, mode="upsert").json()["updated"] == 1

    def test_a_repeated_load_with_its_key_is_the_first_one(self, client: httpx2.Client, branch: str) -> None:
        key = {"idempotency-key": f"load-{branch}"}
        first, again = (load(client, arrow_stream(PEOPLE), key, branch=branch).json() for _ in range(2))
        assert first["commit"] == again["commit"]

    @pytest.mark.parametrize(
        ("params", "status"),
        [
            ({"type": "Nope"}, 404),
            ({"branch": "nope"}, 404),
            ({"mode": "replace"}, 400),
            ({"map": "name"}, 400),
            ({"map": "=x"}, 400),
            ({"map": "nmae=name"}, 400),
            ({"constant": "age=old"}, 400),
            ({"constant": "nope=1"}, 400),
            ({"constant": 'age="old"'}, 400),
            ({"reject_to": "/tmp/x"}, 400),
            ({"format": "csv"}, 400),
            ({"engine": "spark"}, 400),
        ],
    )
    def test_a_wrong_load_is_refused_and_changes_nothing(
        self, params: dict[str, Any], status: int, client: httpx2.Client, graph: Graph
    ) -> None:
        before = graph.snapshot().commit_id
        response = load(client, arrow_stream(PEOPLE), **params)
        assert (response.status_code, "problem" in response.json()) == (status, True), response.text
        assert graph.snapshot().commit_id == before

    def test_rows_that_break_a_constraint_are_located(self, client: httpx2.Client) -> None:
        table = pa.table({"name": ["ok", None], "age": pa.array([1, 2], pa.int32())})
        response = load(client, arrow_stream(table))
        assert response.status_code == 400
        assert "/tmp" not in response.text

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"not arrow at all, but long enough to look like something",
            arrow_stream(PEOPLE)[:200],
            arrow_stream(PEOPLE, compression="zstd"),
            arrow_stream(PEOPLE, compression="lz4"),
            arrow_stream(pa.table({"name": pa.array(["a"]).dictionary_encode()})),
            arrow_stream(pa.table({"name": pa.nulls(1_000_000_000)})),
        ],
        ids=["empty", "text", "cut off", "zstd", "lz4", "dictionary", "rows without bytes"],
    )
    def test_a_stream_that_cannot_be_trusted_is_refused(self, content: bytes, client: httpx2.Client) -> None:
        response = load(client, content)
        assert (response.status_code, response.json()["code"]) == (400, "bad_request")

    def test_damaged_streams_are_refused_or_read_and_never_crash(self, client: httpx2.Client, branch: str) -> None:
        chance = random.Random(7)
        whole = arrow_stream(PEOPLE)
        for _ in range(150):
            damaged = bytearray(whole)
            for _ in range(chance.randint(1, 4)):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
            response = load(client, bytes(damaged), branch=branch)
            assert response.status_code in (200, 400, 404), response.text

    def test_another_media_type_is_refused_and_a_body_over_the_limit_too(self, client: httpx2.Client) -> None:
        assert load(client, b"{}", {"content-type": "application/json"}).status_code == 415
        big = load(client, b"\0" * (32 * 2**20 + 1))
        assert (big.status_code, big.json()["resource_limit"]["limit"]) == (413, 32 * 2**20)
