"""Diffs, merges with previews, resolutions and expected heads, and reverts, over HTTP."""

from typing import Any

import httpx2
import pyarrow as pa
import pytest

from omnigraph import Graph
from tests.features.server.live import BASE

ARROW = {"accept": "application/vnd.apache.arrow.stream"}


def update(graph: Graph, branch: str, name: str, age: int) -> str:
    text = f'query q() {{ update Person set {{age: {age}}} where name = "{name}" }}'
    result = graph.mutate(text, branch=branch)
    assert result.commit is not None
    return result.commit.id


def age(graph: Graph, branch: str, name: str) -> int | None:
    row = graph.nodes("Person", branch=branch).where(name=name).first()
    assert row is not None
    found: int | None = row["age"]
    return found


@pytest.fixture
def diverged(graph: Graph, branch: str) -> tuple[str, str]:
    """A source and a target that changed the age of `ann` differently; the source also that of `bo`."""
    source = f"{branch}-source"
    graph.create_branch(source, branch)
    update(graph, source, "ann", 50)
    update(graph, source, "bo", 51)
    update(graph, branch, "ann", 60)
    return source, branch


def post(client: httpx2.Client, path: str, *, headers: dict[str, str] | None = None, **body: Any) -> httpx2.Response:
    return client.post(f"{BASE}/{path}", json=body, headers=headers)


ANN = {"type": "Person", "id": "ann", "property": "age"}


class TestPicture:
    def test_a_diff_is_drawn_with_signs_values_and_unchanged_neighbours(
        self, client: httpx2.Client, graph: Graph, diverged: tuple[str, str]
    ) -> None:
        source, target = diverged
        answer = client.get(f"{BASE}/diff/picture", params={"from": target, "to": source})
        form = answer.json()
        signs = {node["id"]: (node["sign"], node["facts"]) for node in form["nodes"]}
        assert signs["ann"] == ("~", {"age": "60 → 50"})
        assert signs["cy"] == ("", {})
        assert {form["nodes"][edge["target"]]["id"] for edge in form["edges"]} == {"bo", "cy"}
        assert (form["by_type"], form["shown"]) == (False, "2 nodes and 0 edges changed, 1 neighbour")
        heads = {"from": form["from"], "to": form["to"]}
        again = client.get(f"{BASE}/diff/picture", params=heads, headers={"if-none-match": answer.headers["etag"]})
        assert again.status_code == 304

    def test_more_changes_than_the_limit_are_drawn_by_type(
        self, client: httpx2.Client, diverged: tuple[str, str]
    ) -> None:
        source, target = diverged
        params: dict[str, Any] = {"from": target, "to": source, "limit": 1}
        form = client.get(f"{BASE}/diff/picture", params=params).json()
        assert [(node["caption"], node["sign"], node["size"] > 0) for node in form["nodes"]] == [
            ("Person ~2", "~", True)
        ]
        opened = client.get(f"{BASE}/diff/picture", params={**params, "type": "Person"}).json()
        assert [node["id"] for node in opened["nodes"] if node["sign"]] == ["ann"]
        for wrong in (0, 2_001):
            assert client.get(f"{BASE}/diff/picture", params={**params, "limit": wrong}).status_code == 400


class TestDiff:
    def test_pages_of_a_diff_are_disjoint_and_complete(
        self, client: httpx2.Client, graph: Graph, diverged: tuple[str, str]
    ) -> None:
        source, target = diverged
        graph.mutate('query q() { insert Note {text: "t"} }', branch=source)
        params: dict[str, Any] = {"from": target, "to": source}
        whole = client.get(f"{BASE}/diff", params=params).json()
        assert whole["stats"] == {"inserts": 1, "updates": 2, "deletes": 0, "types_affected": 2}
        assert whole["truncated"] is False
        fixed = {"from": whole["from"], "to": whole["to"], "limit": 1}
        pages = [client.get(f"{BASE}/diff", params={**fixed, "offset": offset}).json() for offset in range(4)]
        assert [page["truncated"] for page in pages] == [True, True, False, False]
        assert [change for page in pages for change in page["changes"]] == whole["changes"]
        assert all(page["stats"] == whole["stats"] for page in pages)

    def test_changes_have_both_images_and_filters_apply(self, client: httpx2.Client, diverged: tuple[str, str]) -> None:
        source, target = diverged
        params = {"from": target, "to": source, "type": "Person", "op": "update", "kind": "node"}
        changes = client.get(f"{BASE}/diff", params=params).json()["changes"]
        images = {
            change["id"]: (change["before"]["properties"]["age"], change["after"]["properties"]["age"])
            for change in changes
        }
        assert images == {"ann": (60, 50), "bo": (27, 51)}
        assert client.get(f"{BASE}/diff", params={**params, "op": "delete"}).json()["changes"] == []
        summary = client.get(f"{BASE}/diff", params={"from": target, "to": source, "summary": "true"}).json()
        assert "changes" not in summary

    def test_a_diff_as_arrow_has_the_same_changes(self, client: httpx2.Client, diverged: tuple[str, str]) -> None:
        params = {"from": diverged[1], "to": diverged[0]}
        response = client.get(f"{BASE}/diff", params=params, headers=ARROW)
        table = pa.ipc.open_stream(response.content).read_all()
        assert table.column("id").to_pylist() == ["ann", "bo"]
        assert table.column("op").to_pylist() == ["update", "update"]

    @pytest.mark.parametrize(
        ("params", "status"),
        [
            ({"from": "main"}, 400),
            ({"from": "main", "to": "nope"}, 404),
            ({"from": "nope", "to": "nope2"}, 404),
            ({"from": "", "to": "main"}, 400),
            ({"from": "main", "to": "main", "limit": 0}, 400),
            ({"from": "main", "to": "main", "limit": 10_001}, 400),
            ({"from": "main", "to": "main", "offset": -1}, 400),
            ({"from": "main", "to": "main", "type": "Nope"}, 404),
            ({"from": "main", "to": "main", "op": "rename"}, 400),
            ({"from": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "to": "main"}, 404),
            ({"from": "main~1", "to": "main"}, 400),
        ],
    )
    def test_a_wrong_diff_is_refused(self, params: dict[str, Any], status: int, client: httpx2.Client) -> None:
        response = client.get(f"{BASE}/diff", params=params)
        assert (response.status_code, "problem" in response.json()) == (status, True), response.text


