"""An accepted schema holds what its text says: types, annotations, constraints, interfaces and ids."""

import pytest

from omnigraph.core.scalars import Scalar
from omnigraph.errors import UsageError
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.compile import accept
from omnigraph.schema.ir import (
    CheckConstraint,
    CustomAnnotation,
    Embed,
    IndexConstraint,
    KeyConstraint,
    MergePolicy,
    RangeConstraint,
    SchemaIR,
    UniqueConstraint,
)
from omnigraph.schema.types import PropertyType
from tests.unit.schema.schemas import DOMAIN, accepted, edge, errors, node, parse, prop

# --- types (spec 1.3) --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "meant", "shown"),
    [
        *(
            (scalar.value, PropertyType(scalar), scalar.value)
            for scalar in Scalar
            if scalar not in (Scalar.VECTOR, Scalar.DECIMAL)
        ),
        ("Decimal(10)", PropertyType(Scalar.DECIMAL, digits=(10, 0)), "Decimal(10, 0)"),
        ("Decimal(10,2)", PropertyType(Scalar.DECIMAL, digits=(10, 2)), "Decimal(10, 2)"),
        ("[Decimal(38, 38)]?", PropertyType(Scalar.DECIMAL, True, True, digits=(38, 38)), "[Decimal(38, 38)]?"),
        ("String?", PropertyType(Scalar.STRING, nullable=True), "String?"),
        ("[I32]", PropertyType(Scalar.I32, is_list=True), "[I32]"),
        ("[Date]?", PropertyType(Scalar.DATE, is_list=True, nullable=True), "[Date]?"),
        ("Vector(4)", PropertyType(Scalar.VECTOR, dimension=4), "Vector(4)"),
        ("Vector(4)?", PropertyType(Scalar.VECTOR, nullable=True, dimension=4), "Vector(4)?"),
        ("enum(b, a)", PropertyType(Scalar.STRING, enum_values=("a", "b")), "enum(a, b)"),
        (
            "enum(2nd-class)?",
            PropertyType(Scalar.STRING, nullable=True, enum_values=("2nd-class",)),
            "enum(2nd-class)?",
        ),
    ],
)
def test_a_type_means_what_it_says(written: str, meant: PropertyType, shown: str) -> None:
    type_ = prop(accepted(f"node A {{ p: {written} }}"), "A", "p").type
    assert type_ == meant
    assert str(type_) == shown


@pytest.mark.parametrize(
    ("written", "gist"),
    [
        ("Decimal", "it names its digits"),
        ("Decimal(0, 0)", "digits"),
        ("Decimal(39, 2)", "at most 38"),
        ("Decimal(4, 5)", "digits"),
        ("[Json]", "expected the items of a list"),
        ("Vector(0)", "must be greater than zero"),
        ("Vector(2147483648)", "must be at most 2147483647"),
        ("enum()", "must include at least one value"),
        ("enum(a, a)", "cannot include duplicate values"),
        ("[enum(a)]", "expected a type"),
        ("[Vector(2)]", "expected a type"),
        ("[[I32]]", "expected a type"),
    ],
)
def test_a_type_that_cannot_be_is_an_error(written: str, gist: str) -> None:
    found = errors(f"node A {{ p: {written} }}")
    assert gist in found[0].message


def test_properties_and_types_are_held_by_name() -> None:
    schema = accepted("node B { z: I32 a: I32 } node A {} edge F: A -> B edge E: A -> B")
    assert [item.name for item in schema.nodes] == ["A", "B"]
    assert [item.name for item in schema.edges] == ["E", "F"]
    assert [item.name for item in node(schema, "B").properties] == ["a", "z"]


def test_a_node_an_edge_and_an_interface_may_share_a_name() -> None:
    schema = accepted("interface X { p: I32 } node X implements X {} edge X: X -> X")
    assert (len(schema.interfaces), len(schema.nodes), len(schema.edges)) == (1, 1, 1)


def test_names_that_only_look_reserved_are_allowed() -> None:
    assert not errors("node A { _row_id: I32 _rowdy: I32 type: I32 src: I32 dst: I32 from: I32 match: I32 node: I32 }")


# --- annotations (spec 1.4) --------------------------------------------------------------------------------


