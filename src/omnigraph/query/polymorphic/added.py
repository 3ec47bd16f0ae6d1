"""``union`` and ``union all`` of reads: their rows one after the other, deduplicated, ordered and cut together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from omnigraph.core.limits import TYPE_COMBINATIONS_MAX
from omnigraph.lang import gq_ast as ast
from omnigraph.query import expressions as ir
from omnigraph.query.ir import Column, Distinct, Operator, Sort, SortKey, Union
from omnigraph.query.lower import output_ties
from omnigraph.query.polymorphic.union import common_type, is_same_kind, with_ties
from omnigraph.query.rewrite.renaming import Renaming
from omnigraph.query.scope import UNCODED, Context
from omnigraph.query.shaping.counts import check_counts
from omnigraph.query.shaping.entities import result_columns
from omnigraph.query.stages.former import Planned, ReturnedEntity, merged

Plan = Callable[[Context, ast.ReadBody], Planned | None]


def plan_added(context: Context, body: ast.ReadBody, plan: Plan) -> Planned | None:
    """The operators and columns of a union; None if an error was reported. Names are those of the first read."""
    if len(body.union) >= TYPE_COMBINATIONS_MAX:
        message = f"a union has at most {TYPE_COMBINATIONS_MAX} reads"
        context.error(UNCODED, message, body.union[-1].span, "split the query")
        return None
    alone = replace(body, union=(), order=(), limit=None, offset=None)
    made = [plan(context, part) for part in (alone, *body.union)]
    planned = [part for part in made if part is not None]
    if len(planned) < len(made) or not _check_columns(context, body, planned):
        return None
    shown = planned[0].columns
    types = [common_type([part.columns[place].expression.type for part in planned]) for place in range(len(shown))]
    columns = tuple(
        replace(column, expression=ir.Output(place, type_))
        for place, (column, type_) in enumerate(zip(shown, types, strict=True))
    )
    inputs = tuple(Renaming(f"@{number}").operator(part.root) for number, part in enumerate(planned, 1))
    root: Operator = Union(inputs, columns)
    if not body.keeps_duplicates:
        root = Distinct(root)
    order = _order(context, body, columns)
    if order:
        root = Sort(root, with_ties(order, output_ties(columns)))
    names = frozenset[str]().union(*(part.names for part in planned))
    return Planned(check_counts(context, body).applied(root), columns, _entities(planned), names)


def _entities(planned: Sequence[Planned]) -> dict[int, ReturnedEntity]:
    """The columns that are entities in all of the reads."""
    found: dict[int, ReturnedEntity] = {}
    for place in planned[0].entities:
        same = [part.entities[place] for part in planned if place in part.entities]
        entity = merged(same) if len(same) == len(planned) else None
        if entity is not None:
            found[place] = entity
    return found


def _check_columns(context: Context, body: ast.ReadBody, planned: Sequence[Planned]) -> bool:
    first = planned[0].columns
    for part, columns in zip(body.union, (other.columns for other in planned[1:]), strict=True):
        if len(columns) != len(first):
            message = f"the reads of a union return equally many columns: {len(first)} and {len(columns)}"
            context.error(UNCODED, message, part.span)
            return False
        for left, right in zip(first, columns, strict=True):
            if left.field != right.field or not is_same_kind(left.expression.type, right.expression.type):
                message = f"`{left.name}` is {left.expression.type} in the first read and {right.expression.type} here"
                context.error("T7", message, part.span, "cast one of them")
                return False
    return True


def _order(context: Context, body: ast.ReadBody, columns: tuple[Column, ...]) -> tuple[SortKey, ...]:
    """Order keys by position: an alias of the first read, or an expression that it returns."""
    keys = []
    for key in body.order:
        place = _place(body, key.expression, columns)
        if place is None or not columns[place].expression.type.is_plain_scalar:
            hint = "give the column an alias in the first read"
            context.error("T28", "a union can only be ordered by what its first read returns", key.span, hint)
            continue
        keys.append(SortKey(ir.Output(place, columns[place].expression.type), bool(key.descending)))
    return tuple(keys)


def _place(body: ast.ReadBody, node: ast.Expr, columns: tuple[Column, ...]) -> int | None:
    """The column that a key means: of an entity the first one, its id."""
    places = [place for place, _ in result_columns(columns)]
    for place, projection in zip(places, body.projections, strict=True):
        shown = projection.expression
        is_alias = isinstance(node, ast.AliasRef) and projection.alias == node.name
        is_entity = isinstance(shown, ast.PropertyAccess) and ast.is_entity(shown) and shown.variable == node
        if is_alias or is_entity or shown == node:
            return place
    return None
