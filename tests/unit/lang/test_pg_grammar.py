"""Every rule of the schema grammar: what it accepts (shown by the canonical form) and what it refuses, and where."""

import pytest

from omnigraph.lang.pg_ast import (
    Annotation,
    Cardinality,
    Constraint,
    ConstraintKind,
    EdgeDecl,
    EndsDecl,
    NodeDecl,
    PgLiteral,
    PropertyDecl,
    RangeBounds,
)
from omnigraph.lang.pg_format import format_schema
from omnigraph.lang.pg_parser import parse_schema
from omnigraph.lang.source import Source
from omnigraph.lang.syntax import Name, TypeRef
from tests.unit.lang.marked import Broken, check_broken
from tests.unit.lang.strategies import NOWHERE

SCALARS = ("String", "Blob", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "DateTime", "Date")

# rule -> pairs of a text and its canonical form
VALID: dict[str, list[tuple[str, str]]] = {
    "schema": [
        ("", ""),
        (" \t\r\n", ""),
        ("node A{}node B{}", "node A {}\n\nnode B {}\n"),
    ],
    "comments": [
        ("// only\n", "// only\n"),
        ("/* a */ node /* b */ A { } /* c */", "/* a */\nnode A {} /* b */ /* c */\n"),
        ("/* not /* nested */ node A {}", "/* not /* nested */\nnode A {}\n"),
        ("node A {} // at the end", "node A {} // at the end\n"),
    ],
    "interface": [
        ("interface I { }", "interface I {}\n"),
        ("interface I { a: I32 b: String? @index }", "interface I {\n  a: I32\n  b: String? @index\n}\n"),
    ],
    "node": [
        ("node N{}", "node N {}\n"),
        ("node N_1x { }", "node N_1x {}\n"),
        ("node N @a @b(1) implements I,J { }", "node N @a @b(1) implements I, J {}\n"),
        ("node N { a:I32 @key(a) b:I64 }", "node N {\n  a: I32\n  @key(a)\n  b: I64\n}\n"),
    ],
    "edge": [
        ("edge E:A->B", "edge E: A -> B\n"),
        ("edge E: A -> B { }", "edge E: A -> B\n"),
        ("edge E: A -> B {w: F32}", "edge E: A -> B {\n  w: F32\n}\n"),
        ("edge E: A -> B @x edge F: B -> A", "edge E: A -> B @x\n\nedge F: B -> A\n"),
        ("edge E: A -> B { @unique(src, dst) }", "edge E: A -> B {\n  @unique(src, dst)\n}\n"),
    ],
    "card": [
        ("edge E: A -> B @card(0..1)", "edge E: A -> B @card(0..1)\n"),
        ("edge E: A -> B @card( 1 .. )", "edge E: A -> B @card(1..)\n"),
        ("edge E: A -> B @card(0..4294967295) @x {}", "edge E: A -> B @card(0..4294967295) @x\n"),
        ("node N { a: I32 @card(1) }", "node N {\n  a: I32 @card(1)\n}\n"),
    ],
    "prop": [
        ("node N { camelCase : I32 _x:I32 }", "node N {\n  camelCase: I32\n  _x: I32\n}\n"),
        # No word is reserved.
        (
            "node N { node: I32 edge: I32 interface: I32 type: I32 match: I32 enum: I32 implements: I32 key: I32 }",
            "node N {\n  node: I32\n  edge: I32\n  interface: I32\n  type: I32\n  match: I32\n  enum: I32\n"
            "  implements: I32\n  key: I32\n}\n",
        ),
    ],
    "type": [(f"node N {{ a: {name} }}", f"node N {{\n  a: {name}\n}}\n") for name in (*SCALARS, "String?", "Date?")]
    + [
        ("node N { a: [ String ] ? }", "node N {\n  a: [String]?\n}\n"),
        ("node N { a: [Blob] }", "node N {\n  a: [Blob]\n}\n"),
        ("node N { a: Vector( 384 )? }", "node N {\n  a: Vector(384)?\n}\n"),
        ("node N { a: Vector(2147483647) }", "node N {\n  a: Vector(2147483647)\n}\n"),
        (
            "node N { a: enum(x) b: enum(A,2nd,-,a-b_C,007)? }",
            "node N {\n  a: enum(x)\n  b: enum(A, 2nd, -, a-b_C, 007)?\n}\n",
        ),
    ],
    "constraint": [
        ("node N { @key(a,b) }", "node N {\n  @key(a, b)\n}\n"),
        ("node N { @unique(a) @index(b) }", "node N {\n  @unique(a)\n  @index(b)\n}\n"),
        ('node N { @check(a, "^x\\\\d") }', 'node N {\n  @check(a, "^x\\\\d")\n}\n'),
        # A property and a body constraint on one line.
        ("node N { email: String @unique(email) }", "node N {\n  email: String\n  @unique(email)\n}\n"),
        ("node N { @key(true_name, false_name) }", "node N {\n  @key(true_name, false_name)\n}\n"),
    ],
    "range": [
        ("node N { @range(a, 0..10) }", "node N {\n  @range(a, 0..10)\n}\n"),
        ("node N { @range(a, 0 ..) }", "node N {\n  @range(a, 0..)\n}\n"),
        ("node N { @range(a, ..10) }", "node N {\n  @range(a, ..10)\n}\n"),
        ("node N { @range(a, -1.50..-0.25) }", "node N {\n  @range(a, -1.5..-0.25)\n}\n"),
        ("node N { @range(a, .. -3) }", "node N {\n  @range(a, ..-3)\n}\n"),
        ("node N { a: I32 @range(0..10) }", "node N {\n  a: I32\n  @range(0..10)\n}\n"),
    ],
    "annotation": [
        ("node N { a: I32 @key @unique @index }", "node N {\n  a: I32 @key @unique @index\n}\n"),
        ("node N { a: I32 @x(name) }", "node N {\n  a: I32 @x(name)\n}\n"),
        ('node N { a: Vector(3) @embed(b, model = "m") }', 'node N {\n  a: Vector(3) @embed(b, model="m")\n}\n'),
        (
            'node N { a: I32 @x("s",a=1,b=2.0,c=true,d=false) }',
            'node N {\n  a: I32 @x("s", a=1, b=2.0, c=true, d=false)\n}\n',
        ),
        ('node N @rename_from("M") {}', 'node N @rename_from("M") {}\n'),
        ("node N @merge(theirs) {}", "node N @merge(theirs) {}\n"),
    ],
    "literal": [
        (r'node N @x("\"\\\n\r\t") {}', r'node N @x("\"\\\n\r\t") {}' + "\n"),
        ('node N @x("two\nlines\té😀") {}', 'node N @x("two\\nlines\\té😀") {}\n'),
        ("node N @x(1.10) {}", "node N @x(1.1) {}\n"),
        ("node N @x(007) {}", "node N @x(7) {}\n"),
        ("node N @x(18446744073709551615) {}", "node N @x(18446744073709551615) {}\n"),
        ("node N @x(0.00000000000000000001) {}", "node N @x(0.00000000000000000001) {}\n"),
        ("node N @x(true) {}", "node N @x(true) {}\n"),
    ],
}


