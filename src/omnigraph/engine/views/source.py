"""The snapshot as views see it: tables of one commit, with their schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import pyarrow as pa

from omnigraph.exec.visibility.rows import VisibleRows
from omnigraph.history.state import ManifestState
from omnigraph.rows.arrow_types import Entity
from omnigraph.schema.catalog import Catalog
from omnigraph.storage.tables.filters import RowFilter


class ViewSource(Protocol):
    """The part of ``Snapshot`` that views need."""

    @property
    def manifest(self) -> ManifestState: ...
    @property
    def visible(self) -> VisibleRows | None: ...
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

    def scanned(
        self, entity: Entity, names: Sequence[str], where: RowFilter | None = None, **how: Any
    ) -> Iterator[pa.RecordBatch]: ...
