"""Any text, however broken, gives a result: no exception, no hang, and diagnostics that point into the text."""

import random
from collections.abc import Sequence
from functools import lru_cache

import pytest
from hypothesis import given

from omnigraph.core.limits import DIAGNOSTICS_MAX
from omnigraph.errors import CompileError
from omnigraph.lang.diagnostics import Diagnostic
from omnigraph.lang.gq_format import format_queries
from omnigraph.lang.gq_parser import parse_queries
from omnigraph.lang.lexer import lex
from omnigraph.lang.pg_format import format_schema
from omnigraph.lang.pg_parser import parse_schema
from omnigraph.lang.source import Source
from omnigraph.wire.diagnostics import diagnostic_json
from tests.support.examples import examples
from tests.unit.lang.strategies import any_texts
from tests.unit.lang.test_formatting import QUERIES, QUERIES_FORMATTED, SCHEMA, SCHEMA_FORMATTED
from tests.unit.lang.test_round_trip import check_query_formatting, check_schema_formatting

CHARS_MAX = 2_000
CORPUS = (SCHEMA, SCHEMA_FORMATTED, QUERIES, QUERIES_FORMATTED)
MARKS = "{}()[]$@:;,.\"'/\\-+*%<>=!?#&|\n\t\r \0\x7fé😀\ud800"
JUNK = [*MARKS, "/*", "*/", "//", "..", "->", "$x", "query q() {", "node N {"]


def check(text: str) -> bool:
    """Parse a text as both languages and format what is right; tells whether it was right in one of them."""
    schema, queries = parse_schema(Source(text)), parse_queries(Source(text))
    _check_diagnostics(text, schema.diagnostics)
    _check_diagnostics(text, queries.diagnostics)
    if not schema.diagnostics:
        check_schema_formatting(text)
    else:
        with pytest.raises(CompileError):
            format_schema(schema)
    if not queries.diagnostics:
        check_query_formatting(text)
    else:
        with pytest.raises(CompileError):
            format_queries(queries)
    return not (schema.diagnostics and queries.diagnostics)


def _check_diagnostics(text: str, diagnostics: Sequence[Diagnostic]) -> None:
    assert len(diagnostics) <= DIAGNOSTICS_MAX + 1
    for diagnostic in diagnostics:
        assert 0 <= diagnostic.span.start <= diagnostic.span.end <= len(text)
        assert diagnostic.message
        assert "\n" not in diagnostic.headline()
        assert diagnostic.render()
        assert diagnostic_json(diagnostic)


@given(any_texts)
@examples(300)
def test_any_text_gives_diagnostics_or_a_tree(text: str) -> None:
    check(text)


def _mutate(text: str, chance: random.Random) -> str:
    """Delete, double, move or replace spans: of characters, or of whole tokens."""
    pieces = list(text if chance.random() < 0.3 else _split(text))
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        start = chance.randrange(len(pieces) + 1)
        end = min(len(pieces), start + chance.choice((0, 1, 1, 2, 5, 40)))
        place = chance.randrange(len(pieces) + 1)
        span = pieces[start:end]
        match chance.randrange(5):
            case 0:
                del pieces[start:end]
            case 1:
                pieces[place:place] = span
            case 2:
                del pieces[start:end]
                pieces[place:place] = span
            case 3:
                pieces[start:end] = [chance.choice(JUNK)]
            case _:
                pieces[place:place] = [chance.choice(JUNK)]
    return "".join(pieces)[:CHARS_MAX]


@lru_cache(maxsize=len(CORPUS))
def _split(text: str) -> tuple[str, ...]:
    pieces, end = [], 0
    for token in lex(Source(text)).tokens:
        pieces += [text[end : token.span.start], text[token.span.start : token.span.end]]
        end = token.span.end
    return tuple(pieces)


def _soup(chance: random.Random) -> str:
    words = [piece for text in CORPUS for piece in _split(text)]
    return " ".join(chance.choice(words) for _ in range(chance.randrange(80)))


def _noise(chance: random.Random) -> str:
    return "".join(chance.choice(JUNK) for _ in range(chance.randrange(200)))


def _fuzz(seed: int, count: int) -> int:
    """Check ``count`` texts; tells how many were right."""
    chance = random.Random(seed)
    valid = 0
    for _ in range(count):
        text = chance.choice(CORPUS)
        start = chance.randrange(len(text))
        kind = chance.randrange(10)
        if kind == 0:
            text = _noise(chance)
        elif kind == 1:
            text = _soup(chance)
        elif kind < 5:
            text = _mutate(text[start : start + 200], chance)
        else:
            text = _mutate(text, chance)
        valid += check(text)
    return valid


def test_a_few_hundred_broken_texts_give_diagnostics() -> None:
    assert _fuzz(seed=1, count=400) > 20


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 130))
def test_hundreds_of_thousands_of_broken_texts_give_diagnostics(seed: int) -> None:
    assert _fuzz(seed, count=10_000) > 500