class TestMerge:
    def test_a_preview_shows_the_conflicts_and_changes_nothing(
        self, client: httpx2.Client, graph: Graph, diverged: tuple[str, str]
    ) -> None:
        source, target = diverged
        heads = [graph.snapshot(name).commit_id for name in diverged]
        form = post(client, "merge/preview", source=source, target=target).json()
        assert [form["source_commit_id"], form["target_commit_id"]] == heads
        (conflict,) = form["merge_conflicts"]
        assert (conflict["entity_id"], conflict["property"], conflict["kind"]) == ("ann", "age", "divergent_update")
        assert (conflict["base"], conflict["source"], conflict["target"]) == (31, 50, 60)
        assert [graph.snapshot(name).commit_id for name in diverged] == heads

    def test_conflicts_that_remain_refuse_the_merge_with_all_of_them(
        self, client: httpx2.Client, graph: Graph, diverged: tuple[str, str]
    ) -> None:
        source, target = diverged
        before = graph.snapshot(target).commit_id
        response = post(client, "merge", source=source, target=target)
        assert response.status_code == 409
        assert [item["entity_id"] for item in response.json()["merge_conflicts"]] == ["ann"]
        assert graph.snapshot(target).commit_id == before

    @pytest.mark.parametrize(
        ("answer", "wanted"),
        [
            ({"take": "source"}, 50),
            ({"take": "target"}, 60),
            ({"take": "base"}, 31),
            ({"value": 7}, 7),
            ({"value": None}, None),
            ({"expression": "$source + $target"}, 110),
        ],
    )
    def test_a_resolution_settles_its_conflict(
        self, answer: dict[str, Any], wanted: int | None, client: httpx2.Client, graph: Graph, diverged: tuple[str, str]
    ) -> None:
        source, target = diverged
        response = post(client, "merge", source=source, target=target, resolutions=[{**ANN, **answer}])
        assert (response.status_code, response.json().get("outcome")) == (200, "merged"), response.text
        assert (age(graph, target, "ann"), age(graph, target, "bo")) == (wanted, 51)

    @pytest.mark.parametrize(("policy", "wanted"), [("source", 50), ({"Person.age": "max"}, 60), ({"*": "min"}, 50)])
    def test_a_policy_settles_all_conflicts(
        self, policy: Any, wanted: int, client: httpx2.Client, graph: Graph, diverged: tuple[str, str]
    ) -> None:
        source, target = diverged
        assert post(client, "merge", source=source, target=target, policy=policy).status_code == 200
        assert age(graph, target, "ann") == wanted

    def test_a_merge_of_previewed_heads_is_refused_if_one_has_moved(
        self, client: httpx2.Client, graph: Graph, diverged: tuple[str, str]
    ) -> None:
        source, target = diverged
        preview = post(client, "merge/preview", source=source, target=target).json()
        expected = {
            "expected_source": preview["source_commit_id"],
            "expected_target": preview["target_commit_id"],
            "resolutions": [{**ANN, "take": "source"}],
        }
        for moved in (source, target):
            update(graph, moved, "cy", 1)
            response = post(client, "merge", source=source, target=target, **expected)
            assert (response.status_code, response.json()["precondition_failure"]["branch"]) == (412, source)
        only_target = post(client, "merge", source=source, target=target, expected_target=expected["expected_target"])
        assert only_target.status_code in (409, 412)
        again = post(client, "merge/preview", source=source, target=target).json()
        expected |= {
            "expected_source": again["source_commit_id"],
            "expected_target": again["target_commit_id"],
        }
        assert post(client, "merge", source=source, target=target, **expected).status_code == 200

    def test_a_repeated_merge_with_its_key_is_the_first_one(
        self, client: httpx2.Client, graph: Graph, diverged: tuple[str, str]
    ) -> None:
        source, target = diverged
        preview = post(client, "merge/preview", source=source, target=target).json()
        body = {
            "source": source,
            "target": target,
            "expected_source": preview["source_commit_id"],
            "expected_target": preview["target_commit_id"],
            "policy": "source",
            "message": "ages",
        }
        key = {"idempotency-key": f"merge-{target}"}
        first, again = (post(client, "merge", headers=key, **body) for _ in range(2))
        assert (first.status_code, again.status_code) == (200, 200)
        assert first.json()["commit"] == again.json()["commit"]
        assert first.json()["commit"]["message"] == "ages"

    @pytest.mark.parametrize(
        ("body", "status"),
        [
            ({"source": "nope"}, 404),
            ({"source": "dev", "target": "nope"}, 404),
            ({"source": "main", "target": "main"}, 400),
            ({"target": "main"}, 400),
            ({"source": "dev", "policy": "newest-ish"}, 400),
            ({"source": "dev", "policy": {"Nope": "source"}}, 400),
            ({"source": "dev", "policy": 3}, 400),
            ({"source": "dev", "resolutions": [{"take": "mine"}]}, 400),
            ({"source": "dev", "resolutions": [{"take": "source", "value": 1}]}, 400),
            ({"source": "dev", "resolutions": [{}]}, 400),
            ({"source": "dev", "resolutions": [{"take": "source", "nope": 1}]}, 400),
            ({"source": "dev", "resolutions": [{"expression": "$source +"}]}, 400),
            ({"source": "dev", "resolutions": {"take": "source"}}, 400),
        ],
    )
    @pytest.mark.parametrize("path", ["merge", "merge/preview"])
    def test_a_wrong_merge_is_refused(
        self, path: str, body: dict[str, Any], status: int, client: httpx2.Client, graph: Graph
    ) -> None:
        before = graph.snapshot().commit_id
        response = post(client, path, **body)
        assert (response.status_code, "problem" in response.json()) == (status, True), response.text
        assert graph.snapshot().commit_id == before

    def test_an_expected_source_alone_is_refused(self, client: httpx2.Client) -> None:
        response = post(client, "merge", source="dev", expected_source="01ARZ3NDEKTSV4RRFFQ69G5FAV")
        assert response.status_code == 400


