"""Every rule of the query grammar: what it accepts (shown by the canonical form) and what it refuses, and where."""

import pytest

from omnigraph.core.operators import AggregateFunction, BinaryOperator
from omnigraph.lang.gq_ast import (
    Aggregate,
    AliasRef,
    Binary,
    Clause,
    Expr,
    Filter,
    Hops,
    IsNull,
    Literal,
    LiteralKind,
    MutationBody,
    Negate,
    OrderKey,
    PropertyAccess,
    Query,
    ReadBody,
    Traversal,
    Variable,
)
from omnigraph.lang.gq_format import format_queries
from omnigraph.lang.gq_parser import parse_queries
from omnigraph.lang.source import Source
from omnigraph.lang.syntax import Name
from tests.unit.lang.marked import Broken, check_broken
from tests.unit.lang.strategies import NOWHERE


def _query(text: str) -> Query:
    parsed = parse_queries(Source(text))
    assert not parsed.diagnostics, parsed.diagnostics[0].render()
    (query,) = parsed.file.queries
    return query


def _read(clauses: str = "$p: Person", projections: str = "$p", tail: str = "") -> ReadBody:
    body = _query(f"query q() {{ match {{ {clauses} }} return {{ {projections} }} {tail} }}").body
    assert isinstance(body, ReadBody)
    return body


def _canonical(text: str) -> str:
    return format_queries(parse_queries(Source(text)))


# --- headers ---------------------------------------------------------------------------------------------

HEADERS = [
    ("query q()", "query q() {"),
    ("query query ( )", "query query() {"),
    ("query q($a:String,$_b : I32?)", "query q($a: String, $_b: I32?) {"),
    ("query q($a:[String]?,$v:Vector(3)?)", "query q($a: [String]?, $v: Vector(3)?) {"),
    ("query q($a: I32 /* why? */)", "query q(\n  $a: I32 /* why? */\n) {"),
    ('query q()@description("d")', 'query q() @description("d") {'),
    ('query q() @instruction("i") @description("d")', 'query q() @description("d") @instruction("i") {'),
]


@pytest.mark.parametrize(("header", "canonical"), HEADERS)
def test_a_query_header_is_accepted(header: str, canonical: str) -> None:
    text = _canonical(f"{header} {{ match {{ $p: P }} return {{ $p }} }}")
    assert text == f"{canonical}\n  match {{\n    $p: P\n  }}\n  return {{ $p }}\n}}\n"


@pytest.mark.parametrize("text", ["", "\n\t ", "// nothing"])
def test_a_file_without_queries_is_valid(text: str) -> None:
    parsed = parse_queries(Source(text))
    assert not parsed.diagnostics
    assert parsed.file.queries == ()


def test_a_file_holds_many_queries_and_names_may_repeat() -> None:
    text = "query a() { delete P where x = 1 } query b() { delete P where x = 1 } query a() { delete P where x = 2 }"
    assert [query.name.text for query in parse_queries(Source(text)).file.queries] == ["a", "b", "a"]


# --- clauses ---------------------------------------------------------------------------------------------

