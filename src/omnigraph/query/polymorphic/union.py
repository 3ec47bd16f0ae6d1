"""Lowering of several concrete patterns to one plan: a projection per pattern, their union, and shaping above it.

A projection computes what shaping reads: the columns and order keys, or the group keys and arguments of aggregates.
Above the union each of them is an ``Output``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.lang import gq_ast as ast
from omnigraph.query import expressions as ir
from omnigraph.query.ir import (
    Column,
    Distinct,
    Filter,
    Group,
    Operator,
    Project,
    Sort,
    SortKey,
    Union,
)
from omnigraph.query.lower import lower_matches, output_ties
from omnigraph.query.reads import CheckedRead
from omnigraph.query.rewrite.renaming import Renaming
from omnigraph.query.scope import Context
from omnigraph.schema.types import PropertyType


@dataclass(frozen=True, slots=True)
class Branch:
    """One concrete pattern: its rows, and the expressions that shaping reads."""

    root: Operator
    columns: tuple[Column, ...]
    order: tuple[SortKey, ...]
    ties: tuple[ir.Expr, ...]


def lower_union(
    context: Context, body: ast.ReadBody, reads: Sequence[CheckedRead]
) -> tuple[Operator, tuple[Column, ...]] | None:
    """The plan of several checked reads that differ in types only; None if an error was reported."""
    branches = [_branch(read, number) for number, read in enumerate(reads)]
    if not _check_types(context, body, branches):
        return None
    read = reads[0]
    if read.aggregates:
        return _grouped(read, branches)
    shown = [[column.expression for column in branch.columns] for branch in branches]
    if read.distinct:
        union = _union(branches, shown)
        columns = _typed(branches[0].columns, union)
        root: Operator = Distinct(union)
        # After a union the columns of every branch are results, so order keys are outputs already.
        root = Sort(root, with_ties(read.order, output_ties(columns))) if read.order else root
        return read.counts.applied(root), columns
    extra = [[*(key.expression for key in branch.order), *branch.ties] for branch in branches] if read.order else None
    if extra is None:
        union = _union(branches, shown)
        return read.counts.applied(union), _typed(branches[0].columns, union)
    union = _union(branches, [[*left, *right] for left, right in zip(shown, extra, strict=True)])
    width = len(branches[0].columns)
    columns = _typed(branches[0].columns, union)
    outputs = [ir.Output(place, column.expression.type) for place, column in enumerate(union.columns)]
    descending = [key.descending for key in read.order] + [False] * len(branches[0].ties)
    keys = tuple(SortKey(output, down) for output, down in zip(outputs[width:], descending, strict=True))
    sliced = read.counts.applied(Sort(union, keys))
    return Project(sliced, tuple(replace(c, expression=outputs[p]) for p, c in enumerate(columns))), columns


def _grouped(read: CheckedRead, branches: Sequence[Branch]) -> tuple[Operator, tuple[Column, ...]]:
    parts = [[part for column in branch.columns for part in _inputs(column.expression)] for branch in branches]
    union = _union(branches, parts)
    outputs = iter([ir.Output(place, column.expression.type) for place, column in enumerate(union.columns)])
    columns = tuple(replace(column, expression=_above(column.expression, outputs)) for column in branches[0].columns)
    root: Operator = Group(union, columns)
    if read.having is not None:
        root = Filter(root, read.having)
    if read.distinct:
        root = Distinct(root)
    root = Sort(root, with_ties(read.order, output_ties(columns))) if read.order else root
    return read.counts.applied(root), columns


def _inputs(expression: ir.Expr) -> tuple[ir.Expr, ...]:
    """The parts that a column of a group reads of a row."""
    return (expression.argument, *expression.by) if isinstance(expression, ir.Aggregate) else (expression,)


def _above(expression: ir.Expr, outputs: Iterator[ir.Output]) -> ir.Expr:
    """A column of a group over the union; ``outputs`` gives the inputs of all columns in order."""
    if not isinstance(expression, ir.Aggregate):
        return next(outputs)
    argument = next(outputs)
    return replace(expression, argument=argument, by=tuple(next(outputs) for _ in expression.by))


def with_ties(order: tuple[SortKey, ...], ties: tuple[SortKey, ...]) -> tuple[SortKey, ...]:
    """Order keys, and those of the ties that are not among them."""
    known = {key.expression for key in order}
    return (*order, *(tie for tie in ties if tie.expression not in known))


def _branch(read: CheckedRead, number: int) -> Branch:
    root, columns, order, ties = lower_matches(read)
    # Ids are unique within a type only: the number of the pattern decides between equal ones.
    every = (*ties, ir.Constant(number, ir.INTEGER))
    renamed = Renaming(f"@{number + 1}")
    return Branch(
        renamed.operator(root),
        renamed.columns(columns),
        tuple(SortKey(renamed.expression(key.expression), key.descending) for key in order),
        tuple(renamed.expression(tie) for tie in every),
    )


def _union(branches: Sequence[Branch], parts: Sequence[Sequence[ir.Expr]]) -> Union:
    types = [common_type([part.type for part in same]) for same in zip(*parts, strict=True)]
    columns = tuple(Column(f"c{place}", ir.Output(place, type_)) for place, type_ in enumerate(types))
    inputs = tuple(
        Project(branch.root, tuple(Column(f"c{place}", part) for place, part in enumerate(own)))
        for branch, own in zip(branches, parts, strict=True)
    )
    return Union(inputs, columns)


def common_type(types: Sequence[PropertyType]) -> PropertyType:
    """The type of a column of a union, whose inputs differ in null and enum values only."""
    return replace(types[0], nullable=any(type_.nullable for type_ in types), enum_values=None)


def _typed(columns: tuple[Column, ...], union: Union) -> tuple[Column, ...]:
    """The columns of the result, in the types of the union."""
    return tuple(
        replace(column, expression=ir.Output(place, made.expression.type))
        for place, (column, made) in enumerate(zip(columns, union.columns, strict=False))
    )


def is_same_kind(left: PropertyType, right: PropertyType) -> bool:
    """True for types that differ in null and enum values only."""
    return left.form == right.form


def _check_types(context: Context, body: ast.ReadBody, branches: Sequence[Branch]) -> bool:
    """Report a column that has another type in another pattern."""
    first = branches[0]
    for other in branches[1:]:
        if len(other.columns) != len(first.columns):
            hint = "bind an interface, or name the properties"
            context.error("T7", "the entities of this pattern have different properties", body.span, hint)
            return False
        pairs = [(a.expression.type, b.expression.type) for a, b in zip(first.columns, other.columns, strict=True)]
        pairs += [(a.expression.type, b.expression.type) for a, b in zip(first.order, other.order, strict=True)]
        for left, right in pairs:
            if not is_same_kind(left, right):
                message = f"a value of this pattern is {left} for one type of node and {right} for another"
                context.error("T7", message, body.span, "cast it, or name a type")
                return False
    return True
