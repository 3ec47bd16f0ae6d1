"""Pipelines from plain values: their types, and the place that an error names."""

from __future__ import annotations

from typing import Any

import pytest

from omnigraph.errors import UsageError
from omnigraph.ingest.documents.pipeline import DocumentPipeline, MentionRule, read_pipeline
from omnigraph.lang.pg_parser import parse_schema
from omnigraph.lang.source import Source
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.compile import accept

SCHEMA = """
node Document { path: String @key  digest: String?  size: I32? }
node Chunk { text: String  number: I32? }
node Person { name: String @key  aliases: [String]?  age: I32? }
node Pair { a: String  b: String  digest: String?  @key(a, b) }
edge PartOf: Chunk -> Document
edge HasPart: Document -> Chunk
edge Mentions: Chunk -> Person { times: I32? }
edge Wrote: Person -> Document
"""


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog(accept(parse_schema(Source(SCHEMA)), domain="D"))


def test_the_defaults_are_the_usual_names(catalog: Catalog) -> None:
    types = read_pipeline(None, catalog)
    assert (types.document.name, types.chunk.name, types.part.name) == ("Document", "Chunk", "PartOf")
    assert types.is_chunk_source


def test_an_edge_may_lead_in_either_direction(catalog: Catalog) -> None:
    assert not read_pipeline({"chunks": {"edge": "HasPart"}}, catalog).is_chunk_source


def test_names_may_be_a_single_property(catalog: Catalog) -> None:
    given = {"mentions": [{"node": "Person", "edge": "Mentions", "names": "name"}]}
    assert read_pipeline(given, catalog).pipeline.mentions == (MentionRule("Person", "Mentions", ("name",)),)


MENTION = {"node": "Person", "edge": "Mentions", "names": ["name"]}


@pytest.mark.parametrize(
    ("given", "message", "hint"),
    [
        ([], "the pipeline: expected names with values, got list", "for example"),
        ({"chunk": {}}, "the pipeline: unknown key 'chunk'", "did you mean `chunks`?"),
        ({"documents": {"node": "Documnt"}}, "documents.node: there is no node type 'Documnt'", "`Document`"),
        ({"documents": {"digest": "hash"}}, "has no property 'hash', which tells whether", "hash: String?"),
        ({"documents": {"title": "size"}}, "documents.title: Document.size must be String, not I32?", None),
        ({"documents": {"node": "Pair"}}, "documents.node: the key of Pair must be one String property", None),
        ({"chunks": {"edge": "Wrote"}}, "chunks.edge: Wrote leads from Person to Document", "between Chunk and"),
        ({"chunks": {"number": "text"}}, "chunks.number: Chunk.text must be a whole number", None),
        ({"chunks": {"size": 0}}, "chunks.size is 0, expected a whole number from 1 on", None),
        ({"chunks": {"size": 10, "overlap": 6}}, "chunks.overlap (6) is more than half of chunks.size (10)", None),
        ({"mentions": {}}, "mentions: expected a list of rules", "[{node: Person"),
        ({"mentions": [{"node": "Person"}]}, "mentions[0]: edge is missing", None),
        ({"mentions": [{**MENTION, "edge": "Wrote"}]}, "mentions[0].edge: Wrote leads from Person", "from Chunk to"),
        ({"mentions": [{**MENTION, "names": []}]}, "mentions[0].names: expected at least one property", None),
        ({"mentions": [{**MENTION, "names": ["age"]}]}, "Person.age must be String or [String]", None),
        ({"mentions": [{**MENTION, "count": "time"}]}, "Mentions has no property 'time'", "did you mean `times`?"),
    ],
)
def test_an_error_names_its_place(catalog: Catalog, given: Any, message: str, hint: str | None) -> None:
    with pytest.raises(UsageError) as error:
        read_pipeline(given, catalog)
    assert message in error.value.message
    if hint is not None:
        assert hint in str(error.value.hint)


def test_a_digest_depends_on_the_content_and_on_the_division() -> None:
    one, other = DocumentPipeline(), DocumentPipeline(mentions=(MentionRule("Person", "Mentions", ("name",)),))
    assert one.digest({"text": "a"}) == DocumentPipeline().digest({"text": "a"})
    assert len({one.digest({"text": "a"}), one.digest({"text": "b"}), other.digest({"text": "a"})}) == 3
