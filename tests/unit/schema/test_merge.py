"""Schemas of two branches to one: what each side changed, what both changed, and what cannot be both."""

import pytest
from hypothesis import given

from omnigraph.errors import SchemaConflict
from omnigraph.schema.ir import SchemaIR
from omnigraph.schema.json_form import shape_hash
from omnigraph.schema.merge import merge_schemas
from omnigraph.schema.references import schema_of, type_parts
from tests.unit.schema.schemas import accepted
from tests.unit.schema.strategies import History, histories

A = "node A { k: I32 @key p: I32? }"
AB = f"{A} node B {{}} edge E: A -> B"

# base, source, target, merged: texts that mean the schemas
CLEAN: dict[str, tuple[str, str, str, str]] = {
    "types of both": (A, f"{A} node S {{}}", f"{A} node T {{}}", f"{A} node S {{}} node T {{}}"),
    "properties of both": (
        A,
        "node A { k: I32 @key p: I32? s: I32? }",
        "node A { k: I32 @key p: I32? t: I32? }",
        "node A { k: I32 @key p: I32? s: I32? t: I32? }",
    ),
    "the same added by both": (
        A,
        f"{A.replace('p:', 'x: String? p:')} node S {{ n: I32 }} edge F: A -> S",
        f"{A.replace('p:', 'x: String? t: I32? p:')} node S {{ n: I32 }} edge F: A -> S",
        f"{A.replace('p:', 'x: String? t: I32? p:')} node S {{ n: I32 }} edge F: A -> S",
    ),
    "renamed here and used there": (
        AB,
        'node Z @rename_from("A") { k: I32 @key q: I32? @rename_from(p) } node B {} edge E: Z -> B',
        f"{AB.replace('p: I32?', 'p: I32? @index @range(p, 0..)')} edge F: B -> A",
        "node Z { k: I32 @key q: I32? @index @range(q, 0..) } node B {} edge E: Z -> B edge F: B -> Z",
    ),
    "dropped here, untouched there": (
        f"{AB} node C {{}}",
        f"{AB.replace('p: I32?', '')}",
        f"{AB} node C {{}} node D {{}}",
        f"{AB.replace('p: I32?', '')} node D {{}}",
    ),
    "constraints of both": (
        "node A { p: I32? q: String? @unique(p) }",
        "node A { p: I32? q: String? @index }",
        'node A { p: I32? q: String? @unique(p) @check(q, "x") }',
        'node A { p: I32? q: String? @index @check(q, "x") }',
    ),
    "parts of one property": (
        'node A { p: I32 @description("a") }',
        'node A { p: I32 @description("b") @merge(max) }',
        'node A { p: I32? @description("a") }',
        'node A { p: I32? @description("b") @merge(max) }',
    ),
    "values of an enum": (
        "node A { p: enum(a, b, c) }",
        "node A { p: enum(a, b, c, s) }",
        "node A { p: enum(b, c, t) }",
        "node A { p: enum(b, c, s, t) }",
    ),
    "cardinality here, description there": (
        AB,
        AB.replace("A -> B", "A -> B @card(0..2)"),
        AB.replace("A -> B", 'A -> B @description("d")'),
        AB.replace("A -> B", 'A -> B @card(0..2) @description("d")'),
    ),
    "changed alike": (
        A,
        A.replace("I32?", "I32"),
        f"{A.replace('I32?', 'I32')} node T {{}}",
        f"{A.replace('I32?', 'I32')} node T {{}}",
    ),
    "an interface grows, and is implemented elsewhere": (
        "interface I { i: I32? } node A implements I {}",
        "interface I { i: I32? j: I32? @index } node A implements I {}",
        "interface I { i: I32? } node A implements I {} node B implements I { b: I32? }",
        "interface I { i: I32? j: I32? @index } node A implements I {} node B implements I { b: I32? }",
    ),
}

