"""Valid queries: every form of the language, in the positions where it is easily refused by mistake."""

import pytest

from tests.unit.query.fixture import codes, read, write

READS = {
    "an edge in any case": read("$p: Person $p KNOWS $q".replace("KNOWS", "kNOWS")),
    "a pattern without a typed binding": read("$p knows $q"),
    "a typed binding after the traversal": read("$p worksAt $c $c: Company"),
    "one name in two not blocks": read("$p: Person not { $p $e: knows $x } not { $p $e: worksAt $x }"),
    "a variable of not bound again behind it": read("$p: Person not { $p knows $x } $p worksAt $y"),
    "a filter before its binding": read("$p.age > 3 $p: Person"),
    "a filter on a variable of a later maybe": read("$p: Person $c.founded > 3 maybe { $p worksAt $c }"),
    "a path read inside maybe": read(
        "$p: Person $q: Person maybe { $q worksAt $c $w.length > 2 } $p $w: shortest knows $q"
    ),
    "I32 against F64": read("$p: Person $p.age = 2.7"),
    "U64 against I32": read("$p: Person $p.visits > $p.age"),
    "an enum against a text": read('$p: Person $p.level = "whatever" $p.level = $p.name'),
    "an enum parameter as a text": read("$p: Person { level: $l }", parameters="$l: String"),
    "a nullable parameter": read("$p: Person { name: $n } $p.age = $a", parameters="$n: String?, $a: I32?"),
    "a literal text on the left": read('$p: Person "long text" contains $p.name'),
    "membership in a property": read('$p: Person $p.tags contains "x" "y" in $p.tags'),
    "membership in a parameter": read("$p: Person ($names contains $p.name)", parameters="$names: [String]"),
    "membership of a parameter in a parameter": read(
        "$p: Person ($n in $names)", parameters="$names: [String], $n: String"
    ),
    "dates in a list": read('$p: Person $p.born in [date("2024-01-01"), date("2024-1-2")]'),
    "the largest U64": read("$p: Person $p.visits = 18446744073709551615"),
    "the smallest I64": read("$p: Person $p.age > -9223372036854775808"),
    "an empty list of anything": read("$p: Person $p.born in []"),
    "now in a read": read("$p: Person $p.seen < now()", "now()"),
    "now in a binding": read("$p: Person { seen: now() }"),
    "a truth value alone": read("$p: Person $p.active"),
    "a parameter alone": read("$p: Person $flag", parameters="$flag: Bool"),
    "the anonymous variable many times": read("$p: Person $p knows $_ $_ knows $p not { $p worksAt $_ }"),
    "an anonymous edge": read("$p: Person $p $_: knows $q"),
    "the order of a parameter": read("$p: Person", "$p", rest="order { $x }", parameters="$x: I64"),
    "the order of a node": read("$p: Person", "$p", rest="order { $p }"),
    "groups by a list": read("$p: Person", "$p.tags, count($p)"),
    "count of a literal": read("$p: Person", "count(1)"),
    "count of a parameter": read("$p: Person", "count($x)", parameters="$x: I64"),
    "min of a text": read("$p: Person", "min($p.level), max($p.name)"),
    "an expression in an aggregate": read("$p: Person", "sum($p.age * 2)"),
    "equal column names": read("$p: Person", "$p.name, $p.name"),
    "limit zero": read("$p: Person", rest="limit 0"),
    "bm25 without a limit": read("$d: Doc", "$d", rest='order { bm25($d.title, "x") }'),
    "a fusion of three": read(
        "$d: Doc",
        "$d",
        rest='order { rrf(bm25($d.title, "x"), bm25($d.body, "y"), nearest($d.embedding, "z"), 10) } limit 1',
    ),
    "a ranking and a second key": read("$d: Doc", "$d", rest='order { bm25($d.title, "x"), $d.title }'),
    "nearest on a node reached by a traversal": read(
        "$p: Person $p wrote $d", "$d", rest="order { nearest($d.other, [1, 2]) } limit 1"
    ),
    "a vector may be tested for null": read("$d: Doc $d.other is null", "$d"),
    "several hops inside not": read("$p: Person not { $p knows{2,2} $x }"),
    "undirected inside not": read("$p: Person not { $p <knows> $x }"),
    "three levels of not": read("$p: Person not { $p knows $f not { $f knows $g not { $g knows $p } } }"),
    "an optional variable in not and maybe": read(
        "$p: Person maybe { $p knows $f } maybe { $f worksAt $c } not { $f knows $p } not { $c.founded > 3 }"
    ),
    "a typed binding of an outer variable in maybe": read(
        '$p: Person maybe { $p: Person { name: "x" } $p knows $f }', "$f"
    ),
}
WRITES = {
    "an edge without properties": write('insert Follows { from: "a", to: "b" }'),
    "an edge named in another case": write('insert Follows { from: "a", to: "b" }'),
    "null for a nullable property": write('update Person set { age: null } where email = "x"'),
    "an integer for a float": write('update Person set { score: 3 height: 3 } where email = "x"'),
    "a vector whose source is assigned": write('insert Doc { title: "t" body: "b" }'),
    "a Blob": write('update Person set { photo: $b } where email = "x"', "$b: Blob"),
    "a Blob from a text": write('update Person set { photo: $b } where email = "x"', "$b: String"),
    "an integer parameter for a float": write('update Person set { score: $x } where email = "x"', "$x: I64"),
    "a list parameter": write('update Person set { lucky: $x } where email = "x"', "$x: [I64]"),
    "a vector parameter": write('insert Doc { title: "t" embedding: $v }', "$v: Vector(3)"),
    "an empty list": write('update Person set { tags: [] } where email = "x"'),
    "endpoints in a where": write('delete Knows where from = "a" delete Knows where to != $x', "$x: String"),
    "a where that no value satisfies": write("delete Person where age = 2.5"),
    "writes of all kinds mixed": write('insert Company { name: "x" } delete Company where name = "x"'),
}


@pytest.mark.parametrize("text", (READS | WRITES).values(), ids=(READS | WRITES).keys())
def test_a_valid_query_stays_valid(text: str) -> None:
    assert not codes(text)
