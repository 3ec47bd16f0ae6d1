"""The user documentation tells the truth: its examples compile, or fail with the code they announce."""

import re
from pathlib import Path

import pytest

from omnigraph.core.limits import DIAGNOSTICS_MAX, EXPRESSION_OPERATORS_MAX, HOPS_MAX, NESTING_MAX, PATTERNS_MAX
from omnigraph.lang.diagnostics import Diagnostics
from omnigraph.lang.gq_calls import FUNCTIONS
from omnigraph.lang.gq_parser import parse_queries
from omnigraph.lang.source import Source
from omnigraph.query.codes import CODES
from omnigraph.query.compile import check_query
from tests.unit.query.fixture import catalog

DOCUMENTS = Path(__file__).resolve().parents[3] / "docs" / "user"
BLOCK = re.compile(r"^```(\S*) ?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMES = ("queries.md", "mutations.md")


def text_of(name: str) -> str:
    return (DOCUMENTS / name).read_text(encoding="utf-8")


def examples() -> list[tuple[str, str, str]]:
    return [
        (name, announced, body)
        for name in NAMES
        for language, announced, body in BLOCK.findall(text_of(name))
        if language == "gq"
    ]


def schema_of(name: str) -> str:
    schemas = [body for language, _, body in BLOCK.findall(text_of(name)) if language == "pg"]
    assert len(schemas) == 1
    return str(schemas[0])


@pytest.mark.parametrize(("name", "announced", "body"), examples())
def test_an_example_compiles_or_fails_as_announced(name: str, announced: str, body: str) -> None:
    parsed = parse_queries(Source(body, name))
    assert not parsed.diagnostics, parsed.diagnostics[0].render()
    found = []
    for query in parsed.file.queries:
        diagnostics = Diagnostics(parsed.source)
        check_query(query, catalog(schema_of(name)), diagnostics)
        found += diagnostics.report()
    codes = {diagnostic.code for diagnostic in found}
    assert codes == ({announced.removeprefix("error ")} if announced else set()), [item.render() for item in found]


def test_there_is_no_block_that_nothing_checks() -> None:
    # Programs in Python are run by the tests of the command line's documentation.
    languages = {language for name in NAMES for language, _, _ in BLOCK.findall(text_of(name))}
    assert languages == {"pg", "gq", "python", ""}


def test_every_code_is_documented_with_its_meaning() -> None:
    rows = dict(re.findall(r"^\| ([TLQ]\d+) \| (.*) \|$", text_of("queries.md"), re.MULTILINE))
    assert rows == CODES


def test_every_function_is_documented() -> None:
    text = text_of("queries.md") + text_of("functions.md")
    assert not [name for name in FUNCTIONS if f"`{name}(" not in text]


def test_the_limits_in_the_text_are_the_limits_of_the_code() -> None:
    text = " ".join(text_of("queries.md").split())
    assert f"at most {PATTERNS_MAX} bindings, traversals and blocks" in text
    assert f"an expression {EXPRESSION_OPERATORS_MAX} operators" in text
    assert f"nesting ends at {NESTING_MAX} levels" in text
    assert f"at most {DIAGNOSTICS_MAX} diagnostics" in text
    assert f"at most {HOPS_MAX} edges" in text
