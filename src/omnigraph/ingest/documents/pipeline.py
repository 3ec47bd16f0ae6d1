"""The document pipeline as a value: the types of documents and chunks, how texts are divided, and what is linked.

    {"documents": {"node": "Document", "title": "title"},
     "chunks": {"node": "Chunk", "edge": "PartOf", "size": 1200},
     "mentions": [{"node": "Person", "edge": "Mentions", "names": ["name", "aliases"]}]}

Pure: plain values are checked against a schema, and every error names its place.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from omnigraph.core.scalars import Scalar
from omnigraph.core.suggestions import did_you_mean
from omnigraph.errors import UsageError
from omnigraph.rows.arrow_types import Entity
from omnigraph.schema.catalog import Catalog, EdgeType, NodeType
from omnigraph.schema.types import PropertyType

_FORM: Final = 1
"""Raised when the division of texts changes, so that every document is divided again."""

_EXAMPLE: Final = "for example {documents: {node: Document}, chunks: {node: Chunk, edge: PartOf}}"


@dataclass(frozen=True, slots=True)
class DocumentRule:
    """The type of documents, and the properties that are filled. ``digest`` tells whether a document has changed."""

    node: str = "Document"
    digest: str = "digest"
    title: str | None = None
    text: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class ChunkRule:
    """The type of chunks, the edge between a chunk and its document, and the division of texts in characters."""

    node: str = "Chunk"
    edge: str = "PartOf"
    text: str = "text"
    number: str | None = None
    start: str | None = None
    size: int = 1_200
    overlap: int = 150


@dataclass(frozen=True, slots=True)
class MentionRule:
    """A node type whose names are looked for in chunks, and the edge from a chunk to the nodes that it mentions."""

    node: str
    edge: str
    names: tuple[str, ...]
    count: str | None = None
    chars_min: int = 3


@dataclass(frozen=True, slots=True)
class DocumentPipeline:
    """The whole pipeline."""

    documents: DocumentRule = dataclasses.field(default_factory=DocumentRule)
    chunks: ChunkRule = dataclasses.field(default_factory=ChunkRule)
    mentions: tuple[MentionRule, ...] = ()

    def digest(self, content: Mapping[str, Any]) -> str:
        """The digest of a document: its values, and everything that decides about its chunks."""
        divided = [_FORM, self.chunks.size, self.chunks.overlap, [dataclasses.astuple(rule) for rule in self.mentions]]
        text = json.dumps([divided, sorted(content.items())], ensure_ascii=False, default=str)
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class MentionTypes:
    """The types of one rule about mentions."""

    rule: MentionRule
    node: NodeType
    edge: EdgeType


@dataclass(frozen=True, slots=True)
class PipelineTypes:
    """The types of a pipeline, in one schema."""

    pipeline: DocumentPipeline
    document: NodeType
    chunk: NodeType
    part: EdgeType
    mentions: tuple[MentionTypes, ...]

    @property
    def is_chunk_source(self) -> bool:
        """True if the edge leads from the chunk to its document."""
        return self.part.source.types == (self.chunk.name,)


def read_pipeline(given: DocumentPipeline | Mapping[str, Any] | None, catalog: Catalog) -> PipelineTypes:
    """A pipeline whose names all exist; raises UsageError with the place of the first mistake."""
    pipeline = given if isinstance(given, DocumentPipeline) else _parsed({} if given is None else given)
    document = _node(pipeline.documents.node, catalog, "documents.node")
    chunk = _node(pipeline.chunks.node, catalog, "chunks.node")
    _check_documents(pipeline.documents, document)
    part = _edge(pipeline.chunks.edge, catalog, "chunks.edge")
    if part.pairs not in (((chunk.name, document.name),), ((document.name, chunk.name),)):
        raise UsageError(
            f"chunks.edge: {part.name} leads from {part.source.types[0]} to {part.target.types[0]}",
            hint=f"expected an edge between {chunk.name} and {document.name}",
        )
    _check_chunks(pipeline.chunks, chunk)
    mentions = tuple(
        _mention(rule, chunk, catalog, f"mentions[{number}]") for number, rule in enumerate(pipeline.mentions)
    )
    return PipelineTypes(pipeline, document, chunk, part, mentions)


def _parsed(given: object) -> DocumentPipeline:
    whole = _mapping(given, "the pipeline", [field.name for field in fields(DocumentPipeline)])
    documents = _values(whole.get("documents", {}), DocumentRule, "documents")
    chunks = _values(whole.get("chunks", {}), ChunkRule, "chunks")
    listed = whole.get("mentions", ())
    if isinstance(listed, str | Mapping) or not isinstance(listed, Sequence):
        raise UsageError("mentions: expected a list of rules", hint="[{node: Person, edge: Mentions, names: [name]}]")
    mentions = []
    for number, item in enumerate(listed):
        at = f"mentions[{number}]"
        values = _values(item, MentionRule, at)
        for needed in ("node", "edge", "names"):
            if needed not in values:
                raise UsageError(f"{at}: {needed} is missing", hint="{node: Person, edge: Mentions, names: [name]}")
        names = values["names"]
        values["names"] = (names,) if isinstance(names, str) else tuple(names)
        mentions.append(MentionRule(**values))
    return DocumentPipeline(DocumentRule(**documents), ChunkRule(**chunks), tuple(mentions))


def _values(given: object, rule: type, at: str) -> dict[str, Any]:
    return dict(_mapping(given, at, [field.name for field in fields(rule)]))


def _mapping(given: object, at: str, keys: Sequence[str]) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise UsageError(f"{at}: expected names with values, got {type(given).__name__}", hint=_EXAMPLE)
    for key in given:
        if key not in keys:
            hint = did_you_mean(str(key), keys) or f"allowed keys: {', '.join(keys)}"
            raise UsageError(f"{at}: unknown key {key!r}", hint=hint)
    return given


def _node(name: object, catalog: Catalog, at: str) -> NodeType:
    found = catalog.node(str(name))
    if found is None:
        hint = did_you_mean(str(name), catalog.nodes) or f"the node types are {', '.join(catalog.nodes) or 'none'}"
        raise UsageError(f"{at}: there is no node type {name!r}", hint=hint)
    return found


def _edge(name: object, catalog: Catalog, at: str) -> EdgeType:
    found = catalog.edge(str(name))
    if found is None:
        hint = did_you_mean(str(name), catalog.edges) or f"the edge types are {', '.join(catalog.edges) or 'none'}"
        raise UsageError(f"{at}: there is no edge type {name!r}", hint=hint)
    if found.has_types:
        raise UsageError(
            f"{at}: {found.name} has ends of several types", hint="name an edge type with one pair of ends"
        )
    return found


def _check_documents(rule: DocumentRule, node: NodeType) -> None:
    _check_property(node, rule.digest, "documents.digest", is_needed=True)
    for name in ("title", "text", "source"):
        _check_property(node, getattr(rule, name), f"documents.{name}")
    _check_id(node, "documents.node")


def _check_chunks(rule: ChunkRule, node: NodeType) -> None:
    _check_property(node, rule.text, "chunks.text")
    for name in ("number", "start"):
        _check_property(node, getattr(rule, name), f"chunks.{name}", is_whole=True)
    _check_id(node, "chunks.node")
    for name, value, least in (("size", rule.size, 1), ("overlap", rule.overlap, 0)):
        if not _is_whole(value) or value < least:
            raise UsageError(f"chunks.{name} is {value!r}, expected a whole number from {least} on")
    if rule.overlap * 2 > rule.size:
        raise UsageError(f"chunks.overlap ({rule.overlap}) is more than half of chunks.size ({rule.size})")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _mention(rule: MentionRule, chunk: NodeType, catalog: Catalog, at: str) -> MentionTypes:
    node, edge = _node(rule.node, catalog, f"{at}.node"), _edge(rule.edge, catalog, f"{at}.edge")
    if edge.pairs != ((chunk.name, node.name),):
        raise UsageError(
            f"{at}.edge: {edge.name} leads from {edge.source.types[0]} to {edge.target.types[0]}",
            hint=f"expected an edge from {chunk.name} to {node.name}",
        )
    if not rule.names:
        raise UsageError(f"{at}.names: expected at least one property", hint="names: [name, aliases]")
    for name in rule.names:
        _check_property(node, name, f"{at}.names", takes_lists=True)
    _check_property(edge, rule.count, f"{at}.count", is_whole=True)
    return MentionTypes(rule, node, edge)


def _check_id(node: NodeType, at: str) -> None:
    """The id of a document or chunk is given, so a key must be one text."""
    if len(node.key) > 1 or any(not node.properties[name].type.is_text for name in node.key):
        raise UsageError(f"{at}: the key of {node.name} must be one String property", hint="or leave out the key")


def _check_property(
    entity: Entity,
    name: str | None,
    at: str,
    *,
    is_needed: bool = False,
    is_whole: bool = False,
    takes_lists: bool = False,
) -> None:
    if name is None:
        return
    if name not in entity.properties:
        declared = f"{name}: {'I32' if is_whole else 'String'}?"
        hint = did_you_mean(name, entity.properties) or f"declare it in the schema: {declared}"
        needed = ", which tells whether a document has changed" if is_needed else ""
        raise UsageError(f"{at}: {entity.name} has no property {name!r}{needed}", hint=hint)
    if not _fits(entity.properties[name].type, is_whole=is_whole, takes_lists=takes_lists):
        wanted = "a whole number" if is_whole else "String or [String]" if takes_lists else "String"
        raise UsageError(f"{at}: {entity.name}.{name} must be {wanted}, not {entity.properties[name].type}")


def _fits(type_: PropertyType, *, is_whole: bool, takes_lists: bool) -> bool:
    if is_whole:
        return type_.scalar.is_integer and not type_.is_list
    return type_.is_text or (takes_lists and type_.scalar is Scalar.STRING)
