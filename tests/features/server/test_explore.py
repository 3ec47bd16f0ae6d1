"""Browsing over HTTP: the catalog, entities with their history, pages, neighbours, samples, and entities of rows."""

import asyncio
import threading
from typing import Any

import httpx2
import pytest

from omnigraph import Action, Actor, Graph
from omnigraph.core.actors import Need
from omnigraph.engine.explore.entity_history import EntityHistory, entity_history
from omnigraph.server.access.states import State
from omnigraph.server.handlers.explore import entities
from tests.features.server.live import BASE, running, serving_of
from tests.features.server.test_matrix import Rules


def listed(client: httpx2.Client, *conditions: tuple[str, str, Any], **options: Any) -> dict[str, Any]:
    where = [{"column": column, "op": op, "value": value} for column, op, value in conditions]
    response = client.post(f"{BASE}/entities", json={"type": "Person", "where": where, **options})
    assert response.status_code == 200, response.text
    form: dict[str, Any] = response.json()
    return form


def ids(client: httpx2.Client, *conditions: tuple[str, str, Any], **options: Any) -> list[str]:
    return [row["id"] for row in listed(client, *conditions, **options)["rows"]]


class TestCatalog:
    def test_types_have_their_properties_keys_and_counts(self, client: httpx2.Client, graph: Graph) -> None:
        form = client.get(f"{BASE}/catalog").json()
        person = next(item for item in form["nodes"] if item["name"] == "Person")
        assert form["graph_commit_id"] == graph.snapshot().commit_id
        assert (person["count"], person["key"], person["caption"]) == (3, ["name"], "name")
        assert person["description"] == "Someone"
        # In the order of the schema text, which is not that of the names.
        types = {item["name"]: item["type"] for item in person["properties"]}
        assert list(types.items()) == [
            ("name", "String"),
            ("age", "I32?"),
            ("born", "Date?"),
            ("photo", "Blob?"),
            ("tags", "[String]?"),
        ]
        assert [item["name"] for item in person["properties"] if item["is_key"]] == ["name"]
        (knows,) = form["edges"]
        assert (knows["source"], knows["target"], knows["count"]) == ("Person", "Person", 2)

    def test_a_commit_has_the_types_and_counts_it_had(self, client: httpx2.Client, graph: Graph) -> None:
        first = list(graph.commits())[-1].id
        form = client.get(f"{BASE}/catalog", params={"snapshot": first}).json()
        assert {item["name"]: item["count"] for item in form["nodes"]} == {"Note": 0, "Person": 0}


