"""Data rules of a merge or revert.

A merge changes entities of its target that others may have changed on the source. An actor with a scope may make it if
every one of them is inside, in each image: in the target before and after, and in the source. A preview shows the part
of it that is. In both, conflicts are those that the actor could have found itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.compare.tables import rows_of
from omnigraph.core.actors import Action, Actor, Need
from omnigraph.core.tables import TableCounts
from omnigraph.errors import PolicyDenied
from omnigraph.exec.visibility.rows import VisibleRows, satisfied
from omnigraph.history.conflicts import ConflictKind, MergeConflict
from omnigraph.history.state import ManifestState
from omnigraph.manifest.reader import Capture, Manifests
from omnigraph.query.visibility.catalog import visible_catalog
from omnigraph.query.visibility.data_scope import DataScope
from omnigraph.rows.arrow_types import DST, ID, SRC, Entity
from omnigraph.rows.ends.references import with_types
from omnigraph.schema.catalog import Catalog, EdgeType
from omnigraph.write.merge.decide import MergeDecision, MergeOutcome
from omnigraph.write.merge.effects import TableEffect, effects
from omnigraph.write.merge.sides import GraphSides

Scopes = Callable[[Action, str, Catalog], DataScope | None]
"""The scope of the actor by action, branch and schema; None if it is the whole graph."""

_MESSAGES: Final = {
    ConflictKind.ORPHAN_EDGE: "an end of the edge is missing",
    ConflictKind.UNIQUE_VIOLATION: "another entity has the same unique value",
    ConflictKind.CARDINALITY_VIOLATION: "the number of edges is not allowed",
}
"""Messages of conflicts between two entities: the full ones name the other entity, which may be hidden."""


@dataclass(frozen=True, slots=True)
class MergeScopes:
    """The scopes of an actor on both sides of a merge; None where it may see, or change, everything."""

    read: DataScope | None
    change: DataScope | None
    source: DataScope | None

    @property
    def is_whole(self) -> bool:
        return self.read is None and self.change is None and self.source is None


@dataclass(frozen=True, slots=True)
class MergeGuard:
    """The data rules of one merge by an actor. ``need`` is the action that a denial names."""

    scopes: Scopes
    need: Need
    actor: Actor | None

    def _on(self, manifests: Manifests, source: ManifestState, target: Capture) -> MergeScopes | None:
        """The scopes on two heads; None if the actor has none. Raises PolicyDenied if the schemas differ."""
        found = MergeScopes(
            self.scopes(Action.READ, target.state.branch, target.catalog),
            self.scopes(Action.CHANGE, target.state.branch, target.catalog),
            self.scopes(Action.READ, source.branch, manifests.catalog(source.schema_digest)),
        )
        if found.is_whole:
            return None
        if source.schema_digest != target.state.schema_digest:
            raise self.denied("the schemas differ, and the data rules of the actor cannot be applied across them")
        return found

    def is_restricted(self, manifests: Manifests, source: ManifestState, target: Capture) -> bool:
        """True if the actor may not see, or not change, everything on one of the sides."""
        return self._on(manifests, source, target) is not None

    def catalog(self, manifests: Manifests, source: ManifestState, target: Capture) -> Catalog | None:
        """The types and properties that policies and resolutions of the actor may name; None if all of them."""
        scopes = self._on(manifests, source, target)
        catalog = target.catalog
        for scope in () if scopes is None else (scopes.read, scopes.source):
            catalog = catalog if scope is None else visible_catalog(catalog, scope)
        return None if scopes is None else catalog

    def checked(
        self, manifests: Manifests, source: ManifestState, target: Capture, decide: Callable[[], MergeDecision]
    ) -> MergeDecision:
        """A decision that may be committed; raises PolicyDenied if it touches entities that the actor may not see."""
        decision, part = self._decided(manifests, source, target, decide)
        if part is None:
            return decision
        if not all(map(part.is_allowed, part.effects)):
            raise self.denied("it changes entities outside of the data rules of the actor")
        conflicts = part.conflicts()
        if len(conflicts) < len(decision.conflicts):
            raise self.denied("it changes entities outside of the data rules of the actor")
        return replace(decision, conflicts=conflicts)

    def shown(
        self, manifests: Manifests, source: ManifestState, target: Capture, decide: Callable[[], MergeDecision]
    ) -> MergeDecision:
        """A decision for a preview: the changes and conflicts that the actor may see."""
        decision, part = self._decided(manifests, source, target, decide)
        if part is None:
            return decision
        conflicts = part.conflicts()
        outcome = MergeOutcome.MERGED if decision.relation.only_target else MergeOutcome.FAST_FORWARD
        return replace(
            decision,
            outcome=MergeOutcome.CONFLICTS if conflicts else outcome,
            counts=tuple(part.counts(conflicts)),
            conflicts=conflicts,
        )

    def _decided(
        self, manifests: Manifests, source: ManifestState, target: Capture, decide: Callable[[], MergeDecision]
    ) -> tuple[MergeDecision, _Part | None]:
        """The decision, and the part of it inside of the scopes; None if the actor may see and change everything."""
        scopes, decision = self._on(manifests, source, target), decide()
        if scopes is None or decision.sides is None:
            return decision, None
        return decision, self._part(decision, decision.sides, scopes)

    def _part(self, decision: MergeDecision, sides: GraphSides, scopes: MergeScopes) -> _Part:
        bases = (sides.base,) if sides.crossing is None else sides.crossing.bases
        if any(state.schema_digest != sides.target.schema_digest for state in bases):
            raise self.denied("the schema has changed, and the data rules of the actor cannot be applied across it")
        return _Part(decision, sides, scopes, bases)

    def denied(self, reason: str) -> PolicyDenied:
        """The refusal of the merge."""
        return self.need.denied(f" for actor {str(self.actor)!r}: {reason}", self.actor)


@dataclass(frozen=True)
class _Part:
    """The part of a merge inside of the scopes of an actor."""

    decision: MergeDecision
    sides: GraphSides
    scopes: MergeScopes
    bases: tuple[ManifestState, ...]

    @cached_property
    def effects(self) -> tuple[TableEffect, ...]:
        return tuple(effects(self.sides, self.decision.tables))

    def is_allowed(self, effect: TableEffect) -> bool:
        """True if the actor may see and change every image of the entities, and every property that differs."""
        if not (_every(self._before(effect)) and _every(self._after(effect))) or self._foreign(effect):
            return False
        change, key = self.scopes.change, effect.entity.table_key
        if change is not None:
            type_ = change.types.get(key)
            images = (effect.before, effect.after)
            if type_ is None or not all(satisfied(type_.predicate, image).all() for image in images):
                return False
        hidden = self._hidden(effect.entity)
        return not (effect.updated(hidden) or effect.inserted_with(hidden))

    def counts(self, conflicts: Iterable[MergeConflict]) -> Iterator[TableCounts]:
        """The visible changes and conflicts of every table that has some."""
        effects = {effect.entity.table_key: effect for effect in self.effects}
        conflicts = list(conflicts)
        for key in sorted({*effects, *(conflict.table for conflict in conflicts)}):
            inserted, updated, deleted = self._counted(effects[key]) if key in effects else (0, 0, 0)
            number = sum(conflict.table == key for conflict in conflicts)
            if inserted or updated or deleted or number:
                adopted = self.decision.tables[key].is_adopted
                yield TableCounts(key, inserted, updated, deleted, adopted=adopted, conflicts=number)

    def _counted(self, effect: TableEffect) -> tuple[int, int, int]:
        """An entity that becomes visible is an insert, one that becomes hidden a delete.

        One that the merge would show, and that the actor may not see on the source, is left out.
        """
        images = ((effect.before, self._before(effect)), (effect.after, self._after(effect)))
        old, new = (set(image.column(ID).filter(mask).to_pylist()) for image, mask in images)
        foreign = self._foreign(effect) & new
        old, new = old - foreign, new - foreign
        ends = with_types(effect.entity, (SRC, DST)) if isinstance(effect.entity, EdgeType) else ()
        shown = [name for name in effect.entity.properties if name not in self._hidden(effect.entity)]
        return len(new - old), len(old & new & effect.updated([*ends, *shown])), len(old - new)

    def _before(self, effect: TableEffect) -> pa.BooleanArray:
        return self._mask(self.sides.target, self.scopes.read, effect.entity, effect.before)

    def _after(self, effect: TableEffect) -> pa.BooleanArray:
        return _mask(self._merged, effect.entity, effect.after)

    def _foreign(self, effect: TableEffect) -> frozenset[str]:
        """The ids of changed entities that the actor may not see on the source."""
        ids = effect.after.column(ID).to_pylist()
        return self._hidden_ids(self.sides.source, self.scopes.source, effect.entity, ids)

    @cached_property
    def _merged(self) -> VisibleRows | None:
        if self.scopes.read is None:
            return None
        tables = self.decision.tables
        newer = {key: table.merge.rows for key, table in tables.items() if table.merge is not None}
        pins = {key: table.pin for key, table in tables.items()}
        return VisibleRows(self.sides.store, pins, self.sides.catalog, self.scopes.read, newer)

    def _mask(self, state: ManifestState, scope: DataScope | None, entity: Entity, rows: pa.Table) -> pa.BooleanArray:
        visible = None if scope is None else VisibleRows(self.sides.store, state.tables, self.sides.catalog, scope)
        return _mask(visible, entity, rows)

    def _hidden_ids(
        self, state: ManifestState, scope: DataScope | None, entity: Entity, ids: list[str]
    ) -> frozenset[str]:
        """Those of the ids whose entities a state has and the scope hides."""
        if scope is None or not ids:
            return frozenset()
        rows = rows_of(self.sides.store, entity, state.tables.get(entity.table_key), sorted(set(ids)))
        hidden = pc.invert(self._mask(state, scope, entity, rows))
        return frozenset(rows.column(ID).filter(hidden).to_pylist())

    def _hidden(self, entity: Entity) -> frozenset[str]:
        """The properties of a type that the actor may not see on one of the sides."""
        shown = set(entity.properties)
        for scope in (self.scopes.read, self.scopes.source):
            if scope is not None:
                type_ = scope.types.get(entity.table_key)
                shown &= frozenset() if type_ is None else type_.properties
        return frozenset(entity.properties) - shown

    def conflicts(self) -> tuple[MergeConflict, ...]:
        """The conflicts about entities and properties that the actor may see on every side."""
        hidden: dict[str, frozenset[str]] = {}
        found = []
        for conflict in self.decision.conflicts:
            is_hidden = not self._has_type(conflict.table)
            for entity in self._about(conflict):
                key = entity.table_key
                if key not in hidden:
                    hidden[key] = self._hidden_on_a_side(entity)
                is_hidden = is_hidden or conflict.id in hidden[key]
            names = () if conflict.property is None else conflict.property.split(", ")
            if not is_hidden and self._hidden(self.sides.entity(conflict.table)).isdisjoint(names):
                found.append(self._shown(conflict))
        return tuple(found)

    def _about(self, conflict: MergeConflict) -> tuple[Entity, ...]:
        """The types that the entity of a conflict may have: it has an id, and edges may have sources of several."""
        entity = self.sides.entity(conflict.table)
        if conflict.kind is ConflictKind.CARDINALITY_VIOLATION and isinstance(entity, EdgeType):
            return tuple(self.sides.catalog.nodes[name] for name in entity.source.types)
        return (entity,)

    def _hidden_on_a_side(self, entity: Entity) -> frozenset[str]:
        """The ids of conflicts about a type whose entities are hidden on some side."""
        about = [conflict for conflict in self.decision.conflicts if entity in self._about(conflict)]
        ids = [conflict.id for conflict in about if conflict.id is not None]
        sides = [(self.sides.source, self.scopes.source), (self.sides.target, self.scopes.read)]
        sides += [(base, scope) for base in self.bases for scope in (self.scopes.read, self.scopes.source)]
        return frozenset().union(*(self._hidden_ids(state, scope, entity, ids) for state, scope in sides))

    def _has_type(self, key: str) -> bool:
        return all(scope is None or key in scope.types for scope in (self.scopes.read, self.scopes.source))

    def _shown(self, conflict: MergeConflict) -> MergeConflict:
        """A conflict without the other entity of a constraint, and without hidden properties."""
        message = _MESSAGES.get(conflict.kind, conflict.message)
        values = (conflict.base, conflict.source, conflict.target)
        if conflict.property is None:
            hidden = self._hidden(self.sides.entity(conflict.table))
            base, source, target = (_only_shown(value, hidden) for value in values)
        else:
            base, source, target = values
        # After a criss-cross, the value of the base may come from an older state that was not looked at.
        base = None if self.sides.crossing is not None else base
        return replace(conflict, message=message, base=base, source=source, target=target)


def _only_shown(value: Any, hidden: frozenset[str]) -> Any:
    """The changed properties of an entity that the other side deleted."""
    if not isinstance(value, dict):
        return value
    return {name: item for name, item in value.items() if name not in hidden}


def _mask(visible: VisibleRows | None, entity: Entity, rows: pa.Table) -> pa.BooleanArray:
    """For every row whether it is inside; all are without a scope."""
    return pa.array([True] * rows.num_rows if visible is None else visible.mask(entity, rows), pa.bool_())


def _every(mask: pa.BooleanArray) -> bool:
    return pc.all(mask, min_count=0).as_py() is not False
