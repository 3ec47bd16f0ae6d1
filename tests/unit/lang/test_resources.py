"""Large and hostile texts: a bounded report, and work that grows with the size of the text and not faster.

Work is counted in calls, of Python functions and of built-in ones, so that the tests say the same on every machine.
"""

import gc
import random
import sys
from collections.abc import Callable
from types import FrameType

import pytest

from omnigraph.core.limits import DIAGNOSTICS_MAX, EXPRESSION_OPERATORS_MAX, NESTING_MAX, SOURCE_CHARS_MAX
from omnigraph.lang.cursor import Cursor
from omnigraph.lang.diagnostics import Diagnostic
from omnigraph.lang.gq_format import format_queries
from omnigraph.lang.gq_parser import ParsedQueries, parse_queries
from omnigraph.lang.pg_format import format_schema
from omnigraph.lang.pg_parser import ParsedSchema, parse_schema
from omnigraph.lang.source import Source

MEGABYTE = 1_000_000
Parse = Callable[[Source], ParsedSchema | ParsedQueries]


def _noise(size: int) -> str:
    return random.Random(7).randbytes(size).decode("latin-1")


def _repeat(piece: str, head: str = "") -> Callable[[int], str]:
    return lambda size: head + piece * (size // len(piece))


READ = "query q() { match { "
NONSENSE: dict[str, Callable[[int], str]] = {
    "at signs": _repeat("@"),
    "at signs in a body": _repeat("@", "node A {"),
    "parentheses": _repeat("("),
    "parentheses in a clause": _repeat("(", READ),
    "closed parentheses": _repeat(")", READ),
    "braces": _repeat("{"),
    "braces in a clause": _repeat("{", READ),
    "braces closed": _repeat("}"),
    "brackets in a clause": _repeat("[", f"{READ} $p.a in "),
    "quotes": _repeat('"'),
    "single quotes": _repeat("'"),
    "odd quotes": _repeat("'\n"),
    "open comments": _repeat("/*"),
    "closed comments": _repeat("/**/"),
    "line comments": _repeat("//\n"),
    "backslashes": _repeat("\\"),
    "escapes in a string": _repeat("\\q", '"'),
    "half traversals": _repeat("$a knows{", READ),
    "half traversals on lines": _repeat("$a knows{\n", READ),
    "half bindings": _repeat("$a: P { ", READ),
    "half nots": _repeat("not { ", READ),
    "half queries": _repeat("query q() { match { "),
    "half headers": _repeat("query q("),
    "half nodes": _repeat("node A { "),
    "half members": _repeat("a: b ", "node A { "),
    "half enums": _repeat("a: enum( ", "node A { "),
    "half annotations": _repeat("@x( ", "node A { a: I32 "),
    "half inserts": _repeat("insert P { ", "query q() { "),
    "half assignments": _repeat("a: b ", "query q() { insert P { "),
    "wrong functions": _repeat("serch($p.a) ", READ),
    "wrong functions on lines": _repeat("serch($p.a)\n", READ),
    "commas": _repeat(",", READ),
    "minus signs": _repeat("-", READ),
    "minus signs in a bound": _repeat("-", "node A { @range(a, "),
    "dollars": _repeat("$", READ),
    "nulls": _repeat("\0"),
    "digits": _repeat("9", READ),
    "points": _repeat(".", READ),
    "number points": _repeat("1.", READ),
    "words": _repeat("query ", READ),
    "white space": _repeat(" \n"),
    "wide characters": _repeat("日"),
    "bytes": _noise,
    "bytes in a body": lambda size: "node A {" + _noise(size),
    "bytes in a clause": lambda size: READ + _noise(size),
}


def _check_bounded(text: str, diagnostics: tuple[Diagnostic, ...]) -> None:
    assert len(diagnostics) <= DIAGNOSTICS_MAX + 1
    for diagnostic in diagnostics:
        assert 0 <= diagnostic.span.start <= diagnostic.span.end <= len(text)
        assert len(diagnostic.render()) < 2_000


# The rest of the kinds at this size is for the long run; the default run has them smaller.
LARGE: list[tuple[str, Parse]] = [
    ("open comments", parse_queries),
    ("half traversals", parse_queries),
    ("bytes", parse_schema),
]


@pytest.mark.parametrize(("kind", "parse"), LARGE)
def test_a_megabyte_of_nonsense_gives_a_bounded_report(kind: str, parse: Parse) -> None:
    _check_nonsense(kind, MEGABYTE, parse)


@pytest.mark.parametrize("kind", NONSENSE)
def test_any_nonsense_gives_a_bounded_report(kind: str) -> None:
    _check_nonsense(kind, 20_000, parse_schema)
    _check_nonsense(kind, 20_000, parse_queries)


@pytest.mark.long
@pytest.mark.parametrize("kind", NONSENSE)
def test_a_megabyte_of_any_nonsense_gives_a_bounded_report(kind: str) -> None:
    _check_nonsense(kind, MEGABYTE, parse_schema)
    _check_nonsense(kind, MEGABYTE, parse_queries)


def _check_nonsense(kind: str, size: int, parse: Parse) -> None:
    text = NONSENSE[kind](size)
    diagnostics = parse(Source(text)).diagnostics
    _check_bounded(text, diagnostics)
    assert bool(diagnostics) != (kind in ("closed comments", "line comments", "white space"))


def _calls(action: Callable[[], object]) -> int:
    """How many calls an action makes."""
    count = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        if event in ("call", "c_call"):
            count += 1

    previous = sys.getprofile()
    # A collection in between would run finalizers of what earlier tests left behind, and count their calls.
    gc.disable()
    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(previous)
        gc.enable()
    return count


def _check_linear(make: Callable[[int], Callable[[], object]], size: int) -> None:
    small, large = make(size), make(4 * size)
    # A hundred diagnostics cost the same in both, so the ratio is below four rather than above.
    assert _calls(large) <= 4.4 * _calls(small) + 1_000


@pytest.mark.parametrize("kind", NONSENSE)
def test_the_work_for_nonsense_grows_with_its_size(kind: str) -> None:
    _check_linear(lambda size: lambda: parse_schema(Source(NONSENSE[kind](size))), 2_000)
    _check_linear(lambda size: lambda: parse_queries(Source(NONSENSE[kind](size))), 2_000)


@pytest.mark.parametrize("kind", NONSENSE)
def test_every_token_is_taken_at_most_once(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = 0
    original = Cursor.advance

    def advance(cursor: Cursor) -> object:
        nonlocal taken
        taken += 1
        return original(cursor)

    monkeypatch.setattr(Cursor, "advance", advance)
    text = NONSENSE[kind](10_000)
    # At the end of the text a parser may try to take once more at each of its recovery points.
    for parse in (parse_schema, parse_queries):
        taken = 0
        parse(Source(text))
        assert taken <= len(text) + 2 * NESTING_MAX


def _valid_schema(size: int) -> str:
    member = '  name_{0}: String? @index @description("number {0}") // comment {0}\n'
    nodes = []
    length = 0
    while length < size:
        start = len(nodes) * 20
        nodes.append(f"node N{len(nodes)} {{\n{''.join(member.format(start + i) for i in range(20))}}}\n")
        nodes.append(f"edge E{len(nodes)}: N0 -> N0\n")
        length += len(nodes[-1]) + len(nodes[-2])
    return "".join(nodes)


def _valid_queries(size: int) -> str:
    query = "query q{0}($a: I32) {{ match {{ $p: P {{ a: $a }} $p.a > -{0} }} return {{ $p.a as x, $p }} limit {0} }}\n"
    return "".join(query.format(index) for index in range(size // len(query) + 1))


@pytest.mark.parametrize("size", [MEGABYTE // 10, pytest.param(MEGABYTE, marks=pytest.mark.long)])
def test_a_large_schema_is_parsed_and_formatted(size: int) -> None:
    text = _valid_schema(size)
    parsed = parse_schema(Source(text))
    assert not parsed.diagnostics
    formatted = format_schema(parsed)
    assert formatted.count("//") == text.count("//")
    assert parse_schema(Source(formatted)).file == parsed.file


@pytest.mark.parametrize("size", [MEGABYTE // 10, pytest.param(MEGABYTE, marks=pytest.mark.long)])
def test_many_queries_are_parsed_and_formatted(size: int) -> None:
    parsed = parse_queries(Source(_valid_queries(size)))
    assert not parsed.diagnostics
    assert parse_queries(Source(format_queries(parsed))).file == parsed.file


def test_the_work_for_parsing_and_formatting_grows_with_the_size() -> None:
    _check_linear(lambda size: lambda: format_schema(parse_schema(Source(_valid_schema(size)))), 10_000)
    _check_linear(lambda size: lambda: format_queries(parse_queries(Source(_valid_queries(size)))), 10_000)
    edges = _repeat("edge E: A -> B\n")
    _check_linear(lambda size: lambda: format_schema(parse_schema(Source(edges(size)))), 10_000)


NESTED = {
    "parentheses": lambda n: f"{READ} {'(' * n}1{')' * n} = 1 }} return {{ 1 }} }}",
    "lists": lambda n: f"{READ} $p.a = {'[' * n}1{']' * n} }} return {{ 1 }} }}",
    "not blocks": lambda n: f"{READ} {'not { ' * n} $p: P {'} ' * n} }} return {{ 1 }} }}",
    "maybe blocks": lambda n: f"{READ} {'maybe { ' * n} $p: P {'} ' * n} }} return {{ 1 }} }}",
    "aggregates": lambda n: f"{READ} $p: P }} return {{ {'count(' * n}$p{')' * n} }} }}",
    "calls": lambda n: f"{READ} {'search(' * n}$p.a{', 1)' * n} }} return {{ 1 }} }}",
    "signs": lambda n: f"{READ} $p.a = {'- ' * n}$p.b }} return {{ 1 }} }}",
}


@pytest.mark.parametrize("kind", NESTED)
def test_nesting_beyond_the_limit_is_one_diagnostic(kind: str) -> None:
    parsed = parse_queries(Source(NESTED[kind](10_000)))
    (found,) = parsed.diagnostics
    assert found.message == f"nested deeper than {NESTING_MAX} levels"


@pytest.mark.parametrize("kind", NESTED)
def test_nesting_below_the_limit_is_parsed_and_formatted(kind: str) -> None:
    parsed = parse_queries(Source(NESTED[kind](NESTING_MAX - 4)))
    assert not parsed.diagnostics
    assert parse_queries(Source(format_queries(parsed))).file == parsed.file


@pytest.mark.parametrize(("operator", "operand"), [("+", "1"), ("*", "$p.a"), ("and", "x"), ("or", "$p.a")])
def test_a_chain_of_operators_has_a_limit(operator: str, operand: str) -> None:
    def read(terms: int) -> tuple[Diagnostic, ...]:
        chain = f" {operator} ".join([operand] * terms)
        return parse_queries(Source(f"{READ} $p: P }} return {{ {chain} }} }}")).diagnostics

    assert not read(EXPRESSION_OPERATORS_MAX + 1)
    (found,) = read(100_000)
    assert f"at most {EXPRESSION_OPERATORS_MAX} operators" in found.message
    assert found.hint is not None


@pytest.mark.parametrize("digit", ["0", "9"])
def test_very_long_numbers_are_read_or_refused(digit: str) -> None:
    number = digit * 100_000
    texts = [f"node N @x({number}) {{}}", f"node N @x({number}.5) {{}}", f"node N {{ a: Vector({number}) }}"]
    texts += [f"edge E: A -> B @card({number}..)", f"node N {{ @range(a, {number}..-{number}.5) }}"]
    refused = [len(parse_schema(Source(text)).diagnostics) for text in texts]
    # A vector has at least one dimension, so zero is refused there as well.
    assert refused == ([0, 0, 1, 0, 0] if digit == "0" else [1, 1, 1, 1, 1])
    query = parse_queries(
        Source(f"{READ} $p knows{{{number},}} $q $p.a = {number} }} return {{ 1 }} limit {number} }}")
    )
    assert bool(query.diagnostics) == (digit == "9")


def test_a_text_beyond_the_limit_is_refused_unread() -> None:
    (found,) = parse_schema(Source("x" * (SOURCE_CHARS_MAX + 1))).diagnostics
    assert "the limit is" in found.message
    (found,) = parse_queries(Source("x" * (SOURCE_CHARS_MAX + 1))).diagnostics
    assert (found.line, found.column) == (1, 1)
