"""Whatever is written, checking gives a plan or diagnostics, in bounded time, and never an exception."""

from hypothesis import given
from hypothesis import strategies as st

from omnigraph.core.limits import PATTERNS_MAX
from omnigraph.lang.diagnostics import Diagnostics
from omnigraph.lang.gq_ast import QueryFile
from omnigraph.lang.gq_parser import parse_queries
from omnigraph.lang.source import Source
from omnigraph.query.compile import check_query
from omnigraph.query.explain import explain
from omnigraph.query.lint import lint_queries
from omnigraph.wire.lint import lint_report_json
from tests.support.examples import examples
from tests.unit.lang.strategies import query_files, query_text
from tests.unit.query.fixture import catalog, codes, diagnose, read, write
from tests.unit.query.golden import FILES, cases

TEXTS = [case.text for name in FILES for case in cases(name)]
WORDS = """
Person Company Doc Knows knows worksAt wrote cites follows $p $q $d $e $w $x $_ name age tags email embedding
title body since born seen photo level score visits from to length nodes shortest maybe not { } ( ) , : . = <
> != in contains starts_with and or is null + - * / 1 2.5 18446744073709551615 "x" [ ] true false now()
search( bm25( nearest( rrf( count( collect( distinct date( limit offset order return match set where insert
update delete {1,3} {2,}
"""


def check_everything(text: str) -> None:
    parsed = parse_queries(Source(text))
    check_file(parsed.file, parsed.source)
    lint_report_json(lint_queries(parsed, catalog()))


def check_file(file: QueryFile, source: Source) -> None:
    for query in file.queries:
        diagnostics = Diagnostics(source)
        plan = check_query(query, catalog(), diagnostics)
        assert (plan is None) == diagnostics.has_errors
        for diagnostic in diagnostics.report():
            diagnostic.render()
        if plan is not None:
            explain(plan)


@given(query_files)
@examples(100)
def test_any_tree_gives_a_plan_or_diagnostics(file: QueryFile) -> None:
    check_file(file, Source(query_text(file)))


@st.composite
def mutated_queries(draw: st.DrawFn) -> str:
    """A golden query with words replaced, left out, doubled or taken from another one."""
    words = draw(st.sampled_from(TEXTS)).split()
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(words) - 1))
        match draw(st.sampled_from(["replace", "drop", "double", "graft"])):
            case "replace":
                words[at] = draw(st.sampled_from(WORDS.split()))
            case "drop":
                del words[at]
                words = words or ["query"]
            case "double":
                words.insert(at, words[at])
            case _:
                other = draw(st.sampled_from(TEXTS)).split()
                start = draw(st.integers(0, len(other) - 1))
                words[at:at] = other[start : start + draw(st.integers(1, 6))]
    return " ".join(words)


@given(mutated_queries())
@examples(1_000)
def test_any_mutilated_query_gives_a_plan_or_diagnostics(text: str) -> None:
    check_everything(text)


clause_words = st.sampled_from([
    "$p: Person", "$q: Person { age: 3 }", "$c: Company", "$d: Doc", "$_: Person", "$p knows $q", "$q knows{1,3} $r",
    "$p $e: knows $q", "$p <knows> $r", "$p worksAt $c", "$c worksAt $q", "$_ knows $_", "$p $w: shortest knows $q",
    "$p wrote $d", "$d cites $d", "$p.age > 3", "$q.age > $p.age", "$e.strength > 0.5", "$w.length < 3", "$p = $q",
    "$c is null", "$c.founded = 1", "$x = 1", "$r.name in [\"a\", $s]", "search($p.name, \"x\")", "true",
])  # fmt: skip


def blocks(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    body = st.lists(inner, min_size=1, max_size=4).map(" ".join)
    return st.builds("{} {{ {} }}".format, st.sampled_from(["not", "maybe"]), body)


matches = st.lists(st.recursive(clause_words, blocks, max_leaves=6), min_size=1, max_size=6).map(" ".join)
projections = st.sampled_from([
    "$p", "$p.name", "$q.age", "$c.name", "$e.since", "$w.length", "count($q)", "count(distinct $p)", "$p.age + 1",
    "bm25($p.name, \"x\") as score", "nearest($d.embedding, [1, 2, 3]) as near", "$x", "max(bm25($d.title, \"x\"))",
])  # fmt: skip
orders = st.sampled_from(
    ["", "order { $p.name }", "order { score desc }", "order { near } limit 2", "order { count($q) }"]
)


@given(matches, st.lists(projections, min_size=1, max_size=3), orders, st.booleans())
@examples(1_000)
def test_any_combination_of_good_clauses_gives_a_plan_or_diagnostics(
    match: str, returns: list[str], order: str, distinct: bool
) -> None:
    text = read(match, ", ".join(returns), rest=order, parameters="$x: I64, $s: String", distinct=distinct)
    check_everything(text)


# --- large inputs ----------------------------------------------------------------------------------------


def test_as_many_patterns_as_are_allowed_are_compiled_and_one_more_is_refused() -> None:
    def chain(length: int) -> str:
        return read("$a0: Person " + " ".join(f"$a{i} knows $a{i + 1}" for i in range(length)), "$a0")

    assert not codes(chain(PATTERNS_MAX - 1))
    diagnostic = diagnose(chain(PATTERNS_MAX))[0]
    assert (diagnostic.code, diagnostic.message) == (
        "T0",
        f"a query has at most {PATTERNS_MAX} bindings, traversals and blocks",
    )


def test_blocks_count_as_patterns_however_they_are_nested() -> None:
    nested = "not { $p knows $q " * 50 + "}" * 50
    assert not codes(read(f"$p: Person {nested}"))
    assert codes(read(f"$p: Person {nested} {nested}")) == ["T0"]


def test_thousands_of_conditions_columns_and_statements_take_no_unreasonable_time() -> None:
    conditions = " ".join(f"$p.age > {i}" for i in range(5_000))
    assert not codes(read(f"$p: Person $p knows $q {conditions}"))
    columns = ", ".join(f"$p.age + {i} as c{i}" for i in range(2_000))
    keys = ", ".join(f"c{i}" for i in range(2_000))
    assert not codes(read("$p: Person", columns, rest=f"order {{ {keys} }}", distinct=True))
    numbers = ", ".join(str(i) for i in range(50_000))
    assert not codes(read(f"$p: Person $p.age in [{numbers}]"))
    statements = " ".join(f'insert Company {{ name: "{i}" }}' for i in range(5_000))
    assert not codes(write(statements))


def test_thousands_of_mistakes_give_a_hundred_diagnostics() -> None:
    found = codes(read("$p: Person " + " ".join(f"$p.nam{i} = 1" for i in range(5_000))))
    assert len(found) == 101
    assert found[-1] == "OG-LIMIT"
