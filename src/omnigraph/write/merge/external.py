"""External tables in a merge: a pin is taken from one side as a whole, because the graph cannot write rows of it.

=========================  =========================  ========================================
source, against the base   target, against the base   merged pin
=========================  =========================  ========================================
unchanged                  unchanged or refreshed     that of the target
refreshed                  unchanged                  that of the source
refreshed                  refreshed to the same      that of the target
refreshed                  refreshed to another       a conflict, settled by source or target
=========================  =========================  ========================================
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omnigraph.compare.tables import deleted_ids
from omnigraph.core.tables import TablePin
from omnigraph.errors import SchemaConflict, SourceChanged
from omnigraph.history.conflicts import ConflictKind, MergeConflict, Take
from omnigraph.lake.external.checks import unreadable_files
from omnigraph.lake.external.table import stored_seal
from omnigraph.schema.ir import MergePolicy
from omnigraph.write.merge.images import SOURCE, TARGET, MergeRules
from omnigraph.write.merge.schema import has_other_columns
from omnigraph.write.merge.sides import GraphSides, same_version
from omnigraph.write.merge.tables import MergedTable
from omnigraph.write.type_tables import refuse_external


def settled(sides: GraphSides, key: str, rules: MergeRules) -> tuple[MergedTable, MergeConflict | None]:
    """The pin of an external table that both sides refreshed, and the conflict if no rule decides."""
    source, target = sides.source.tables[key], sides.target.tables[key]
    conflict = MergeConflict(
        key,
        None,
        ConflictKind.DIVERGENT_SOURCE,
        base=_described(sides, sides.base.tables.get(key)),
        source=_described(sides, source),
        target=_described(sides, target),
        message="both sides pinned another version of the external table",
    )
    resolution = rules.resolutions.of(conflict)
    policy = rules.policies.types.get(conflict.type_name(), rules.policies.default)
    if resolution is not None:
        of_source = resolution.take is Take.SOURCE
    elif policy in (MergePolicy.SOURCE, MergePolicy.TARGET):
        of_source = policy is MergePolicy.SOURCE
    else:
        return MergedTable(target, is_adopted=False), conflict
    return MergedTable(source if of_source else target, is_adopted=of_source), None


def _described(sides: GraphSides, pin: TablePin | None) -> dict[str, Any] | None:
    if pin is None:
        return None
    seal = stored_seal(sides.store, pin)
    return {"version": seal.version, "files": len(seal.files), "rows": pin.rows}


def lost_nodes(sides: GraphSides, table: MergedTable) -> set[str]:
    """Nodes that only the side had whose version was not taken: edges of that side may lead to them."""
    key = table.pin.key
    states = (sides.target, sides.source) if table.is_adopted else (sides.source, sides.target)
    lost, taken = (state.tables.get(key) for state in states)
    is_divergent = all(sides.is_changed(key, of_source=side) for side in (True, False))
    if not table.pin.is_external or not is_divergent or same_version(lost, taken):
        return set()
    return deleted_ids(sides.store, lost, taken)


def check_external(sides: GraphSides, tables: Mapping[str, MergedTable]) -> None:
    """Refuse a merge that would have to change rows of an external table, or to read it as neither side does."""
    for key, table in tables.items():
        if not table.pin.is_external:
            continue
        entity = sides.entity(key)
        if sides.is_undo and table.is_adopted:
            _check_readable(sides, table.pin)
        if table.is_written:
            refuse_external(entity, f"the merge would have to change rows of the external type {entity.name}")
        catalog = sides.catalogs[SOURCE if table.is_adopted else TARGET]
        if catalog is not sides.catalog and has_other_columns(entity, catalog):
            raise SchemaConflict(
                f"the merged schema reads the external type {entity.name} differently than the version to be pinned",
                hint="apply the merged schema to one of the branches, which seals the type again; then merge",
                types=[entity.name],
            )


def _check_readable(sides: GraphSides, pin: TablePin) -> None:
    """Refuse to go back to a version without its files: the head would be unreadable."""
    store = sides.store
    for path, what in unreadable_files(stored_seal(store, pin), store.options):
        raise SourceChanged(
            f"the earlier version of the external type {pin.key.partition(':')[2]} cannot be read: {path!r} {what}",
            hint="restore the files, or leave the refresh out of the revert",
            path=path,
            table=pin.key,
        )