# base, source, target, (type, property) of every conflict
CLASHING: dict[str, tuple[str, str, str, list[tuple[str, str | None]]]] = {
    "added differently": (A, f"{A} node X {{ a: I32 }}", f"{A} node X {{ a: I64 }}", [("X", None)]),
    "property added differently": (
        A,
        A.replace("p:", "x: I32? p:"),
        A.replace("p:", "x: String? p:"),
        [("A", "x")],
    ),
    "renamed differently": (
        A,
        A.replace("p: I32?", "q: I32? @rename_from(p)"),
        A.replace("p: I32?", "r: I32? @rename_from(p)"),
        [("A", "r")],
    ),
    "two things of one name": (
        "node A { p: I32? q: I32? }",
        "node A { x: I32? @rename_from(p) q: I32? }",
        "node A { p: I32? x: I32? @rename_from(q) }",
        [("A", "x")],
    ),
    "dropped and changed": (
        f"{A} node B {{ b: I32? }}",
        A.replace("p: I32?", ""),
        f"{A.replace('p: I32?', 'p: I32')} node B {{ b: I32? c: I32? }}",
        [("A", "p"), ("B", None)],
    ),
    "every part at once": (
        'node A { p: I32? @description("a") @range(p, 0..1) }',
        'node A { p: I32? @description("b") @merge(max) @range(p, 0..2) }',
        'node A { p: I32? @description("c") @merge(min) @range(p, 0..3) }',
        [("A", "p"), ("A", "p"), ("A", None)],
    ),
    "an end that was dropped": (f"{A} node B {{}}", A, f"{A} node B {{}} edge E: A -> B", [("E", None)]),
    "a constraint over what was dropped": (
        "node A { p: I32? q: I32? }",
        "node A { q: I32? }",
        "node A { p: I32? q: I32? @unique(p, q) }",
        [("A", None)],
    ),
}


def three(base: str, source: str, target: str) -> tuple[SchemaIR, SchemaIR, SchemaIR]:
    first = accepted(base)
    return first, accepted(source, first), accepted(target, first)


@pytest.mark.parametrize("name", CLEAN)
def test_what_the_sides_changed_apart_comes_together(name: str) -> None:
    *texts, expected = CLEAN[name]
    base, source, target = three(*texts)
    merged = merge_schemas(base, source, target)
    assert shape_hash(merged) == shape_hash(accepted(expected))
    assert shape_hash(merge_schemas(base, target, source)) == shape_hash(merged)
    # Merging again changes nothing, and neither does what was merged bring anything back.
    assert merge_schemas(source, source, merged) == merged
    assert merge_schemas(target, merged, target) == merged


@pytest.mark.parametrize("name", CLASHING)
def test_what_both_sides_changed_differently_is_told_at_once(name: str) -> None:
    *texts, expected = CLASHING[name]
    with pytest.raises(SchemaConflict) as conflict:
        merge_schemas(*three(*texts))
    clashes = conflict.value.facts["conflicts"]
    assert isinstance(clashes, tuple)
    assert [(clash.type, clash.property) for clash in clashes] == expected
    assert all(str(clash) in str(conflict.value) for clash in clashes)


def test_schemas_that_only_together_mean_nothing_are_a_conflict() -> None:
    """The target embeds a text that the source dropped."""
    base = "node A { s: String? t: String? }"
    with pytest.raises(SchemaConflict):
        merge_schemas(*three(base, "node A { t: String? }", "node A { s: String? t: String? v: Vector(2)? @embed(s) }"))


def test_what_either_side_dropped_is_not_given_again() -> None:
    base = accepted(A)
    source = accepted(A, accepted(A.replace("p:", "x: I32? p:"), base))
    target = accepted(f"{A} node T {{}}", base)
    merged = merge_schemas(base, source, target)
    assert merged.retired == source.retired != ()


@given(histories())
def test_parts_put_together_are_the_schema(history: History) -> None:
    previous: SchemaIR | None = None
    for text, _ in history.revisions:
        schema = accepted(text, previous)
        again = schema_of(schema, type_parts(schema))
        assert (again.nodes, again.edges, again.interfaces) == (schema.nodes, schema.edges, schema.interfaces)
        previous = schema
