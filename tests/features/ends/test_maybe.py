"""``maybe`` blocks over an edge that only some types of a variable have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.errors import CompileError
from tests.features.ends.graphs import edge, made, node, rows

SCHEMA = """
interface M { c: String? }
node A implements M { k: String @key }
node B implements M { k: String @key }
node T { k: String @key }
node P { k: String @key }
edge On: A -> T
edge Of: T -> P
edge Next: A -> B
edge Likes: T -> M
"""
RECORDS = [
    *(node(kind, k=key) for kind, key in (("A", "1"), ("A", "2"), ("B", "1"), ("T", "t"), ("P", "p"))),
    edge("On", "1", "t"),
    edge("Of", "t", "p"),
    edge("Next", "2", "1"),
    *(edge("Likes", "t", {"type": kind, "id": key}) for kind, key in (("A", "1"), ("A", "2"), ("B", "1"))),
]
THREE = [("A", "1", "t"), ("A", "2", None), ("B", "1", None)]
FOUR = [("A", "1", "t", "p"), ("A", "2", None, None), ("B", "1", None, None)]
BLOCKS: dict[str, tuple[str, str, list[tuple[Any, ...]]]] = {
    "an interface": ("$m: M maybe { $m on $t }", "id($t)", THREE),
    "an edge over several ends": ("$x likes $m maybe { $m on $t }", "id($t)", THREE),
    "a walk": ("$m: M maybe { $m on{1,3} $t }", "id($t)", THREE),
    "a type of the variable": ("$m: M maybe { $m: A $m on $t }", "id($t)", THREE),
    "an edge variable": ("$m: M maybe { $m $e: on $t }", "type($e)", [("A", "1", "On"), *THREE[1:]]),
    "as written, not the other way round": (
        "$m: M maybe { $m next $n }",
        "type($n)",
        [("A", "1", None), ("A", "2", "B"), ("B", "1", None)],
    ),
    "two steps": ("$m: M maybe { $m on $t $t of $p }", "id($t), id($p)", FOUR),
    "a second block": ("$m: M maybe { $m on $t } maybe { $t of $p }", "id($t), id($p)", FOUR),
    "a second block by a filter": (
        "$m: M maybe { $m on $t } maybe { $p: P $t.k != $p.k }",
        "id($t), id($p)",
        FOUR,
    ),
    "a block inside": ("$m: M maybe { $m on $t maybe { $t of $p } }", "id($t), id($p)", FOUR),
    "a clause after it": ("$m: M maybe { $m on $t } $x likes $m", "id($t)", THREE),
    "a clause after a block inside": (
        "$m: M maybe { maybe { $m likes $x } $m on $t }",
        "id($t)",
        THREE,
    ),
    "a filter after it": ('$m: M maybe { $m on $t } $t.k = "t"', "id($t)", THREE[:1]),
    "a filter for nulls": ("$m: M maybe { $m on $t } $t.k is null", "id($t)", THREE[1:]),
}


@pytest.fixture(scope="module")
def some(tmp_path_factory: pytest.TempPathFactory) -> omnigraph.Graph:
    return made(tmp_path_factory.mktemp("maybe") / "g", SCHEMA, RECORDS)


@pytest.mark.parametrize("name", BLOCKS)
def test_types_without_the_edge_have_rows_with_nulls(some: omnigraph.Graph, name: str) -> None:
    pattern, returned, wanted = BLOCKS[name]
    # Run more than once: later runs are compiled.
    for _ in range(3):
        found = rows(
            some, f"match {{ {pattern} }} return {{ type($m) as y, id($m) as i, {returned} }} order {{ y, i }}"
        )
        assert found == wanted


def test_a_clause_after_a_block_may_require_a_node_of_the_former_stage(some: omnigraph.Graph) -> None:
    then = "then match { maybe { $x likes $m  $m on $t } $p likes $m } return { type($m) as y, id($m) as i, id($t) }"
    for variable in ("$m: M", "$_ likes $m"):
        found = rows(some, f"match {{ {variable} }} return {{ $m }} {then} order {{ y, i }}")
        assert found == THREE


def test_a_clause_after_a_block_that_binds_its_variable_is_refused(some: omnigraph.Graph) -> None:
    for pattern in (
        "$m: M maybe { $m on $t $t likes $n } $x likes $n",
        "$m: M maybe { maybe { $t likes $n } $x likes $n $m on $t }",
    ):
        with pytest.raises(CompileError, match="T26"):
            some.query(f"match {{ {pattern} }} return {{ id($m), id($n) }}")


@pytest.mark.parametrize("pattern", ["$m: M maybe { $m of $t }", "$m: M $p: P maybe { $p on $t }"])
def test_an_edge_that_no_type_has_is_refused(some: omnigraph.Graph, pattern: str) -> None:
    with pytest.raises(CompileError, match="T5"):
        some.query(f"match {{ {pattern} }} return {{ id($m), id($t) }}")


def test_a_graph_without_such_nodes_has_no_rows(tmp_path: Path) -> None:
    empty = made(tmp_path / "g", SCHEMA, [])
    assert rows(empty, "match { $m: M maybe { $m on $t } } return { id($m), id($t) }") == []
