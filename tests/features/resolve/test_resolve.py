"""Entity resolution in one process: what becomes one entity, with which values, edges, history and errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import omnigraph
from omnigraph import Graph
from omnigraph.errors import NotFoundError, PreconditionFailed, ReadSetConflict, UsageError
from tests.features.resolve.people import RULES, company, edge, graph_of, person, random_records

SAME_EMAIL = {"blocks": ["email"], "compare": {"email": "exact"}}


def exported(graph: Graph, branch: str | None = None) -> list[bytes]:
    return sorted(line for part in graph.export(branch) for line in part.splitlines())


def nodes(graph: Graph, type_name: str = "Person") -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in graph.snapshot().to_arrow(f"node:{type_name}").to_pylist()}


def edges(graph: Graph, type_name: str) -> list[tuple[str, str]]:
    rows = graph.snapshot().to_arrow(f"edge:{type_name}").to_pylist()
    return sorted((row["src"], row["dst"]) for row in rows)


def statuses(found: Any) -> list[tuple[list[str], str]]:
    return [(row["ids"], row["status"]) for row in found.clusters.to_pylist()]


def test_matching_nodes_become_the_most_complete_one(tmp_path: Path) -> None:
    graph = graph_of(
        tmp_path / "g",
        person("a", "Ada Lovelace", email="ada@x.org"),
        person("b", "Ada Lovelase", email="ADA@x.org", city="London", age=36),
        person("c", "Ada  lovelace", email="ada@x.org", born="1815-12-10"),
        person("d", "Alan Turing", email="alan@x.org"),
    )
    result = graph.resolve("Person", RULES)
    assert result.clusters.to_pylist()[0] | {"score": None} == {
        "survivor": "b",
        "ids": ["a", "b", "c"],
        "size": 3,
        "score": None,
        "status": "merged",
        "reason": None,
    }
    found = nodes(graph)
    assert sorted(found) == ["b", "d"]
    assert (found["b"]["name"], found["b"]["city"], found["b"]["age"]) == ("Ada Lovelase", "London", 36)
    assert str(found["b"]["born"]) == "1815-12-10"
    assert result.found.removed == 2
    assert result.commit is not None
    assert result.commit.provenance["resolve"] == "Person"


def test_merge_policies_choose_the_values(tmp_path: Path) -> None:
    schema = """
    node Thing {
      key: String
      first: String?
      other: String? @merge(source)
      many: [String]? @merge(union)
      total: I32? @merge(sum)
      high: I32? @merge(max)
      low: I32? @merge(min)
      latest: String? @merge(newest)
    }
    """
    graph = graph_of(tmp_path / "g", schema=schema)
    values = {"other": "1", "many": ["x", "y"], "total": 3, "high": 3, "low": 3, "latest": "new"}
    others = {"other": "2", "many": ["z", "y"], "total": 4, "high": 4, "low": 2, "latest": "old", "first": None}
    graph.load([{"type": "Thing", "data": {"id": "b", "key": "k", **others}}])
    graph.load([{"type": "Thing", "data": {"id": "a", "key": "k", "first": "f", **values}}])
    rules = {"blocks": ["key"], "compare": {"key": "exact"}}
    graph.resolve("Thing", rules)
    [row] = nodes(graph, "Thing").values()
    assert row == {
        "id": "a",
        "key": "k",
        "first": "f",
        "other": "2",
        "many": ["x", "y", "z"],
        "total": 7,
        "high": 4,
        "low": 2,
        "latest": "new",
    }


def test_a_call_can_name_other_policies(tmp_path: Path) -> None:
    graph = graph_of(tmp_path / "g", person("a", "A", email="e", age=1), person("b", "B", email="e", age=2))
    graph.resolve("Person", SAME_EMAIL, policy={"Person.age": "max"})
    assert nodes(graph)["a"]["age"] == 2


def test_the_oldest_survives_if_the_rules_say_so(tmp_path: Path) -> None:
    graph = graph_of(tmp_path / "g", person("a", "A", email="e"), person("b", "B", email="e", age=2))
    graph.resolve("Person", {**SAME_EMAIL, "survivor": "oldest"})
    assert nodes(graph)["a"]["age"] == 2


def test_edges_move_and_edges_that_become_the_same_are_folded(tmp_path: Path) -> None:
    graph = graph_of(
        tmp_path / "g",
        *(person(id_, "Ada", email="ada@x.org") for id_ in ("a", "b")),
        person("c", "Alan"),
        company("X"),
        company("Y"),
        edge("Knows", "a", "c", since=1),
        edge("Knows", "b", "c", since=2),
        edge("Knows", "c", "b"),
        edge("Knows", "a", "b"),
        edge("Likes", "a", "X", stars=2),
        edge("Likes", "b", "X", stars=5),
        edge("Likes", "b", "Y"),
    )
    result = graph.resolve("Person", SAME_EMAIL)
    assert edges(graph, "Knows") == [("a", "a"), ("a", "c"), ("a", "c"), ("c", "a")]
    assert edges(graph, "Likes") == [("a", "X"), ("a", "Y")]
    likes = graph.snapshot().to_arrow("edge:Likes").to_pylist()
    assert [(row["id"], row["stars"]) for row in likes] == [('["a","X"]', 5), ('["a","Y"]', None)]
    assert (result.found.edges_moved, result.found.edges_folded) == (5, 1)
    assert result.remarks == ("edges Knows between entities of one cluster: 1, kept as loops",)
    assert graph.verify(deep=True).is_clean


def test_rules_can_drop_loops_and_fold_equal_edges(tmp_path: Path) -> None:
    graph = graph_of(
        tmp_path / "g",
        *(person(id_, "Ada", email="ada@x.org") for id_ in ("a", "b")),
        person("c", "Alan"),
        edge("Knows", "a", "c", since=1),
        edge("Knows", "b", "c", since=1),
        edge("Knows", "b", "c", since=2),
        edge("Knows", "a", "b"),
    )
    graph.resolve("Person", {**SAME_EMAIL, "self_loops": "drop", "parallel_edges": "fold"})
    assert edges(graph, "Knows") == [("a", "c"), ("a", "c")]


def test_clusters_that_break_a_rule_stay_apart_with_the_reason(tmp_path: Path) -> None:
    graph = graph_of(
        tmp_path / "g",
        *(person(id_, "Ada", email="card") for id_ in ("a", "b")),
        *(person(id_, "Alan", email="review", note=id_) for id_ in ("c", "d")),
        *(person(id_, "Grace", email="large") for id_ in ("e", "f", "g")),
        *(person(id_, "John", email="good") for id_ in ("h", "i")),
        company("X"),
        company("Y"),
        edge("WorksAt", "a", "X"),
        edge("WorksAt", "b", "Y"),
    )
    rules = {**SAME_EMAIL, "cluster_max": 2}
    result = graph.resolve("Person", rules)
    assert statuses(result) == [
        (["a", "b"], "cardinality"),
        (["c", "d"], "conflict"),
        (["e", "f", "g"], "too_large"),
        (["h", "i"], "merged"),
    ]
    reasons = result.clusters.column("reason").to_pylist()
    assert reasons[0] == "2 edges WorksAt, at most 1 are allowed"
    assert "note" in reasons[1]
    assert reasons[2] == "3 entities, cluster_max is 2"
    assert sorted(nodes(graph)) == ["a", "b", "c", "d", "e", "f", "g", "h"]
    again = graph.resolve("Person", rules)
    assert again.commit is None
    assert statuses(again) == statuses(result)[:3]


def test_a_preview_shows_the_changes_of_the_commit_and_writes_nothing(tmp_path: Path) -> None:
    graph = graph_of(tmp_path / "g", *random_records(1))
    before, files = graph.snapshot().commit_id, exported(graph)
    preview = graph.resolve_preview("Person", RULES)
    assert (graph.snapshot().commit_id, exported(graph)) == (before, files)
    result = graph.resolve("Person", RULES)
    assert result.clusters.equals(preview.clusters)
    assert result.pairs.equals(preview.pairs)
    assert result.tables == preview.tables
    made = graph.diff(before, "main")
    assert preview.changes.counts == made.counts
    assert preview.changes.to_arrow().to_pylist() == made.to_arrow().to_pylist()


@pytest.mark.parametrize("seed", range(3))
def test_a_second_run_finds_nothing_and_a_revert_restores_everything(tmp_path: Path, seed: int) -> None:
    graph = graph_of(tmp_path / "g", *random_records(seed))
    before = exported(graph)
    result = graph.resolve("Person", RULES)
    assert result.found.merged > 5
    assert result.commit is not None
    assert graph.verify(deep=True).is_clean
    folded = {id_ for row in result.clusters.to_pylist() if row["status"] == "merged" for id_ in row["ids"]}
    survivors = set(result.clusters.column("survivor").to_pylist()) - {None}
    assert set(nodes(graph)).isdisjoint(folded - survivors)
    assert graph.resolve("Person", RULES).commit is None
    graph.revert(result.commit.id)
    assert exported(graph) == before


def test_survivors_are_compared_again(tmp_path: Path) -> None:
    # b has the phone of a and no city; only a and b together match c.
    schema = "node P { name: String city: String? phone: String? }"
    records = [
        {"type": "P", "data": {"id": "a", "name": "Ada L", "phone": "1"}},
        {"type": "P", "data": {"id": "b", "name": "Ada L", "phone": "1", "city": "London"}},
        {"type": "P", "data": {"id": "c", "name": "Ada M", "phone": "2", "city": "London"}},
    ]
    rules = {
        "blocks": ["phone", "city"],
        "compare": {"name": "levenshtein", "phone": {"by": "exact", "weight": 0.1}, "city": "exact"},
        "threshold": 0.85,
    }
    graph = graph_of(tmp_path / "g", *records, schema=schema)
    result = graph.resolve("P", rules)
    assert result.found.rounds == 2
    assert graph.resolve("P", rules).commit is None


def test_a_resolution_on_a_branch_is_merged_like_any_other_work(tmp_path: Path) -> None:
    graph = graph_of(tmp_path / "g", *random_records(2))
    main = exported(graph)
    result = graph.resolve("Person", RULES, branch="resolved", base="main", actor="ann", message="tidy")
    assert (result.branch_created, exported(graph)) == (True, main)
    assert result.commit is not None
    assert (result.commit.actor, result.commit.message) == ("ann", "tidy")
    graph.merge("resolved")
    assert exported(graph) == exported(graph, "resolved")


def test_a_branch_that_was_created_for_a_failed_resolution_is_deleted(tmp_path: Path) -> None:
    graph = graph_of(tmp_path / "g", person("a", "Ada"))
    with pytest.raises(UsageError, match="has no property"):
        graph.resolve("Person", {"compare": {"nme": "exact"}}, branch="x", base="main")
    assert [branch.name for branch in graph.branches()] == ["main"]


def test_an_entity_that_changes_meanwhile_is_a_conflict_and_others_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from omnigraph.write.resolve.groups import Grouping

    graph = graph_of(tmp_path / "g", *(person(id_, "Ada", email="e") for id_ in "ab"), person("c", "Alan"))
    run = Grouping.run

    def meanwhile(text: str) -> None:
        def changed(grouping: Grouping, finder: Any) -> None:
            run(grouping, finder)
            graph.mutate(text)

        monkeypatch.setattr(Grouping, "run", changed)

    meanwhile('query q() { update Person set { age: 3 } where id = "b" }')
    with pytest.raises(ReadSetConflict, match="'b' was changed while it was compared"):
        graph.resolve("Person", SAME_EMAIL)
    meanwhile('query q() { update Person set { age: 3 } where id = "c" }')
    assert graph.resolve("Person", SAME_EMAIL).found.merged == 1


def test_options_of_a_write_hold(tmp_path: Path) -> None:
    graph = graph_of(tmp_path / "g", *(person(id_, "Ada", email="e") for id_ in "ab"))
    with pytest.raises(PreconditionFailed):
        graph.resolve("Person", SAME_EMAIL, if_commit="01" + "0" * 24)
    first = graph.resolve("Person", SAME_EMAIL, idempotency_key="k", provenance={"run": "7"})
    again = graph.resolve("Person", SAME_EMAIL, idempotency_key="k")
    assert again.repeated
    assert again.commit == first.commit
    graph.revert(run="7")
    assert sorted(nodes(graph)) == ["a", "b"]


def test_blocks_that_are_too_large_are_skipped_and_named(tmp_path: Path) -> None:
    graph = graph_of(
        tmp_path / "g",
        *(person(f"n{number}", f"Person {number}", email="n/a") for number in range(5)),
        *(person(id_, "Ada", email="e") for id_ in "ab"),
    )
    result = graph.resolve("Person", {**SAME_EMAIL, "block_max": 4})
    assert result.remarks == ("a block of 5 entities was not compared (block_max is 4): email = 'n/a'",)
    assert statuses(result) == [(["a", "b"], "merged")]
    with pytest.raises(UsageError, match="6 entities are too many"):
        graph.resolve("Person", {"compare": {"name": "exact"}, "block_max": 4})


def test_pairs_between_review_and_threshold_are_reported_and_not_folded(tmp_path: Path) -> None:
    graph = graph_of(tmp_path / "g", person("a", "Ada Lovelace"), person("b", "Ada Lovelake"), person("c", "Bob"))
    preview = graph.resolve_preview("Person", {"compare": {"name": "levenshtein"}, "threshold": 0.95, "review": 0.8})
    [pair] = preview.pairs.to_pylist()
    assert (pair["left"], pair["right"], pair["match"]) == ("a", "b", False)
    assert preview.found.merged == 0


def test_missing_values_count_as_the_rules_say(tmp_path: Path) -> None:
    graph = graph_of(tmp_path / "g", person("a", "Ada", city="London"), person("b", "Ada"), person("c", "Bob"))
    rules: dict[str, Any] = {"compare": {"name": "exact", "city": "exact"}, "threshold": 0.9}

    def matched(**changes: Any) -> bool:
        return graph.resolve_preview("Person", {**rules, **changes}).found.merged == 1

    assert matched()
    assert not matched(evidence=0.6)
    assert not matched(compare={"name": "exact", "city": {"by": "exact", "missing": 0}})
    assert not matched(compare={"name": "exact", "city": {"by": "exact", "missing": 0.7, "required": 0.8}})


def test_numbers_dates_vectors_lists_and_words_are_compared(tmp_path: Path) -> None:
    schema = """
    node P {
      n: F64?
      day: Date?
      at: DateTime?
      face: Vector(2)?
      names: [String]?
      text: String?
    }
    """
    one = {"n": 10.0, "day": "2024-01-01", "at": "2024-01-01T00:00:00Z", "face": [1, 0], "names": ["Bob", "Robert"]}
    other = {"n": 11.0, "day": "2024-01-04", "at": "2024-01-01T12:00:00Z", "face": [1, 1], "names": ["robert"]}
    graph = graph_of(
        tmp_path / "g",
        {"type": "P", "data": {"id": "a", "text": "red green blue", **one}},
        {"type": "P", "data": {"id": "b", "text": "Green, blue!", **other}},
        schema=schema,
    )
    compare = {
        "n": {"by": "number", "within": 4},
        "day": {"by": "date", "within": 10},
        "at": {"by": "date", "within": 1},
        "face": "cosine",
        "names": "jaro_winkler",
        "text": "tokens",
    }
    [pair] = graph.resolve_preview("P", {"compare": compare, "threshold": 0.1}).pairs.to_pylist()
    found = {name.removesuffix("_similarity"): value for name, value in pair.items() if name.endswith("_similarity")}
    assert found == pytest.approx({"n": 0.75, "day": 0.7, "at": 0.5, "face": 0.5**0.5, "names": 1.0, "text": 2 / 3})
    assert pair["score"] == pytest.approx(sum(found.values()) / 6)


@pytest.mark.parametrize(
    ("block", "together", "apart"),
    [
        ("text", ("Zürich ", "zürich"), ("zürich", "zurich")),
        ("prefix(text, 3)", ("Zürich", "zür"), ("zürich", "zurich")),
        ("soundex(text)", ("Robert", "Rupert"), ("Robert", "Rubin")),
        ("tokens(text)", ("Lovelace, Ada", "ada lovelace"), ("ada", "adam")),
    ],
)
def test_blocks_bring_texts_together(
    tmp_path: Path, block: str, together: tuple[str, str], apart: tuple[str, str]
) -> None:
    for texts, count in ((together, 1), (apart, 0)):
        records = [{"type": "P", "data": {"id": str(n), "text": text}} for n, text in enumerate(texts)]
        graph = graph_of(tmp_path / str(count), *records, schema="node P { text: String }")
        rules = {"blocks": [block], "compare": {"text": "levenshtein"}, "threshold": 0.01}
        assert graph.resolve_preview("P", rules).found.compared == count


def test_blocks_bring_near_numbers_years_and_vectors_together(tmp_path: Path) -> None:
    schema = "node P { n: F64? day: Date? face: Vector(8)? }"
    face = [1.0, 2, 3, 4, 5, 6, 7, 8]
    records = [
        {"type": "P", "data": {"id": "a", "n": 9.9, "day": "2020-01-01", "face": face}},
        {"type": "P", "data": {"id": "b", "n": 10.1, "day": "2020-12-31", "face": [*face[:7], 8.01]}},
        {"type": "P", "data": {"id": "c", "n": 30.0, "day": "2021-01-01", "face": [-x for x in face]}},
        {"type": "P", "data": {"id": "d"}},
    ]
    graph = graph_of(tmp_path / "g", *records, schema=schema)
    compare = {"n": {"by": "number", "within": 1}}
    for block in ("near(n, 10)", "year(day)", "lsh(face)"):
        assert graph.resolve_preview("P", {"blocks": [block], "compare": compare}).found.compared == 1, block


def test_pairs_can_be_given_instead_of_rules(tmp_path: Path) -> None:
    graph = graph_of(tmp_path / "g", *(person(id_, f"name {id_}") for id_ in "abcdef"))
    graph.resolve("Person", pairs=[("a", "b")])
    assert sorted(nodes(graph)) == ["a", "c", "d", "e", "f"]
    splink = pa.table({"unique_id_l": ["a"], "unique_id_r": ["c"], "match_probability": [0.97]})
    assert graph.resolve("Person", pairs=splink).pairs.column("score").to_pylist() == [0.97]
    reviewed = tmp_path / "pairs.csv"
    reviewed.write_text("left,right,score,match\nd,e,0.9,true\nd,f,0.8,false\n")
    assert statuses(graph.resolve("Person", pairs=reviewed)) == [(["d", "e"], "merged")]
    with pytest.raises(NotFoundError, match="there is no Person 'zz'"):
        graph.resolve("Person", pairs=[("a", "zz")])
    with pytest.raises(UsageError, match="pairs need the columns left and right"):
        graph.resolve("Person", pairs=pa.table({"x": [1]}))
    with pytest.raises(UsageError, match="pairs must be a table"):
        graph.resolve("Person", pairs=["ab"])


def test_wrong_calls_are_explained(tmp_path: Path) -> None:
    graph = graph_of(tmp_path / "g", person("a", "Ada"))
    with pytest.raises(NotFoundError, match="there is no node type 'Persn'"):
        graph.resolve("Persn", SAME_EMAIL)
    with pytest.raises(UsageError, match="either rules or pairs"):
        graph.resolve("Person")
    with pytest.raises(UsageError, match="unknown engine"):
        graph.resolve("Person", SAME_EMAIL, engine="flink")


def test_blobs_and_vectors_of_the_entity_that_had_them_are_kept(tmp_path: Path) -> None:
    from omnigraph.embed import MockEmbedder

    schema = """
    node Doc {
      code: String
      a: String?
      b: String?
      text: String?
      vector: Vector(4)? @embed(text)
      image: Blob?
    }
    """
    graph = omnigraph.create(tmp_path / "g", schema, durability="os", embedder=MockEmbedder())
    graph.load(
        [
            {"type": "Doc", "data": {"id": "x", "code": "1", "a": "full", "b": "full"}},
            {"type": "Doc", "data": {"id": "y", "code": "1", "text": "hello", "image": b"bytes"}},
        ]
    )
    vector = nodes(graph, "Doc")["y"]["vector"]
    assert vector is not None
    graph.resolve("Doc", {"blocks": ["code"], "compare": {"code": "exact"}})
    [row] = nodes(graph, "Doc").values()
    survivor = row["id"]
    assert (row["text"], row["vector"], row["a"]) == ("hello", vector, "full")
    assert graph.read_blob("Doc", survivor, "image").read() == b"bytes"