CLAUSES = [
    # binding
    ("$p:Person", "$p: Person"),
    ("$p: Person { }", "$p: Person"),
    ("$p: Person {name:$n , age : 3,}", "$p: Person { name: $n, age: 3 }"),
    (
        '$p: Person { a: now(), b: -1, c: [1, 2.0], d: date("2020-01-01") }',
        '$p: Person { a: now(), b: -1, c: [1, 2.0], d: date("2020-01-01") }',
    ),
    ("$match: Person $_: Person", "$match: Person\n    $_: Person"),
    # traversal
    ("$a knows $b", "$a knows $b"),
    ("$a worksAt $_", "$a worksAt $_"),
    ("$a <knows> $b", "$a <knows> $b"),
    ("$a knows {1 , 3} $b", "$a knows{1,3} $b"),
    ("$a knows{2,} $b", "$a knows{2,} $b"),
    ("$a $e:knows $b", "$a $e: knows $b"),
    ("$a $e: <knows>{1,2} $b", "$a $e: <knows>{1,2} $b"),
    ("$a $p: shortest knows{1,5} $b", "$a $p: shortest knows{1,5} $b"),
    ("$a $p: shortest <knows> $b", "$a $p: shortest <knows> $b"),
    ("$a $p:all shortest<knows>{1 ,4} $b", "$a $p: all shortest <knows>{1,4} $b"),
    ("$a $e: all $b", "$a $e: all $b"),
    ("$a $e: shortest $b", "$a $e: shortest $b"),
    ("$a nothing $b", "$a nothing $b"),
    # The bare variable on the left makes it a traversal over an edge called `contains`.
    ("$q contains $m", "$q contains $m"),
    ("($q contains $m)", "($q) contains $m"),
    ("($q) in $m", "($q) in $m"),
    ("$q contains $m.x", None),
    # filter
    ("$p.age>=18", "$p.age >= 18"),
    (
        '$p.a = "x" $p.b != 1 $p.c < 2 $p.d <= 3 $p.e > 4',
        '$p.a = "x"\n    $p.b != 1\n    $p.c < 2\n    $p.d <= 3\n    $p.e > 4',
    ),
    ('$p.a starts_with "x"', '$p.a starts_with "x"'),
    ('$p.a contains "x"', '$p.a contains "x"'),
    ("$p.a in [1,2,]", "$p.a in [1, 2]"),
    # The comma makes it a call, and so a clause of its own.
    ('$p.a > 1 contains($p.b, "x")', '$p.a > 1\n    contains($p.b, "x")'),
    ('$p.a not contains($p.b, "x")', '$p.a\n    not contains($p.b, "x")'),
    ('not ends_with([$p.a, $p.b][0], "x") or $p.c', 'not ends_with([$p.a, $p.b][0], "x") or $p.c'),
    ('$p.a contains (lower("x"))', '$p.a contains lower("x")'),
    ("$p.a contains ([1, 2][0])", "$p.a contains [1, 2][0]"),
    ("$p.a is null", "$p.a is null"),
    ("$p.a is not null", "$p.a is not null"),
    ("$p.a = 1 or $p.b = 2 and $p.c = 3", "$p.a = 1 or $p.b = 2 and $p.c = 3"),
    ("($p.a = 1 or $p.b = 2) and ($p.c = 3)", "($p.a = 1 or $p.b = 2) and $p.c = 3"),
    ("$p.active", "$p.active"),
    # sugar
    ('search($d.t, "x")', 'search($d.t, "x")'),
    ('fuzzy($d.t, "x") fuzzy($d.t, "x", 2)', 'fuzzy($d.t, "x")\n    fuzzy($d.t, "x", 2)'),
    ('match_text($d.t, "x")', 'match_text($d.t, "x")'),
    # blocks
    ("not { $a knows $b }", "not { $a knows $b }"),
    (
        "not { $a knows $b $b.x = 1 }",
        "not {\n      $a knows $b\n      $b.x = 1\n    }",
    ),
    ("maybe{$a knows $b}", "maybe { $a knows $b }"),
    ("maybe { not { $a knows $b } }", "maybe {\n      not { $a knows $b }\n    }"),
    ("$a maybe{1,2} $b", "$a maybe{1,2} $b"),
    # a clause must not run into the one before
    ("$p.a < 3 (-1 < $p.b)", "$p.a < 3\n    (-1) < $p.b"),
    ("$p.a < 3 (1 < 2) = $p.b", "$p.a < 3\n    (1 < 2) = $p.b"),
    ("($p) $q: T", "($p)\n    $q: T"),
    ("($p) maybe { $q: T }", "($p)\n    maybe { $q: T }"),
    ("$p.a = (x) (1 < 2) = $p.b", "$p.a = (x)\n    (1 < 2) = $p.b"),
]


@pytest.mark.parametrize(("clause", "canonical"), CLAUSES)
def test_a_clause_is_accepted(clause: str, canonical: str | None) -> None:
    text = f"query q() {{ match {{ {clause} }} return {{ $p }} }}"
    if canonical is None:
        assert parse_queries(Source(text)).diagnostics
    else:
        assert _canonical(text) == f"query q() {{\n  match {{\n    {canonical}\n  }}\n  return {{ $p }}\n}}\n"


# --- expressions -----------------------------------------------------------------------------------------

