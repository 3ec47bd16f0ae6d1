"""The body of a mutation: its statements in order, with the patterns and lists they run for.

Statements behind a match read columns of its rows. Over several types each type has its own statement: a row of the
union of all patterns has the columns of every statement, those for another type are null, and an update or delete of a
null id changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.lang import gq_ast as ast
from omnigraph.query import expressions as ir
from omnigraph.query.bind import bind_match
from omnigraph.query.ir import (
    TARGET,
    AssignmentIR,
    Column,
    DeleteEdges,
    DeleteNodes,
    EntityStatement,
    ForMatches,
    ForRecords,
    InsertEdge,
    InsertNode,
    Operator,
    ParameterIR,
    StatementIR,
    Union,
    UpdateEdges,
    UpdateNodes,
)
from omnigraph.query.lower import lower_match
from omnigraph.query.mutation.statements import check_statement
from omnigraph.query.pattern import MarkedBlock, MatchBlock
from omnigraph.query.polymorphic.expand import expand
from omnigraph.query.polymorphic.plan import readable
from omnigraph.query.polymorphic.projections import check_clauses
from omnigraph.query.polymorphic.several import is_polymorphic
from omnigraph.query.polymorphic.union import common_type, is_same_kind
from omnigraph.query.rewrite import rewrite
from omnigraph.query.rewrite.renaming import Renaming
from omnigraph.query.scope import UNCODED, BoundVariable, Context, Scope, VariableKind
from omnigraph.query.variables import with_children
from omnigraph.schema.types import PropertyType


def check_mutation(
    context: Context,
    body: ast.MutationBody,
    parameters: tuple[ParameterIR, ...],
    restricted: Callable[[Operator], Operator],
) -> tuple[StatementIR, ...]:
    """Check every statement; the result is complete only if no error was reported.

    ``restricted`` keeps the operators of a pattern inside the data scope of the actor.
    """
    statements: list[StatementIR] = []
    _check_one_returning(context, body)
    for statement in body.statements:
        checked: StatementIR | None
        match statement:
            case ast.Matched():
                checked = _check_matched(context, statement, restricted)
            case ast.ForEach():
                checked = _check_for(context, statement, parameters)
            case _:
                checked = check_statement(context, statement, Scope())
        if checked is not None:
            statements.append(checked)
    return tuple(statements)


def _check_one_returning(context: Context, body: ast.MutationBody) -> None:
    found: ast.Statement | None = None
    for statement in body.statements:
        inner = statement.statements if isinstance(statement, ast.Matched | ast.ForEach) else (statement,)
        for item in inner:
            if item.returning and found is not None:
                message = "a mutation returns the rows of one statement, and an earlier one has `returning`"
                context.error(UNCODED, message, item.returning[0].span)
            found = item if item.returning else found


def _check_matched(
    context: Context, matched: ast.Matched, restricted: Callable[[Operator], Operator]
) -> StatementIR | None:
    if is_polymorphic(context, matched.clauses):
        return _check_matched_types(context, matched, restricted)
    pattern = _check_concrete(context, matched)
    if pattern is None:
        return None
    hoisted = _Hoisted()
    statements = tuple(hoisted.statement(statement) for statement in pattern.statements)
    columns = tuple(hoisted.columns.values())
    return ForMatches(columns, rewrite(restricted(pattern.lowered(columns))), statements)


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A pattern with one type for each variable, and the statements behind it."""

    block: MatchBlock
    marked: tuple[MarkedBlock, ...]
    statements: tuple[EntityStatement, ...]

    def lowered(self, columns: tuple[Column, ...]) -> Operator:
        return lower_match(self.block, columns, self.marked)