def test_annotations_of_types_and_properties_are_kept() -> None:
    schema = accepted(
        """
        node Doc @description("A text") @instruction("Ask first") @x_owner("docs", team=3, on=true) @x_beta {
          text: String @description("The body")
          vec: Vector(3) @embed("text", model="m1") @index
          size: I64? @merge(max) @x_unit(bytes)
          tags: [String] @merge("union")
        }
        edge Cites: Doc -> Doc @description("Refers to") @instruction("x") { why: enum(a, b)? @merge(review) }
        """
    )
    doc = node(schema, "Doc")
    assert (doc.description, doc.instruction) == ("A text", "Ask first")
    assert doc.annotations == (
        CustomAnnotation("x_beta", None),
        CustomAnnotation("x_owner", "docs", (("on", "true"), ("team", "3"))),
    )
    assert prop(schema, "Doc", "text").description == "The body"
    assert prop(schema, "Doc", "vec").embed == Embed("text", "m1")
    assert prop(schema, "Doc", "size").merge is MergePolicy.MAX
    assert prop(schema, "Doc", "size").annotations == (CustomAnnotation("x_unit", "bytes"),)
    assert prop(schema, "Doc", "tags").merge is MergePolicy.UNION
    assert (edge(schema, "Cites").description, edge(schema, "Cites").instruction) == ("Refers to", "x")
    assert prop(schema, "Cites", "why").merge is MergePolicy.REVIEW


def test_values_of_custom_annotations_are_kept_as_text() -> None:
    schema = accepted('node A @x_(1) {} node B @x_("1") {} node C @x_(1.5) {} node D @x_(false) {} node E @x_(y) {}')
    assert [item.annotations[0].value for item in schema.nodes] == ["1", "1", "1.5", "false", "y"]


@pytest.mark.parametrize("source", ["String", "String?", "enum(a, b)"])
def test_an_embedding_may_be_made_from_any_single_text(source: str) -> None:
    assert not errors(f"node A {{ t: {source} v: Vector(2) @embed(t) }}")


@pytest.mark.parametrize(
    ("policy", "types"),
    [
        ("sum", ("I32", "I64?", "U32", "U64", "F32", "F64")),
        ("max", ("I32", "String", "enum(a)", "Date", "DateTime?")),
        ("min", ("F64", "String?", "Date", "DateTime")),
        ("union", ("[String]", "[I32]?")),
        *(
            (policy, ("Bool", "Blob", "[I32]", "Vector(2)", "String"))
            for policy in ("source", "target", "newest", "review")
        ),
    ],
)
def test_a_merge_policy_fits_its_types(policy: str, types: tuple[str, ...]) -> None:
    for type_ in types:
        assert prop(accepted(f"node A {{ p: {type_} @merge({policy}) }}"), "A", "p").merge is MergePolicy(policy)


# --- constraints (spec 1.5) --------------------------------------------------------------------------------


def test_bare_annotations_are_constraints_over_one_property() -> None:
    schema = accepted(
        "node A { a: String @key b: I32 @unique c: Vector(2) @index } edge E: A -> A { d: I32 @unique @index }"
    )
    assert node(schema, "A").constraints == (
        KeyConstraint(("a",), sugar=True),
        UniqueConstraint(("b",), sugar=True),
        IndexConstraint(("c",), sugar=True),
    )
    assert edge(schema, "E").constraints == (UniqueConstraint(("d",), sugar=True), IndexConstraint(("d",), sugar=True))


def test_body_constraints_are_kept_in_one_order() -> None:
    schema = accepted(
        r"""
        node A {
          @check(b, "^x\\d+$")
          @index(b, a)
          @range(a, ..5)
          @unique(b, a)
          @key(b, a)
          @range(c, -1.5..2.0)
          a: I32  b: String  c: F64?  true: I32 truth: I32
          @unique(true)
          @unique(truth)
        }
        """
    )
    assert node(schema, "A").constraints == (
        KeyConstraint(("a", "b"), sugar=False),
        UniqueConstraint(("a", "b"), sugar=False),
        UniqueConstraint(("true",), sugar=False),
        UniqueConstraint(("truth",), sugar=False),
        IndexConstraint(("b", "a"), sugar=False),
        RangeConstraint("a", None, 5),
        RangeConstraint("c", -1.5, 2),
        CheckConstraint("b", r"^x\d+$"),
    )


def test_constraints_of_edges_may_name_the_endpoints() -> None:
    schema = accepted("node A {} edge E: A -> A { n: I32 @unique(n, dst, src) @index(src) }")
    assert edge(schema, "E").constraints == (
        UniqueConstraint(("src", "dst", "n"), sugar=False),
        IndexConstraint(("src",), sugar=False),
    )


def test_lists_and_vectors_may_stand_in_body_constraints_of_older_schemas() -> None:
    assert not errors("node A { l: [I32] v: Vector(2) @unique(l) @unique(v) @index(l) @index(v) }")


def test_a_check_may_be_on_an_enum_and_on_a_nullable_string() -> None:
    assert not errors('node A { a: enum(x, y) b: String? @check(a, "x") @check(b, "y") }')