EXPRESSIONS = [
    ("$p", "$p"),
    ("$_", "$_"),
    ("$p . name", "$p.name"),
    ("alias", "alias"),
    ("count", "count"),
    ("now()", "now()"),
    ("nearest($d.e,$q)", "nearest($d.e, $q)"),
    ('bm25($d.t,"x")', 'bm25($d.t, "x")'),
    ('rrf(nearest($d.e,$q),bm25($d.t,"x"))', 'rrf(nearest($d.e, $q), bm25($d.t, "x"))'),
    ('rrf(nearest($d.e,$q),bm25($d.t,"x"),60)', 'rrf(nearest($d.e, $q), bm25($d.t, "x"), 60)'),
    ("count($p)", "count($p)"),
    ("sum($p.a)", "sum($p.a)"),
    ("avg($p.a)", "avg($p.a)"),
    ("min($p.a)", "min($p.a)"),
    ("max($p.a)", "max($p.a)"),
    ("collect($p.a)", "collect($p.a)"),
    ("count(distinct $p)", "count(distinct $p)"),
    ("count(distinct)", "count(distinct)"),
    ("count((distinct)+1)", "count((distinct) + 1)"),
    ("count(distinct distinct)", "count(distinct distinct)"),
    # literals
    ('"a\\"b"', '"a\\"b"'),
    ("12", "12"),
    ("12.50", "12.5"),
    ("100000000000000000000000.0", "100000000000000000000000.0"),
    ("true", "true"),
    ("false", "false"),
    ('date("2020-01-01")', 'date("2020-01-01")'),
    ('datetime("2020-01-01T00:00:00Z")', 'datetime("2020-01-01T00:00:00Z")'),
    ("[]", "[]"),
    ("[1,[2],-3,$x]", "[1, [2], -3, $x]"),
    # arithmetic: the fewest parentheses that keep the tree
    ("1+2*3", "1 + 2 * 3"),
    ("(1+2)*3", "(1 + 2) * 3"),
    ("(1+2)+3", "1 + 2 + 3"),
    ("1+(2+3)", "1 + (2 + 3)"),
    ("1-(2-3)", "1 - (2 - 3)"),
    ("8/4%3", "8 / 4 % 3"),
    ("8/(4*2)", "8 / (4 * 2)"),
    ("-1", "-1"),
    ("1 - -1", "1 - -1"),
    ("1--1", "1 - -1"),
    ("--1", "- -1"),
    ("-$p.a", "-$p.a"),
    ("-($p.a+1)", "-($p.a + 1)"),
    ("-(1)", "-1"),
    ("-0.0", "-0.0"),
    ("-true", "-true"),
    ("(1 = 2) = (3 = 4)", "(1 = 2) = (3 = 4)"),
    ("(1 is null) is null", "(1 is null) is null"),
    ("(a or b) or c", "a or b or c"),
    ("a or (b or c)", "a or (b or c)"),
    ("a and (b or c)", "a and (b or c)"),
    ("((((a))))", "a"),
    # negation binds closer than `and`, and not as close as a comparison
    ("not $p.a", "not $p.a"),
    ("not not ($p.a)", "not not $p.a"),
    ("not $p.a = 1 and b", "not $p.a = 1 and b"),
    ("not ($p.a and b)", "not ($p.a and b)"),
    ("(not $p.a) = true", "(not $p.a) = true"),
    ("not (-1)", "not (-1)"),
    ("not ($p.a in [1])", "$p.a not in [1]"),
    ('$p.a not starts_with "x"', '$p.a not starts_with "x"'),
    ("(not) desc", "(not), desc"),
    # items and parts of lists
    ("$p.a[0]", "$p.a[0]"),
    ("$p.a[-1][1:]", "$p.a[-1][1:]"),
    ("$p.a[:$n+1]", "$p.a[:$n + 1]"),
    ("$p.a[1:2]", "$p.a[1:2]"),
    ("$p.a [0]", "$p.a, [0]"),
    ("(-1)[0]", "(-1)[0]"),
    ("($p.a + $p.b)[0]", "($p.a + $p.b)[0]"),
    # functions, cast, case, any, all
    ("case -1 when $p.a then 1 end", "case (-1) when $p.a then 1 end"),
    ("case - 1", "(case) - 1"),
    ("case-1", "(case) - 1"),
    ("lower( $p.a )", "lower($p.a)"),
    ("date($p.a)", "date($p.a)"),
    ("cast($p.a+1 as I32?)", "cast($p.a + 1 as I32?)"),
    ("if($p.a>1,null,2)", "if($p.a > 1, null, 2)"),
    ("case when $p.a then 1 when b then 2 else null end", "case when $p.a then 1 when b then 2 else null end"),
    ("case $p.a when 1 then 2 end", "case $p.a when 1 then 2 end"),
    ("case (-1) when 1 then 2 end", "case (-1) when 1 then 2 end"),
    ("any($x in $p.a where $x>1 and $y)", "any($x in $p.a where $x > 1 and $y)"),
    ("all($x in [1] where $x in $p.a)", "all($x in [1] where $x in $p.a)"),
]


@pytest.mark.parametrize(("expression", "canonical"), EXPRESSIONS)
def test_an_expression_is_accepted(expression: str, canonical: str) -> None:
    text = _canonical(f"query q() {{ match {{ $p: P }} return {{ {expression} }} }}")
    assert f"return {{ {canonical} }}" in text


def _expression(text: str) -> Expr:
    return _read(projections=text).projections[0].expression


def _integer(value: int) -> Literal:
    return Literal(LiteralKind.INTEGER, value, NOWHERE)


def test_operators_bind_by_precedence_and_to_the_left() -> None:
    def binary(operator: BinaryOperator, left: Expr, right: Expr) -> Binary:
        return Binary(operator, left, right, NOWHERE)

    one, two, three = map(_integer, (1, 2, 3))
    difference = binary(BinaryOperator.SUBTRACT, binary(BinaryOperator.SUBTRACT, one, two), three)
    assert _expression("1 - 2 - 3") == difference
    product = binary(BinaryOperator.MULTIPLY, two, three)
    assert _expression("1 = 1 + 2 * 3") == binary(BinaryOperator.EQ, one, binary(BinaryOperator.ADD, one, product))
    either = binary(BinaryOperator.OR, one, binary(BinaryOperator.AND, two, three))
    assert _expression("1 or 2 and 3") == either


def test_a_sign_before_a_number_is_part_of_the_number() -> None:
    assert _expression("-3") == _integer(-3)
    assert _expression("- -3") == Negate(_integer(-3), NOWHERE)
    assert _expression("-true") == Negate(Literal(LiteralKind.BOOL, True, NOWHERE), NOWHERE)


def test_leading_zeros_do_not_count_as_digits() -> None:
    assert _expression("0" * 10_000 + "7") == _integer(7)


def test_trees_tell_what_was_written() -> None:
    p = Variable("p", NOWHERE)
    age = PropertyAccess(p, Name("age", NOWHERE), NOWHERE)
    assert _expression("$p.age is not null") == IsNull(age, True, NOWHERE)
    assert _expression("count(distinct $p)") == Aggregate(AggregateFunction.COUNT, p, True, NOWHERE)
    assert _expression("name") == AliasRef(Name("name", NOWHERE), NOWHERE)
    (traversal,) = _read("$p $e: <knows>{1,} $_").clauses
    bound, edge = Variable("e", NOWHERE), Name("knows", NOWHERE)
    anonymous = Variable("_", NOWHERE)
    assert anonymous.is_anonymous
    assert traversal == Traversal(p, edge, anonymous, bound, True, Hops(1, None, NOWHERE), False, NOWHERE)


