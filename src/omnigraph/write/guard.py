"""Data rules of a write: every entity that it touches must be changeable, as it was and as it becomes.

One refused entity refuses the whole write. Statements find only entities that the actor may read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from omnigraph.core.actors import Action, Actor, Need
from omnigraph.errors import PolicyDenied
from omnigraph.exec.visibility.rows import VisibleRows, columns_read, satisfied
from omnigraph.manifest.reader import Capture
from omnigraph.query.visibility.data_scope import DataScope
from omnigraph.rows.arrow_types import ID, Entity
from omnigraph.rows.ends.references import reference_texts
from omnigraph.rows.validate import TableDelta, nodes_by_type
from omnigraph.schema.catalog import Catalog, EdgeType
from omnigraph.storage.tables.scan import rows_with
from omnigraph.storage.tables.store import Store

Scopes = Callable[[Action, Catalog], DataScope | None]
"""The scope of the actor under a schema; None if it is the whole graph. Evaluated for every capture."""


@dataclass(frozen=True, slots=True)
class ChangeGuard:
    """The rules of one write by an actor."""

    scopes: Scopes
    branch: str
    actor: Actor | None

    def readable(self, catalog: Catalog) -> DataScope | None:
        """The part of the graph that the statements of the write may find."""
        return self.scopes(Action.READ, catalog)

    def check(self, store: Store, capture: Capture, deltas: Mapping[str, TableDelta]) -> None:
        """Raise PolicyDenied unless every entity of the change may be changed, before and after."""
        change, read = (self.scopes(action, capture.catalog) for action in (Action.CHANGE, Action.READ))
        for key, delta in deltas.items():
            if change is not None:
                self._check_images(store, capture, delta, change)
            if read is not None and isinstance(delta.entity, EdgeType):
                newer = {name: other.rows for name, other in deltas.items() if name != key}
                rows = VisibleRows(store, capture.state.tables, capture.catalog, read, newer)
                self._check_ends(delta.entity, delta.rows, rows)

    def refuse_unchecked(self, catalog: Catalog) -> None:
        """Raise PolicyDenied for a write whose entities cannot be checked, unless the actor may change all of them."""
        if any(self.scopes(action, catalog) is not None for action in (Action.CHANGE, Action.READ)):
            reason = f" for actor {str(self.actor)!r}: a load through disk cannot apply the data rules of the actor"
            raise Need(Action.CHANGE, self.branch).denied(reason, self.actor)

    def _check_images(self, store: Store, capture: Capture, delta: TableDelta, change: DataScope) -> None:
        entity = delta.entity
        scope = change.types.get(entity.table_key)
        if scope is None or not satisfied(scope.predicate, delta.rows).all():
            raise self.denied(entity)
        ids = None if delta.replaces_all else sorted({*delta.removed, *delta.rows.column(ID).to_pylist()})
        columns = list(dict.fromkeys([ID, *columns_read(scope.predicate)]))
        for batch in rows_with(store, capture.state.tables[entity.table_key], ID, ids, columns):
            if not satisfied(scope.predicate, batch).all():
                raise self.denied(entity)

    def _check_ends(self, edge: EdgeType, rows: pa.Table, visible: VisibleRows) -> None:
        """An edge that is written leads between nodes that the actor may read."""
        for end in edge.ends:
            for name, nodes in nodes_by_type(end, reference_texts(end, rows)).items():
                ids = set(nodes.values())
                if name is not None and visible.ids(visible.catalog.nodes[name], ids) != ids:
                    raise self.denied(edge)

    def denied(self, entity: Entity) -> PolicyDenied:
        """The refusal of a change of entities of a type."""
        # The message names no entity: the actor may not be allowed to know of it.
        reason = f" for actor {str(self.actor)!r}: the data rules do not allow the change of some {entity.name}"
        return Need(Action.CHANGE, self.branch).denied(reason, self.actor)