class TestEntity:
    def test_an_entity_has_all_its_properties_and_blobs_by_their_size(self, client: httpx2.Client) -> None:
        form = client.get(f"{BASE}/entities/node/Person/ann").json()
        wanted = {"name": "ann", "age": 31, "born": "1990-01-31", "photo": {"size": 1024}, "tags": ["a", "b"]}
        assert form["properties"] == wanted
        assert client.get(f"{BASE}/entities/node/Person/bo").json()["properties"]["photo"] is None

    def test_an_edge_has_its_ends(self, client: httpx2.Client) -> None:
        form = client.get(f"{BASE}/entities/edge/Knows/k-bo").json()
        assert form["source"] == {"type": "Person", "id": "ann"}
        assert form["target"] == {"type": "Person", "id": "bo"}
        assert form["properties"] == {"since": None, "weight": None}

    @pytest.mark.parametrize(
        ("path", "status"),
        [
            ("node/Person/zed", 404),
            ("node/Persn/ann", 404),
            ("edge/Person/ann", 404),
            ("thing/Person/ann", 400),
            ("node/Person/..%2F..%2Fetc", 404),
            ("node/Person/%00", 404),
            ("node/Person/ann'%20OR%201=1--", 404),
        ],
    )
    def test_what_does_not_exist_is_missing(self, path: str, status: int, client: httpx2.Client) -> None:
        assert client.get(f"{BASE}/entities/{path}").status_code == status

    def test_the_history_names_the_commit_that_set_each_property(
        self, client: httpx2.Client, graph: Graph, branch: str
    ) -> None:
        made = [
            graph.mutate(text, branch=branch, actor=actor, message=message)
            for text, actor, message in (
                ('query q() { update Person set {age: 40} where name = "ann" }', "olga", "older"),
                ('query q() { insert Note {text: "elsewhere"} }', "paul", None),
                (
                    'query q() { update Person set {age: 41, born: date("1985-02-03")} where name = "ann" }',
                    "quin",
                    "birth",
                ),
                ('query q() { update Person set {age: 28} where name = "bo" }', "rosa", None),
            )
        ]
        params = {"branch": branch, "history": "true"}
        history = client.get(f"{BASE}/entities/node/Person/ann", params=params).json()["history"]
        assert history["complete"] is True
        actors = {name: cause["actor_id"] for name, cause in history["properties"].items()}
        assert actors == {"age": "quin", "born": "quin", "name": "loader", "tags": "loader"}
        assert made[2].commit is not None
        assert history["properties"]["age"]["graph_commit_id"] == made[2].commit.id
        assert history["properties"]["age"]["message"] == "birth"
        assert history["created"]["message"] == "the first people"

    def test_the_history_at_a_commit_ends_there(self, client: httpx2.Client, graph: Graph, branch: str) -> None:
        before = graph.snapshot(branch).commit_id
        result = graph.mutate(
            'query q() { update Person set {age: 50} where name = "ann" }', branch=branch, actor="zoe"
        )
        assert result.commit is not None
        for commit, actor, age in ((before, "loader", 31), (result.commit.id, "zoe", 50)):
            params = {"snapshot": commit, "history": "true"}
            form = client.get(f"{BASE}/entities/node/Person/ann", params=params).json()
            assert (form["properties"]["age"], form["history"]["properties"]["age"]["actor_id"]) == (age, actor)

    def test_a_value_that_a_merge_brought_in_is_set_by_the_merge(
        self, client: httpx2.Client, graph: Graph, branch: str
    ) -> None:
        graph.create_branch(f"{branch}-side", branch)
        graph.mutate(
            'query q() { update Person set {age: 61} where name = "cy" }', branch=f"{branch}-side", actor="sue"
        )
        graph.mutate('query q() { insert Note {text: "t"} }', branch=branch)
        graph.merge(f"{branch}-side", branch, actor="max")
        params = {"branch": branch, "history": "true"}
        history = client.get(f"{BASE}/entities/node/Person/cy", params=params).json()["history"]
        assert history["properties"]["age"]["actor_id"] == "max"
        assert history["properties"]["age"]["merged_parent_commit_id"] == graph.snapshot(f"{branch}-side").commit_id

    def test_the_history_ends_where_the_actor_may_not_read(self, graph: Graph, branch: str) -> None:
        text = 'query q() { update Person set {age: 70} where name = "bo" }'
        graph.mutate(text, branch=branch, actor="tom")
        graph.mutate(text.replace("70", "71"), branch=branch, actor="una")
        serving = serving_of(graph, tokens={"ann": "token"}, authorizer=OnlyBranch(branch), state=State.POLICY_ENABLED)
        with running(serving) as live, live.client("token") as client:
            params = {"branch": branch, "history": "true"}
            history = client.get(f"{BASE}/entities/node/Person/bo", params=params).json()["history"]
        assert {name: cause["actor_id"] for name, cause in history["properties"].items()} == {"age": "una"}
        assert (history["complete"], history["created"]) == (False, None)


class OnlyBranch(Rules):
    """Allows everything on one branch, and nothing elsewhere."""

    def __init__(self, branch: str) -> None:
        super().__init__()
        self.branch = branch

    def check(
        self,
        actor: Actor,
        action: Action,
        branch: str | None = None,
        target_branch: str | None = None,
        *,
        query: str | None = None,
    ) -> None:
        if branch != self.branch:
            raise Need(action, branch).denied(f" for actor {actor.id!r}", actor)