def test_a_shortest_path_needs_a_variable_for_the_path() -> None:
    def shortest(clause: Clause) -> bool:
        assert isinstance(clause, Traversal)
        return clause.shortest

    (path,) = _read("$a $p: shortest knows $b").clauses
    (edge,) = _read("$a $e: shortest $b").clauses
    assert (shortest(path), shortest(edge)) == (True, False)


# --- the rest of a read ----------------------------------------------------------------------------------

READS = [
    ("return{$p.a $p.b as b,count($p)as n,}", "return { $p.a, $p.b as b, count($p) as n }"),
    ("return distinct{$p.a}", "return distinct { $p.a }"),
    ("return { $p as as }", "return { $p as as }"),
    ("return { distinct }", "return { distinct }"),
    ("return{$p}order{$p.a}", "return { $p }\n  order { $p.a }"),
    ("return{$p}order{$p.a desc,b asc,c}", "return { $p }\n  order { $p.a desc, b asc, c }"),
    ("return{$p}order{nearest($p.e,$q)}", "return { $p }\n  order { nearest($p.e, $q) }"),
    ('return{$p}order{bm25($p.t,"x") desc}', 'return { $p }\n  order { bm25($p.t, "x") desc }'),
    ("return{$p}order{desc desc}", "return { $p }\n  order { desc desc }"),
    ("return{$p}order{nearest($p.e,$q)+1 desc}", "return { $p }\n  order { nearest($p.e, $q) + 1 desc }"),
    ("return{$p}limit 10", "return { $p }\n  limit 10"),
    ("return{$p}limit 0 offset 5", "return { $p }\n  limit 0\n  offset 5"),
    ("return{$p}offset 5", "return { $p }\n  offset 5"),
    (
        "return{$p}union all match{$q:Q}return{$q}having{a}order{a}",
        "return { $p }\n  union all\n  match {\n    $q: Q\n  }\n  return { $q }\n  having { a }\n  order { a }",
    ),
    ("return{$p}limit $n offset $m", "return { $p }\n  limit $n\n  offset $m"),
    ("return{count( * )as n}having{n>3}", "return { count(*) as n }\n  having { n > 3 }"),
    ("return{first($p.a,$p.b) percentile($p.a,0.5)}", "return { first($p.a, $p.b), percentile($p.a, 0.5) }"),
    ("return{$p}order{a}limit 1 offset 2", "return { $p }\n  order { a }\n  limit 1\n  offset 2"),
]


@pytest.mark.parametrize(("tail", "canonical"), READS)
def test_the_parts_of_a_read_are_accepted(tail: str, canonical: str) -> None:
    text = _canonical(f"query q() {{ match {{ $p: P }} {tail} }}")
    assert text == f"query q() {{\n  match {{\n    $p: P\n  }}\n  {canonical}\n}}\n"


def test_an_order_key_remembers_whether_a_direction_was_written() -> None:
    keys = _read(tail="order { a, b asc, c desc }").order
    assert [key.descending for key in keys] == [None, False, True]
    assert all(isinstance(key, OrderKey) for key in keys)


# --- mutations -------------------------------------------------------------------------------------------

STATEMENTS = [
    ("insert Person{name:$n age:3}", "insert Person { name: $n, age: 3 }"),
    ("insert Person{name:null,at:now(),}", "insert Person { name: null, at: now() }"),
    ("insert Person { }", "insert Person {}"),
    ("insert Knows { from: $a, to: $b }", "insert Knows { from: $a, to: $b }"),
    ("update P set{a:1}where b=2", "update P set { a: 1 } where b = 2"),
    ("delete P where a!=$x", "delete P where a != $x"),
    *[
        (f"delete P where a {operator} -1.5", f"delete P where a {operator} -1.5")
        for operator in ("<", "<=", ">", ">=")
    ],
    ('delete P where where = "x"', 'delete P where where = "x"'),
    ("insert P { a: 1 } delete P where a = 1", "insert P { a: 1 }\n  delete P where a = 1"),
    ("delete P where (a=1 or b in[1,2])and not c is null", "delete P where (a = 1 or b in [1, 2]) and not c is null"),
    ('delete P where from="x"and lower(b)contains $c', 'delete P where from = "x" and lower(b) contains $c'),
    ("update P set{a:a+1 b:if(c,$d,b)}where id=$i", "update P set { a: a + 1, b: if(c, $d, b) } where id = $i"),
    ("insert P { a: 1 contains: 2 and: now() in: [3] }", "insert P { a: 1, contains: 2, and: now(), in: [3] }"),
    ("upsert P{a:1 b:b+1}returning{id,b as c}", "upsert P { a: 1, b: b + 1 } returning { id, b as c }"),
    ("delete P where a returning{returning}", "delete P where a returning { returning }"),
    (
        "match{$p:P $p e $q}update $q set{a:$p.a}delete $p where b",
        "match {\n    $p: P\n    $p e $q\n  }\n  update $q set { a: $p.a }\n  delete $p where b",
    ),
    ("for $r in $rows{insert P{a:$r.a}}", "for $r in $rows {\n    insert P { a: $r.a }\n  }"),
    ("delete P where a = 1 - b delete Q where c", "delete P where a = 1 - b\n  delete Q where c"),
]


@pytest.mark.parametrize(("statement", "canonical"), STATEMENTS)
def test_a_statement_is_accepted(statement: str, canonical: str) -> None:
    text = f"query q() {{ {statement} }}"
    assert _query(text).is_mutation
    assert isinstance(_query(text).body, MutationBody)
    assert _canonical(text) == f"query q() {{\n  {canonical}\n}}\n"


