"""Blobs: one value of a Blob property, read whole or in part without reading the rest of its entity."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from omnigraph.core.display import Display, Displayed, counted
from omnigraph.core.suggestions import did_you_mean
from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import BlobRangeError, NotFoundError, UsageError
from omnigraph.rows.arrow_types import Entity
from omnigraph.schema.catalog import type_named
from omnigraph.storage.tables.blobs import StoredBlob, find_blob
from omnigraph.storage.tables.scan import find_ids, rows_with

READ_BYTES_MAX = 4 * 1024 * 1024
"""Bytes per request to the store."""

ENTITY_KINDS = ("node", "edge")


@dataclass(frozen=True, repr=False)
class Blob(Displayed):
    """One value at one commit. It is immutable."""

    snapshot: Snapshot = field(repr=False)
    _stored: StoredBlob = field(repr=False)

    def _display(self) -> Display:
        return Display(f"Blob of {counted(self.size, 'byte')} at {self.commit_id}")

    @property
    def commit_id(self) -> str:
        return self.snapshot.commit_id

    @property
    def size(self) -> int:
        """Bytes of the value."""
        return self._stored.size

    @cached_property
    def etag(self) -> str:
        """A strong entity tag: equal for equal bytes, wherever they are stored. The first access reads the value."""
        digest = hashlib.sha256()
        for chunk in self.chunks():
            digest.update(chunk)
        return f'"{digest.hexdigest()[:32]}"'

    @property
    def place_etag(self) -> str:
        """A strong entity tag that reads nothing: equal tags mean equal bytes, but equal bytes may have other tags."""
        return f'"{hashlib.sha256(self._stored.place.encode()).hexdigest()[:32]}"'

    def read(self, start: int = 0, length: int | None = None) -> bytes:
        """``length`` bytes from ``start``, or all that follow. A range outside the value raises BlobRangeError."""
        return b"".join(self.chunks(start, length))

    def chunks(self, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """The same in chunks, with one chunk in memory."""
        end = self._end(start, length)
        return (
            self._read(position, min(READ_BYTES_MAX, end - position)) for position in range(start, end, READ_BYTES_MAX)
        )

    def _read(self, start: int, length: int) -> bytes:
        with self.snapshot.reading():
            return self._stored.read(start, length)

    def _end(self, start: int, length: int | None) -> int:
        end = self.size if length is None else start + length
        if 0 <= start <= end <= self.size:
            return end
        raise BlobRangeError(
            f"the blob has {self.size} bytes, and not those from {start} to {end}",
            start=start,
            end=end,
            length=self.size,
        )


def read_selector(kind: str, type_name: str, id_: str, property_name: str | None) -> tuple[str | None, str, str, str]:
    """Kind, type, id and property; three values are those after the kind."""
    if property_name is None:
        return None, kind, type_name, id_
    return kind, type_name, id_, property_name


def read_blob(
    snapshot: Snapshot,
    kind: str | None,
    type_name: str,
    id_: str,
    property_name: str,
) -> Blob:
    """The value of a Blob property of one entity. ``kind`` is needed where two types share a name.

    An entity outside of the scope of the snapshot is not found, like one that does not exist.
    """
    entity = _entity(snapshot, kind, type_name)
    _check_property(entity, property_name)
    pin = snapshot.manifest.tables[entity.table_key]
    with snapshot.reading():
        address = find_ids(snapshot.store, pin, [id_]).get(id_)
        if address is None or not _is_visible(snapshot, entity, id_):
            raise NotFoundError(
                f"there is no {type_name} with id {id_!r}",
                hint="the id of a node with a key is its key; query the ids of the type",
                type=type_name,
                id=id_,
            )
        stored = find_blob(snapshot.store, pin, address, property_name)
    if stored is None:
        message = f"{type_name}.{property_name} of {id_!r} is null"
        hint = "query the entities whose property is not null"
        raise NotFoundError(message, hint=hint, type=type_name, id=id_, property=property_name)
    return Blob(snapshot, stored)


def _entity(snapshot: Snapshot, kind: str | None, type_name: str) -> Entity:
    if kind is not None and kind not in ENTITY_KINDS:
        raise UsageError(f"{kind!r} is no kind of entity", hint=f"the kinds are {' and '.join(ENTITY_KINDS)}")
    present = [item for item in snapshot.entities() if kind is None or item.table_key.startswith(f"{kind}:")]
    return type_named(present, type_name, "type" if kind is None else f"{kind} type")


def _is_visible(snapshot: Snapshot, entity: Entity, id_: str) -> bool:
    visible, pin = snapshot.visible, snapshot.manifest.tables[entity.table_key]
    if visible is None:
        return True
    batches = rows_with(snapshot.store, pin, "id", [id_], visible.columns(entity))
    return any(visible.mask(entity, batch).any() for batch in batches)


def _check_property(entity: Entity, name: str) -> None:
    declared = entity.properties.get(name)
    if declared is None:
        hint = did_you_mean(name, list(entity.properties))
        raise NotFoundError(f"{entity.name} has no property {name!r}", hint=hint, type=entity.name, property=name)
    if not declared.type.is_blob:
        raise UsageError(f"{entity.name}.{name} is {declared.type}, not a Blob", hint="a query reads it")
