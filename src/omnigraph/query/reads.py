"""``return`` and ``order``: projections to columns, order keys to sort keys (T8, T9, T17, T18, T21, T28)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from itertools import accumulate

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.lang import gq_ast as ast
from omnigraph.lang.spelling import spell_literal
from omnigraph.query import expressions as ir
from omnigraph.query.bind import bind_match
from omnigraph.query.ir import Column, SortKey, Stage
from omnigraph.query.pattern import MarkedBlock, MatchBlock
from omnigraph.query.scope import ANONYMOUS, UNCODED, Context, Scope
from omnigraph.query.shaping.aggregate_calls import check_aggregate
from omnigraph.query.shaping.counts import Sizes, check_counts
from omnigraph.query.shaping.entities import entity_columns
from omnigraph.query.shaping.having import check_having
from omnigraph.query.shaping.identity import match_identity
from omnigraph.query.shaping.returned import former_names, is_edge, returned_entities
from omnigraph.query.stages.former import ReturnedEntity
from omnigraph.query.typecheck import Position, check_expression
from omnigraph.query.variables import replace_rankings

_LIMIT_HINT = "write `limit 10` behind the order"


@dataclass(frozen=True, slots=True)
class CheckedRead:
    """A read with names and types resolved. After grouping or distinct, sort keys refer to columns by ``Output``."""

    block: MatchBlock
    columns: tuple[Column, ...]
    aggregates: bool
    distinct: bool
    having: ir.Expr | None
    order: tuple[SortKey, ...]
    counts: Sizes
    ties: tuple[ir.Expr, ...]
    """The identity of a match: it makes an order total."""
    marked: tuple[MarkedBlock, ...] = ()
    """The ``exists`` blocks that filters, columns and order keys read."""
    start: Stage | None = None
    """The rows of the former stage that the block starts from."""
    entities: Mapping[int, ReturnedEntity] = field(default_factory=dict)
    """The entities among the columns, by place, if another stage follows."""
    names: frozenset[str] = frozenset()
    """The variables of the read and of the stages before it."""


def check_read(context: Context, body: ast.ReadBody, start: Stage | None = None) -> CheckedRead | None:
    """Check a read; None if its columns are unknown. The result is valid only if no error was reported.

    ``start`` are the rows of the former stage.
    """
    bound = bind_match(context, body)
    if bound is None:
        return None
    block, scope = bound
    made = [_check_projection(context, scope, projection) for projection in body.projections]
    groups = [group for group in made if group is not None]
    if len(groups) < len(made):
        return None
    known = tuple(column for group in groups for column in group)
    # The first column of every projection: an entity has several.
    places = (0, *accumulate(map(len, groups)))[:-1]
    aggregates = any(isinstance(column.expression, ir.Aggregate) for column in known)
    order = _Orders(context, scope, body, known, places, aggregates).check()
    having = check_having(context, scope, body, known, places, aggregates=aggregates)
    counts = check_counts(context, body)
    return CheckedRead(
        block,
        known,
        aggregates,
        body.distinct,
        having,
        order,
        counts,
        match_identity(scope),
        tuple(scope.marked.values()),
        start,
        returned_entities(context, scope, body, places) if context.is_former else {},
        frozenset(name for name in (*scope.names(), *former_names(context)) if not name.startswith(ANONYMOUS)),
    )


def _check_projection(context: Context, scope: Scope, projection: ast.Projection) -> tuple[Column, ...] | None:
    node = projection.expression
    expression: ir.Expr | None
    if isinstance(node, ast.PropertyAccess) and ast.is_entity(node):
        name = projection.alias.text if projection.alias else node.variable.name
        return entity_columns(context, scope, node, name)
    if context.is_former and isinstance(node, ast.Variable) and is_edge(scope, node):
        name = projection.alias.text if projection.alias else node.name
        star = ast.Name(ast.EVERY_PROPERTY, node.span)
        return entity_columns(context, scope, ast.PropertyAccess(node, star, node.span), name)
    if isinstance(node, ast.Aggregate):
        expression = check_aggregate(context, scope, node)
    else:
        expression = check_expression(context, scope, node, Position.RETURN)
    if expression is None:
        return None
    name = projection.alias.text if projection.alias else column_name(node)
    return (Column(name, expression),)


def column_name(node: ast.Expr) -> str:
    """The default name of a column without alias."""
    match node:
        case ast.Variable():
            return node.name
        case ast.PropertyAccess():
            return f"{node.variable.name}.{node.property.text}"
        case ast.Literal() | ast.ListLiteral():
            return "literal"
        case ast.Aggregate(argument=ast.Star()):
            return node.function.value
        case ast.Aggregate():
            return column_name(node.argument)
        case ast.Call():
            return node.function
        case ast.Member():
            return f"{column_name(node.operand)}.{node.name.text}"
        case ast.Index(index=ast.Literal(value=str() | int() as step)):
            return f"{column_name(node.operand)}[{spell_literal(step)}]"
        case _:
            return "expression"


def _compared(expression: ir.Expr) -> ir.Expr:
    """The key by which a column is found: ``$p`` and ``id($p)`` have one order."""
    return replace(expression, is_text=True) if isinstance(expression, ir.EntityId) else expression


@dataclass(slots=True)
class _Orders:
    """Checks the order keys of one read."""

    context: Context
    scope: Scope
    body: ast.ReadBody
    columns: tuple[Column, ...]
    places: tuple[int, ...]
    aggregates: bool
    positions: dict[ir.Expr, int] = field(default_factory=dict)

    def check(self) -> tuple[SortKey, ...]:
        keys = [self._key(key) for key in self.body.order]
        self._check_rankings(keys)
        return tuple(key for key in keys if key is not None)

    def _key(self, key: ast.OrderKey) -> SortKey | None:
        expression = self._expression(key.expression)
        if expression is None:
            return None
        orderable = expression.type.is_plain_scalar
        if not orderable:
            hint = "give it a type that has an order: `cast(value as F64)`" if expression.type.is_json else None
            self.context.error("T7", f"rows cannot be ordered by {expression.type}", key.span, hint)
            return None
        if isinstance(key.expression, ast.Call) and key.expression.function in ("bm25", "rrf"):
            # A ranking sorts best match first whatever direction is written; an alias sorts like any number.
            return SortKey(expression, descending=True)
        return SortKey(expression, bool(key.descending))

    def _expression(self, node: ast.Expr) -> ir.Expr | None:
        position: int | None
        if isinstance(node, ast.AliasRef):
            position = self._alias_position(node)
            if position is None:
                return None
        elif isinstance(node, ast.Aggregate):
            aggregate = check_aggregate(self.context, self.scope, node)
            position = None if aggregate is None else self._column_position(node, aggregate)
            if aggregate is not None and position is None:
                message = "an aggregate in `order` must be returned too"
                self.context.error("T9", message, node.span, "add it to `return`")
            if position is None:
                return None
        else:
            expression = check_expression(self.context, self.scope, node, Position.ORDER)
            if expression is None or not (self.aggregates or self.body.distinct):
                return expression
            position = self._column_position(node, expression)
            if position is None:
                self._not_returned(node, "T9" if self.aggregates else "T28")
                return None
        column = self.columns[position]
        if self.aggregates or self.body.distinct:
            return ir.Output(position, column.expression.type)
        return column.expression

    def _alias_position(self, node: ast.AliasRef) -> int | None:
        aliases = [projection.alias.text if projection.alias else None for projection in self.body.projections]
        if node.name.text in aliases:
            # The first column of an entity is its id: an entity is ordered as its variable is.
            return self.places[aliases.index(node.name.text)]
        hint = self.context.suggest(node.name.text, [alias for alias in aliases if alias])
        if hint is None and self.scope.lookup(node.name.text):
            hint = f"write `${node.name.text}`"
        self.context.error(UNCODED, f"no alias `{node.name.text}` is returned", node.span, hint)
        return None

    def _column_position(self, node: ast.Expr, expression: ir.Expr) -> int | None:
        """The column that is written as this key, or has the same value."""
        for place, projection in zip(self.places, self.body.projections, strict=True):
            if projection.expression == node:
                return place
        if not self.positions:
            for position, column in enumerate(self.columns):
                self.positions.setdefault(_compared(column.expression), position)
        match node:
            case ast.Call(function="type", arguments=(ast.Variable(name),)):
                bound = self.scope.lookup(name)
                expression = expression if bound is None else ir.TypeName(name, bound.type_name, expression.type)
        if self.context.interfaces and not isinstance(expression, ir.EntityId | ir.Property | ir.TypeName):
            # Types are constants of a concrete pattern: those of two variables are equal in some patterns only.
            return None
        return self.positions.get(_compared(expression))

    def _not_returned(self, node: ast.Expr, code: str) -> None:
        what = "an aggregate query" if self.aggregates else "`return distinct`"
        self.context.error(code, f"{what} can only be ordered by what it returns", node.span, "add it to `return`")

    def _check_rankings(self, keys: list[SortKey | None]) -> None:
        aliased = any(isinstance(key.expression, ast.AliasRef) for key in self.body.order)
        for node, key in zip(self.body.order, keys, strict=True):
            rankings = self._rankings_of(key)
            if any(isinstance(ranking, ir.Nearest) for ranking in rankings):
                if self.body.limit is None:
                    self.context.error("T17", "ordering by `nearest` needs a `limit`", node.span, _LIMIT_HINT)
                if aliased and not (isinstance(node.expression, ast.AliasRef) and len(keys) == 1):
                    self.context.error("T18", "`nearest` cannot be combined with an order by alias", node.span)
            if any(isinstance(ranking, ir.Rrf) for ranking in rankings) and self.body.limit is None:
                self.context.error("T21", "ordering by `rrf` needs a `limit`", node.span, _LIMIT_HINT)

    def _rankings_of(self, key: SortKey | None) -> list[ir.Ranking]:
        """The rankings of a key, without the arms of a fusion."""
        if key is None:
            return []
        expression = key.expression
        if isinstance(expression, ir.Output):
            expression = self.columns[expression.position].expression
        found: list[ir.Ranking] = []

        def note(ranking: ir.Ranking) -> ir.Expr:
            found.append(ranking)
            return ranking

        replace_rankings(expression, note)
        return found