@pytest.mark.parametrize(
    "body",
    [
        "delete P where a = 1 and b = 2",
        "insert P { a: 1 } update P set { b: 2 } where a = 1 returning { a }",
        "match { $p: P } update $p set { a: 2 } delete Q where b = 1",
        "for $r in $rows { insert P { a: $r.a } }",
        "match { $p: P } return { $p.a } order { $p.a } limit 3",
    ],
)
def test_a_body_alone_is_the_query_of_its_text(body: str) -> None:
    (alone,) = parse_queries(Source(body)).file.queries
    (named,) = parse_queries(Source(f"query q() {{ {body} }}")).file.queries
    assert alone.bare
    assert alone.body == named.body
    formatted = format_queries(parse_queries(Source(body)))
    assert parse_queries(Source(formatted)).file.queries[0].body == named.body


# --- what is refused -------------------------------------------------------------------------------------


def _clause(text: str, message: str, hint: str | None = None) -> Broken:
    return Broken(f"query q() {{\n  match {{\n    $p: P\n    {text}\n  }}\n  return {{ $p }}\n}}\n", message, hint)


def _projection(text: str, message: str, hint: str | None = None) -> Broken:
    return Broken(f"query q() {{ match {{ $p: P }} return {{ {text} }} }}", message, hint)


def _tail(text: str, message: str, hint: str | None = None) -> Broken:
    return Broken(f"query q() {{ match {{ $p: P }} return {{ $p }} {text} }}", message, hint)


def _statement(text: str, message: str, hint: str | None = None) -> Broken:
    return Broken(f"query q() {{ {text} }}", message, hint)


def _header(text: str, message: str, hint: str | None = None) -> Broken:
    return Broken(f"{text} {{ match {{ $p: P }} return {{ $p }} }}", message, hint)


