"""Entities that an update or delete changes: by condition, by id from a pattern, or by a join with given rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from omnigraph.core.operators import BinaryOperator
from omnigraph.errors import LimitExceeded
from omnigraph.exec.frame import Frame
from omnigraph.query import expressions as ir
from omnigraph.query.ir import TARGET, DeleteEdges, DeleteNodes, UpdateEdges, UpdateNodes
from omnigraph.query.rewrite.coerce import coerce_predicate
from omnigraph.query.variables import walk
from omnigraph.rows.arrow_types import ID, Entity, table_schema
from omnigraph.rows.keys import key_id, key_text, key_type
from omnigraph.write.mutate.current import CurrentGraph, Row
from omnigraph.write.mutate.evaluation import own_frame
from omnigraph.write.mutate.filters import conjuncts
from omnigraph.write.mutate.given import ALONE, Given

PAIRS_MAX = 5_000_000
"""Pairs of a given row and an entity that a condition without an equality may have to test."""

LISTED_MAX = 2_000
"""Values that storage looks up one by one; more are found by reading the column."""

_KEYED = (pa.types.is_string, pa.types.is_boolean)
"""Types whose Python values are the constants of the IR; so are integers, which are equal whatever their widths."""


@dataclass(frozen=True, slots=True)
class Targets:
    """Current rows to change, and for each the place of the given row that it was chosen for."""

    rows: Sequence[Row] = ()
    places: Sequence[int] = ()

    def frame(self, entity: Entity, expressions: Sequence[ir.Expr], given: Given) -> Frame:
        """The entities with what expressions read of them, beside the given values."""
        return given.beside(own_frame(entity, self.rows, expressions), self.places)

    def at(self, chosen: Sequence[int]) -> Targets:
        """Some of the targets, by position."""
        return Targets([self.rows[place] for place in chosen], [self.places[place] for place in chosen])


def find_targets(
    graph: CurrentGraph,
    entity: Entity,
    statement: UpdateNodes | UpdateEdges | DeleteNodes | DeleteEdges,
    given: Given,
    *,
    is_adjusted: bool = False,
) -> Targets:
    """The entities of a statement. Entities that earlier statements deleted are not among them."""
    predicate = statement.predicate
    if statement.bound is not None:
        ids = graph.evaluation.column(statement.bound, given.frame()).to_pylist()
        current = graph.by_id(entity, [id_ for id_ in ids if id_ is not None], is_fixed=True)
        places = [place for place, id_ in enumerate(ids) if id_ in current]
        found = Targets([current[ids[place]] for place in places], places)
        return _tested(graph, entity, predicate, found, given)
    if given is ALONE:
        rows = graph.matching(entity, predicate, is_adjusted=is_adjusted)
        return Targets(rows, [0] * len(rows))
    joined = _joined(graph, entity, predicate, given, is_adjusted=is_adjusted)
    if joined is None:
        own = [part for part in conjuncts(predicate) if not given.reads(part)]
        rows = graph.matching(entity, ir.conjunction(tuple(own)) or ir.TRUE, is_adjusted=is_adjusted)
        if len(rows) * given.length > PAIRS_MAX:
            raise LimitExceeded(
                f"{given.length:,} rows with {len(rows):,} {entity.name} each are more than {PAIRS_MAX:,} pairs",
                hint="compare a property for equality: `where name = $row.name`",
                resource="pairs",
                limit=PAIRS_MAX,
                actual=len(rows) * given.length,
            )
        places = [place for place in range(given.length) for _ in rows]
        joined = Targets(rows * given.length, places)
    return _tested(graph, entity, predicate, joined, given)


def _tested(graph: CurrentGraph, entity: Entity, predicate: ir.Expr, found: Targets, given: Given) -> Targets:
    if predicate == ir.TRUE or not found.rows:
        return found
    holds = graph.evaluation.mask(predicate, found.frame(entity, [predicate], given))
    return found.at(holds.nonzero()[0].tolist())


def _joined(
    graph: CurrentGraph, entity: Entity, predicate: ir.Expr, given: Given, *, is_adjusted: bool
) -> Targets | None:
    """Candidates by an equality of a column with a given value (hash join); None without such an equality."""
    for conjunct in conjuncts(predicate):
        equal = _equality(conjunct)
        if equal is None or not given.reads(equal[1]):
            continue
        column, value = equal
        values = graph.evaluation.column(value, given.frame())
        type_ = table_schema(entity).field(column).type
        are_integers = pa.types.is_integer(values.type) and pa.types.is_integer(type_)
        if not are_integers and (values.type != type_ or not any(is_type(type_) for is_type in _KEYED)):
            continue
        wanted: list[Any] = values.to_pylist()
        rows = _candidates(graph, entity, column, wanted, is_adjusted=is_adjusted)
        by_value: dict[Any, list[Row]] = {}
        for row in rows:
            by_value.setdefault(row[column], []).append(row)
        pairs = [(row, place) for place, key in enumerate(wanted) for row in by_value.get(key, ()) if key is not None]
        return Targets([row for row, _ in pairs], [place for _, place in pairs])
    return None


def _equality(conjunct: ir.Expr) -> tuple[str, ir.Expr] | None:
    """The column and the value of ``column = value``, if the value does not depend on the entity."""
    match conjunct:
        case ir.Compare(BinaryOperator.EQ, left, right):
            for own, value in ((left, right), (right, left)):
                is_own = isinstance(own, ir.Property | ir.EntityId) and own.variable == TARGET
                if is_own and not any(
                    isinstance(part, ir.Property | ir.EntityId) and part.variable == TARGET for part in walk(value)
                ):
                    return (own.name if isinstance(own, ir.Property) else ID), value
    return None


def _candidates(graph: CurrentGraph, entity: Entity, column: str, wanted: list[Any], *, is_adjusted: bool) -> list[Row]:
    distinct = list(dict.fromkeys(value for value in wanted if value is not None))
    if column == ID or entity.key == (column,):
        texts = distinct if column == ID else [key_text(value, key_type(entity, column)) for value in distinct]
        ids = [text if column == ID else key_id([text]) for text in texts if text is not None]
        return list(graph.by_id(entity, ids, is_fixed=not is_adjusted).values())
    superset: ir.Expr = ir.TRUE
    if len(distinct) <= LISTED_MAX:
        declared = entity.properties.get(column)
        type_ = ir.TEXT if declared is None else declared.type
        items = ir.Constant(tuple(distinct), replace(type_, is_list=True, nullable=False, enum_values=None))
        # Values that the column cannot hold are dropped: storage would refuse them.
        superset = coerce_predicate(ir.Member(ir.Property(TARGET, column, type_), items)) if distinct else ir.FALSE
    return graph.matching(entity, superset, is_adjusted=is_adjusted)
