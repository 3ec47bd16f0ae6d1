"""Checks of stored entities against the new requirements of a schema, before a migration.

Only new requirements are checked, and only their columns are read: the others hold already. Ids and columns of a new
unique constraint are held in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.tables import TablePin
from omnigraph.rows.arrow_types import DST, ID, SRC, Entity, table_schema
from omnigraph.rows.cardinality import cardinality_violation
from omnigraph.rows.ends.references import references, shown_types, tags_of, with_types
from omnigraph.rows.ends.violations import pair_violation
from omnigraph.rows.validate import text_column, unique_columns, unique_violation
from omnigraph.rows.values import check_values
from omnigraph.rows.violations import Violation, ViolationCode, Violations
from omnigraph.schema.catalog import Catalog, EdgeType, NodeType
from omnigraph.schema.ir import CheckConstraint, RangeConstraint, TypeKind, UniqueConstraint
from omnigraph.schema.steps import (
    AddConstraint,
    AddProperty,
    ChangeCardinality,
    ChangeEnds,
    ChangeEnum,
    ChangeNullability,
    Safety,
    Step,
)
from omnigraph.storage.tables.store import Store
from omnigraph.write.type_tables import entities, entity_batches

Batches = Callable[[Sequence[str]], Iterator[pa.RecordBatch]]
"""Reads columns of the entities of a type, in the order of its table."""


def check_entities(
    store: Store, catalog: Catalog, pins: Mapping[str, TablePin], steps: Sequence[Step], violations: Violations
) -> frozenset[str]:
    """Report every entity that violates a requirement of a migration; returns the tables read.

    ``pins`` are the current tables, keyed by their new names.
    """
    tables_read: set[str] = set()
    for entity in entities(catalog):
        pin = pins.get(entity.table_key)
        # Rows of an external type are checked when they are sealed.
        demands = demands_of(steps, entity) if entity.ir.external is None else []
        if pin is not None and demands:
            tables_read.add(pin.key)
            if pin.rows:
                check_demands(entity, demands, partial(entity_batches, store, pin, entity), violations)
    return frozenset(tables_read)


def demands_of(steps: Iterable[Step], entity: Entity) -> list[Step]:
    """The steps with requirements for the entities of a type."""
    return [step for step in steps if _is_about(step, entity)]


def check_demands(entity: Entity, demands: Sequence[Step], batches: Batches, violations: Violations) -> None:
    """Report every entity that violates the steps. ``entity`` is the type after them."""
    _Check(entity, batches, violations).run(demands)


def _is_about(step: Step, entity: Entity) -> bool:
    """True if a step has requirements for the entities of a type."""
    if step.safety is not Safety.NEEDS_DATA_CHECK and not isinstance(step, ChangeEnds):
        return False
    kind = TypeKind.EDGE if isinstance(entity, EdgeType) else TypeKind.NODE
    match step:
        case ChangeEnds(type_name=name, dropped=dropped):
            return (kind, entity.name) == (TypeKind.EDGE, name) and bool(dropped)
        case ChangeCardinality(type_name=name):
            return (kind, entity.name) == (TypeKind.EDGE, name)
        case (
            AddProperty(type_kind=step_kind, type_name=name)
            | ChangeNullability(type_kind=step_kind, type_name=name)
            | ChangeEnum(type_kind=step_kind, type_name=name)
            | AddConstraint(type_kind=step_kind, type_name=name)
        ):
            return (kind, entity.name) == (step_kind, name)
        case _:
            return False


@dataclass(frozen=True)
class _Check:
    """One table with its type after the migration."""

    after: Entity
    batches: Batches
    violations: Violations

    def run(self, steps: Sequence[Step]) -> None:
        names: set[str] = set()
        for step in steps:
            match step:
                case AddProperty(property_name=name) | ChangeNullability(property_name=name):
                    names.add(name)
                case ChangeEnum(property_name=name):
                    names.add(name)
                case ChangeCardinality():
                    self._check_cardinality()
                case ChangeEnds():
                    self._check_ends()
                case AddConstraint(constraint=UniqueConstraint() as unique):
                    self._check_unique(unique)
                case AddConstraint(constraint=RangeConstraint(property=name) | CheckConstraint(property=name)):
                    names.add(name)
        if names:
            self._check_values(names)

    def _check_values(self, names: set[str]) -> None:
        """Required, enum, range and pattern of some properties."""
        narrow = _narrowed(self.after, names)
        for batch in self.batches(table_schema(narrow).names):
            check_values(narrow, batch, lambda _: None, self.violations)

    def _check_unique(self, unique: UniqueConstraint) -> None:
        [columns] = unique_columns(replace(self.after, uniques=(unique,)))
        texts = [f"t{number}" for number in range(len(columns))]
        parts = [
            pa.Table.from_arrays(
                [batch.column(ID), *(text_column(self.after, column, batch) for column in columns)], [ID, *texts]
            )
            for batch in self.batches(with_types(self.after, (ID, *columns)))
        ]
        rows = pa.concat_tables(parts).drop_null()
        groups = rows.group_by(texts).aggregate([(ID, "count"), (ID, "min"), (ID, "max")])
        shared = groups.filter(pc.greater(groups.column(f"{ID}_count"), 1)).sort_by(f"{ID}_min")
        if not shared.num_rows:
            return

        def each() -> Iterator[Violation]:
            for row in shared.to_pylist():
                value = tuple(row[text] for text in texts)
                yield unique_violation(self.after, columns, value, (row[f"{ID}_min"], row[f"{ID}_max"]), None)

        count = pc.sum(shared.column(f"{ID}_count")).as_py() - shared.num_rows
        self.violations.add_group((ViolationCode.UNIQUE, self.after.table_key, columns[0]), count, each())

    def _check_ends(self) -> None:
        """Edges between types that the edge type does not connect any more."""
        edge = self.after
        assert isinstance(edge, EdgeType)
        for batch in self.batches(with_types(edge, [ID, SRC, DST])):
            types = (shown_types(end, tags_of(end, batch)).to_pylist() for end in edge.ends)
            for id_, *pair in zip(batch.column(ID).to_pylist(), *types, strict=True):
                source, target = pair
                if (source, target) not in edge.pairs:
                    self.violations.add(pair_violation(edge, id_, (source, target)))

    def _check_cardinality(self) -> None:
        edge = self.after
        assert isinstance(edge, EdgeType)
        names = with_types(edge, [ID, SRC, DST])
        sources = pa.chunked_array([references(edge.source, batch) for batch in self.batches(names)], pa.string())
        counted = pc.value_counts(sources)
        edges = counted.field("counts")
        is_wrong = pc.less(edges, edge.ir.card_min)
        if edge.ir.card_max is not None:
            is_wrong = pc.or_(is_wrong, pc.greater(edges, edge.ir.card_max))
        wrong = counted.filter(is_wrong)
        each = (cardinality_violation(edge, item["values"], item["counts"]) for item in wrong.to_pylist())
        if len(wrong):
            self.violations.add_group((ViolationCode.CARDINALITY, edge.table_key, SRC), len(wrong), each)


def _narrowed(entity: Entity, names: set[str]) -> Entity:
    """A type restricted to some properties and the constraints of their values."""
    properties = {name: prop for name, prop in entity.properties.items() if name in names}
    if not isinstance(entity, NodeType):
        return replace(entity, properties=properties)
    ranges = tuple(item for item in entity.ranges if item.property in names)
    checks = tuple(item for item in entity.checks if item.property in names)
    return replace(entity, properties=properties, ranges=ranges, checks=checks)
