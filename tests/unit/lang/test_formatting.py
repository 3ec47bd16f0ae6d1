"""Golden files of formatted texts: layout, blank lines and the places of comments."""

from itertools import product

import pytest

from omnigraph.core.operators import BinaryOperator
from omnigraph.errors import CompileError
from omnigraph.lang.gq_ast import (
    AliasRef,
    Binary,
    Binding,
    Call,
    Clause,
    Expr,
    Filter,
    IsNull,
    Literal,
    LiteralKind,
    MaybeBlock,
    Negate,
    NotBlock,
    Projection,
    Query,
    QueryFile,
    ReadBody,
    Traversal,
    Variable,
)
from omnigraph.lang.gq_format import format_queries
from omnigraph.lang.gq_parser import parse_queries
from omnigraph.lang.pg_format import format_schema
from omnigraph.lang.pg_parser import parse_schema
from omnigraph.lang.source import Source
from omnigraph.lang.spelling import spell_float
from omnigraph.lang.syntax import Name
from tests.unit.lang.strategies import NOWHERE, query_text
from tests.unit.lang.test_round_trip import check_query_formatting, check_schema_formatting

SCHEMA = """\
// about the file


/* licence */ interface   Named { name :String @key  // the name

   /* over
 lines */ age:I32?  }
node Person @rename_from("P") // why
 implements Named,Other { // body


 @range(age, -1..2.50) status: enum(a,b-c , 2nd) @description("x\\ny")

 email: // mail
   String @unique /* u */ // v
 // dangling

}
edge Knows:Person->Person @card(0..1){since:Date?}
edge E: A -> B { }   edge F: A -> B { /* empty */ }
node X {
// in

} node Y{} // end
// last"""

SCHEMA_FORMATTED = """\
// about the file

/* licence */
interface Named {
  name: String @key // the name

  /* over
 lines */
  age: I32?
}

// why
node Person @rename_from("P") implements Named, Other { // body
  @range(age, -1..2.5)
  status: enum(a, b-c, 2nd) @description("x\\ny")

  // mail
  email: String @unique /* u */ // v
  // dangling
}

edge Knows: Person -> Person @card(0..1) {
  since: Date?
}

edge E: A -> B

edge F: A -> B { /* empty */
}

node X {
  // in
}

node Y {} // end
// last
"""

QUERIES = """\
// all about people
query people($x:String, // whom
  $y:I32?)@instruction("i")@description("d"){match{
// start
$p:Person{name:$x,} // person

$p knows{1,3}$q /*in*/


not{$q worksAt $_} maybe { $p <likes> $z // z
} ($x) contains $y
  (-1)<$p.age }
return{$p.name as n $p.age,count(distinct $q)} // what
order{$p.age desc,n} limit 10 offset /*o*/ 5
// done
}
query change(){insert Person{name:"a" age:-3} update Person set{age:1 // one
} where name="x" // t

delete Person where age>=1.50}
query wide($first_parameter: String, $second_parameter: String, $third_parameter: String, $fourth: String) {
  match { $p: Person { first_property: $first_parameter, second_property: $second_parameter, third: $fourth } }
  return { $p.first_property as first, $p.second_property as second, $p.third_property as third, $p.fourth }
  order { $p.first_property desc, $p.second_property desc, $p.third_property desc, $p.fourth_property desc }
}"""

QUERIES_FORMATTED = """\
// all about people
query people(
  $x: String, // whom
  $y: I32?
) @description("d") @instruction("i") {
  match {
    // start
    $p: Person { name: $x } // person

    $p knows{1,3} $q /*in*/

    not { $q worksAt $_ }
    maybe {
      $p <likes> $z // z
    }
    ($x) contains $y
    (-1) < $p.age
  }
  return { $p.name as n, $p.age, count(distinct $q) } // what
  order { $p.age desc, n }
  limit 10
  offset 5 /*o*/
  // done
}

query change() {
  insert Person { name: "a", age: -3 }
  update Person set {
    age: 1 // one
  } where name = "x" // t

  delete Person where age >= 1.5
}

query wide(
  $first_parameter: String,
  $second_parameter: String,
  $third_parameter: String,
  $fourth: String
) {
  match {
    $p: Person {
      first_property: $first_parameter,
      second_property: $second_parameter,
      third: $fourth
    }
  }
  return {
    $p.first_property as first,
    $p.second_property as second,
    $p.third_property as third,
    $p.fourth
  }
  order {
    $p.first_property desc,
    $p.second_property desc,
    $p.third_property desc,
    $p.fourth_property desc
  }
}
"""


def test_a_schema_in_canonical_form() -> None:
    assert format_schema(parse_schema(Source(SCHEMA))) == SCHEMA_FORMATTED
    check_schema_formatting(SCHEMA)


def test_queries_in_canonical_form() -> None:
    assert format_queries(parse_queries(Source(QUERIES))) == QUERIES_FORMATTED
    check_query_formatting(QUERIES)