@pytest.mark.parametrize(
    ("written", "bounds"),
    [("", (0, None)), ("@card(1..)", (1, None)), ("@card(0..1)", (0, 1)), ("@card(2..2)", (2, 2))],
)
def test_cardinality_counts_edges_of_one_source(written: str, bounds: tuple[int, int | None]) -> None:
    found = edge(accepted(f"node A {{}} edge E: A -> A {written}"), "E")
    assert (found.card_min, found.card_max) == bounds


def test_a_cardinality_from_more_to_less_is_an_error() -> None:
    assert "cardinality min (2) exceeds max (1)" in errors("node A {} edge E: A -> A @card(2..1)")[0].message


def test_a_constraint_written_twice_counts_once() -> None:
    schema = accepted(
        "node A { a: I32 b: I32 @unique(a, b) @unique(b, a) @unique(a, a, b) @range(a, 0..1) @range(a, 0.0..1) }"
    )
    assert node(schema, "A").constraints == (UniqueConstraint(("a", "b"), sugar=False), RangeConstraint("a", 0, 1))


# --- interfaces (spec 1.6) ---------------------------------------------------------------------------------


def test_an_interface_brings_its_properties_with_annotations_and_constraints() -> None:
    schema = accepted(
        'interface I { p: String @key @description("d") @x_x(1) n: I32? @index } node A implements I { q: I32 }'
    )
    assert [item.name for item in node(schema, "A").properties] == ["n", "p", "q"]
    injected, original = prop(SchemaIR("", 0, (), schema.nodes, ()), "A", "p"), prop(schema, "I", "p")
    assert (injected.description, injected.annotations) == ("d", original.annotations)
    assert (injected.injected_from, original.injected_from) == ("I", None)
    assert injected.id != original.id
    assert node(schema, "A").constraints == (KeyConstraint(("p",), sugar=True), IndexConstraint(("n",), sugar=True))
    assert schema.interfaces[0].constraints == node(schema, "A").constraints


def test_a_direct_declaration_drops_what_the_interface_says_about_the_property() -> None:
    schema = accepted('interface I { p: String @key @description("d") } node A implements I { p: String }')
    assert node(schema, "A").constraints == ()
    direct = node(schema, "A").properties[0]
    assert (direct.description, direct.injected_from) == (None, None)


def test_interfaces_that_agree_bring_a_property_once() -> None:
    schema = accepted(
        "interface J { p: enum(a, b) @unique } interface I { p: enum(b, a) @unique } node A implements J, I {}"
    )
    assert node(schema, "A").implements == ("I", "J")
    assert [(item.name, item.injected_from) for item in node(schema, "A").properties] == [("p", "I")]


def test_interfaces_that_disagree_are_settled_by_a_direct_declaration() -> None:
    text = "interface I { p: I32 } interface J { p: I32 @unique } node A implements I, J { p: I32 }"
    assert not errors(text)


def test_the_source_of_an_injected_embedding_may_be_in_the_node() -> None:
    assert not errors("interface I { v: Vector(2) @embed(t) } node A implements I { t: String }")


def test_a_node_may_override_one_of_two_keys_of_its_interfaces() -> None:
    text = "interface I { a: I32 @key } interface J { b: I32 @key } node A implements I, J { b: I32 }"
    assert node(accepted(text), "A").constraints == (KeyConstraint(("a",), sugar=True),)


# --- lookups (spec 1.7) ------------------------------------------------------------------------------------


def test_edges_are_found_whatever_their_case_and_nodes_are_not() -> None:
    catalog = Catalog(accepted("node Person { a: I32 b: I32 @key(b, a) } edge Knows: Person -> Person"))
    for name in ("Knows", "knows", "KNOWS"):
        found = catalog.edge(name)
        assert found is not None
        assert found.name == "Knows"
    assert catalog.node("person") is None
    person = catalog.node("Person")
    assert person is not None
    assert person.key == ("a", "b")


# --- identity (spec 1.8) -----------------------------------------------------------------------------------


def _ids(schema: SchemaIR) -> dict[str, int]:
    types = (*schema.interfaces, *schema.nodes, *schema.edges)
    found = {type_.name: type_.id for type_ in types}
    found |= {f"{type_.name}.{item.name}": item.id for type_ in types for item in type_.properties}
    return found | {f"{type_.name}!": type_.incarnation for type_ in (*schema.nodes, *schema.edges)}


FIRST = "edge E: A -> B { w: I32? } node B implements I {} node A { z: I32 y: I32 } interface I { p: I32 }"