class TestRevert:
    def test_a_revert_undoes_a_commit_and_keeps_later_ones(
        self, client: httpx2.Client, graph: Graph, branch: str
    ) -> None:
        first = update(graph, branch, "ann", 70)
        update(graph, branch, "bo", 71)
        preview = post(client, "revert/preview", commits=first, branch=branch).json()
        assert (preview["reverted_commit_ids"], preview["merge_conflicts"]) == ([first], [])
        form = post(client, "revert", commits=first, branch=branch, message="back").json()
        assert (form["reverted_commit_ids"], form["commit"]["message"]) == ([first], "back")
        assert (age(graph, branch, "ann"), age(graph, branch, "bo")) == (31, 71)

    def test_a_conflict_with_a_later_change_is_resolved_like_one_of_a_merge(
        self, client: httpx2.Client, graph: Graph, branch: str
    ) -> None:
        first = update(graph, branch, "ann", 70)
        update(graph, branch, "ann", 80)
        refused = post(client, "revert", commits=first, branch=branch)
        assert (refused.status_code, refused.json()["merge_conflicts"][0]["source"]) == (409, 31)
        body = {"commits": first, "branch": branch, "resolutions": [{**ANN, "take": "source"}]}
        assert post(client, "revert", **body).status_code == 200
        assert age(graph, branch, "ann") == 31

    def test_an_expected_head_that_has_moved_refuses_the_revert(
        self, client: httpx2.Client, graph: Graph, branch: str
    ) -> None:
        first = update(graph, branch, "ann", 70)
        update(graph, branch, "bo", 71)
        response = post(client, "revert", commits=first, branch=branch, expected_head=first)
        assert (response.status_code, age(graph, branch, "ann")) == (412, 70)

    @pytest.mark.parametrize(
        ("body", "status"),
        [
            ({}, 400),
            ({"commits": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}, 404),
            ({"commits": "nope"}, 404),
            ({"actor": "no one"}, 404),
            ({"since": "not a time"}, 400),
            ({"commits": 3}, 400),
            ({"commits": "HEAD", "branch": "nope"}, 404),
            ({"commits": "HEAD", "policy": "nope"}, 400),
        ],
    )
    @pytest.mark.parametrize("path", ["revert", "revert/preview"])
    def test_a_wrong_revert_is_refused(
        self, path: str, body: dict[str, Any], status: int, client: httpx2.Client, graph: Graph
    ) -> None:
        before = graph.snapshot().commit_id
        response = post(client, path, **body)
        assert (response.status_code, "problem" in response.json()) == (status, True), response.text
        assert graph.snapshot().commit_id == before
