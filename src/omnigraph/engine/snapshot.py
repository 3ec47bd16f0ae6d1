"""A snapshot: the graph at one commit, or the part of it that data rules leave to an actor.

It never changes, and may be kept, shared and pickled. Inside a scope, everything that shows entities leaves out what
the actor may not see, and ``state``, from which tables could be read as a whole, is denied: code that does not know of
scopes fails closed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, overload

import pyarrow as pa

from omnigraph.core.actors import Action, Need
from omnigraph.core.classes.dataclass import dataclass
from omnigraph.core.display import Display, Displayed, counted
from omnigraph.core.lru import Lru
from omnigraph.engine.permits.permit import ANYONE, Permit
from omnigraph.errors import UsageError
from omnigraph.history.state import ManifestState
from omnigraph.manifest.cleaned import reading
from omnigraph.manifest.schemas import read_order, read_text
from omnigraph.query.visibility.data_scope import DataScope
from omnigraph.rows.arrow_types import Entity, row_bytes, table_schema
from omnigraph.rows.ends.references import shown_batch, shown_names
from omnigraph.schema.catalog import Catalog, EdgeType, PropertyOrder, type_named, types_named
from omnigraph.storage.tables.filters import RowFilter
from omnigraph.storage.tables.scan import scan
from omnigraph.storage.tables.store import Store

if TYPE_CHECKING:
    from omnigraph.engine.schema.text import SchemaText
    from omnigraph.engine.views.types import TypeViews
    from omnigraph.engine.views.view import EntityView
    from omnigraph.exec.visibility.rows import VisibleRows
    from omnigraph.rows.write.json import Dates

_ORDERS: Lru[tuple[str, str], PropertyOrder] = Lru(64)
"""Orders of properties by graph and digest of the schema: texts are stored once under their digest."""


@dataclass(frozen=True, repr=False)
class Snapshot(Displayed):
    """The pins of a branch at one moment, with the schema they were written under."""

    store: Store = field(repr=False)
    manifest: ManifestState = field(repr=False)
    catalog: Catalog = field(repr=False)
    """The types and properties that exist for the actor."""
    permit: Permit = field(default=ANYONE, repr=False, compare=False)
    """The permit that the snapshot was taken with."""
    visible: VisibleRows | None = field(default=None, repr=False, compare=False)
    """The entities that exist for the actor; None if these are all."""

    def inside(self, scope: DataScope | None) -> Snapshot:
        """The part of the snapshot inside a scope; the same if there is none."""
        if scope is None:
            return self
        from omnigraph.exec.visibility.rows import VisibleRows
        from omnigraph.query.visibility.catalog import visible_catalog

        visible = VisibleRows(self.store, self.manifest.tables, self.catalog, scope)
        return replace(self, catalog=visible_catalog(self.catalog, scope), visible=visible)

    def whole(self) -> Snapshot:
        """The snapshot without its scope, for code that applies data rules itself."""
        return self if self.visible is None else replace(self, catalog=self.visible.catalog, visible=None)

    @property
    def state(self) -> ManifestState:
        """The tables of the whole graph; raises PolicyDenied inside a scope."""
        self.require_whole()
        return self.manifest

    def require_whole(self) -> None:
        """Raise PolicyDenied inside a scope: the caller cannot leave entities out."""
        if self.visible is not None:
            reason = f" for actor {str(self.permit.actor)!r}: this cannot apply the data rules of the actor"
            raise Need(Action.READ, self.branch).denied(reason, self.permit.actor)

    def require(self, action: Action) -> None:
        """Raise PolicyDenied unless the actor of the snapshot may do this with its branch."""
        self.permit.granting([Need(action, self.branch)])

    @property
    def commit_id(self) -> str:
        return self.manifest.head

    @property
    def branch(self) -> str:
        return self.manifest.branch

    def _display(self) -> Display:
        counts = self.counts()
        lines = [f"{key.partition(':')[2]}: {count:,}" for key, count in counts.items()]
        title = f"Snapshot {self.commit_id} of {self.branch}: {counted(len(self), 'entity', 'entities')}"
        rows = [(*key.split(":", 1), count) for key, count in counts.items()]
        return Display(title, ("kind", "type", "entities"), rows, lines=lines)

    def __len__(self) -> int:
        """The number of entities."""
        return sum(self.counts().values())

    def __bool__(self) -> bool:
        return True

    @overload
    def nodes(self, type_name: str) -> EntityView: ...
    @overload
    def nodes(self, type_name: None = None) -> TypeViews: ...

    def nodes(self, type_name: str | None = None) -> EntityView | TypeViews:
        """A lazy view of the nodes of one type; without a name, the views of all node types."""
        from omnigraph.engine.views.types import views

        return views(self, "node", type_name)

    @overload
    def edges(self, type_name: str) -> EntityView: ...
    @overload
    def edges(self, type_name: None = None) -> TypeViews: ...

    def edges(self, type_name: str | None = None) -> EntityView | TypeViews:
        """A lazy view of the edges of one type; without a name, the views of all edge types."""
        from omnigraph.engine.views.types import views

        return views(self, "edge", type_name)

    @property
    def schema(self) -> SchemaText:
        """The schema as it was written: a text that displays itself."""
        from omnigraph.engine.schema.text import SchemaText

        return SchemaText.of(self.schema_text(), self.catalog, self._declared())

    def column_order(self, entity: Entity) -> list[str]:
        """``id``, for edges ``src`` and ``dst``, then the properties in the order of the schema text.

        Ends of several types have ``src_type`` and ``dst_type`` as well.
        """
        first = shown_names(entity, [name for name in table_schema(entity).names if name not in entity.properties])
        declared = [name for name in self._declared().get(entity.table_key, ()) if name in entity.properties]
        return list(dict.fromkeys([*first, *declared, *entity.properties]))

    def table_schema(self, entity: Entity) -> pa.Schema:
        """The Arrow schema of a type's table, with the columns in that order."""
        stored = table_schema(entity)
        return pa.schema([stored.field(name) for name in self.column_order(entity)])

    def ordered_catalog(self) -> Catalog:
        """The catalog with the properties of each type in the order of the schema text."""
        return Catalog(self.catalog.schema, self._declared())

    def _declared(self) -> PropertyOrder:
        return _declared_order(self.store, self.manifest.schema_digest)

    def schema_text(self) -> str:
        """The schema as it was written; inside a scope, the declarations of what exists there."""
        if self.visible is not None:
            from omnigraph.query.visibility.catalog import printable
            from omnigraph.schema.print import to_pg

            return to_pg(printable(self.catalog.schema), self._declared())
        return read_text(self.store, self.manifest.schema_digest)

    def reading(self) -> AbstractContextManager[None]:
        """Reads inside raise HistoryCleaned if cleanup has deleted the files of the snapshot."""
        return reading(self.store, self.manifest)

    def counts(self) -> dict[str, int]:
        """Entities by table key, such as ``node:Person``."""
        if self.visible is None:
            return {key: pin.rows for key, pin in sorted(self.manifest.tables.items())}
        return {entity.table_key: len(self._view(entity)) for entity in self.entities()}

    def counts_by_type(self) -> dict[str, int]:
        """Entities by the name of the type; by table key where a node type and an edge type share a name."""
        known, counts = Counter(entity.name for entity in self.entities()), self.counts()
        return {
            entity.name if known[entity.name] == 1 else entity.table_key: counts[entity.table_key]
            for entity in sorted(self.entities(), key=lambda entity: (isinstance(entity, EdgeType), entity.name))
        }

    def entities(self, type_name: str | None = None) -> list[Entity]:
        """The types that have a table, edges first as in an export; one name may mean a node and an edge type."""
        every: list[Entity] = [*self.catalog.edges.values(), *self.catalog.nodes.values()]
        present = [entity for entity in every if entity.table_key in self.manifest.tables]
        present.sort(key=lambda entity: entity.table_key)
        return present if type_name is None else types_named(present, type_name)

    def entity(self, name: str) -> Entity:
        """The one type of a name such as ``Person``, or ``node:Person`` where an edge type has the same name."""
        return type_named(self.entities(), name)

    def batches(self, table: str, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows of a table (``Person`` or ``node:Person``) as Arrow, in storage order."""
        entity = self.entity(table)
        names = shown_names(entity, table_schema(entity).names) if columns is None else columns
        with self.reading():
            yield from (batch.select(names) for batch in self.scanned(entity, names))

    def scanned(
        self, entity: Entity, names: Sequence[str], where: RowFilter | None = None, **how: Any
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a type that exist for the actor, with at least the named columns; blobs as bytes.

        The types of ends have their names. ``how`` are options of the scan. The filter is one that cannot fail: it may
        see rows outside of the scope.
        """
        pin = self.manifest.tables[entity.table_key]
        if self.visible is None:
            found = scan(self.store, pin, names, where, blobs_as_bytes=True, **how)
            return (shown_batch(entity, batch) for batch in found)
        read = list(dict.fromkeys([*names, *self.visible.columns(entity)]))
        found = scan(self.store, pin, read, where, blobs_as_bytes=True, **how)
        visible = (batch.filter(pa.array(self.visible.mask(entity, batch))) for batch in found)
        return (shown_batch(entity, batch) for batch in visible)

    def to_arrow(self, table: str) -> pa.Table:
        """A whole table (``Person`` or ``node:Person``), sorted by id; properties are by name, as they are stored."""
        entity = self.entity(table)
        batches = list(self.batches(entity.table_key))
        names = shown_names(entity, table_schema(entity).names)
        rows = pa.Table.from_batches(batches) if batches else table_schema(entity).empty_table().select(names)
        return rows.sort_by("id")

    def export(self, types: list[str] | None = None, *, dates: str = "number") -> Iterator[bytes]:
        """The graph as JSON lines in the form that ``load`` reads: edges, then nodes, each by type and id.

        ``dates`` are days and milliseconds (``number``), or texts such as ``2020-01-31`` (``iso``).
        """
        from omnigraph.rows.write.json import Dates

        if dates not in {form.value for form in Dates}:
            raise UsageError(f"unknown form of dates {dates!r}", hint="use iso or number")
        chosen = self.entities() if types is None else [entity for name in types for entity in self.entities(name)]
        return self.export_types(chosen, Dates(dates))

    def export_types(self, chosen: Sequence[Entity], dates: Dates | None = None) -> Iterator[bytes]:
        """The same for types that the caller has found already; days and milliseconds by default."""
        from omnigraph.rows.write.json import Dates

        self.require(Action.EXPORT)
        return self._lines(chosen, dates or Dates.NUMBER)

    def _lines(self, chosen: Sequence[Entity], dates: Dates) -> Iterator[bytes]:
        from omnigraph.rows.write.json import write_lines

        for entity in sorted(chosen, key=lambda entity: entity.table_key):
            rows_max = max(1, self.store.tuning.sorted_bytes // row_bytes(entity))
            with self.reading():
                for table in self._sorted(entity, rows_max):
                    yield from write_lines(entity, table.to_batches(max_chunksize=65_536), dates)

    def _sorted(self, entity: Entity, rows_max: int) -> Iterator[pa.Table]:
        from omnigraph.storage.tables.sorted_scan import scan_sorted

        pin, names, visible = self.manifest.tables[entity.table_key], self.column_order(entity), self.visible
        if visible is None:
            yield from scan_sorted(self.store, pin, names, rows_max)
            return
        for table in scan_sorted(self.store, pin, [*dict.fromkeys([*names, *visible.columns(entity)])], rows_max):
            yield table.filter(pa.array(visible.mask(entity, table))).select(names)

    def _view(self, entity: Entity) -> EntityView:
        return self.edges(entity.name) if isinstance(entity, EdgeType) else self.nodes(entity.name)


def _declared_order(store: Store, schema_digest: str) -> PropertyOrder:
    key = (str(store.root), schema_digest)
    known = _ORDERS.get(key)
    if known is None:
        known = read_order(store, schema_digest)
        _ORDERS.put(key, known)
    return known