NUMBER_MAX = "18446744073709551615"
BROKEN = [
    # file and header
    Broken(
        "match { $p: P } return { $p } ¦query q() { delete P where a = 1 }", "expected the end of the read", "names"
    ),
    Broken(
        "match { $p: P } return { $p } ¦where $p.a = 1", "expected the end of the read, found `where`", "filters belong"
    ),
    Broken("delete P where a = 1 ¦query q() { delete P where a = 1 }", "expected the end of the mutation", "names"),
    Broken("insert P { a: 1 } ¦return { 1 }", "expected `insert`, `upsert`", "either reads or writes"),
    Broken("delete P where a = 1 ¦}", "expected the end of the mutation", "names"),
    Broken("¦Delete P where a = 1", "expected `query`", "lower case: `delete`"),
    Broken("¦MATCH { $p: P }", "expected `query`", "lower case: `match`"),
    Broken("¦MATCH (p:P)-[:KNOWS]->(q) RETURN q", "this is Cypher", "match { $p: P $p knows $q } return { $q }"),
    Broken("¦SELECT name FROM P WHERE age > 3", "this is SQL", "match { $p: P $p.age > 3 } return { $p.name }"),
    Broken(
        "¦INSERT INTO P (name, age) VALUES ('a, b', 3)",
        "this is SQL",
        'the same in `.gq`: insert P { name: "a, b", age: 3 }',
    ),
    Broken(
        "query q() { ¦UPDATE P SET age = 3 WHERE name = 'a' AND NOT age IS NULL }",
        "this is SQL",
        'update P set { age: 3 } where name = "a" and not age is null',
    ),
    Broken("¦DELETE FROM P WHERE age > 3;", "this is SQL", "the same in `.gq`: delete P where age > 3"),
    Broken("match { $p: P } return { $p } ¦skip 3", "expected the end of the read", "write `offset`"),
    _clause("$p: P ¦optional { $p knows $q }", "the name `optional` alone is not a clause", "`maybe { ... }`"),
    Broken("¦DELETE FROM P", "this is SQL", "a mutation in `.gq`: delete Person where"),
    Broken("¦CREATE (p:P {name: 'a'})", "this is Cypher", 'the same in `.gq`: insert P { name: "a" }'),
    Broken("¦MERGE (p:P {name: 'a'})", "this is Cypher", 'the same in `.gq`: upsert P { name: "a" }'),
    Broken("¦MERGE (p:P {name: 'a'}) SET p.age = 3", "this is Cypher", "a mutation in `.gq`: upsert Person"),
    Broken("¦MATCH (p) RETURN p", "this is Cypher", "match { $p } return { $p }"),
    Broken("query q() { ¦MATCH (p:P) RETURN p }", "this is Cypher", "match { $p: P } return { $p }"),
    Broken("¦node A { }", "expected `query` to start a query", "`.pg` file"),
    Broken("¦# c\nquery q() { delete P where a = 1 }", "`#` does not start a comment"),
    _header("query ¦Q()", "expected the query's name, found `Q`", "lower-case"),
    _header("query q ¦", "expected `(` after the query's name, found `{`", "empty parentheses"),
    _header("query q(¦a: I32)", "expected a parameter such as `$name: String`, found `a`", "dollar sign: `$a`"),
    _header("query q(¦$Person: I32)", "the name of a variable starts with a lower-case letter"),
    _header("query q(¦$: I32)", "`$` must be followed by a name"),
    _header("query q($a ¦I32)", "expected `:` between a parameter and its type"),
    _header("query q($a: I32 ¦$b: I32)", "expected `)` after the parameters", "separated by commas"),
    _header("query q($a: I32,¦)", "expected a parameter", "remove the comma before `)`"),
    _header("query q($a: ¦int)", "expected a type, found `int`", "did you mean `I32` or `I64`?"),
    _header("query q($a: ¦enum(x))", "expected a type, found `enum`", "a parameter cannot be an enum"),
    _header("query q($a: String¦[])", "expected the end of the type", "`[String]`"),
    _header('query q() @¦desc("x")', "unknown query annotation `@desc`", "`@description` and `@instruction`"),
    _header("query q() @description¦", "expected `(` after `@description`, found `{`"),
    _header("query q() @description(¦x)", "expected a string, found `x`"),
    _header('query q() @description("a") ¦@description("b")', "`@description` is written twice"),
    _header('query q() ¦@instruction(" ")', "`@instruction` must not be empty"),
    Broken("query q() ¦match { $p: P }", "expected `{` to open the query's body, found `match`"),
    Broken("query q() { ¦}", "expected `match`, `insert`, `update` or `delete`, found `}`"),
    Broken("query q() { ¦MATCH { $p: P } return { $p } }", "found `MATCH`", "lower case: `match`"),
    Broken("query q() { ¦select { $p: P } }", "found `select`", "a read starts with `match { ... }`"),
    Broken("query q() { ¦return { 1 } }", "found `return`", "a read starts with `match { ... }`"),
    Broken("query q() { match { $p: P } return { $p }¦", "expected `}` to close the query, found the end"),
    # match and return
    Broken("query q() { match ¦$p: P return { $p } }", "expected `{` after `match`"),
    Broken("query q() { match { ¦} return { $p } }", "a `match` block must not be empty"),
    Broken("query q() { match { $p: P ¦return { $p } }", "expected `}` to close the `match` block, found `return`"),
    Broken("query q() { match { $p: P not { $q: P ¦return { $p } }", "expected `}` to close the `not` block"),
    Broken("query q() { match { $p: P¦", "expected `}` to close the `match` block, found the end of the text"),
    Broken("query q() { match { $p: P } ¦}", "expected `return` after the `match` block, found `}`"),
    Broken("query q() { match { $p: P } ¦RETURN { $p } }", "expected `return`", "lower case: `return`"),
    Broken(
        "query q() { match { $p: P } ¦where { $p.a = 1 } return { $p } }", "expected `return`", "inside the `match`"
    ),
    Broken("query q() { match { $p: P } return ¦$p }", "expected `{` after `return`"),
    Broken("query q() { match { $p: P } return { ¦} }", "a `return` block must not be empty"),
    Broken("query q() { match { $p: P } return { $p ¦order { $p.a } }", "expected `}` to close the `return` block"),
    # bindings
    _clause("$q: ¦person", "expected a node type, found `person`", "upper-case"),
    _clause("¦q: Person", "the name `q` alone is not a clause", "dollar sign: `$q`"),
    _clause("$q ¦Person", "expected an expression, found `Person`", "`$q: Person`"),
    _clause("$q: P { ¦Name: 3 }", "expected a property, found `Name`", "lower-case"),
    _clause("$q: P { name ¦= 3 }", "expected `:` between a property and its value", "matched with a colon"),
    _clause("$q: P { a: 3 ¦b: 4 }", "expected `}` after the property matches, found `b`", "separated by commas"),
    _clause("$q: P { a: ¦null }", "expected a value", "is null"),
    # traversals
    _clause("$p ¦Knows $q", "expected an expression, found `Knows`", "lower-case letter: `knows`"),
    _clause("$p $e: ¦Knows $q", "expected an edge, found `Knows`", "lower case"),
    _clause("$p $e: ¦not $q", "expected an edge, found `not`"),
    _clause("$p ¦knows", "the name `knows` alone is not a clause", "a traversal is `$a edge $b`"),
    _clause("$p -knows¦-> $q", "expected an expression, found `->`", "`$a edge $b`"),
    _clause("$p knows{2¦} $q", "expected `,` between hop bounds", "for exactly 2, write `{2,2}`"),
    _clause("$p knows{¦,2} $q", "expected the smallest number of hops, found `,`"),
    _clause("$p knows{1,2¦,3} $q", "expected `}` after the hop bounds"),
    _clause("$p knows{1,¦x} $q", "expected the largest number of hops, found `x`"),
    _clause("$p knows{1,2} ¦", "expected the variable at the other end of the edge"),
    _clause("$p $e: <knows ¦$q", "expected `>` after an undirected edge"),
    # filters
    _clause("$p.a = 1¦, $p.b = 2", "expected a clause, found `,`", "white space, not by commas"),
    _clause("$p.a ¦== 3", "this comparison is written `=`"),
    _clause("$p.a ¦<> 3", "this comparison is written `!=`"),
    _clause("$p.a ¦=> 3", "this comparison is written `>=`"),
    _clause("$p.a = 1 ¦&& $p.b = 2", "write `and`"),
    _clause("$p.a = 1 ¦|| $p.b = 2", "write `or`"),
    _clause("$p.a = 1 ¦AND $p.b = 2", "expected an expression, found `AND`", "lower case: `and`"),
    _clause("$p.a = ¦null", "a comparison with null is never true", "`is null` or `is not null`"),
    _clause("$p.a = ¦'x'", "a string is written in double quotes"),
    _clause("$p.a ¦is 3", "the name `is` alone is not a clause", "`is null` or `is not null`"),
    _clause("$p.a is not ¦3", "expected `null` after `is`"),
    _clause('$p.a ¦like "x"', "the name `like` alone is not a clause", "`contains`, `starts_with` or `search(...)`"),
    _clause("$p.a ¦between 1 and 2", "the name `between` alone is not a clause", "joined with `and`"),
    _clause("¦not $p knows $q", "expected a clause, found `not`", "`not { $a edge $b }`"),
    _clause("¦not", "the name `not` alone is not a clause", "`not { ... }`"),
    _clause("$p.a = (case $p.a ¦then 1 end)", "expected `when` after `case`", None),
    _clause("¦!$p.a", "`!` is only used in `!=`"),
    _clause("¦where $p.a > 1", "expected a clause, found `where`", "without `where`"),
    _clause("¦$Person.a = 1", "the name of a variable starts with a lower-case letter"),
    _clause("1 < $p.a ¦< 3", "comparisons cannot be chained", "join two comparisons with `and`"),
    _clause("$p.a > 1¦e5", "expected the end of a number, found `e5`", "without an exponent"),
    _clause("$p.a in [2.5¦E10, 1]", "expected the end of a number, found `E10`", "without an exponent"),
    _clause("log(1¦e-3) > 1", "expected the end of a number, found `e`", "without an exponent"),
    _clause("$p.a > 1¦km", "the name `km` alone is not a clause", "without an exponent or a unit"),
    _clause("$p.a in (1¦, 2)", "expected `)` to close the parenthesis", "a list is written `[a, b]`"),
    _clause("$p.a in [1 ¦2]", "expected `]` to close the list", "separated by commas"),
    _clause("$p.¦Name = 1", "expected a property after the dot, found `Name`", "lower-case"),
    _clause("$p.a = ¦", "expected an expression, found `}`"),
    _clause("$p.a = (1 ¦", "expected `)` to close the parenthesis, found `}`"),
    _clause("¦lowercase($p.a) = 1", "unknown function `lowercase`", "did you mean `lower`?"),
    _clause("¦zzz($p.a) = 1", "unknown function `zzz`", "the functions are now, nearest"),
    _clause("¦toInteger($p.a) = 1", "unknown function `toInteger`", "cast(value as Type)"),
    _clause("¦regexp_like($p.a, $x)", "unknown function `regexp_like`", "`regex_match`"),
    _clause("¦any($p.a, 1)", "unknown function `any`", "any($item in list where"),
    _clause("¦lower($p.a, 1) = 1", "`lower` takes 1 argument, not 2"),
    _clause("¦substring($p.a) = 1", "`substring` takes 2 to 3 arguments, not 1"),
    _clause("cast($p.a¦, I32) = 1", "expected `as` in `cast(value as Type)`"),
    _clause("any($x in $p.a ¦) ", "expected `where` after the list"),
    _clause("$p.a[¦] = 1", "expected an expression, found `]`"),
    _clause("$p.a[1¦, 2] contains 1", "expected `]` after an index", "a list starts after white space"),
    _clause("¦serch($p.a, 1)", "unknown function `serch`", "did you mean `search`?"),
    _clause("¦search($p.a)", "`search` takes 2 arguments, not 1"),
    _clause("¦fuzzy($p.a, 1, 2, 3)", "`fuzzy` takes 2 to 3 arguments, not 4"),
    _clause("¦now(1) = 1", "`now` takes 0 arguments, not 1"),
    _clause("nearest(¦$p, $q) = 1", "the first argument of `nearest` must be a vector property", "$d.embedding"),
    _clause("$p.a = ¦9999999999999999999999", f"an integer must be at most {NUMBER_MAX}"),
    _clause('$p.a = date("x" ¦', "expected `)` after the text of a date"),
    # blocks
    _clause("not { ¦}", "a `not` block must not be empty"),
    _clause("maybe { ¦}", "a `maybe` block must not be empty"),
    # projections
    _projection("¦*", "expected an expression, found `*`", "name what you want"),
    _projection("sum(¦*)", "expected an expression, found `*`", "`count(*)`"),
    _projection("count(¦)", "expected an expression, found `)`"),
    _projection("count($p¦, $q)", "expected `)` after the argument of `count`"),
    _projection("$p.a,¦,$p.b", "expected an expression, found `,`"),
    _projection("$p.a as ¦Name", "expected an alias, found `Name`", "lower-case"),
    _projection("$p.a as ¦", "expected an alias, found `}`"),
    _projection("$p.¦1", "expected a property after the dot, found `1`"),
    # order, limit, offset
    _tail("order ¦by $p.a", "expected `{` after `order`, found `by`", "`order { $p.name desc }`"),
    _tail("order { ¦}", "expected an expression, found `}`"),
    _tail("order { $p.a,¦ }".replace("¦ }", " ¦}"), "expected an expression, found `}`", "remove the comma"),
    _tail("order { $p.a ¦$p.b }", "expected `}` after the order keys", "separated by commas"),
    _tail("order { nearest($p.e, $q) ¦desc }", "`nearest` has no direction"),
    _tail("order { (nearest($p.e, $q)) ¦asc }", "`nearest` has no direction"),
    _tail("limit ¦-1", "expected the number after `limit`, found `-`"),
    _tail("limit ¦1.5", "expected the number after `limit`, found `1.5`"),
    _tail(f"limit ¦{NUMBER_MAX}0", f"the number after `limit` must be at most {NUMBER_MAX}"),
    _tail("offset ¦", "expected the number after `offset`, found `}`"),
    _tail("¦LIMIT 3", "expected `}` to close the query, found `LIMIT`", "lower case: `limit`"),
    _tail("limit 3 ¦order { $p.a }", "expected `}` to close the query, found `order`", "the order is"),
    _tail("offset 3 ¦limit 3", "expected `}` to close the query, found `limit`", "the order is"),
    _tail("¦insert P { a: 1 }", "expected `}` to close the query, found `insert`", "either reads or writes"),
    # mutations
    _statement("insert ¦person { a: 1 }", "expected the type to insert, found `person`", "upper-case"),
    _statement("insert P ¦(a) values (1)", "expected `{` to open the assignments, found `(`"),
    _statement("insert P { a: ¦{ b: 1 } }", "expected an expression, found `{`", "`details.a: 1`"),
    _statement("insert P { a ¦= 1 }", "expected `:` between a property and its value", "assigned with a colon"),
    _statement("insert P { a: 1,¦, b: 2 }", "expected a property, found `,`"),
    Broken("query q() { insert P { a: 1¦", "expected `}` after the assignments, found the end of the text"),
    _statement("update P ¦{ a: 1 } where b = 1", "expected `set` after the type of an update"),
    _statement("update P set ¦a = 1 where b = 1", "expected `{` to open the assignments"),
    _statement("update P set { ¦} where b = 1", "an update must set at least one property"),
    _statement("update P set { a: 1 } ¦", "expected `where` and a condition, as in `where name = $name`"),
    _statement("delete P ¦", "expected `where`"),
    _statement("delete ¦from P where a = 1", "expected the type to delete from, found `from`", "upper-case"),
    _statement("delete P where a ¦== 1", "this comparison is written `=`"),
    _statement("delete P where a = ¦null", "null", "is null"),
    _statement(
        "delete P where a = 1 ¦AND b = 2", "expected `insert`, `upsert`, `update` or `delete`", "lower case: `and`"
    ),
    _statement(
        "delete P where a = 1¦, b = 2", "expected `insert`, `upsert`, `update` or `delete`", "joined with `and`"
    ),
    Broken("query q() { delete P where a = 1 and ¦}", "expected an expression"),
    _statement("¦upset P { a: 1 }", "expected `match`", "did you mean `upsert`?"),
    _statement("insert P { a: 1 } returning ¦a", "expected `{` after `returning`"),
    _statement("insert P { a: 1 } returning { ¦}", "expected an expression"),
    _statement("for $r in ¦rows { delete P where a }", "expected a parameter", "dollar sign"),
    _statement("for $r in $rows { delete P where a ¦match { $p: P } }", "expected `insert`", "either reads or writes"),
    Broken("query q() { for $r in $rows { ¦} }", "`for` needs at least one statement"),
    Broken("query q($r: [{ ¦}]) { delete P where a }", "expected the name of a field"),
    _statement("insert P { a: 1 } match { $p: P } ¦", "expected `insert`, `upsert`, `update` or `delete`, found `}`"),
    _statement("insert P { a: 1 } match { $p: P } ¦return { $p }", "found `return`", "either reads or writes"),
    _statement(
        "insert P { a: 1 }¦, delete P where a = 1", "expected `insert`, `upsert`, `update` or `delete`, found `,`"
    ),
]


