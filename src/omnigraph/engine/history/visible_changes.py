"""Changes inside the data scope of an actor: each image is shown if its entity was, or is, visible.

An entity that becomes visible is an insert for the actor, one that becomes hidden a delete. Changes of properties that
the actor may not read are left out. An edge counts as visible with both of its ends, each at its own moment; an edge
that is hidden or shown only because an end changed is not reported, because the edge itself did not change.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compare.tables import flat
from omnigraph.core.actors import Action
from omnigraph.engine.history.change_rows import ChangeRows
from omnigraph.engine.snapshot import Snapshot
from omnigraph.exec.visibility.rows import VisibleRows, satisfied
from omnigraph.history.changes import Op
from omnigraph.query.visibility.data_scope import DataScope
from omnigraph.rows.arrow_types import DST, ID, SRC
from omnigraph.schema.catalog import Catalog, EdgeType
from omnigraph.storage.tables.difference import ADDRESS

_FIXED = (ID, SRC, DST, f"{SRC}_type", f"{DST}_type", ADDRESS)


def scope_of(snapshot: Snapshot, catalog: Catalog | None = None) -> DataScope | None:
    """The scope of the actor that a snapshot was taken for, under its own schema or another."""
    return snapshot.permit.scope(Action.READ, snapshot.branch, catalog or snapshot.catalog)


def scope_digest(*snapshots: Snapshot | None) -> str:
    """Identifies the scopes of snapshots; empty if they are whole."""
    found = [scope_of(snapshot) for snapshot in snapshots if snapshot is not None]
    return "" if all(scope is None for scope in found) else " ".join(str(scope and scope.digest) for scope in found)


def restricted(snapshot: Snapshot) -> Snapshot:
    """The part of a snapshot that its actor may see; the same if that is all of it."""
    return snapshot.inside(scope_of(snapshot))


def visible_changes(rows: ChangeRows, before: Snapshot | None, after: Snapshot, catalog: Catalog) -> ChangeRows | None:
    """The visible part of the changes of one type; None if there is none.

    ``catalog`` is the one that has the type of the images: that of the later snapshot, unless it was dropped.
    """
    sides = (before, after)
    scopes = [None if side is None else scope_of(side, catalog) for side in sides]
    if scopes == [None, None]:
        return rows
    images = zip(sides, scopes, (rows.before, rows.after), strict=True)
    old, new = (_seen(rows, side, scope, image) for side, scope, image in images)
    types = [None if scope is None else scope.types.get(rows.entity.table_key) for scope in scopes]
    # A property must be visible on every side that restricts: one image must not show what the other hides.
    shown = frozenset(rows.entity.properties)
    for side, scope, type_ in zip(sides, scopes, types, strict=True):
        if side is not None and scope is not None:
            shown &= frozenset() if type_ is None else type_.properties
    return _reduced(rows, old, new, shown)


def _seen(rows: ChangeRows, side: Snapshot | None, scope: DataScope | None, image: pa.Table) -> pa.BooleanArray:
    """For every change whether its image on one side exists and is visible."""
    present = pc.is_valid(flat(image, ID))
    if side is None or scope is None:
        return present
    places, type_ = pc.indices_nonzero(present), scope.types.get(rows.entity.table_key)
    if type_ is None:
        return pa.array([False] * len(present))
    existing = image.take(places)
    inside = pa.array(satisfied(type_.predicate, existing))
    if isinstance(rows.entity, EdgeType):
        inside = pc.and_(inside, _ends(rows.entity, side, existing))
    return _spread(inside, places, len(present))


def _spread(inside: pa.BooleanArray, places: pa.Array, length: int) -> pa.BooleanArray:
    """Truth values at some places of a longer array, false at the others."""
    return pc.fill_null(inside.take(pc.index_in(pa.array(range(length), places.type), value_set=places)), False)


def _ends(edge: EdgeType, side: Snapshot, existing: pa.Table) -> pa.BooleanArray:
    """For every edge whether both of its ends are visible at its moment, under the schema of that moment."""
    scope = scope_of(side)
    if scope is None:
        return pa.array([True] * existing.num_rows)
    # The edge type may have other names of its ends in that schema; its stable id finds it.
    known = next((item for item in side.catalog.edges.values() if item.ir.id == edge.ir.id), None)
    if known is None:
        return pa.array([False] * existing.num_rows)
    visible = VisibleRows(side.store, side.state.tables, side.catalog, scope)
    found = [pa.array(visible.ends_inside(end, existing)) for end in known.ends]
    return pc.and_(*found)


def _reduced(rows: ChangeRows, old: pa.BooleanArray, new: pa.BooleanArray, shown: frozenset[str]) -> ChangeRows | None:
    names = [name for name in rows.after.schema.names if name in _FIXED or name in shown]
    facts = zip(rows.changed.to_pylist(), old.to_pylist(), new.to_pylist(), strict=True)
    changed: list[list[str]] = []
    ops: list[str] = []
    kept: list[int] = []
    for place, (listed, was, is_) in enumerate(facts):
        left = [name for name in listed if name in shown or name in _FIXED] if was and is_ else []
        if (was and is_ and not left) or not (was or is_):
            continue
        kept.append(place)
        changed.append(left)
        ops.append((Op.UPDATE if was and is_ else Op.INSERT if is_ else Op.DELETE).value)
    if not kept:
        return None
    places = pa.array(kept, pa.int64())
    return replace(
        rows,
        ops=pa.array(ops, pa.string()),
        before=_image(rows.before.select(names), old, places),
        after=_image(rows.after.select(names), new, places),
        changed=pa.array(changed, pa.list_(pa.string())),
    )


def _image(table: pa.Table, seen: pa.BooleanArray, places: pa.Array) -> pa.Table:
    """The images of some changes, null where they are not visible."""
    return table.take(pc.if_else(seen.take(places), places, pa.scalar(None, pa.int64())))