def _check_concrete(context: Context, matched: ast.Matched) -> _Pattern | None:
    """A concrete pattern and its statements; None if an error was reported."""
    bound = bind_match(context, matched)
    if bound is None:
        return None
    block, scope = bound
    checked = [check_statement(context, statement, scope) for statement in matched.statements]
    known = tuple(statement for statement in checked if statement is not None)
    if context.diagnostics.has_errors or len(known) < len(checked):
        return None
    for written, statement in zip(matched.statements, known, strict=True):
        if _Hoisted().statement(statement) == statement:
            # It would run once for every row of the pattern, also for none: hardly what its author meant.
            message = "the statement stands behind a match and uses none of its variables"
            context.error(UNCODED, message, written.span, "write it before the match")
            return None
    return _Pattern(block, tuple(scope.marked.values()), known)


def _check_matched_types(
    context: Context, matched: ast.Matched, restricted: Callable[[Operator], Operator]
) -> StatementIR | None:
    """A match over several types: the rows of all concrete patterns.

    A statement that means entities of several types becomes one statement for each type.
    """
    check_clauses(context, matched.clauses)
    patterns = None if context.diagnostics.has_errors else expand(context, matched.clauses, matched.span)
    if patterns is None:
        return None
    own = replace(context, interfaces=readable(context, matched.clauses, patterns))
    known: list[_Pattern] = []
    for pattern in patterns:
        part = _check_concrete(own, replace(matched, clauses=pattern.clauses))
        if part is None:
            return None
        known.append(part)
    typed: list[_TypedStatements | None] = []
    width = 0
    for forms in zip(*(part.statements for part in known), strict=True):
        found = _typed_statements(forms, width)
        width += 0 if found is None else len(found.columns[0])
        typed.append(found)
    for written, variants in zip(matched.statements, typed, strict=True):
        if variants is None:
            message = "a value of this statement has several types"
            context.error(UNCODED, message, written.span, "name the types of its variables in the match")
    parts = [variants for variants in typed if variants is not None]
    if len(parts) < len(typed):
        return None
    rows = [tuple(column for variants in parts for column in variants.columns[place]) for place in range(len(known))]
    types = [common_type([columns[place].expression.type for columns in rows]) for place in range(len(rows[0]))]
    outputs = tuple(Column(item.name, ir.Output(place, types[place])) for place, item in enumerate(rows[0]))
    inputs = tuple(
        Renaming(f"@{number}").operator(part.lowered(columns))
        for number, (part, columns) in enumerate(zip(known, rows, strict=True), 1)
    )
    statements = tuple(statement for variants in parts for statement in variants.statements)
    return ForMatches(outputs, rewrite(restricted(Union(inputs, outputs))), statements)


def _check_for(context: Context, loop: ast.ForEach, parameters: tuple[ParameterIR, ...]) -> StatementIR | None:
    parameter = next((item for item in parameters if item.name == loop.rows.name), None)
    if parameter is None or not parameter.fields:
        hint = "declare it as a list of records: `$rows: [{ name: String, age: I32? }]`"
        problem = "is not a declared parameter" if parameter is None else f"is {parameter.spelled_type}"
        context.error("T14", f"`${loop.rows.name}` {problem}; `for` takes a list of records", loop.rows.span, hint)
        return None
    if loop.variable.name in context.parameters:
        context.error(UNCODED, f"`${loop.variable.name}` is already a parameter", loop.variable.span)
    scope = Scope()
    for field in parameter.fields:
        name = f"{loop.variable.name}.{field.name}"
        scope.bind(BoundVariable(name, VariableKind.VALUE, "", type=field.type))
    checked = [check_statement(context, statement, scope) for statement in loop.statements]
    known = tuple(statement for statement in checked if statement is not None)
    return ForRecords(loop.variable.name, parameter.name, parameter.fields, known)


_CHANGES = (UpdateNodes, UpdateEdges, DeleteNodes, DeleteEdges)


@dataclass(frozen=True, slots=True)
class _TypedStatements:
    """One written statement: a statement for each type that it means, and the columns of each pattern's rows."""

    statements: tuple[EntityStatement, ...]
    columns: tuple[tuple[Column, ...], ...]