class TestPages:
    def test_a_page_has_the_rows_of_its_place_and_the_number_of_all(self, client: httpx2.Client) -> None:
        form = listed(client, sort="name", limit=2, offset=1)
        assert (form["total"], [row["id"] for row in form["rows"]]) == (3, ["bo", "cy"])
        # Blobs are no part of a list.
        assert form["columns"] == ["id", "name", "age", "born", "tags"]

    @pytest.mark.parametrize(
        ("condition", "wanted"),
        [
            (("age", "eq", 27), ["bo"]),
            (("age", "ne", 27), ["ann"]),
            (("age", "lt", 31), ["bo"]),
            (("age", "le", 31), ["ann", "bo"]),
            (("age", "gt", 27), ["ann"]),
            (("age", "ge", 27), ["ann", "bo"]),
            (("age", "in", [27, 99]), ["bo"]),
            (("age", "is_null", None), ["cy"]),
            (("age", "is_not_null", None), ["ann", "bo"]),
            (("name", "contains", "n"), ["ann"]),
            (("name", "starts_with", "c"), ["cy"]),
            (("name", "gt", "ann"), ["bo", "cy"]),
            (("tags", "contains", "b"), ["ann"]),
            (("tags", "is_null", None), ["bo", "cy"]),
            (("born", "eq", "1990-01-31"), ["ann"]),
            (("photo", "is_null", None), ["bo", "cy"]),
            (("id", "in", ["cy", "ann"]), ["ann", "cy"]),
        ],
    )
    def test_a_condition_keeps_the_entities_for_which_it_holds(
        self, condition: tuple[str, str, Any], wanted: list[str], client: httpx2.Client
    ) -> None:
        assert ids(client, condition) == wanted

    def test_all_conditions_must_hold(self, client: httpx2.Client) -> None:
        assert ids(client, ("age", "ge", 27), ("name", "ne", "ann")) == ["bo"]

    @pytest.mark.parametrize(
        ("sort", "descending", "wanted"),
        [
            ("age", False, ["cy", "bo", "ann"]),
            ("age", True, ["ann", "bo", "cy"]),
            ("id", True, ["cy", "bo", "ann"]),
            ("born", False, ["bo", "cy", "ann"]),
        ],
    )
    def test_null_is_smallest_and_equal_values_are_in_the_order_of_ids(
        self, sort: str, descending: bool, wanted: list[str], client: httpx2.Client
    ) -> None:
        assert ids(client, sort=sort, descending=descending) == wanted

    def test_edges_are_listed_with_their_ends(self, client: httpx2.Client) -> None:
        body = {"kind": "edge", "type": "Knows", "where": [{"column": "dst", "op": "eq", "value": "bo"}]}
        form = client.post(f"{BASE}/entities", json=body).json()
        assert [(row["id"], row["src"], row["dst"]) for row in form["rows"]] == [("k-bo", "ann", "bo")]

    def test_only_the_chosen_columns_are_read_and_the_id_need_not_be_one(self, client: httpx2.Client) -> None:
        assert listed(client, columns=["age"], sort="age", limit=1)["rows"] == [{"age": None}]

    @pytest.mark.parametrize(
        "value",
        ["' OR 1=1 --", '"; drop table Person', "ann' or 'a'='a", "$p.name", "%", "\\", "a\x00b", "n\u00e4me"],
    )
    def test_a_value_is_never_read_as_text_of_a_filter(self, value: str, client: httpx2.Client) -> None:
        for op in ("eq", "contains", "starts_with"):
            assert ids(client, ("name", op, value)) == []
        assert ids(client, ("name", "in", [value, "bo"])) == ["bo"]

    @pytest.mark.parametrize(
        ("body", "status"),
        [
            ({"where": [{"column": "nmae", "op": "eq", "value": "x"}]}, 404),
            ({"where": [{"column": "age", "op": "eq", "value": "old"}]}, 400),
            ({"where": [{"column": "age", "op": "contains", "value": 3}]}, 400),
            ({"where": [{"column": "age", "op": "in", "value": 3}]}, 400),
            ({"where": [{"column": "age", "op": "eq", "value": None}]}, 400),
            ({"where": [{"column": "photo", "op": "eq", "value": "x"}]}, 400),
            ({"where": [{"column": "tags", "op": "eq", "value": ["a"]}]}, 400),
            ({"where": [{"column": "age", "op": "like", "value": 3}]}, 400),
            ({"where": [{"column": "age"}]}, 400),
            ({"sort": "tags"}, 400),
            ({"sort": "nope"}, 404),
            ({"columns": ["nope"]}, 404),
            ({"columns": []}, 400),
            ({"limit": -1}, 400),
            ({"limit": 100_000}, 400),
            ({"offset": 100_000, "limit": 50}, 400),
            ({"type": "Nope", "sort": "nope"}, 404),
            ({"where": [{"column": "age", "op": "in", "value": [1] * 10_001}]}, 400),
        ],
    )
    def test_a_wrong_page_is_refused(self, body: dict[str, Any], status: int, client: httpx2.Client) -> None:
        response = client.post(f"{BASE}/entities", json={"type": "Person", **body})
        assert (response.status_code, "problem" in response.json()) == (status, True), response.text


