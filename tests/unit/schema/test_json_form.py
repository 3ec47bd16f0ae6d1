"""The stored form of a schema is read back exactly, and its fingerprints change when they should."""

import hashlib
import json
from typing import Any

import pytest

from omnigraph.errors import InputError
from omnigraph.schema.json_form import canonical, digest, from_json, from_json_text, shape_hash, to_json, to_json_text
from tests.unit.schema.schemas import accepted

TEXT = r"""
interface Named { name: String @key @description("said \"so\"\n") }
node Doc @description("d") @instruction("i") @x_x("v", k=1) implements Named {
  text: String?  vec: Vector(3)? @embed(text, model="m") @index  kind: enum(b, a) @merge(newest)  tags: [String]
  size: F64
  @unique(text, kind)  @range(size, -1.5..)  @check(text, "^\\w+$")
}
edge Cites: Doc -> Doc @card(1..3) { w: F32 @unique(src, dst) }
edge Sees: Doc -> Doc
"""


def _json() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(canonical(to_json(accepted(TEXT))))
    return loaded


def test_a_schema_is_read_back_exactly() -> None:
    assert from_json(_json()) == accepted(TEXT)


def test_the_stored_text_is_read_back_and_hashes_to_the_digest() -> None:
    text = to_json_text(accepted(TEXT))
    assert from_json_text(text) == accepted(TEXT)
    assert digest(accepted(TEXT)) == f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


@pytest.mark.parametrize("text", ["", "{", "[]", "3"])
def test_a_stored_text_that_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="the stored schema is damaged"):
        from_json_text(text)


def test_the_digest_ignores_comments_white_space_and_order() -> None:
    other = "// comment\nnode B { q: I32 @x_y @x_x p: I32? @unique(p, q) @unique(q) }\n\n  node A {}"
    one = "node A {} node B { @unique(q) @unique(q, p) p: I32? q: I32 @x_x @x_y /* c */ }"
    assert digest(accepted(one)) == digest(accepted(other))
    assert digest(accepted(one)).startswith("sha256:")


def test_the_digest_knows_history_and_the_shape_does_not() -> None:
    first = accepted("node A { b: I32 a: I32 @key(a, b) @unique(b, a) }")
    renamed = accepted("node A { a: I32 z: I32 @rename_from(b) @key(a, z) @unique(z, a) }", first)
    back = accepted("node A { a: I32 b: I32 @rename_from(z) @key(a, b) @unique(b, a) }", renamed)
    again = accepted("node A { y: I32 a: I32 }", first)
    fresh = accepted("node A { b: I32 a: I32 @key(a, b) @unique(b, a) }", again)
    assert shape_hash(first) == shape_hash(back) == shape_hash(fresh)
    assert digest(first) == digest(back) != digest(fresh)


def test_key_order_by_id_does_not_change_the_shape() -> None:
    first = accepted("node A { a: I32 b: I32 @key(a, b) }")
    renamed = accepted("node A { z: I32 @rename_from(a) b: I32 @key(z, b) }", first)
    assert shape_hash(renamed) == shape_hash(accepted("node A { b: I32 z: I32 @key(b, z) }"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("node A {}", "node B {}"),
        ("node A { p: I32 }", "node A { p: I32? }"),
        ("node A { p: I32 @unique }", "node A { p: I32 @unique(p) }"),
        ("node A { p: I32 @merge(max) }", "node A { p: I32 }"),
        ('node A @description("x") {}', "node A {}"),
        ("node A { p: I32 } edge E: A -> A", "node A { p: I32 } edge E: A -> A @card(0..1)"),
        ("interface I { p: I32 } node A implements I {}", "interface I { p: I32 } node A implements I { p: I32 }"),
        ("interface I { p: I32 @unique }", "interface I { p: I32 }"),
    ],
)
def test_another_meaning_is_another_shape(one: str, other: str) -> None:
    assert shape_hash(accepted(one)) != shape_hash(accepted(other))


def test_the_form_is_pinned() -> None:
    """Stored graphs hold these digests: a change here needs a new version of the format."""
    schema = accepted("interface I { p: String @key } node A implements I {} edge E: A -> A { w: F64? @merge(max) }")
    assert canonical(to_json(schema)) == (
        '{"domain":"01J0000000000000000000000D","edges":[{"annotations":[],"card_max":null,"card_min":0,"constraints":[],'
        '"description":null,"id":3,"incarnation":8,"instruction":null,"kind":"edge","name":"E","properties":[{"annotations'
        '":[],"description":null,"embed":null,"id":6,"injected_from":null,"merge":"max","name":"w","type":{"enum_values":'
        'null,"list":false,"nullable":true,"scalar":"F64"}}],"source":"A","target":"A"}],"format":"omnigraph.schema",'
        '"interfaces":[{"constraints":[{"kind":"key","properties":["p"],"sugar":true}],"id":1,"kind":"interface","name":"I",'
        '"properties":[{"annotations":[],"description":null,"embed":null,"id":4,"injected_from":null,"merge":null,"name":'
        '"p","type":{"enum_values":null,"list":false,"nullable":false,"scalar":"String"}}]}],"next_id":9,"nodes":[{'
        '"annotations":[],"constraints":[{"kind":"key","properties":["p"],"sugar":true}],"description":null,"id":2,'
        '"implements":["I"],"incarnation":7,"instruction":null,"kind":"node","name":"A","properties":[{"annotations":[],'
        '"description":null,"embed":null,"id":5,"injected_from":"I","merge":null,"name":"p","type":{"enum_values":null,'
        '"list":false,"nullable":false,"scalar":"String"}}]}],"version":1}'
    )


def _damaged(path: tuple[str | int, ...], value: object) -> dict[str, Any]:
    data = _json()
    place: Any = data
    for step in path[:-1]:
        place = place[step]
    if value is KeyError:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "gist"),
    [
        (("format",), "other", "not a stored schema"),
        (("version",), 4, "only versions 1 to 3 are supported"),
        (("next_id",), "1", "schema.next_id is '1', not an integer"),
        (("next_id",), True, "not an integer"),
        (("domain",), KeyError, "schema.domain"),
        (("nodes",), {}, "schema.nodes is {}, not a list"),
        (("nodes", 0), 3, "schema.nodes[0] is 3, not an object"),
        (("nodes", 0, "implements"), [1], "not a list of texts"),
        (("nodes", 0, "properties", 0, "merge"), "x", "not one of source, target"),
        (("nodes", 0, "properties", 0, "type", "list"), 0, "not true or false"),
        (("nodes", 0, "constraints", 0, "kind"), "x", "unknown constraint kind 'x'"),
        (("nodes", 0, "annotations", 0, "arguments"), [["k"]], "not an annotation argument"),
        (("edges", 0, "description"), 3, "not a text"),
    ],
)
def test_a_damaged_form_is_refused_and_its_place_named(path: tuple[str | int, ...], value: object, gist: str) -> None:
    with pytest.raises(InputError) as raised:
        from_json(_damaged(path, value))
    assert gist in str(raised.value)
