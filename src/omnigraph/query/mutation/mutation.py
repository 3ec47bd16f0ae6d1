"""The body of a mutation: its statements in order, with the patterns and lists they run for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from omnigraph.lang import gq_ast as ast
from omnigraph.query import expressions as ir
from omnigraph.query.bind import bind_match
from omnigraph.query.ir import (
    TARGET,
    AssignmentIR,
    Column,
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
from omnigraph.query.polymorphic.expand import expand, is_polymorphic
from omnigraph.query.polymorphic.plan import readable
from omnigraph.query.polymorphic.union import common_type
from omnigraph.query.rewrite import rewrite
from omnigraph.query.rewrite.renaming import Renaming
from omnigraph.query.scope import UNCODED, BoundVariable, Context, Scope, VariableKind
from omnigraph.query.variables import with_children


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
    found = _check_concrete(context, matched)
    if found is None:
        return None
    columns, root, statements = found
    return ForMatches(columns, rewrite(restricted(root)), statements)


def _check_concrete(context: Context, matched: ast.Matched) -> Concrete | None:
    """The rows of a pattern with one type for each variable, and its statements; None if an error was reported."""
    bound = bind_match(context, matched)
    if bound is None:
        return None
    block, scope = bound
    checked = [check_statement(context, statement, scope) for statement in matched.statements]
    known = [statement for statement in checked if statement is not None]
    if context.diagnostics.has_errors or len(known) < len(checked):
        return None
    hoisted = _Hoisted()
    statements = tuple(hoisted.statement(statement) for statement in known)
    for written, before, after in zip(matched.statements, known, statements, strict=True):
        if before == after:
            # It would run once for every row of the pattern, also for none: hardly what its author meant.
            message = "the statement stands behind a match and uses none of its variables"
            context.error(UNCODED, message, written.span, "write it before the match")
            return None
    columns = tuple(hoisted.columns.values())
    return columns, lower_match(block, columns, tuple(scope.marked.values())), statements


def _check_matched_types(
    context: Context, matched: ast.Matched, restricted: Callable[[Operator], Operator]
) -> StatementIR | None:
    """A match over several types: the rows of all concrete patterns, for statements that mean the same in each."""
    patterns = expand(context, matched.clauses, matched.span)
    if patterns is None:
        return None
    own = replace(context, interfaces=readable(context, matched.clauses, patterns))
    made = [_check_concrete(own, replace(matched, clauses=pattern.clauses)) for pattern in patterns]
    known = [part for part in made if part is not None]
    if len(known) < len(made):
        return None
    shown, _, statements = known[0]
    for columns, _, others in known[1:]:
        if others != statements or len(columns) != len(shown):
            message = "a statement means entities of several types here"
            context.error(UNCODED, message, matched.span, "name the types of its variables in the match")
            return None
    types = [common_type([columns[place].expression.type for columns, _, _ in known]) for place in range(len(shown))]
    outputs = tuple(Column(item.name, ir.Output(place, types[place])) for place, item in enumerate(shown))
    inputs = tuple(Renaming(f"@{number}").operator(root) for number, (_, root, _) in enumerate(known, 1))
    return ForMatches(outputs, rewrite(restricted(Union(inputs, outputs))), statements)


Concrete = tuple[tuple[Column, ...], Operator, tuple[EntityStatement, ...]]
"""The columns of a match that statements read, its operators, and the statements."""


class _Hoisted:
    """Moves what statements read of a pattern into columns of its rows; the statements read these as items."""

    def __init__(self) -> None:
        self.columns: dict[ir.Expr, Column] = {}

    def item(self, part: ir.Expr) -> ir.Item:
        column = self.columns.setdefault(part, Column(f"c{len(self.columns)}", part))
        return ir.Item(column.name, part.type)

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