class TestNeighbours:
    def test_neighbours_come_with_edges_captions_and_totals(self, client: httpx2.Client) -> None:
        form = client.post(f"{BASE}/neighbours", json={"nodes": {"Person": ["ann"]}, "limit": 1}).json()
        assert form["totals"] == [
            {"type": "Knows", "direction": "out", "total": 2, "shown": 1},
            {"type": "Knows", "direction": "in", "total": 0, "shown": 0},
        ]
        assert [edge["source"]["id"] for edge in form["edges"]] == ["ann"]
        assert [node["id"] for node in form["nodes"]] == ["ann", form["edges"][0]["target"]["id"]]
        assert form["nodes"][0]["caption"] == "ann"
        assert form["nodes"][0]["properties"]["age"] == 31

    @pytest.mark.parametrize(("direction", "found"), [("out", []), ("in", ["ann"]), ("both", ["ann"])])
    def test_the_direction_is_seen_from_the_given_nodes(
        self, direction: str, found: list[str], client: httpx2.Client
    ) -> None:
        body = {"nodes": {"Person": ["bo"]}, "direction": direction}
        form = client.post(f"{BASE}/neighbours", json=body).json()
        assert [node["id"] for node in form["nodes"] if node["id"] != "bo"] == found

    def test_nodes_that_do_not_exist_have_no_neighbours(self, client: httpx2.Client) -> None:
        form = client.post(f"{BASE}/neighbours", json={"nodes": {"Person": ["nope"], "Note": ["nope"]}}).json()
        assert (form["nodes"], form["edges"]) == ([], [])

    @pytest.mark.parametrize(
        ("body", "status"),
        [
            ({"nodes": {"Persn": ["ann"]}}, 404),
            ({"nodes": {"Knows": ["k-bo"]}}, 404),
            ({"nodes": {"Person": "ann"}}, 400),
            ({"nodes": {"Person": [1]}}, 400),
            ({"nodes": {"Person": ["ann"]}, "edges": ["Person"]}, 404),
            ({"nodes": {"Person": ["ann"]}, "direction": "up"}, 400),
            ({"nodes": {"Person": ["ann"]}, "limit": 1_001}, 400),
            ({"nodes": {"Person": ["x"] * 1_001}}, 400),
        ],
    )
    def test_wrong_neighbours_are_refused(self, body: dict[str, Any], status: int, client: httpx2.Client) -> None:
        assert client.post(f"{BASE}/neighbours", json=body).status_code == status


class TestHistory:
    def test_every_commit_that_changed_an_entity_is_listed_with_its_values(
        self, client: httpx2.Client, graph: Graph, branch: str
    ) -> None:
        for age in (40, 41):
            text = f'query q() {{ update Person set {{age: {age}}} where name = "bo" }}'
            graph.mutate(text, branch=branch, actor="ann", message=f"age {age}")
        graph.mutate('query q() { update Person set {age: 1} where name = "cy" }', branch=branch)
        place = f"{BASE}/entities/node/Person/bo/history"
        form = client.get(place, params={"branch": branch}).json()
        steps = [(step["op"], step["cause"]["message"], step["changes"][:1]) for step in form["commits"]]
        assert steps == [
            ("update", "age 41", [{"property": "age", "before": 40, "after": 41}]),
            ("update", "age 40", [{"property": "age", "before": 27, "after": 40}]),
            ("insert", "the first people", [{"property": "name", "before": None, "after": "bo"}]),
        ]
        assert form["complete"] is True
        first = client.get(place, params={"branch": branch, "limit": 1}).json()
        assert (len(first["commits"]), first["complete"]) == (1, False)
        assert client.get(f"{BASE}/entities/node/Person/nope/history").status_code == 404
        assert client.get(f"{BASE}/entities/thing/Person/bo/history").status_code == 400

    def test_the_event_loop_never_reads_a_history(self, client: httpx2.Client, monkeypatch: pytest.MonkeyPatch) -> None:
        threads: list[str] = []

        def noting(*given: Any) -> EntityHistory:
            with pytest.raises(RuntimeError, match="no running event loop"):
                asyncio.get_running_loop()
            threads.append(threading.current_thread().name)
            return entity_history(*given)

        monkeypatch.setattr(entities, "entity_history", noting)
        assert client.get(f"{BASE}/entities/node/Person/bo/history").status_code == 200
        assert len(threads) == 1


