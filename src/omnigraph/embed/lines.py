"""Embeddings for JSON lines, file to file, before they are loaded.

Owns the lines of nodes and edges as ``load`` reads them, and the text that represents a node; the embedder makes the
vectors. Lines that need no change are copied byte for byte.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from omnigraph.core.ports import Embedder
from omnigraph.errors import InputError, UsageError

TEXTS_PER_CALL = 128
"""Texts in one call of the embedder. Eight times as many lines wait for their vectors at most."""


class Mode(Enum):
    """The vectors that are made or removed."""

    FILL_MISSING = "fill_missing"
    """Add vectors where the property is absent, null or an empty list. Nodes of ``--select`` always get a new one."""
    REEMBED_ALL = "reembed_all"
    CLEAN = "clean"


@dataclass(frozen=True, slots=True)
class TypeSpec:
    """The vector property of a type, and the properties that form the embedded text."""

    target: str
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EmbedSpec:
    """The types that get vectors, and the dimension of the vectors."""

    dimension: int
    types: Mapping[str, TypeSpec]


@dataclass(frozen=True, slots=True)
class Selection:
    """Nodes whose property has a value, of one type or of any."""

    type_name: str | None
    property: str
    value: str

    @classmethod
    def parsed(cls, text: str) -> Selection:
        """The selection ``[Type:]field=value``."""
        place, sign, value = text.partition("=")
        type_name, colon, name = place.rpartition(":")
        if not sign or not name or (colon and not type_name):
            raise UsageError(
                f"invalid selection {text!r} (expected [TYPE:]FIELD=VALUE)", hint="for example Person:name=Ada"
            )
        return cls(type_name or None, name, value)

    def fits(self, type_name: str, data: Mapping[str, Any]) -> bool:
        return self.type_name in (None, type_name) and _shown(data.get(self.property)) == self.value


@dataclass
class LineEmbedding:
    """One run over the lines of a file. The counts grow while ``run`` is read."""

    spec: EmbedSpec
    mode: Mode
    embedder: Embedder
    types: Sequence[str] = ()
    selections: Sequence[Selection] = ()
    source: str = "<lines>"
    records: int = 0
    selected: int = 0
    embedded: int = 0
    cleaned: int = 0
    _waiting: list[tuple[bytes, dict[str, Any] | None]] = field(default_factory=list, repr=False)
    """Lines in input order; those with a record wait for its vector."""

    def __post_init__(self) -> None:
        known = set(self.spec.types)
        for name in (*self.types, *(item.type_name for item in self.selections if item.type_name)):
            if name not in known:
                raise UsageError(f"the specification has no type {name!r}", hint=f"it has {', '.join(sorted(known))}")

    def run(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """The lines with their vectors, in input order."""
        texts = 0
        for number, line in enumerate(lines, 1):
            wanted = self._take(line, number)
            self._waiting.append((line, wanted))
            texts += wanted is not None
            if texts == TEXTS_PER_CALL or len(self._waiting) >= 8 * TEXTS_PER_CALL:
                yield from self._flushed()
                texts = 0
        yield from self._flushed()

    def _take(self, line: bytes, number: int) -> dict[str, Any] | None:
        """The record of a line whose vector is to be made or removed; None for other lines."""
        if not line.strip():
            return None
        record = self._parsed(line, number)
        self.records += 1
        type_name, data = record.get("type"), record.get("data")
        spec = self.spec.types.get(type_name) if isinstance(type_name, str) else None
        if spec is None or type_name is None or not isinstance(data, dict) or not self._is_selected(type_name, data):
            return None
        self.selected += 1
        is_missing = data.get(spec.target) in (None, [])
        if self.mode is Mode.CLEAN:
            return None if is_missing else record
        is_wanted = is_missing or self.mode is Mode.REEMBED_ALL or bool(self.selections)
        return record if is_wanted else None

    def _parsed(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{self.source}:{number}: invalid JSON: {error}", path=self.source) from error
        if not isinstance(record, dict):
            raise InputError(f"{self.source}:{number}: not an object", path=self.source)
        return record

    def _is_selected(self, type_name: str, data: Mapping[str, Any]) -> bool:
        if self.types and type_name not in self.types:
            return False
        return not self.selections or any(item.fits(type_name, data) for item in self.selections)

    def _flushed(self) -> Iterator[bytes]:
        records = [record for _, record in self._waiting if record is not None]
        if self.mode is Mode.CLEAN:
            for record in records:
                del record["data"][self.spec.types[record["type"]].target]
            self.cleaned += len(records)
        elif records:
            texts = [node_text(record["type"], record["data"], self.spec.types[record["type"]]) for record in records]
            vectors = self.embedder.embed(texts, self.spec.dimension, "document")
            for record, vector in zip(records, vectors, strict=True):
                record["data"][self.spec.types[record["type"]].target] = list(vector)
            self.embedded += len(records)
        for line, changed in self._waiting:
            yield line if changed is None else json.dumps(changed, ensure_ascii=False).encode() + b"\n"
        self._waiting.clear()


def node_text(type_name: str, data: Mapping[str, Any], spec: TypeSpec) -> str:
    """The embedded text of a node: its type and its non-empty properties, one per line."""
    shown = ((name, _shown(data.get(name))) for name in spec.fields)
    return "\n".join([f"type: {type_name}", *(f"{name}: {text}" for name, text in shown if text)])


def _shown(value: object) -> str:
    match value:
        case None:
            return ""
        case str():
            return value
        case list():
            return ", ".join(_shown(item) for item in value)
        case _:
            return json.dumps(value, ensure_ascii=False)