@pytest.mark.parametrize(
    ("text", "canonical"),
    [pytest.param(*case, id=f"{rule}-{index}") for rule, cases in VALID.items() for index, case in enumerate(cases)],
)
def test_the_grammar_accepts_a_valid_text(text: str, canonical: str) -> None:
    parsed = parse_schema(Source(text))
    assert not parsed.diagnostics, parsed.diagnostics[0].render()
    assert format_schema(parsed) == canonical


def _name(text: str) -> Name:
    return Name(text, NOWHERE)


def test_the_tree_of_a_node_holds_everything_that_was_written() -> None:
    text = 'node P @d("x", n=1) implements I { name: [String]? @k(v) @range(age, -1..2.5) }'
    (node,) = parse_schema(Source(text)).file.declarations
    described = Annotation(_name("d"), PgLiteral("x", NOWHERE), ((_name("n"), PgLiteral(1, NOWHERE)),), NOWHERE)
    member = PropertyDecl(
        _name("name"),
        TypeRef("String", NOWHERE, is_list=True, nullable=True),
        (Annotation(_name("k"), _name("v"), (), NOWHERE),),
        NOWHERE,
    )
    bounds = Constraint(ConstraintKind.RANGE, (_name("age"), RangeBounds(-1, 2.5, NOWHERE)), NOWHERE)
    assert node == NodeDecl(_name("P"), (described,), (_name("I"),), (member, bounds), NOWHERE)
    assert text[slice(*node.span)] == text
    assert text[slice(*node.body[1].span)] == "@range(age, -1..2.5)"


def test_the_tree_of_an_edge_holds_everything_that_was_written() -> None:
    (edge,) = parse_schema(Source("edge E: A -> B @card(1..) { }")).file.declarations
    ends = EndsDecl((_name("A"),), (_name("B"),))
    assert edge == EdgeDecl(_name("E"), (ends,), Cardinality(1, None, NOWHERE), (), (), (), NOWHERE)


