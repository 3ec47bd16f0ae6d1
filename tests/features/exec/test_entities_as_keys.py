"""Order and ``having`` by entities: an entity is ordered by its id, and what is returned can be ordered by."""

from __future__ import annotations

from typing import Any

import pytest

from omnigraph.engine.graph import Graph, create
from omnigraph.errors import CompileError
from tests.features.exec.test_several_types import RECORDS, SCHEMA, rows


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    made = create(tmp_path_factory.mktemp("keys") / "g", SCHEMA, durability="os")
    made.load(RECORDS, "append")
    return made


def shown(entity: dict[str, Any]) -> tuple[str, str]:
    return entity["type"], entity["id"]


EVERY = [("Comment", "7"), ("Post", "7"), ("Post", "8"), ("Comment", "9")]
BACK = [("Comment", "9"), ("Post", "8"), ("Comment", "7"), ("Post", "7")]


@pytest.mark.parametrize(
    ("tail", "wanted"),
    [
        ("return { $m } order { $m }", EVERY),
        ("return { $m } order { $m desc }", BACK),
        ("return { $m as x } order { x desc }", BACK),
        ("return distinct { $m } order { $m desc }", BACK),
        ("return distinct { $m as x } order { x }", EVERY),
        ("return { $m, count(*) as n } order { n, $m }", EVERY),
        ("return { $m, count(*) as n } order { id($m) desc }", BACK),
        ("return { $m, count(*) as n } order { type($m) desc, $m }", [EVERY[1], EVERY[2], EVERY[0], EVERY[3]]),
        ('return { $m, count(*) as n } having { id($m) != "7" } order { $m }', EVERY[2:]),
        ("return { $m.* as x } union match { $m: Message } return { $m } order { x desc }", BACK),
        ("return { $m } union match { $m: Message } return { $m } order { $m }", EVERY),
    ],
)
def test_entities_of_several_types_are_ordered_by_their_ids(
    graph: Graph, tail: str, wanted: list[tuple[str, str]]
) -> None:
    assert [shown(row[0]) for row in rows(graph, f"match {{ $m: Message }} {tail}")] == wanted


@pytest.mark.parametrize(
    "tail",
    [
        "return { $p, count(*) as n } order { $p desc }",
        "return { $p, count(*) as n } order { id($p) desc }",
        "return { id($p), count(*) as n } order { $p desc }",
        "return distinct { $p } order { id($p) desc }",
        'return { $p, count(*) as n } having { id($p) in ["Ann", "Bob"] } order { $p desc }',
    ],
)
def test_an_entity_and_its_id_are_one_key(graph: Graph, tail: str) -> None:
    assert [row[0] for row in rows(graph, f"match {{ $p: Person }} {tail}")] == ["Bob", "Ann"]


def test_an_entity_with_its_properties_is_ordered_by_its_id(graph: Graph) -> None:
    for tail in ("return { $p.* as x } order { x desc }", "return { $p.*, count(*) as n } order { $p desc }"):
        assert [row[0]["id"] for row in rows(graph, f"match {{ $p: Person }} {tail}")] == ["Bob", "Ann"]


def test_the_types_of_two_variables_are_two_keys(graph: Graph) -> None:
    # In the pattern of two comments both types are the constant "Comment".
    text = "match { $m: Message $n: Message } return { type($m) as first, type($n) as second, count(*) as n }"
    found = [(b, a) for a, b, _ in rows(graph, f"{text} order {{ type($n), type($m) desc }}")]
    assert found == [("Comment", "Post"), ("Comment", "Comment"), ("Post", "Post"), ("Post", "Comment")]
    text = "match { $p: Person $p <$e> $m $m: Message } return { $p.name, count(distinct $m) as n } order"
    assert rows(graph, f"{text} {{ count(distinct $m) desc, $p.name }}") == [("Ann", 2), ("Bob", 2)]


@pytest.mark.parametrize(
    ("tail", "code"),
    [
        ("return { type($n), count(*) } order { type($m) }", "T9"),
        ("return { count(type($n)) } order { count(type($m)) }", "T9"),
        ("return { $m.text, count(*) as n } having { id($m) = 'x' }".replace("'", '"'), "T9"),
        ('return { $m.text, count(*) as n } having { type($m) = "x" }', "T9"),
        ("return { $m, count(*) as n } having { m > 1 }", "T0"),
    ],
)
def test_what_is_not_returned_is_no_key(graph: Graph, tail: str, code: str) -> None:
    with pytest.raises(CompileError) as raised:
        graph.query(f"match {{ $m: Message $n: Message }} {tail}")
    assert {item.code for item in raised.value.diagnostics} == {code}  # type: ignore[attr-defined] # of the compiler
    assert "#" not in str(raised.value), "no name that a query cannot have"
