"""Seals of a schema change: external types that are new, or whose rows are read or checked differently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from omnigraph.core.tables import Counts
from omnigraph.history.plan import TableWrite, WriteMode
from omnigraph.history.state import ManifestState
from omnigraph.lake.external.seal import Seal
from omnigraph.rows.arrow_types import Entity
from omnigraph.schema.catalog import Catalog, EdgeType, NodeType
from omnigraph.storage.tables.store import Store
from omnigraph.write.external.refresh import change_counts
from omnigraph.write.external.sealing import sealing
from omnigraph.write.type_tables import TypeChange, table_id


@dataclass(frozen=True, slots=True)
class Resealed:
    """A checked seal of one type, and its effect on the entities."""

    entity: Entity
    seal: Seal
    counts: Counts

    def write(self, mode: WriteMode) -> TableWrite:
        """The write of the seal."""
        location = table_id(self.entity).location
        return TableWrite(self.entity.table_key, location, mode, self.seal.number, self.seal.rows, *self.counts)


def reseal(
    store: Store, catalog: Catalog, state: ManifestState, changes: Sequence[TypeChange]
) -> tuple[dict[str, Resealed], frozenset[str], tuple[str, ...]]:
    """The seals that a schema change needs, the tables that their checks read, and remarks; raises ViolationError.

    ``state`` has the tables that stay, under their new names.
    """
    chosen = [change.after for change in changes if change.after is not None and _is_sealed_again(change)]
    if not chosen:
        return {}, frozenset(), ()
    rows = {key: pin.rows for key, pin in state.tables.items()}
    with sealing(store, catalog, chosen, rows) as made:
        reads = made.check(state)
        remarks = tuple(made.remarks)
    found: dict[str, Resealed] = {}
    for entity in chosen:
        seal, before = made.seals[entity.table_key], state.tables.get(entity.table_key)
        counts = (seal.rows, 0, 0) if before is None else change_counts(store, entity, before, seal)
        found[entity.table_key] = Resealed(entity, seal, counts)
    return found, reads & state.tables.keys(), remarks


def _is_sealed_again(change: TypeChange) -> bool:
    after = change.after
    if after is None or after.ir.external is None:
        return False
    return change.before is None or _reading(change.before) != _reading(after)


def _reading(entity: Entity) -> tuple[object, ...]:
    """Everything of a type that decides how its rows are read and checked; names of types do not."""
    properties: Mapping[int, object] = {
        prop.id: (prop.name, prop.type, prop.column) for prop in entity.properties.values()
    }
    rules: tuple[object, ...] = (entity.key, entity.uniques)
    match entity:
        case NodeType(ranges=ranges, checks=checks):
            rules = (*rules, ranges, checks)
        case EdgeType(ir=ir):
            rules = (*rules, ir.card_min, ir.card_max)
    return entity.ir.external, properties, rules
