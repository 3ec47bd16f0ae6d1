"""Formatters preserve the meaning, are idempotent, and lose no comment."""

from collections import Counter

from hypothesis import example, given

from omnigraph.lang.gq_ast import QueryFile
from omnigraph.lang.gq_format import format_queries
from omnigraph.lang.gq_parser import parse_queries
from omnigraph.lang.lexer import lex
from omnigraph.lang.pg_ast import SchemaFile
from omnigraph.lang.pg_format import format_schema
from omnigraph.lang.pg_parser import parse_schema
from omnigraph.lang.source import Source
from tests.unit.lang import strategies


@given(strategies.schema_files)
def test_a_formatted_schema_means_the_tree_it_was_made_from(file: SchemaFile) -> None:
    text = strategies.schema_text(file)
    parsed = parse_schema(Source(text))
    assert not parsed.diagnostics, parsed.diagnostics[0].render()
    assert parsed.file == file


@given(strategies.query_files)
def test_a_formatted_query_means_the_tree_it_was_made_from(file: QueryFile) -> None:
    text = strategies.query_text(file)
    parsed = parse_queries(Source(text))
    assert not parsed.diagnostics, parsed.diagnostics[0].render()
    assert parsed.file == file


def check_schema_formatting(text: str) -> None:
    parsed = parse_schema(Source(text))
    assert not parsed.diagnostics, parsed.diagnostics[0].render()
    formatted = format_schema(parsed)
    again = parse_schema(Source(formatted))
    assert again.file == parsed.file
    assert comment_texts(formatted) == comment_texts(text)
    assert format_schema(again) == formatted


def check_query_formatting(text: str) -> None:
    parsed = parse_queries(Source(text))
    assert not parsed.diagnostics, parsed.diagnostics[0].render()
    formatted = format_queries(parsed)
    again = parse_queries(Source(formatted))
    assert again.file == parsed.file
    assert comment_texts(formatted) == comment_texts(text)
    assert format_queries(again) == formatted


def comment_texts(text: str) -> Counter[str]:
    return Counter(comment.text for comment in lex(Source(text)).comments)


@given(strategies.with_comments(strategies.schema_texts))
@example("edge A: B -> C { // c\n}")
def test_formatting_a_commented_schema_is_stable_and_loses_nothing(text: str) -> None:
    check_schema_formatting(text)


@given(strategies.with_comments(strategies.query_texts))
def test_formatting_a_commented_query_is_stable_and_loses_nothing(text: str) -> None:
    check_query_formatting(text)
