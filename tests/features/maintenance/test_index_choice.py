"""Index choice by schema alone: which indexes a type gets, and from which size on they are built."""

import pytest

from omnigraph.core.tuning import Tuning
from omnigraph.storage.index.indexes import IndexKind
from omnigraph.write.upkeep.index_choice import index_rows_min, wanted_indexes
from tests.unit.rows.schemas import catalog

B, T, N, V = IndexKind.BTREE, IndexKind.TEXT, IndexKind.NGRAM, IndexKind.VECTOR


def chosen(declared: str, name: str = "N") -> list[tuple[str, IndexKind]]:
    known = catalog(f"node P {{ name: String @key }}\n{declared}")
    entity = known.nodes.get(name) or known.edges[name]
    return [(spec.column, spec.kind) for spec in wanted_indexes(entity)]


@pytest.mark.parametrize(
    ("property_", "kinds"),
    [
        ("x: String @index", [T, N]),
        ("x: enum(a, b) @index", [B]),
        ("x: Vector(2) @index", [V]),
        *((f"x: {scalar} @index", [B]) for scalar in ("Bool", "I32", "I64", "U32", "U64", "F32", "F64")),
        ("x: Date @index", [B]),
        ("x: DateTime @index", [B]),
        ("x: [String]", []),
        ("x: Blob", []),
        ("x: String", []),
        ("x: String @unique", []),
        ("x: String @key", [B, T]),
        ("x: I64 @key", [B]),
        ("x: String @key @index", [B, T, N]),
        ("x: Date @key @index", [B]),
    ],
)
def test_the_type_of_a_property_decides_the_kinds_of_its_indexes(property_: str, kinds: list[IndexKind]) -> None:
    assert chosen(f"node N {{ {property_} }}") == [("id", B), *(("x", kind) for kind in kinds)]


@pytest.mark.parametrize("constraint", ["@key(x, y)", "@index(x, y)", "@unique(x, y)"])
def test_a_constraint_over_several_properties_has_no_index(constraint: str) -> None:
    assert chosen(f"node N {{ x: String y: I64 {constraint} }}") == [("id", B)]


def test_an_edge_is_found_by_its_id_and_both_endpoints() -> None:
    assert chosen("edge E: P -> P { since: I64? @index }", "E") == [
        ("id", B),
        ("src", B),
        ("dst", B),
        ("since", B),
    ]


def test_an_index_that_is_declared_twice_is_chosen_once() -> None:
    found = chosen("node N { x: I64 @index @index(x) }")
    assert found == [("id", B), ("x", B)]


def test_every_kind_of_index_has_a_smallest_size() -> None:
    tuning = Tuning(index_rows_min=1, vector_index_rows_min=2, ngram_index_rows_min=3)
    assert {kind: index_rows_min(kind, tuning) for kind in IndexKind} == {
        B: 1,
        T: 1,
        N: 3,
        V: 2,
    }
