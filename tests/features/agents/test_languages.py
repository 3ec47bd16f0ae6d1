"""The page of the languages for agents: its examples compile, and usual questions and writes need nothing else."""

import re
from pathlib import Path

import pytest

from omnigraph.core.operators import AggregateFunction
from omnigraph.lang.gq_calls import FUNCTIONS
from omnigraph.lang.gq_parser import parse_queries
from omnigraph.lang.mutation.parser import STATEMENTS
from omnigraph.lang.pg_parser import parse_schema
from omnigraph.lang.reads.body import SECTIONS
from omnigraph.lang.source import Source
from omnigraph.query.compile import compile_query
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.compile import accept
from tests.features.cli.run import REPOSITORY

PAGE = (REPOSITORY / "docs" / "agents" / "languages.md").read_text()
QUESTIONS = Path(__file__).with_name("questions.gq").read_text().splitlines()
WRITES = Path(__file__).with_name("writes.gq").read_text().splitlines()
TOKENS_MAX = 2_000
"""Tokens of the page, counted as characters / 4: it has to fit beside a task."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def catalog() -> Catalog:
    (schema,) = blocks("pg")
    return Catalog(accept(parse_schema(Source(schema, "page")), domain="0" * 26))


def check(text: str) -> None:
    parsed = parse_queries(Source(text, "page"))
    assert not parsed.diagnostics, parsed.diagnostics
    assert parsed.file.queries
    for query in parsed.file.queries:
        compile_query(query, catalog(), parsed.source)


def test_the_examples_compile() -> None:
    for text in blocks("gq"):
        check(text)


def test_there_are_forty_questions() -> None:
    assert len(QUESTIONS) == 40


@pytest.mark.parametrize("text", [*QUESTIONS, *WRITES], ids=lambda text: text.partition("(")[0])
def test_a_usual_question_or_write_compiles_and_uses_only_what_the_page_names(text: str) -> None:
    check(text)
    # Texts, names after $, . and "as", types and properties are the caller's; what is left belongs to the language.
    bare = re.sub(r'"[^"]*"|\$\w+|\.\w+|\bas \w+|query \w+', " ", text)
    words = set(re.findall(r"[a-z_]+(?=[({]|\b)", re.sub(r"\b[A-Z]\w*|\w+:", " ", bare)))
    own = {"knows", "works", "worksAt", "wrote", "email", "people", "score", "t", "level", "seen", "since", "tags"}
    assert [word for word in sorted(words - own) if not re.search(rf"\b{word}\b", PAGE)] == []


CYPHER = (REPOSITORY / "docs" / "user" / "from-cypher.md").read_text()
ANSWERS = re.findall(r"^\| [^|]+ \| `.*` \| `(match .*)` \|$", CYPHER, re.MULTILINE)
"""The 40 questions of the page for people who know Cypher, in `.gq`; the tests of that page run them."""


def test_the_page_names_every_word_of_the_forty_questions_in_cypher() -> None:
    assert len(ANSWERS) == 40
    for text in ANSWERS:
        bare = re.sub(r'"[^"]*"|\$\w+|\.\w+|\bas \w+', " ", text)
        words = set(re.findall(r"[a-z_]+(?=[({]|\b)", re.sub(r"\b[A-Z]\w*|\w+:", " ", bare)))
        assert [word for word in sorted(words) if not re.search(rf"\b{word}\b", PAGE)] == [], text


def test_every_function_is_named() -> None:
    # match_text is another name of search.
    names = sorted(FUNCTIONS.keys() - {"match_text"})
    assert [name for name in names if not re.search(rf"\b{re.escape(name)}\b", PAGE)] == []


def test_every_aggregate_section_and_statement_is_named() -> None:
    names = [function.value for function in AggregateFunction] + [*SECTIONS, *STATEMENTS, "for", "returning"]
    assert [name for name in names if not re.search(rf"\b{name}\b", PAGE)] == []


def test_the_page_is_short() -> None:
    assert len(PAGE) / 4 <= TOKENS_MAX
