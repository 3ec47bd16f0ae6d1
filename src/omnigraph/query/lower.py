"""Lowering of a checked read to a tree of operators.

Per connected component of a block: scan one root, then expand along the traversals; components are cross-joined. After
the positive clauses come ``maybe`` blocks in source order, the filters that read them, and the ``not`` blocks. A
filter is placed where its variables are first all bound; the rewrites move it into scans.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from omnigraph.query import expressions as ir
from omnigraph.query.ir import (
    AntiJoin,
    Column,
    CrossJoin,
    Direction,
    Distinct,
    Expand,
    Filter,
    Group,
    Mark,
    Operator,
    OptionalJoin,
    Outer,
    Project,
    Scan,
    Score,
    ShortestPath,
    Sort,
    SortKey,
)
from omnigraph.query.pattern import MarkedBlock, MatchBlock, NodeVariable, Step
from omnigraph.query.reads import CheckedRead
from omnigraph.query.rewrite.tree import bound_variables
from omnigraph.query.variables import conjuncts, replace_rankings, variables_of, walk


def lower_read(read: CheckedRead) -> tuple[Operator, tuple[Column, ...]]:
    """The operators of a read, and its columns."""
    root = _lower_block(read.block, (), read.start)
    if read.aggregates or read.distinct:
        root = with_marks(root, read.marked, (column.expression for column in read.columns))
    if read.aggregates:
        return _lower_grouped(read, root)
    if read.distinct:
        root, columns, order = _with_scores(root, read.columns, read.order)
        shaped: Operator = Distinct(Project(root, columns))
        return read.counts.applied(_sorted(shaped, order, output_ties(columns))), columns
    root = with_marks(root, read.marked, (key.expression for key in read.order))
    root, columns, order = _with_scores(root, read.columns, read.order)
    root = read.counts.applied(_sorted(root, order, tie_keys(read)))
    # Blocks that only columns read are matched for the rows that remain.
    return Project(with_marks(root, read.marked, (column.expression for column in columns)), columns), columns


def lower_matches(
    read: CheckedRead,
) -> tuple[Operator, tuple[Column, ...], tuple[SortKey, ...], tuple[ir.Expr, ...]]:
    """The rows of a read before shaping, its columns and order keys over them, and the ids that break ties."""
    every = (*(column.expression for column in read.columns), *(key.expression for key in read.order))
    root = with_marks(_lower_block(read.block, (), read.start), read.marked, every)
    root, columns, order = _with_scores(root, read.columns, read.order)
    return root, columns, order, read.ties


def lower_match(block: MatchBlock, columns: tuple[Column, ...], marked: tuple[MarkedBlock, ...]) -> Operator:
    """The operators of a pattern without order and limit."""
    root = with_marks(_lower_block(block, ()), marked, (column.expression for column in columns))
    return Project(root, columns)


def _lower_grouped(read: CheckedRead, root: Operator) -> tuple[Operator, tuple[Column, ...]]:
    root, columns, order = _with_scores(root, read.columns, read.order)
    shaped: Operator = Group(root, columns)
    if read.having is not None:
        shaped = Filter(shaped, read.having)
    if read.distinct:
        shaped = Distinct(shaped)
    return read.counts.applied(_sorted(shaped, order, output_ties(columns))), columns


def _sorted(root: Operator, order: tuple[SortKey, ...], ties: tuple[SortKey, ...]) -> Operator:
    """Sort if the query has an order; tie-breaking keys are appended without duplicates."""
    if not order:
        return root
    known = {key.expression for key in order}
    return Sort(root, (*order, *(tie for tie in ties if tie.expression not in known)))


def tie_keys(read: CheckedRead) -> tuple[SortKey, ...]:
    """Tie-breakers of rows; they make the order total."""
    return tuple(map(SortKey, read.ties))


def output_ties(columns: tuple[Column, ...]) -> tuple[SortKey, ...]:
    """Tie-breakers of groups and distinct rows: the returned scalars; they make the order total."""
    return tuple(
        SortKey(ir.Output(position, column.expression.type))
        for position, column in enumerate(columns)
        if column.expression.type.is_plain_scalar and not isinstance(column.expression, ir.Aggregate)
    )


def _with_scores(
    root: Operator, columns: tuple[Column, ...], order: tuple[SortKey, ...]
) -> tuple[Operator, tuple[Column, ...], tuple[SortKey, ...]]:
    """Compute every ranking once, below, and refer to it by number. One that orders the rows is required to exist."""
    every = (*(key.expression for key in order), *(column.expression for column in columns))
    if not any(isinstance(part, ir.Nearest | ir.Bm25 | ir.Rrf) for expression in every for part in walk(expression)):
        return root, columns, order
    rankings: dict[ir.Ranking, int] = {}

    def by_number(ranking: ir.Ranking) -> ir.Expr:
        return ir.ScoreColumn(rankings.setdefault(ranking, len(rankings)), ranking.type)

    def numbered(expression: ir.Expr) -> ir.Expr:
        return replace_rankings(expression, by_number)

    # Rankings in `order` come first, so that the required ones form a prefix.
    for key in order:
        if isinstance(key.expression, ir.Output) and not _aggregates(columns[key.expression.position]):
            numbered(columns[key.expression.position].expression)
    keys = tuple(SortKey(numbered(key.expression), key.descending) for key in order)
    required = len(rankings)
    shown = tuple(replace(column, expression=numbered(column.expression)) for column in columns)
    flags = tuple(number < required for number in range(len(rankings)))
    return Score(root, tuple(rankings), flags), shown, keys


def _aggregates(column: Column) -> bool:
    """True if a column aggregates: an aggregate over scores includes rows without a score."""
    return isinstance(column.expression, ir.Aggregate)


def _lower_block(block: MatchBlock, outer: tuple[str, ...], start: Operator | None = None) -> Operator:
    """The rows of a block: for each of the rows around it, of the former stage, or of the whole graph."""
    root: Operator | None = Outer(outer) if outer else start
    bound: set[str] = set() if root is None else set(bound_variables(root))
    waiting = [part for predicate in block.filters for part in conjuncts(predicate)]
    paths = [step for step in block.steps if step.path_variable is not None]
    steps = [step for step in block.steps if step.path_variable is None]
    root = _follow(root, steps, bound)
    for node in block.nodes:
        if node.name in bound:
            continue
        part = _follow(_root_scan(node, steps, bound), steps, bound)
        assert part is not None
        root = part if root is None else CrossJoin(root, part)
        root = _follow(root, steps, bound)
    assert root is not None, "the grammar demands a clause, and every clause binds or reads a variable"
    for step in paths:
        assert step.path_variable is not None
        ends = (step.source, step.target, step.edge, step.direction, step.hops, step.path_variable)
        root = ShortestPath(root, *ends, wants_nodes=True, pair=step.pair, every=step.every_path)
        bound.add(step.path_variable)
    root, waiting = _apply_filters(root, waiting, bound, block.marked)
    for inner in block.optional:
        root = OptionalJoin(root, _lower_block(inner, inner.mentions), inner.introduced)
        bound.update(inner.introduced)
        root, waiting = _apply_filters(root, waiting, bound, block.marked)
    assert not waiting, "every variable of a filter is bound by the block or around it"
    for inner in block.negated:
        root = AntiJoin(root, _lower_block(inner, inner.mentions))
    return root


def _apply_filters(
    root: Operator, waiting: list[ir.Expr], bound: set[str], marked: tuple[MarkedBlock, ...]
) -> tuple[Operator, list[ir.Expr]]:
    """Place the filters whose variables are bound on top, those without a block first; the others remain waiting."""
    root, waiting = _apply_ready(root, waiting, bound)
    possible = {item.name: item.block for item in marked if bound.issuperset(item.block.mentions)}
    later: list[ir.Expr] = []
    for predicate in waiting:
        absent = predicate.operand if isinstance(predicate, ir.Not) else None
        if isinstance(absent, ir.Computed) and absent.variable in possible:
            block = possible[absent.variable]
            root = AntiJoin(root, _lower_block(block, block.mentions))
        else:
            later.append(predicate)
    read = {name for predicate in later for name in variables_of(predicate)}
    for name, block in possible.items():
        if name in read and name not in bound:
            root = Mark(root, _lower_block(block, block.mentions), name)
            bound.add(name)
    return _apply_ready(root, later, bound)


def _apply_ready(root: Operator, waiting: list[ir.Expr], bound: set[str]) -> tuple[Operator, list[ir.Expr]]:
    ready: list[ir.Expr] = []
    later: list[ir.Expr] = []
    for predicate in waiting:
        (ready if bound.issuperset(variables_of(predicate)) else later).append(predicate)
    together = ir.conjunction(tuple(ready))
    return (root if together is None else Filter(root, together)), later


def with_marks(root: Operator, marked: tuple[MarkedBlock, ...], expressions: Iterable[ir.Expr]) -> Operator:
    """The rows with the values of the ``exists`` blocks that expressions read and no operator below computes."""
    if not marked:
        return root
    read = {name for expression in expressions for name in variables_of(expression)}
    known = bound_variables(root)
    for item in marked:
        if item.name in read and item.name not in known:
            root = Mark(root, _lower_block(item.block, item.block.mentions), item.name)
    return root


def _root_scan(node: NodeVariable, steps: list[Step], bound: set[str]) -> Operator:
    """Scan the root of a component: its first typed binding, or the source end of its first traversal."""
    name, type_name = node.name, node.type_name
    if not node.declared:
        first = next((step for step in steps if node.name in (step.source, step.target)), None)
        if first is not None and first.direction is Direction.IN:
            name, type_name = first.target, first.target_type
        elif first is not None:
            name, type_name = first.source, first.source_type
    bound.add(name)
    return Scan(name, type_name)


def _follow(root: Operator | None, steps: list[Step], bound: set[str]) -> Operator | None:
    """Expand along every step with a bound end, in source order, until none remains."""
    while root is not None:
        step = next((step for step in steps if step.source in bound or step.target in bound), None)
        if step is None:
            return root
        steps.remove(step)
        root = _expand(root, step, bound)
        bound.update(_named((step.source, step.target, step.edge_variable)))
    return root


def _named(names: Iterable[str | None]) -> list[str]:
    return [name for name in names if name is not None]


def _expand(root: Operator, step: Step, bound: set[str]) -> Expand:
    from_target = step.source not in bound
    return Expand(
        root,
        step.source,
        step.target,
        step.edge,
        step.direction,
        step.hops,
        new_type=step.source_type if from_target else step.target_type,
        edge_variable=step.edge_variable,
        from_target=from_target,
        closes=step.source in bound and step.target in bound,
        pair=step.pair,
    )