class TestSample:
    def test_the_most_connected_nodes_are_shown_with_positions_and_totals(self, client: httpx2.Client) -> None:
        form = client.get(f"{BASE}/sample", params={"limit": 2, "type": "Person"}).json()
        assert (form["nodes_total"], form["edges_total"], len(form["nodes"])) == (3, 2, 2)
        assert form["nodes"][0]["id"] == "ann"
        (edge,) = form["edges"]
        assert {form["nodes"][edge["source"]]["id"], form["nodes"][edge["target"]]["id"]} <= {"ann", "bo", "cy"}
        assert edge["id"] in ("k-bo", "k-cy")
        assert all(isinstance(node[axis], float) for node in form["nodes"] for axis in "xy")

    def test_the_same_commit_has_the_same_positions(self, client: httpx2.Client, graph: Graph) -> None:
        at_commit = {"snapshot": graph.snapshot().commit_id}
        first, again = (client.get(f"{BASE}/sample", params=at_commit).content for _ in range(2))
        assert first == again

    @pytest.mark.parametrize(
        ("params", "status"),
        [({"limit": 0}, 400), ({"limit": 20_001}, 400), ({"limit": "many"}, 400), ({"type": "Nope"}, 404)],
    )
    def test_a_wrong_sample_is_refused(self, params: dict[str, Any], status: int, client: httpx2.Client) -> None:
        assert client.get(f"{BASE}/sample", params=params).status_code == status


class TestEntitiesOfRows:
    def entities(self, client: httpx2.Client, text: str) -> dict[str, Any]:
        response = client.post(f"{BASE}/query", json={"query": text, "entities": True})
        assert response.status_code == 200, response.text
        form: dict[str, Any] = response.json()
        assert len(form["entities"]["ids"]) in (0, form["row_count"])
        assert not any(name.startswith("\0") for name in form["columns"])
        found: dict[str, Any] = form["entities"]
        return found

    def test_a_row_names_the_nodes_and_edges_it_came_from(self, client: httpx2.Client) -> None:
        text = "query q() { match { $p: Person  $p $e: knows $f } return { $f.age } order { $f.name } }"
        found = self.entities(client, text)
        assert [(item["name"], item["kind"], item["type"]) for item in found["variables"]] == [
            ("p", "node", "Person"),
            ("f", "node", "Person"),
            ("e", "edge", "Knows"),
        ]
        assert found["ids"] == [["ann", "bo", "k-bo"], ["ann", "cy", "k-cy"]]
        assert found["links"] == [{"source": "p", "target": "f", "type": "Knows", "hops": [1, 1], "is_both": False}]

    def test_links_follow_the_stored_edges_whatever_the_text_starts_with(self, client: httpx2.Client) -> None:
        found = self.entities(client, 'query q() { match { $f: Person {name: "bo"}  $p knows $f } return { $p.age } }')
        assert (found["links"][0]["source"], found["links"][0]["target"]) == ("p", "f")
        places = {item["name"]: place for place, item in enumerate(found["variables"])}
        assert [(row[places["p"]], row[places["f"]]) for row in found["ids"]] == [("ann", "bo")]

    def test_optional_variables_may_be_null_and_those_of_a_negation_are_none(self, client: httpx2.Client) -> None:
        maybe = self.entities(
            client, "query q() { match { $p: Person  maybe { $p knows $f } } return { $p.age } order { $p.name } }"
        )
        assert [row[-1] for row in maybe["ids"]] == ["bo", "cy", None, None]
        without = self.entities(
            client, "query q() { match { $p: Person  not { $p knows $f } } return { $p.age } order { $p.name } }"
        )
        assert [item["name"] for item in without["variables"]] == ["p"]
        assert without["ids"] == [["bo"], ["cy"]]

    def test_rows_of_an_aggregate_have_the_columns_that_hold_ids(self, client: httpx2.Client) -> None:
        found = self.entities(client, "query q() { match { $p: Person  $p knows $f } return { $p, count($f) as n } }")
        assert ([item["name"] for item in found["variables"]], found["ids"]) == (["p"], [["ann"]])
        counted = self.entities(client, "query q() { match { $p: Person } return { count($p) as n } }")
        assert (counted["variables"], counted["ids"]) == ([], [])

    def test_a_stored_query_has_them_too(self, client: httpx2.Client) -> None:
        form = client.post(f"{BASE}/queries/everyone", json={"entities": True}).json()
        assert form["entities"]["ids"] == [["ann"], ["bo"], ["cy"]]

    def test_they_are_no_part_of_an_arrow_stream(self, client: httpx2.Client) -> None:
        body = {"query": "query q() { match { $p: Person } return { $p.age } }", "entities": True}
        accept = {"accept": "application/vnd.apache.arrow.stream"}
        assert client.post(f"{BASE}/query", json=body, headers=accept).status_code == 400