@pytest.mark.parametrize(
    "text",
    [
        # A comment at every place that has no line of its own in the canonical form.
        'query /*1*/ q /*2*/ ( /*3*/ $a /*4*/ : /*5*/ I32 /*6*/ ? /*7*/ ) /*8*/ @description /*9*/ ( "d" ) /*10*/ {'
        " match { $p: P } return { $p } }",
        "query q() { match /*1*/ { /*2*/ $p /*3*/ : /*4*/ P /*5*/ { /*6*/ a /*7*/ : /*8*/ 1 /*9*/ } /*10*/ } /*11*/"
        " return /*12*/ distinct /*13*/ { /*14*/ $p /*15*/ as /*16*/ x /*17*/ , /*18*/ } /*19*/ order /*20*/ { /*21*/ x"
        " /*22*/ desc /*23*/ } /*24*/ limit /*25*/ 1 /*26*/ offset /*27*/ 2 /*28*/ } /*29*/",
        "query q() { update /*1*/ P /*2*/ set /*3*/ { /*4*/ a: 1 /*5*/ } /*6*/ where /*7*/ b /*8*/ = /*9*/ 1 /*10*/ }",
        "query q() { match { not /*1*/ { /*2*/ $p // 3\n knows // 4\n { 1, // 5\n 2 } $q } } return { $p } }",
        "query q() { match { $p: P } return { $p } limit\n// own line\n3\n// before the end\n}",
        "query q() {\n  // 1\n  // 2\n  insert P { // 3\n } // 4\n  // 5\n}\n\n\n// 6\n\n// 7",
    ],
)
def test_no_place_of_a_comment_in_a_query_is_forgotten(text: str) -> None:
    check_query_formatting(text)


@pytest.mark.parametrize(
    "comment", ["/* c */", "// c\n", "/* c\n d */", "// c\n// d\n", "/* c */ // d\n", "// c\n/* d */"]
)
@pytest.mark.parametrize(
    "text",
    [
        "interface I { a : I32 @x }",
        "node N @x ( 1 , b = 2 ) implements I , J { a : enum ( x , y ) ? @z @key ( a , b ) }",
        "edge E : A -> B @card ( 0 .. 1 ) @x { @range ( a , 0 .. ) }",
        "edge E : A -> B edge F : A -> B { } node N { }",
    ],
)
def test_no_place_of_a_comment_in_a_schema_is_forgotten(text: str, comment: str) -> None:
    words = text.split()
    for index in range(len(words) + 1):
        check_schema_formatting(" ".join([*words[:index], comment, *words[index:]]))


def test_line_breaks_of_other_systems_become_plain_ones_outside_of_block_comments() -> None:
    text = "node A {\r\n  // c\r\n  a: I32\r\n\r\n  b: I32 // d\r\n}\r\n"
    assert format_schema(parse_schema(Source(text))) == "node A {\n  // c\n  a: I32\n\n  b: I32 // d\n}\n"


def test_a_text_with_errors_is_refused_with_its_diagnostics() -> None:
    with pytest.raises(CompileError) as raised:
        format_schema(parse_schema(Source("node A { a: Strng b: Strng }")))
    assert len(raised.value.diagnostics) == 2
    with pytest.raises(CompileError):
        format_queries(parse_queries(Source("query q() {")))


@pytest.mark.parametrize("value", [0.0, 0.1, 1.0, 1e22, 1e-7, 5e-324, 1.7976931348623157e308, 123456789.123456789])
def test_a_number_is_spelled_without_exponent_and_reads_back_the_same(value: float) -> None:
    assert float(spell_float(value)) == value
    assert "e" not in spell_float(value)


# --- neighbours ------------------------------------------------------------------------------------------

X = Variable("x", NOWHERE)
ALIAS, IN, NOT, WHERE = (AliasRef(Name(text, NOWHERE), NOWHERE) for text in ("foo", "in", "not", "where"))
MINUS_ONE = Literal(LiteralKind.INTEGER, -1, NOWHERE)
OPERANDS: list[Expr] = [X, ALIAS, IN, NOT, WHERE, MINUS_ONE, Negate(X, NOWHERE), Call("now", (), NOWHERE)]
OPERATORS = [BinaryOperator.OR, BinaryOperator.LT, BinaryOperator.CONTAINS, BinaryOperator.SUBTRACT]


def _neighbours(operands: list[Expr]) -> list[Clause]:
    simple = [operand for operand in operands if not isinstance(operand, AliasRef)]
    conditions: list[Expr] = [*simple, *(IsNull(operand, False, NOWHERE) for operand in operands)]
    conditions += [Binary(operator, a, b, NOWHERE) for operator in OPERATORS for a, b in product(operands, operands)]
    binding = Binding(X, Name("T", NOWHERE), (), NOWHERE)
    traversal = Traversal(X, Name("in", NOWHERE), X, None, False, None, False, NOWHERE)
    blocks = [NotBlock((binding,), NOWHERE), MaybeBlock((binding,), NOWHERE)]
    return [binding, traversal, *blocks, *(Filter(condition, NOWHERE) for condition in conditions)]


def _check_neighbours(clauses: list[Clause]) -> None:
    projections = (Projection(X, None, NOWHERE),)
    for pair in product(clauses, clauses):
        body = ReadBody(pair, projections, False, (), None, None, NOWHERE)
        file = QueryFile((Query(Name("q", NOWHERE), (), None, None, body, NOWHERE),))
        text = query_text(file)
        parsed = parse_queries(Source(text))
        assert not parsed.diagnostics, parsed.diagnostics[0].render()
        assert parsed.file == file, text


def test_no_clause_runs_into_the_next() -> None:
    _check_neighbours(_neighbours([X, ALIAS, IN, MINUS_ONE]))


@pytest.mark.long
def test_no_clause_of_many_runs_into_the_next() -> None:
    _check_neighbours(_neighbours(OPERANDS))
