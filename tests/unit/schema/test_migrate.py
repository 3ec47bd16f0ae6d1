"""The planner names every difference between two schemas, in order, with its code and how safe it is."""

import json

import pytest

from omnigraph.errors import CompileError, MigrationRefused, UsageError
from omnigraph.lang.source import Source
from omnigraph.schema.migrate import plan, plan_texts
from omnigraph.schema.migration import step_text
from omnigraph.schema.steps import MigrationCode, Safety
from omnigraph.wire.schemas import migration_json
from tests.unit.schema.schemas import accepted, planned

# --- steps (spec 9.2): before, after, the steps without their safety ----------------------------------------

N = "node A { k: I32 @key }"
DATE = {"scalar": "Date", "nullable": True, "list": False, "enum_values": None}
OF_A = {"type_kind": "node", "type_name": "A"}

STEPS: dict[str, tuple[str, str, list[dict[str, object]]]] = {
    "nothing": (N, f"// a comment\n{N}", []),
    "add node": (N, f"{N} node B {{ x: I32 }}", [{"kind": "add_type", "type_kind": "node", "name": "B"}]),
    "add edge": (N, f"{N} edge E: A -> A", [{"kind": "add_type", "type_kind": "edge", "name": "E"}]),
    "add interface": (N, f"interface I {{}} {N}", [{"kind": "add_type", "type_kind": "interface", "name": "I"}]),
    "rename node": (
        f"{N} edge E: A -> A",
        'node B @rename_from("A") { k: I32 @key } edge E: B -> B',
        [{"kind": "rename_type", "type_kind": "node", "from": "A", "to": "B"}],
    ),
    "rename edge": (
        f"{N} edge E: A -> A {{ @unique(src, dst) }}",
        f'{N} edge F: A -> A @rename_from("E") {{ @unique(dst, src) }}',
        [{"kind": "rename_type", "type_kind": "edge", "from": "E", "to": "F"}],
    ),
    "add property": (
        "node A {}",
        "node A { p: Date? }",
        [{"kind": "add_property", **OF_A, "property_name": "p", "property_type": DATE}],
    ),
    "add vector": (
        "node A {}",
        "node A { p: Vector(3)? }",
        [
            {
                "kind": "add_property",
                **OF_A,
                "property_name": "p",
                "property_type": {"scalar": {"Vector": 3}, "nullable": True, "list": False, "enum_values": None},
            }
        ],
    ),
    "add enum list": (
        "node A {}",
        "node A { p: enum(b, a)? q: [I32]? }",
        [
            {
                "kind": "add_property",
                **OF_A,
                "property_name": "p",
                "property_type": {"scalar": "String", "nullable": True, "list": False, "enum_values": ["a", "b"]},
            },
            {
                "kind": "add_property",
                **OF_A,
                "property_name": "q",
                "property_type": {"scalar": "I32", "nullable": True, "list": True, "enum_values": None},
            },
        ],
    ),
    "rename property used everywhere": (
        "node A { k: String t: String v: Vector(2) @embed(t) @key(k) @unique(k, t) @index(k) "
        '@check(k, "x") n: I32 @range(n, 0..1) }',
        "node A { l: String @rename_from(k) u: String @rename_from(t) v: Vector(2) @embed(u) "
        '@key(l) @unique(u, l) @index(l) @check(l, "x") m: I32 @rename_from(n) @range(m, 0..1) }',
        [
            {"kind": "rename_property", **OF_A, "from": "k", "to": "l"},
            {"kind": "rename_property", **OF_A, "from": "n", "to": "m"},
            {"kind": "rename_property", **OF_A, "from": "t", "to": "u"},
        ],
    ),
    "add index": (
        "node A { p: I32 }",
        "node A { p: I32 @index }",
        [{"kind": "add_constraint", **OF_A, "constraint": {"Index": ["p"]}}],
    ),
    "add index in the body": (
        "node A { p: I32 q: I32 }",
        "node A { p: I32 q: I32 @index(q, p) }",
        [{"kind": "add_constraint", **OF_A, "constraint": {"Index": ["q", "p"]}}],
    ),
    "extend enum after its rename": (
        "node A { p: enum(b, c) }",
        "node A { q: enum(d, c, b, a) @rename_from(p) }",
        [
            {"kind": "rename_property", **OF_A, "from": "p", "to": "q"},
            {"kind": "extend_enum", **OF_A, "property_name": "q", "added_values": ["a", "d"]},
        ],
    ),
    "reorder enum": ("node A { p: enum(b, c) }", "node A { p: enum(c, b) }", []),
    "update type metadata": (
        'node A @description("a") {}',
        'node A @description("b") @instruction("c") {}',
        [
            {
                "kind": "update_type_metadata",
                "type_kind": "node",
                "name": "A",
                "annotations": [{"name": "description", "value": "b"}, {"name": "instruction", "value": "c"}],
            }
        ],
    ),
    "update property metadata": (
        'node A { p: I32 @description("a") }',
        "node A { p: I32 }",
        [{"kind": "update_property_metadata", **OF_A, "property_name": "p", "annotations": []}],
    ),
    "add, change and remove a merge policy": (
        "node A { p: I32 q: I32 @merge(max) r: I32 @merge(max) }",
        "node A { p: I32 @merge(sum) q: I32 @merge(min) r: I32 }",
        [
            {
                "kind": "update_property_metadata",
                **OF_A,
                "property_name": name,
                "annotations": [{"name": "merge", "value": policy}] if policy else [],
            }
            for name, policy in (("p", "sum"), ("q", "min"), ("r", None))
        ],
    ),
    "drop node": (f"{N} node B {{}}", N, [{"kind": "drop_type", "type_kind": "node", "name": "B", "mode": "soft"}]),
    "drop edge": (
        f"{N} edge E: A -> A",
        N,
        [{"kind": "drop_type", "type_kind": "edge", "name": "E", "mode": "soft"}],
    ),
    "drop property": (
        "node A { p: I32 q: I32 }",
        "node A { p: I32 }",
        [{"kind": "drop_property", **OF_A, "property_name": "q", "mode": "soft"}],
    ),
    "drop property with its constraints": (
        'node A { p: I32 q: I32 @unique @index @range(q, 0..1) s: String @check(s, "x") }',
        "node A { p: I32 }",
        [
            {"kind": "drop_property", **OF_A, "property_name": "q", "mode": "soft"},
            {"kind": "drop_property", **OF_A, "property_name": "s", "mode": "soft"},
        ],
    ),
    "implement renamed property of an interface": (
        "interface I { p: I32? } node A implements I {}",
        "interface I { q: I32? @rename_from(p) } node A implements I {}",
        [
            {"kind": "rename_property", "type_kind": "interface", "type_name": "I", "from": "p", "to": "q"},
            {"kind": "rename_property", **OF_A, "from": "p", "to": "q"},
        ],
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_supported_change_is_planned_as_these_steps(name: str) -> None:
    before, after, expected = STEPS[name]
    found = planned(before, after)
    assert migration_json(found) == {"supported": True, "steps": [{**step, "safety": "safe"} for step in expected]}
    assert found.refusals == ()


def test_steps_come_kind_by_kind_and_within_a_type_in_a_fixed_order() -> None:
    before = """
    interface I { a: I32? }
    node Gone {}
    node N @description("x") { b: I32? c: I32? d: I32? }
    edge E: N -> N { w: I32? }
    """
    after = """
    edge E: N2 -> N2 { }
    node N2 @rename_from("N") @description("y") { c2: I32? @rename_from(c) d: I32? @index a: I32? }
    node Fresh {}
    interface I { a: I32? z: I32? }
    """
    assert planned(before, after).render().splitlines() == [
        "- add property z: I32? to interface I",
        "- add node type Fresh",
        "- rename node type N to N2",
        "- update metadata of node N2",
        "- add property a: I32? to node N2",
        "- rename property c to c2 in node N2",
        "- drop property b of node N2 (soft)",
        "- add constraint @index(d) to node N2",
        "- drop node type Gone (soft)",
        "- drop property w of edge E (soft)",
    ]


def test_an_empty_plan_says_so() -> None:
    assert planned(N, N).steps == ()
    assert planned(N, N).render() == "no schema changes"


# --- refused changes (spec 9.3): before, after, entity, code ------------------------------------------------

TYPE_CHANGES = [
    ("I32", "I64"),
    ("I32", "I64?"),
    ("F32", "F64"),
    ("String", "[String]"),
    ("Vector(2)", "Vector(3)"),
    ("enum(a)", "I32"),
]

CHECKED: dict[str, tuple[str, str, list[tuple[str, str, str]]]] = {
    "loosen": ("p: I32", "p: I32?", [("change_nullability", "safe", "make property p of node A nullable")]),
    "tighten": (
        "p: I32?",
        "p: I32",
        [("change_nullability", "needs_data_check", "make property p of node A required [OG-MF-104, validated]")],
    ),
    "narrow an enum": (
        "p: enum(a, b)",
        "p: enum(a, c)",
        [("change_enum", "needs_data_check", "allow a, c in property p of node A")],
    ),
    "enum to text": ("p: enum(a)", "p: String", [("change_enum", "safe", "allow any text in property p of node A")]),
    "text to enum": (
        "p: String",
        "p: enum(a)",
        [("change_enum", "needs_data_check", "allow a in property p of node A")],
    ),
    "more values and null": (
        "p: enum(a)",
        "p: enum(a, b)?",
        [
            ("extend_enum", "safe", "extend enum p of node A with b"),
            ("change_nullability", "safe", "make property p of node A nullable"),
        ],
    ),
    "add required": (
        "",
        "p: I32",
        [("add_property", "needs_data_check", "add property p: I32 to node A [OG-MF-103, validated]")],
    ),
    "other range": (
        "p: I32 @range(p, 0..1)",
        "p: I32 @range(p, 0..2)",
        [
            ("add_constraint", "needs_data_check", "add constraint @range(p, 0..2) to node A"),
            ("drop_constraint", "safe", "drop constraint @range(p, 0..1) of node A"),
        ],
    ),
    "other form": (
        "p: I32 @unique",
        "p: I32 @unique(p)",
        [
            ("add_constraint", "needs_data_check", "add constraint @unique(p) to node A"),
            ("drop_constraint", "safe", "drop constraint @unique(p) of node A"),
        ],
    ),
    "drop index": ("p: I32 @index", "p: I32", [("drop_constraint", "safe", "drop constraint @index(p) of node A")]),
}

UNCODED: dict[str, tuple[str, str, str]] = {
    "remove interface": ("interface I {} node A {}", "node A {}", "interface:I"),
    "stop implementing": (
        "interface I { p: I32 } node A implements I {}",
        "interface I { p: I32 } node A { p: I32 }",
        "node:A.p",
    ),
    "change source": ("node A {} node B {} edge E: A -> B", "node A {} node B {} edge E: B -> B", "edge:E"),
    "change target": ("node A {} node B {} edge E: A -> B", "node A {} node B {} edge E: A -> A", "edge:E"),
    **{
        f"{verb} {constraint}": (*texts, "node:A")
        for constraint in ("@key(p)", "@key(p, s)")
        for verb, texts in (
            ("add", ("node A { p: I32 s: String }", f"node A {{ p: I32 s: String {constraint} }}")),
            ("remove", (f"node A {{ p: I32 s: String {constraint} }}", "node A { p: I32 s: String }")),
        )
    },
    "remove key with its property": ("node A { p: I32 @key q: I32 }", "node A { q: I32 }", "node:A"),
    "change embed source": (
        "node A { s: String t: String v: Vector(2) @embed(s) }",
        "node A { s: String t: String v: Vector(2) @embed(t) }",
        "node:A.v",
    ),
    "change embed model": (
        "node A { s: String v: Vector(2) @embed(s) }",
        'node A { s: String v: Vector(2) @embed(s, model="m") }',
        "node:A.v",
    ),
    "declare an injected property": (
        "interface I { p: I32 } node A implements I {}",
        "interface I { p: I32 } node A implements I { p: I32 }",
        "node:A.p",
    ),
    "change annotation of a type": ("node A @x_x(1) {}", "node A @x_x(2) {}", "node:A"),
    "add annotation to an edge": (f"{N} edge E: A -> A", f"{N} edge E: A -> A @x_x", "edge:E"),
    "change annotation of a property": ("node A { p: I32 @x_x(1) }", "node A { p: I32 }", "node:A.p"),
}


@pytest.mark.parametrize(("before", "after"), TYPE_CHANGES)
def test_a_property_never_changes_its_type(before: str, after: str) -> None:
    [refused] = planned(f"node A {{ p: {before} }}", f"node A {{ p: {after} }}").steps
    assert refused.safety is Safety.REFUSED
    [refusal] = planned(f"node A {{ p: {before} }}", f"node A {{ p: {after} }}").refusals
    assert (refusal.entity, refusal.code) == ("node:A.p", MigrationCode.CHANGE_TYPE)
    assert refusal.text.startswith("[OG-MF-106] changing the type of property p of node A from")


@pytest.mark.parametrize("name", CHECKED)
def test_a_change_that_the_data_must_allow_says_so(name: str) -> None:
    before, after, expected = CHECKED[name]
    found = planned(f"node A {{ {before} }}", f"node A {{ {after} }}")
    assert found.supported
    steps = migration_json(found)["steps"]
    assert isinstance(steps, list)
    told = [step_text(step) for step in found.steps]
    assert [(step["kind"], step["safety"], text) for step, text in zip(steps, told, strict=True)] == expected


@pytest.mark.parametrize(
    ("before", "after", "safety"),
    [
        ("", "@card(0..1)", "needs_data_check"),
        ("@card(0..1)", "", "safe"),
        ("@card(1..2)", "@card(0..3)", "safe"),
        ("@card(1..2)", "@card(2..3)", "needs_data_check"),
    ],
)
def test_other_bounds_of_edges_are_safe_if_they_are_wider(before: str, after: str, safety: str) -> None:
    [step] = planned(f"{N} edge E: A -> A {before}", f"{N} edge E: A -> A {after}").steps
    assert step.safety.value == safety
    assert step_text(step).startswith("change the cardinality of edge E from")


def test_an_interface_has_no_entities_to_look_at() -> None:
    found = planned("interface I {} node A implements I {}", "interface I { p: I32 } node A implements I {}")
    assert [step.safety for step in found.steps] == [Safety.SAFE, Safety.NEEDS_DATA_CHECK]


@pytest.mark.parametrize("name", UNCODED)
def test_a_change_without_a_code_is_refused(name: str) -> None:
    before, after, entity = UNCODED[name]
    found = planned(before, after)
    refusal = found.refusals[0]
    assert (refusal.entity, refusal.code, refusal.text) == (entity, None, refusal.reason)
    assert refusal.reason.endswith("is not supported")
    assert '"code"' not in json.dumps(migration_json(found))
    assert f"- unsupported change on {entity}: {refusal.reason}" in found.render()


# --- renames (spec 9.4); the errors are among the rule cases ------------------------------------------------


def test_a_hint_that_cannot_be_followed_is_no_step_but_an_error() -> None:
    with pytest.raises(MigrationRefused):
        planned("node A {}", 'node B @rename_from("C") {}')


# --- drops (spec 9.5) ---------------------------------------------------------------------------------------


def test_allowing_data_loss_makes_every_drop_hard_and_asks_for_a_look_at_the_data() -> None:
    before = "node A { p: I32? v: Vector(2)? } node B {} edge E: A -> B { w: I32? } edge F: A -> A"
    found = planned(before, "node A {} edge F: A -> A", allow_data_loss=True)
    steps = migration_json(found)["steps"]
    assert isinstance(steps, list)
    assert [(step["kind"], step["mode"], step["code"], step["safety"]) for step in steps] == [
        ("drop_property", "hard", "OG-DS-104", "needs_data_check"),
        ("drop_property", "hard", "OG-DS-105", "needs_data_check"),
        ("drop_type", "hard", "OG-DS-102", "needs_data_check"),
        ("drop_type", "hard", "OG-DS-103", "needs_data_check"),
    ]
    assert found.supported
    assert "- drop node type B (hard) [OG-DS-102, destructive]" in found.render()


def test_a_node_type_cannot_be_dropped_while_an_edge_needs_it() -> None:
    with pytest.raises(CompileError, match="references unknown target type: B"):
        planned("node A {} node B {} edge E: A -> B", "node A {} edge E: A -> B")


# --- the planner itself -------------------------------------------------------------------------------------


def test_two_texts_are_compared_as_if_a_graph_had_been_created_with_the_first() -> None:
    found = plan_texts(Source("node A { p: I32? }"), Source('node B @rename_from("A") {}'), allow_data_loss=True)
    assert found.render().splitlines() == [
        "- rename node type A to B",
        "- drop property p of node B (hard) [OG-DS-104, destructive]",
    ]


def test_schemas_that_do_not_continue_each_other_are_not_compared() -> None:
    first = accepted("node A {}")
    with pytest.raises(UsageError, match="does not continue"):
        plan(accepted("node A { p: I32? }", first), first)


def test_every_migration_code_is_stable() -> None:
    assert [code.code for code in MigrationCode] == [
        *("OG-DS-101", "OG-DS-102", "OG-DS-103", "OG-DS-104", "OG-DS-105"),
        *("OG-MF-103", "OG-MF-104", "OG-MF-106"),
    ]
