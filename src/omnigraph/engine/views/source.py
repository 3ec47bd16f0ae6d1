"""The snapshot as views see it: tables of one commit, with their schema."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from omnigraph.history.state import ManifestState
from omnigraph.rows.arrow_types import Entity
from omnigraph.schema.catalog import Catalog
from omnigraph.storage.tables.store import Store


class ViewSource(Protocol):
    """The part of ``Snapshot`` that views need."""

    @property
    def store(self) -> Store: ...
    @property
    def state(self) -> ManifestState: ...
    @property
    def catalog(self) -> Catalog: ...
    @property
    def commit_id(self) -> str: ...
    @property
    def branch(self) -> str: ...

    def reading(self) -> AbstractContextManager[None]: ...

    def entities(self, type_name: str | None = None) -> list[Entity]: ...

    def counts(self) -> dict[str, int]: ...

    def column_order(self, entity: Entity) -> list[str]: ...
