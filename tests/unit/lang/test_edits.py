"""Edits of a schema text: only the edited declarations change, and the result says what was asked for."""

from __future__ import annotations

import pytest

from omnigraph.errors import CompileError
from omnigraph.lang.declarations.edits import declared_types, edited
from omnigraph.lang.pg_parser import ParsedSchema, parse_schema
from omnigraph.lang.source import Source

TEXT = """\
// People and what they know.
node Person { name: String @key }

edge Knows: Person -> Person  // no properties

node Note {
  text: String  // as written
  // the end
}
edge Cites: Note -> Note @card(0..1) {}
interface Named { name: String }
"""


def parsed(text: str = TEXT) -> ParsedSchema:
    return parse_schema(Source(text))


def test_types_are_named_by_table_key() -> None:
    assert list(declared_types(parsed())) == ["node:Person", "edge:Knows", "node:Note", "edge:Cites"]


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("node:Person", "node Person { name: String @key age: I64? tags: [String]? }"),
        ("edge:Knows", "edge Knows: Person -> Person { age: I64? tags: [String]? }  // no properties"),
        ("node:Note", "  // the end\n  age: I64?\n  tags: [String]?\n}"),
        ("edge:Cites", "edge Cites: Note -> Note @card(0..1) { age: I64? tags: [String]? }"),
    ],
)
def test_properties_are_added_in_the_style_of_their_declaration(key: str, expected: str) -> None:
    text = edited(parsed(), properties={key: ["age: I64?", "tags: [String]?"]})

    assert expected in text
    assert len(text.splitlines()) == len(TEXT.splitlines()) + (2 if key == "node:Note" else 0)
    (before,), (after,) = (
        [item.body for name, item in declared_types(one).items() if name == key] for one in (parsed(), parsed(text))
    )
    assert len(after) == len(before) + 2


@pytest.mark.parametrize(
    "text", ["node A{}", "node A {\n}", "edge B: A -> A", "node A{x: I64}", "node A {\n  x: I64 }"]
)
def test_every_shape_of_a_body_takes_a_property(text: str) -> None:
    (key,) = declared_types(parsed(text))

    again = parsed(edited(parsed(text), properties={key: ["y: String?"]}))

    assert not again.diagnostics
    assert declared_types(again)[key].body[-1].name.text == "y"  # type: ignore[union-attr] # the last member is a property


def test_declarations_are_dropped_and_added_and_the_rest_stays() -> None:
    text = edited(parsed(), dropped=["node:Note", "edge:Cites"], declared=["node City { name: String @key }\n"])

    assert list(declared_types(parsed(text))) == ["node:Person", "edge:Knows", "node:City"]
    assert text.startswith("// People and what they know.\nnode Person { name: String @key }\n\nedge Knows")
    assert text.endswith("\n\nnode City { name: String @key }\n")


def test_edits_of_several_declarations_do_not_disturb_each_other() -> None:
    text = edited(parsed(), dropped=["edge:Knows"], properties={"node:Person": ["a: I64?"], "node:Note": ["b: I64?"]})

    types = declared_types(parsed(text))
    assert {name: [member.name.text for member in item.body] for name, item in types.items()} == {  # type: ignore[union-attr] # all members are properties
        "node:Person": ["name", "a"],
        "node:Note": ["text", "b"],
        "edge:Cites": [],
    }


def test_a_text_with_errors_is_not_edited() -> None:
    with pytest.raises(CompileError):
        edited(parsed("node {"), declared=["node A { }"])
