"""Rules from plain values: what they mean, and the place that an error names."""

from __future__ import annotations

from typing import Any

import pytest

from omnigraph.errors import UsageError
from omnigraph.exec.resolve.read_rules import read_rules
from omnigraph.exec.resolve.rules import BlockFunction, BlockPart, Comparison, Normalize, ResolveRules, Similarity
from omnigraph.exec.resolve.texts import soundex
from omnigraph.lang.pg_parser import parse_schema
from omnigraph.lang.source import Source
from omnigraph.schema.catalog import Catalog, NodeType
from omnigraph.schema.compile import accept

SCHEMA = """
node Person {
  name: String
  aliases: [String]?
  age: I32?
  born: Date?
  face: Vector(4)?
  photo: Blob?
}
"""


@pytest.fixture(scope="module")
def person() -> NodeType:
    return Catalog(accept(parse_schema(Source(SCHEMA)), domain="D")).nodes["Person"]


def test_rules_are_read_from_plain_values(person: NodeType) -> None:
    rules = read_rules(
        {
            "blocks": ["name", ["prefix(name, 2)", "year(born)"], "lsh(face)"],
            "compare": {"name": "jaro_winkler", "age": {"by": "number", "within": 5, "weight": 2}},
            "threshold": 0.9,
            "survivor": "oldest",
        },
        person,
    )
    assert rules.blocks == (
        (BlockPart(BlockFunction.VALUE, "name"),),
        (BlockPart(BlockFunction.PREFIX, "name", 2), BlockPart(BlockFunction.YEAR, "born")),
        (BlockPart(BlockFunction.LSH, "face", 12),),
    )
    assert rules.compare == (
        Comparison("name", Similarity.JARO_WINKLER),
        Comparison("age", Similarity.NUMBER, weight=2, within=5),
    )
    assert rules.properties == ("name", "born", "face", "age")
    assert read_rules(rules, person) is rules


def test_a_property_may_be_compared_twice(person: NodeType) -> None:
    compare = [{"property": "name", "by": "exact"}, {"property": "name", "by": "tokens", "normalize": "letters"}]
    rules = read_rules({"compare": compare}, person)
    assert rules.score_names() == ("name_exact", "name_tokens")
    assert rules.compare[1].normalize is Normalize.LETTERS


NAME = {"name": "exact"}


@pytest.mark.parametrize(
    ("given", "message", "hint"),
    [
        ([], "rules must be a mapping, got list", "for example"),
        ({}, "rules: compare must name the properties to compare", "for example"),
        ({"compare": {}}, "rules: compare names no property", "for example"),
        ({"compare": NAME, "treshold": 1}, "rules: unknown key 'treshold'", "did you mean `threshold`?"),
        ({"compare": {"nam": "exact"}}, "compare: nam: Person has no property 'nam'", "did you mean `name`?"),
        ({"compare": {"name": "jaro"}}, "compare.name.by: unknown value 'jaro'", "expected one of exact"),
        ({"compare": {"name": {"wieght": 2}}}, "compare.name: unknown key 'wieght'", "did you mean `weight`?"),
        ({"compare": {"name": {"weight": 2}}}, "compare.name: by is missing", "the similarities are exact"),
        ({"compare": {"age": "number"}}, "compare: age: number needs within", "within: a number"),
        (
            {"compare": {"name": {"by": "exact", "within": 2}}},
            "compare: name: exact takes no within",
            "number and date",
        ),
        ({"compare": {"face": "jaro_winkler"}}, "compare: face: jaro_winkler compares String", None),
        ({"compare": {"photo": "exact"}}, "compare: photo: exact compares text", None),
        (
            {"compare": {"name": {"by": "exact", "weight": 0}}},
            "compare: name: weight is 0, expected a number above 0",
            None,
        ),
        ({"compare": {"name": {"by": "exact", "required": 2}}}, "expected a number from 0 to 1", None),
        ({"compare": NAME, "blocks": "name"}, "rules: blocks must be a list of keys, got 'name'", "for example"),
        ({"compare": NAME, "blocks": ["prefix(name"]}, "blocks[0]: 'prefix(name' is neither", "with the quotes"),
        ({"compare": NAME, "blocks": ["prefx(name)"]}, "blocks[0]: unknown value 'prefx'", "did you mean `prefix`?"),
        ({"compare": NAME, "blocks": ["name", "year(name)"]}, "blocks[1]: year(name): year takes Date", None),
        ({"compare": NAME, "blocks": ["near(age)"]}, "blocks[0]: near(age): near needs its width", "near(age, 10)"),
        ({"compare": NAME, "blocks": ["soundex(name, 3)"]}, "soundex takes no number", "soundex(name)"),
        ({"compare": NAME, "blocks": ["prefix(name, 1.5)"]}, "characters must be a whole number", None),
        ({"compare": NAME, "threshold": 0}, "threshold is 0, expected a number above 0 to 1", None),
        ({"compare": NAME, "threshold": "high"}, "threshold is 'high'", None),
        ({"compare": NAME, "review": 0.9}, "rules: review (0.9) is above the threshold (0.85)", "are reported"),
        ({"compare": NAME, "block_max": 1}, "rules: block_max is 1, expected a whole number from 2 on", None),
        ({"compare": NAME, "survivor": "x"}, "survivor: unknown value 'x'", "expected one of complete, oldest"),
    ],
)
def test_an_error_names_its_place(person: NodeType, given: Any, message: str, hint: str | None) -> None:
    with pytest.raises(UsageError) as error:
        read_rules(given, person)
    assert message in error.value.message
    if hint is not None:
        assert hint in str(error.value.hint)


def test_rules_as_values_are_checked_as_well(person: NodeType) -> None:
    with pytest.raises(UsageError, match="Person has no property 'nme'"):
        read_rules(ResolveRules((Comparison("nme", Similarity.EXACT),)), person)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("Robert", "r163"),
        ("Rupert", "r163"),
        ("Rubin", "r150"),
        ("Ashcraft", "a261"),
        ("Tymczak", "t522"),
        ("Pfister", "p236"),
        ("Öl", "o400"),
        ("漢", None),
    ],
)
def test_soundex_is_the_american_one(name: str, code: str | None) -> None:
    assert soundex(name) == code