def _typed_statements(checked: Sequence[EntityStatement], start: int) -> _TypedStatements | None:
    """The forms of one statement, given as each pattern checks it; None if they cannot stand beside each other.

    ``start`` is the number of columns of earlier statements.
    """
    forms = [_Hoisted(is_union=True).statement(statement) for statement in checked]
    distinct = list(dict.fromkeys(forms))
    if len(distinct) > 1 and not all(_is_bound(statement) for statement in distinct):
        return None
    if any(not _returns_the_same(distinct[0], other) for other in distinct):
        return None
    made: list[EntityStatement] = []
    rows: list[list[Column]] = [[] for _ in checked]
    for form in distinct:
        hoisted = [_Hoisted(start + len(rows[0]), is_union=True) for _ in checked]
        written = [one.statement(statement) for one, statement in zip(hoisted, checked, strict=True)]
        first = forms.index(form)
        made.append(written[first])
        nulls = [_null(column) for column in hoisted[first].columns.values()]
        for row, one, other in zip(rows, hoisted, forms, strict=True):
            row.extend(one.columns.values() if other == form else nulls)
    return _TypedStatements(tuple(made), tuple(map(tuple, rows)))


def _is_bound(statement: EntityStatement) -> bool:
    return isinstance(statement, _CHANGES) and statement.bound is not None


def _returns_the_same(left: EntityStatement, right: EntityStatement) -> bool:
    pairs = zip(left.returning, right.returning, strict=True)
    return all(is_same_kind(one.expression.type, other.expression.type) for one, other in pairs)


def _null(column: Column) -> Column:
    return replace(column, expression=ir.Constant(None, _nullable(column.expression.type)))


def _nullable(type_: PropertyType) -> PropertyType:
    return replace(type_, nullable=True, enum_values=None)


class _Hoisted:
    """Moves what statements read of a pattern into columns of its rows; the statements read these as items."""

    def __init__(self, start: int = 0, *, is_union: bool = False) -> None:
        self.columns: dict[ir.Expr, Column] = {}
        self._start, self._is_union = start, is_union

    def item(self, part: ir.Expr) -> ir.Item:
        column = self.columns.setdefault(part, Column(f"c{self._start + len(self.columns)}", part))
        return ir.Item(column.name, _nullable(part.type) if self._is_union else part.type)

    def expression(self, expression: ir.Expr) -> ir.Expr:
        match expression:
            case ir.Property(variable=name) | ir.EntityId(variable=name) | ir.TypeName(variable=name):
                return expression if name == TARGET else self.item(expression)
            case ir.Computed():
                return self.item(expression)
            case ir.Search(text=ir.Property(variable=name)) if name != TARGET:
                return self.item(expression)
            case _:
                return with_children(expression, self.expression)

    def statement(self, statement: EntityStatement) -> EntityStatement:
        match statement:
            case InsertNode():
                return replace(statement, assignments=self._assignments(statement.assignments))
            case InsertEdge():
                return replace(
                    statement,
                    source=self.expression(statement.source),
                    target=self.expression(statement.target),
                    source_type=self._bound(statement.source_type),
                    target_type=self._bound(statement.target_type),
                    assignments=self._assignments(statement.assignments),
                )
            case UpdateNodes() | UpdateEdges():
                return replace(
                    statement,
                    assignments=self._assignments(statement.assignments),
                    predicate=self.expression(statement.predicate),
                    bound=self._bound(statement.bound),
                )
            case _:
                predicate = self.expression(statement.predicate)
                return replace(statement, predicate=predicate, bound=self._bound(statement.bound))

    def _bound(self, bound: ir.Expr | None) -> ir.Expr | None:
        return None if bound is None else self.expression(bound)

    def _assignments(self, assignments: tuple[AssignmentIR, ...]) -> tuple[AssignmentIR, ...]:
        return tuple(replace(item, value=self.expression(item.value)) for item in assignments)