def test_ids_are_given_types_first_then_properties_then_incarnations() -> None:
    schema = accepted(FIRST)
    expected = ["I", "A", "B", "E", "I.p", "A.y", "A.z", "B.p", "E.w", "A!", "B!", "E!"]
    assert _ids(schema) == {name: number for number, name in enumerate(expected, start=1)}
    assert (schema.domain, schema.next_id) == (DOMAIN, 13)


def test_what_continues_keeps_its_ids_and_new_things_get_new_ones() -> None:
    first = accepted(FIRST)
    second = accepted(FIRST.replace("w: I32?", "w: I32? v: I32?") + " node AA { k: I32 } interface H {}", first)
    added = {name: number for name, number in _ids(second).items() if name not in _ids(first)}
    assert added.keys() == {"H", "AA", "E.v", "AA.k", "AA!"}
    assert len({*added.values(), *_ids(first).values()}) == len(_ids(second))
    assert all(number.bit_length() == 52 for number in added.values())
    assert {name: _ids(second)[name] for name in _ids(first)} == _ids(first)


def test_what_two_branches_declare_alike_gets_one_id_and_what_they_declare_apart_does_not() -> None:
    base = accepted("node A { p: I32? }")
    one = accepted("node A { p: I32? x: I32? } node B { k: I32 }", base)
    other = accepted("node A { p: I32? } node C {}", base)
    other = accepted("node A { p: I32? x: I32? y: I32? } node B { k: I32 }", other)
    shared = ("A.x", "B", "B!", "B.k")
    assert [_ids(one)[name] for name in shared] == [_ids(other)[name] for name in shared]
    assert len(set(_ids(other).values())) == len(_ids(other))


def test_ids_of_what_was_dropped_are_remembered_and_not_given_again() -> None:
    first = accepted("node A { x: I32? }", accepted("node A {}"))
    second = accepted("node A {}", first)
    assert second.retired == (_ids(first)["A.x"],)
    third = accepted("node A { x: I32? }", second)
    assert _ids(third)["A.x"] not in (*_ids(first).values(), *second.retired)
    renamed = accepted("node A { y: I32? @rename_from(x) }", first)
    renamed = accepted("node A { y: I32? x: I32? }", renamed)
    assert _ids(renamed)["A.y"] == _ids(first)["A.x"] != _ids(renamed)["A.x"]


def test_renamed_types_and_properties_keep_their_ids() -> None:
    first = accepted("node A { p: I32 q: I32 @key(p, q) } edge E: A -> A { w: I32? }")
    second = accepted(
        'node B @rename_from("A") { z: I32 @rename_from(p) q: I32 @key(q, z) } '
        'edge F: B -> B @rename_from("E") { v: I32? @rename_from("w") }',
        first,
    )
    renames = {"B": "A", "B.z": "A.p", "B.q": "A.q", "B!": "A!", "F": "E", "F.v": "E.w", "F!": "E!"}
    assert _ids(second) == {new: _ids(first)[old] for new, old in renames.items()}
    assert second.next_id == first.next_id
    # The key keeps its order, which is the order of the ids and no longer that of the names.
    assert node(second, "B").constraints == (KeyConstraint(("z", "q"), sugar=False),)


def test_a_renamed_interface_property_is_renamed_where_it_was_injected() -> None:
    first = accepted("interface I { p: I32? } node A implements I {}")
    second = accepted("interface I { q: I32? @rename_from(p) } node A implements I {} node B implements I {}", first)
    assert _ids(second)["I.q"] == _ids(first)["I.p"]
    assert _ids(second)["A.q"] == _ids(first)["A.p"]
    assert _ids(second)["B.q"] >= first.next_id


def test_a_name_that_was_dropped_starts_a_new_life() -> None:
    first = accepted("node A { p: I32? q: I32? } node B {}")
    second = accepted("node A { q: I32? }", first)
    third = accepted("node A { p: I32? q: I32? } node B {}", second)
    for name in ("A.p", "B", "B!"):
        assert _ids(third)[name] >= second.next_id >= first.next_id
    assert _ids(third)["A.q"] == _ids(first)["A.q"]


def test_a_hint_whose_new_name_is_accepted_is_ignored_for_ever() -> None:
    text = 'node B @rename_from("A") { q: I32 @rename_from(p) }'
    second = accepted(text, accepted("node A { p: I32 }"))
    assert accepted(text, second) == second


def test_a_schema_continues_only_the_schema_of_its_own_graph() -> None:
    with pytest.raises(UsageError, match="belongs to the graph"):
        accept(parse("node A {}"), domain="OTHER", previous=accepted("node A {}"))