@pytest.mark.parametrize("case", BROKEN, ids=str)
def test_the_grammar_refuses_a_broken_text_at_the_right_place(case: Broken) -> None:
    check_broken(case, lambda source: parse_queries(source).diagnostics)


@pytest.mark.parametrize("statement", ["delete P", "update P set { c: 3 }"])
@pytest.mark.parametrize("more", ["AND b = 2", "&& b = 2", ", b = 2"])
def test_a_second_condition_that_narrows_is_never_explained_as_a_statement_of_its_own(
    statement: str, more: str
) -> None:
    parsed = parse_queries(Source(f"query q() {{ {statement} where a = 1 {more} }}"))
    assert parsed.diagnostics
    assert not [found for found in parsed.diagnostics if found.hint and "one statement" in found.hint]


def test_one_run_reports_every_mistake_and_keeps_what_is_right() -> None:
    text = """
query a() {
  match {
    $p: person { name: "x" }
    $p knows{2} $q
    $p: Person { a: 1 b: 2 }
    $p.age == 3
    search($p.name, "x"
    not { $p.a = }
    $p.ok = 1
  }
  return { $p.Name, $p.age }
}
query b( { match { $p: P } return { $p } }
query c() { insert P { a = 1 } delete P where a = 1 }
query d() { match { $p: P } return { $p } }
"""
    parsed = parse_queries(Source(text))
    places = [(diagnostic.line, diagnostic.column) for diagnostic in parsed.diagnostics]
    assert places == [(4, 9), (5, 15), (6, 23), (7, 12), (9, 5), (9, 18), (12, 15), (14, 10), (15, 26)]
    assert [query.name.text for query in parsed.file.queries] == ["a", "c", "d"]
    body = parsed.file.queries[0].body
    assert isinstance(body, ReadBody)
    assert isinstance(body.clauses[-1], Filter)
    assert len(body.projections) == 1


def test_an_alias_called_query_does_not_start_a_query() -> None:
    assert len(_read(projections="query count($p) query now()").projections) == 4
