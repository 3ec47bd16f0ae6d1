"""Diagnostics: rendering, collection and JSON form."""

import pytest

from omnigraph.core.limits import DIAGNOSTICS_MAX
from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import CompileError
from omnigraph.lang.diagnostics import Diagnostic, Diagnostics, Severity
from omnigraph.lang.gq_parser import parse_queries
from omnigraph.lang.pg_parser import parse_schema
from omnigraph.lang.source import Source, Span
from omnigraph.wire.diagnostics import diagnostic_json


def _draw(text: str) -> str:
    return "\n".join(diagnostic.render() for diagnostic in parse_schema(Source(text, "s.pg")).diagnostics)


def _about(text: str, start: int, end: int) -> list[str]:
    """The lines below the headline of a diagnostic about a span."""
    return Diagnostic("X", "m", Span(start, end), Source(text, "s")).render().split("\n")[1:]


def test_a_diagnostic_shows_place_line_caret_and_hint() -> None:
    assert _draw("node A {\n  a: Strng\n}\n") == (
        "s.pg:2:6: error[P001]: expected a type, found `Strng`\n"
        "   |\n"
        " 2 |   a: Strng\n"
        "   |      ^^^^^\n"
        "   = hint: did you mean `String`?"
    )


def test_the_gutter_is_as_wide_as_the_line_number() -> None:
    drawn = _draw("\n" * 99 + "node A { a: Strng }")
    assert drawn.split("\n")[1:4] == [
        "     |",
        " 100 | node A { a: Strng }",
        "     |             ^^^^^",
    ]


def test_a_tab_before_the_caret_stays_a_tab() -> None:
    assert _about("\ta\tbb c", 3, 5) == ["   |", " 1 | \ta\tbb c", "   | \t \t^^"]


def test_wide_characters_take_two_columns_and_combining_ones_none() -> None:
    assert _about("日本 xx", 3, 5) == ["   |", " 1 | 日本 xx", "   |      ^^"]
    assert _about("日本 xx", 0, 2) == ["   |", " 1 | 日本 xx", "   | ^^^^"]
    assert _about("e\u0301 xx", 3, 5) == ["   |", " 1 | e\u0301 xx", "   |   ^^"]


def test_control_characters_never_reach_the_terminal() -> None:
    assert _about("a\x1b[31m\x00b\ud800 x", 10, 11)[1] == " 1 | a\ufffd[31m\ufffdb\ufffd x"


def test_a_long_line_is_shown_around_the_caret() -> None:
    text = "x" * 1000 + "HERE" + "y" * 1000
    _, excerpt, carets = _about(text, 1000, 1004)
    assert len(excerpt) == len(" 1 | ") + 160
    column = excerpt.index("HERE")
    assert carets == " " * 3 + "|" + " " * (column - 4) + "^^^^"


def test_a_span_over_several_lines_is_marked_to_the_end_of_the_first() -> None:
    assert _about("ab cd\nef", 3, 8) == ["   |", " 1 | ab cd", "   |    ^^"]


def test_a_place_at_the_end_of_the_text_has_one_caret() -> None:
    assert _draw("node A {\n") == (
        "s.pg:2:1: error[P001]: expected `}` to close node A, found the end of the text\n   |\n 2 | \n   | ^"
    )
    assert _draw("node A {").endswith(" 1 | node A {\n   |         ^")


def test_the_carriage_return_of_a_line_break_is_not_shown() -> None:
    assert _draw("node A {\r\n  a: Strng\r\n}\r\n").split("\n")[2:4] == [" 2 |   a: Strng", "   |      ^^^^^"]


def test_a_message_is_one_line_whatever_token_it_names() -> None:
    (found,) = parse_schema(Source('node A { a: "x\ny" }')).diagnostics
    assert found.message == 'expected a type, found "x\\ny"'
    (found,) = parse_schema(Source('"' + "x" * 500 + '"')).diagnostics
    assert found.message.endswith(f'found "{"x" * 36}...')


def test_machines_get_the_span_in_bytes() -> None:
    (found,) = parse_schema(Source("// é\nnode A { a: Strng }", "s.pg")).diagnostics
    assert diagnostic_json(found) == {
        "code": "P001",
        "severity": "error",
        "message": "expected a type, found `Strng`",
        "source": "s.pg",
        "line": 2,
        "column": 13,
        "span": {"start": 18, "end": 23},
        "hint": "did you mean `String`?",
    }


def test_an_empty_span_is_one_byte_wide_for_machines() -> None:
    (found,) = parse_queries(Source("query q() {")).diagnostics
    assert diagnostic_json(found)["span"] == {"start": 11, "end": 12}
    assert "hint" not in diagnostic_json(found)


def test_diagnostics_are_bounded_and_the_last_one_counts_the_rest() -> None:
    collected = Diagnostics(Source("abc"))
    for index in range(DIAGNOSTICS_MAX + 5):
        assert collected.is_full == (index >= DIAGNOSTICS_MAX)
        collected.error("X", "m", Span(index % 3, 3))
    report = collected.report()
    assert len(report) == DIAGNOSTICS_MAX + 1
    assert (report[-1].severity, report[-1].message) == (Severity.INFO, "5 more diagnostics are not shown")


def test_only_errors_stop_a_compilation() -> None:
    collected = Diagnostics(Source("abc"))
    collected.warning("W", "careful", Span(0, 1))
    collected.raise_errors()
    collected.error("E", "wrong", Span(1, 2))
    with pytest.raises(CompileError) as raised:
        collected.raise_errors()
    assert [diagnostic.code for diagnostic in raised.value.diagnostics] == ["W", "E"]
    assert "warning[W]: careful" in str(raised.value)


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [("persn", "did you mean `Person`?"), ("PERSON", "did you mean `Person`?"), ("zzz", None), ("x" * 10_000, None)],
)
def test_a_suggestion_is_the_most_similar_name(wrong: str, hint: str | None) -> None:
    assert did_you_mean(wrong, ["Company", "Person"]) == hint