def test_an_upper_bound_alone_is_an_upper_bound() -> None:
    (node,) = parse_schema(Source("node N { @range(a, ..5) }")).file.declarations
    assert isinstance(node, NodeDecl)
    assert node.body[0].arguments[1] == RangeBounds(None, 5, NOWHERE)


BROKEN = [
    # lexical
    Broken("¦# comment\nnode A {}", "`#` does not start a comment"),
    Broken("node A {}¦;", "`;` is not used"),
    Broken('node A @x("a¦\\q") {}', "unknown escape `\\q`"),
    Broken('node A @x(¦"abc) {}\nnode B {}', "this string is never closed"),
    Broken("node A {}\n¦/* open\nnode B {}", "this comment is never closed"),
    Broken("node A @x(¦'abc') {}", "double quotes"),
    Broken("node A { a: I32 ¦é: I32 }", "unexpected character 'é'"),
    Broken("¦\ufeffnode A {}", "byte order mark"),
    Broken("node A @x(¦1) {}".replace("1", "9" * 30), "must be at most 18446744073709551615"),
    Broken("node A @x(¦1.0) {}".replace("1", "9" * 400), "larger than the largest F64"),
    # declarations
    Broken("¦type A {}", "expected `interface`, `node` or `edge`, found `type`", "declared with `node` or `edge`"),
    Broken("¦Node A {}", "found `Node`", "keywords are written in lower case: `node`"),
    Broken("¦enum Color { a }", "found `enum`", "as the type of a property"),
    Broken("¦query q() { }", "found `query`", "`.gq` file"),
    Broken("node A {} ¦}", "expected `interface`, `node` or `edge`, found `}`"),
    Broken("node A {}¦, node B {}", "found `,`"),
    # interface
    Broken("interface ¦i {}", "expected the interface's name, found `i`", "upper-case"),
    Broken("interface I ¦@x {}", "expected `{` to open the interface's properties", "neither annotations"),
    Broken("interface I ¦implements J {}", "expected `{`", "nor interfaces of its own"),
    Broken("interface I { ¦@key(a) a: I32 }", "an interface has no constraints", "node types that implement"),
    # node
    Broken("node ¦person {}", "expected the node type's name, found `person`", "upper-case"),
    Broken("node A ¦( a: I32 )", "expected `{` to open the node type's properties, found `(`"),
    Broken("node A implements I ¦@x {}", "expected `{`, found `@`", "before `implements`"),
    Broken("node A implements ¦{}", "expected an interface's name"),
    Broken("node A implements I, ¦{}", "expected an interface's name"),
    Broken("node A { a: I32¦", "expected `}` to close node A, found the end of the text"),
    Broken("node A { a: I32\n¦node B {}", "expected `}` to close node A, found `node`"),
    Broken("node A ¦@card(0..1) {}".replace("¦", "").replace("..", "¦.."), "`@card`, found `..`", "belongs to an edge"),
    # edge
    Broken("edge E ¦A -> B", "expected `:` between an edge type and its endpoints"),
    Broken("edge E: A ¦- B", "expected `->` between the source and the target type, found `-`"),
    Broken("edge E: A -> ¦b", "expected the target node type, found `b`", "upper-case"),
    Broken("edge E: ¦-> B", "expected the source node type"),
    # card
    Broken("edge E: A -> B @card(¦)", "expected the smallest number of edges, found `)`"),
    Broken("edge E: A -> B @card(1¦)", "expected `..` between the bounds"),
    Broken("edge E: A -> B ¦@card(2..1)", "cardinality min (2) exceeds max (1)"),
    Broken("edge E: A -> B @card(¦4294967296..)", "must be at most 4294967295"),
    Broken("edge E: A -> B @card(¦-1..2)", "expected the smallest number of edges, found `-`"),
    Broken("edge E: A -> B @x ¦@card(0..1)", "expected a body or the next declaration", "before other annotations"),
    # prop
    Broken("node A { ¦Name: String }", "expected a property or a constraint, found `Name`", "lower-case"),
    Broken("node A { name ¦String }", "expected `:` between a property and its type, found `String`"),
    Broken("node A { a: I32¦, b: I32 }", "expected a property, found `,`", "white space, not by commas"),
    Broken("node A { a: I32 ¦= 3 }", "expected a property, found `=`", "no default values"),
    Broken('node A { ¦@description("x") a: I32 }', "found `@`", "annotations of a type come before its `{`"),
    Broken("node A { ¦{ a: I32 } }", "expected a property or a constraint, found `{`"),
    # type
    Broken("node A { a: ¦string }", "expected a type, found `string`", "did you mean `String`?"),
    Broken("node A { a: ¦int }", "expected a type, found `int`", "did you mean `I32` or `I64`?"),
    Broken("node A { a: ¦Person }", "expected a type, found `Person`", "the scalar types are String, Blob"),
    Broken("node A { a: String¦[] }", "expected the end of the type", "a list is written `[String]`"),
    Broken("node A { a: [String¦?] }", "expected `]` after the item type", "`[String]?`"),
    Broken("node A { a: [¦[I32]] }", "expected a type, found `[`"),
    Broken("node A { a: [¦enum(a)] }", "expected a type, found `enum`", "a list holds scalars"),
    Broken("node A { a: [¦Vector(3)] }", "expected a type, found `Vector`", "a list holds scalars"),
    Broken("node A { a: I32?¦? }", "expected a property or a constraint, found `?`"),
    Broken("node A { a: enum(¦) }", "an enum must include at least one value"),
    Broken("node A { a: enum(x, ¦x) }", "an enum cannot include duplicate values: `x`"),
    Broken("node A { a: enum(x,¦) }", "expected an enum value, found `)`", "remove the comma before `)`"),
    Broken('node A { a: enum(¦"x") }', 'expected an enum value, found "x"'),
    Broken("node A { a: enum(x ¦y) }", "expected `)` after the enum values, found `y`"),
    Broken("node A { a: enum ¦{ x } }", "expected `(` after `enum`"),
    Broken("node A { a: Vector ¦}", "as in `Vector(384)`"),
    Broken("node A { a: Vector(¦0) }", "must be greater than zero"),
    Broken("node A { a: Vector(¦2147483648) }", "must be at most 2147483647"),
    Broken("node A { a: Vector(¦x) }", "expected the dimension of a vector, found `x`"),
    # constraint and range
    Broken("node A { @key(¦) }", "expected a name or a value, found `)`"),
    Broken("node A { @key(a ¦b) }", "expected `)` after the arguments of `@key`"),
    Broken("node A { @key(a,¦) }", "expected a name or a value, found `)`", "remove the comma"),
    Broken("node A { @key(¦A) }", "expected a name or a value, found `A`"),
    Broken("node A { @range(a, -1¦) }", "expected `..`, found `)`", "a sign is only allowed"),
    Broken("node A { @range(a, ..¦) }", "expected a number, found `)`"),
    Broken("node A { @range(a, 1..¦x) }", "expected a number, found `x`"),
    # annotation
    Broken("node A { a: I32 @¦X }", "expected an annotation's name, found `X`", "lower-case"),
    Broken("node A { a: I32 @x(¦) }", "expected a name or a value, found `)`"),
    Broken("node A { a: I32 @x(1, ¦2) }", "expected the name of an annotation argument, found `2`"),
    Broken("node A { a: I32 @x(1, b¦) }", "expected `=` after `b`"),
    Broken("node A { a: I32 @x(1, b=¦c) }", "expected a string, a number, `true` or `false`, found `c`"),
    Broken("node A { a: I32 @x(¦-1) }", "found `-`", "only be a bound of a `@range`"),
    Broken("node A { a: I32 @x(1 ¦}", "expected `)` after the arguments of `@x`"),
]


@pytest.mark.parametrize("case", BROKEN, ids=str)
def test_the_grammar_refuses_a_broken_text_at_the_right_place(case: Broken) -> None:
    check_broken(case, lambda source: parse_schema(source).diagnostics)


def test_one_run_reports_every_mistake_and_keeps_what_is_right() -> None:
    text = """
node A {
  x: Strng
  y: I32,
  z: I32
}
nod B {}
edge E: A B
node C { a: enum( b: I32 }
node D { d: I32 }
"""
    parsed = parse_schema(Source(text))
    assert [(diagnostic.line, diagnostic.column) for diagnostic in parsed.diagnostics] == [
        (3, 6),
        (4, 9),
        (7, 1),
        (8, 11),
        (9, 20),
    ]
    names = [declaration.name.text for declaration in parsed.file.declarations]
    assert names == ["A", "C", "D"]
    first = parsed.file.declarations[0]
    assert isinstance(first, NodeDecl)
    assert [member.name.text for member in first.body if isinstance(member, PropertyDecl)] == ["y", "z"]
