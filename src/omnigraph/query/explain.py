"""Text rendering of the IR for ``omnigraph explain``.

One operator per line, inputs indented below; read from the bottom to follow the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Final, assert_never

from omnigraph.core.decimals import decimal_text
from omnigraph.core.functions import ScalarFunction
from omnigraph.core.scalars import Scalar
from omnigraph.query import expressions as ir
from omnigraph.query.ir import (
    TARGET,
    AntiJoin,
    AssignmentIR,
    Column,
    CrossJoin,
    DeleteEdges,
    DeleteNodes,
    Direction,
    Distinct,
    EntityStatement,
    Expand,
    Filter,
    ForMatches,
    ForRecords,
    Group,
    InsertEdge,
    InsertNode,
    Mark,
    MutationIR,
    Operator,
    OptionalJoin,
    Outer,
    Project,
    QueryIR,
    Scan,
    Score,
    ShortestPath,
    Slice,
    Sort,
    Stage,
    StatementIR,
    Union,
    UpdateEdges,
    UpdateNodes,
)
from omnigraph.query.rewrite.tree import inputs
from omnigraph.query.scope import ANONYMOUS
from omnigraph.query.stages.former import COLUMN_MARK
from omnigraph.query.types.literals import TEXTS

SHOWN_ITEMS_MAX = 8


def explain(plan: QueryIR | MutationIR) -> str:
    """The whole plan as lines of text."""
    header = ", ".join(f"${parameter.name}: {parameter.spelled_type}" for parameter in plan.parameters)
    lines = [f"{'query' if isinstance(plan, QueryIR) else 'mutation'} {plan.name}({header})"]
    if isinstance(plan, QueryIR):
        lines.extend(f"  {line}" for line in _tree(plan.root, 0, set()))
    else:
        lines.extend(f"  {line}" for line in statement_lines(plan))
    return "\n".join(lines)


def _tree(operator: Operator, depth: int, shown: set[Operator]) -> Iterator[str]:
    """The lines of a tree. A stage that several patterns start from is ``shown`` once, and it runs once."""
    yield "  " * depth + describe(operator)
    for below in inputs(operator):
        if isinstance(operator, Stage):
            if below in shown:
                yield "  " * (depth + 1) + "the stage above"
                continue
            shown.add(below)
        yield from _tree(below, depth + 1, shown)


def describe(operator: Operator) -> str:
    """One operator without its inputs."""
    match operator:
        case Scan():
            bound = f"${_shown(operator.variable)}: {operator.type_name}"
            return f"Scan {bound}{_where(operator.predicate)}{_reads(operator.columns)}"
        case Outer():
            return f"Outer {_variables(operator.variables)}"
        case Expand():
            return _expand(operator)
        case ShortestPath():
            edge = _edge(operator.edge, operator.direction, operator.hops.low, operator.hops.high)
            ends = f"${_shown(operator.source)} {edge} ${_shown(operator.target)}"
            paths = f"{'all ' if operator.every else ''}{ends}{' with nodes' if operator.wants_nodes else ''}"
            return f"ShortestPath ${operator.path_variable}: {paths}"
        case CrossJoin():
            return "CrossJoin"
        case Filter():
            return f"Filter {render(operator.predicate)}"
        case AntiJoin():
            return "AntiJoin (drop rows that match the second input)"
        case Mark():
            return f"Mark {marked(operator.variable)} (true for rows that match the second input)"
        case OptionalJoin():
            return f"OptionalJoin introduces {_variables(operator.introduces)}"
        case Score():
            parts = zip(operator.rankings, operator.required, strict=True)
            shown = [f"#{i} {render(item)}{' required' if must else ''}" for i, (item, must) in enumerate(parts)]
            return f"Score {', '.join(shown)}"
        case Union():
            return f"Union of {len(operator.inputs)} patterns"
        case Group() | Project():
            columns = ", ".join(f"{render(column.expression)} as {_column(column)}" for column in operator.columns)
            return f"{type(operator).__name__} {columns}"
        case Distinct():
            return "Distinct"
        case Stage():
            return _stage(operator)
        case Sort():
            keys = [f"{render(key.expression)} {'desc' if key.descending else 'asc'}" for key in operator.keys]
            return f"Sort {', '.join(keys)}"
        case Slice():
            limit = "all" if operator.limit is None else operator.limit
            count = f"${operator.limit_parameter}" if operator.limit_parameter else limit
            offset = f"${operator.offset_parameter}" if operator.offset_parameter else operator.offset
            return f"Slice limit {count} offset {offset}"
        case _:
            assert_never(operator)


def _stage(operator: Stage) -> str:
    bound = [f"${item.variable}: {item.type_name}{_reads(item.columns)}" for item in operator.entities]
    bound += [f"${_shown(item.variable)}" for item in operator.values]
    return f"Stage binds {', '.join(bound) or 'nothing'}"


def _column(column: Column) -> str:
    return column.name if column.field is None else f"{column.name}.{column.field}"


def _expand(operator: Expand) -> str:
    edge = _edge(operator.edge, operator.direction, operator.hops.low, operator.hops.high)
    bound = "" if operator.edge_variable is None else f"${operator.edge_variable}: "
    start = operator.target if operator.from_target else operator.source
    how = (
        "closes a cycle"
        if operator.closes
        else f"from ${_shown(start)} binds ${_shown(operator.new_variable)}: {operator.new_type}"
    )
    edge_where = "" if operator.edge_predicate is None else f" edge where {render(operator.edge_predicate)}"
    edge_reads = f" edge reads ({', '.join(operator.edge_columns)})" if operator.edge_columns else ""
    walk = f"${_shown(operator.source)} {bound}{edge} ${_shown(operator.target)}"
    return f"Expand {walk} {how}{_where(operator.predicate)}{_reads(operator.columns)}{edge_where}{edge_reads}"


def _edge(name: str, direction: Direction, low: int, high: int) -> str:
    hops = "" if (low, high) == (1, 1) else f"{{{low},{high}}}"
    arrows = {Direction.OUT: ("-[", "]->"), Direction.IN: ("<-[", "]-"), Direction.BOTH: ("-[", "]-")}
    return f"{arrows[direction][0]}{name}{hops}{arrows[direction][1]}"


def _shown(name: str) -> str:
    return "_" if name.startswith(ANONYMOUS) else name.replace(COLUMN_MARK, ".")


def _computed(expression: ir.Computed) -> str:
    match expression.part:
        case ir.ComputedPart.FOUND:
            return marked(expression.variable)
        case ir.ComputedPart.VALUE:
            return f"${_shown(expression.variable)}"
        case part:
            return f"${expression.variable}.{part.value}"


def marked(name: str) -> str:
    """The value of an ``exists`` block, by its number."""
    return f"exists #{name.removeprefix(ANONYMOUS)}"


def _variables(names: tuple[str, ...]) -> str:
    return ", ".join(f"${_shown(name)}" for name in names) or "nothing"


def _where(predicate: ir.Expr | None) -> str:
    return "" if predicate is None else f" where {render(predicate)}"


def _reads(columns: tuple[str, ...]) -> str:
    return f" reads ({', '.join(columns)})" if columns else ""


def render(expression: ir.Expr) -> str:
    """An expression as text, close to how it would be written."""
    match expression:
        case ir.Constant():
            return _constant(expression)
        case ir.Parameter():
            return f"${expression.name}"
        case ir.Now():
            return "now()"
        case ir.Property():
            owner = "" if expression.variable == TARGET else f"${_shown(expression.variable)}."
            return owner + expression.name
        case ir.EntityId():
            return "id" if expression.variable == TARGET else f"id(${_shown(expression.variable)})"
        case ir.TypeName():
            return f"type(${_shown(expression.variable)})"
        case ir.Item():
            return f"${expression.variable}"
        case ir.Computed():
            return _computed(expression)
        case ir.Compare() | ir.Arithmetic():
            return f"{_inner(expression.left)} {expression.operator.value} {_inner(expression.right)}"
        case ir.Logic():
            return f" {expression.operator.value} ".join(_inner(operand) for operand in expression.operands)
        case ir.Member():
            return f"{_inner(expression.item)} in {_inner(expression.items)}"
        case ir.ListOf():
            return f"[{', '.join(render(item) for item in expression.items)}]"
        case ir.TextMatch():
            return f"{_inner(expression.text)} {expression.operator.value} {_inner(expression.part)}"
        case ir.IsNull():
            return f"{_inner(expression.operand)} is {'not ' if expression.negated else ''}null"
        case ir.Not():
            return f"not {_inner(expression.operand)}"
        case ir.Call():
            return _call(expression)
        case ir.Cast():
            wanted = replace(expression.type, nullable=False)
            return f"cast({render(expression.operand)} as {wanted})"
        case ir.Case():
            tests = (f"when {render(test)} then {render(value)}" for test, value in expression.branches)
            return f"case {' '.join(tests)} else {render(expression.otherwise)} end"
        case ir.Quantified(quantifier, variable, items, predicate):
            return f"{quantifier.value}(${variable} in {render(items)} where {render(predicate)})"
        case ir.Search():
            edits = "" if expression.edits is None else f", {render(expression.edits)}"
            return f"{expression.kind.value}({render(expression.text)}, {render(expression.query)}{edits})"
        case ir.Nearest():
            return f"nearest({render(expression.vector)}, {render(expression.query)})"
        case ir.Bm25():
            return f"bm25({render(expression.text)}, {render(expression.query)})"
        case ir.Rrf():
            return f"rrf({', '.join(render(arm) for arm in expression.arms)}, {render(expression.k)})"
        case ir.Aggregate():
            return _aggregate(expression)
        case ir.Output():
            return f"column {expression.position + 1}"
        case ir.ScoreColumn():
            return f"score #{expression.number}"
        case _:
            assert_never(expression)


def _aggregate(expression: ir.Aggregate) -> str:
    distinct = "distinct " if expression.distinct else ""
    fraction = [] if expression.fraction is None else [str(expression.fraction)]
    others = "".join(f", {item}" for item in (*fraction, *map(render, expression.by)))
    return f"{expression.function.value}({distinct}{render(expression.argument)}{others})"


_COMPOUND: Final = ir.Compare | ir.Arithmetic | ir.Logic | ir.Member | ir.TextMatch | ir.IsNull | ir.Not


def _inner(expression: ir.Expr) -> str:
    return f"({render(expression)})" if isinstance(expression, _COMPOUND) else render(expression)


def _call(expression: ir.Call) -> str:
    """A call, or the syntax of a function that has one of its own."""
    arguments = [render(argument) for argument in expression.arguments]
    match expression.function:
        case ScalarFunction.ITEM:
            return f"{arguments[0]}[{arguments[1]}]"
        case ScalarFunction.SLICE:
            return f"{arguments[0]}[{arguments[1]}:{arguments[2]}]"
        case ScalarFunction.JSON_AT:
            return arguments[0] + "".join(f"[{argument}]" for argument in arguments[1:])
        case ScalarFunction.DIFFERENCE:
            return f"({' - '.join(arguments)})"
        case ScalarFunction.ADD_DURATIONS | ScalarFunction.ADD_TO_TIME:
            return f"({' + '.join(arguments)})"
        case ScalarFunction.SCALE_DURATION:
            return f"({' * '.join(arguments)})"
        case ScalarFunction.ADD_MONTHS | ScalarFunction.ADD_DAYS | ScalarFunction.ADD_MILLISECONDS as function:
            return f"({arguments[0]} + {arguments[1]} {function.value.split()[1]})"
        case function:
            return f"{function.value}({', '.join(arguments)})"


def _constant(constant: ir.Constant) -> str:
    if isinstance(constant.value, tuple):
        items = [_scalar(item, constant.type.scalar) for item in constant.value[:SHOWN_ITEMS_MAX]]
        more = len(constant.value) - SHOWN_ITEMS_MAX
        return f"[{', '.join(items)}{f', ... {more} more' if more > 0 else ''}]"
    return _scalar(constant.value, constant.type.scalar)


def _scalar(value: ir.ConstantValue, scalar: Scalar) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str() if scalar is Scalar.JSON:
            return value
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
        case int() if scalar in TEXTS:
            return f'{scalar.value.lower()}("{TEXTS[scalar](value)}")'
        case Decimal():
            return f'decimal("{decimal_text(value)}")'
        case _:
            return str(value)


def statement_lines(plan: MutationIR) -> list[str]:
    """The statements as numbered lines, with the operators of their patterns."""
    lines: list[str] = []
    for number, item in enumerate(plan.statements, 1):
        lines.append(f"{number}. {describe_statement(item)}")
        if isinstance(item, ForMatches):
            lines.extend(f"    {line}" for line in _tree(item.root, 0, set()))
        if isinstance(item, ForMatches | ForRecords):
            lines += [f"  {number}.{part} {describe_statement(inner)}" for part, inner in enumerate(item.statements, 1)]
    return lines


def describe_statement(statement: StatementIR) -> str:
    """One statement, without those that run for its rows."""
    match statement:
        case InsertNode():
            verb = "UpsertNode" if statement.keeps else "InsertNode"
            return f"{verb} {statement.type_name} {_assignments(statement.assignments)}{_returned(statement)}"
        case InsertEdge():
            ends = f"from {_node(statement.source, statement.source_type)}"
            ends += f" to {_node(statement.target, statement.target_type)}"
            verb = "UpsertEdge" if statement.keeps else "InsertEdge"
            return f"{verb} {statement.type_name} {ends} {_assignments(statement.assignments)}{_returned(statement)}"
        case UpdateNodes() | UpdateEdges():
            set_ = _assignments(statement.assignments)
            return f"{type(statement).__name__} {_chosen(statement, f' set {set_}')}{_returned(statement)}"
        case DeleteNodes():
            return f"DeleteNodes {_chosen(statement)}, and their edges{_returned(statement)}"
        case DeleteEdges():
            return f"DeleteEdges {_chosen(statement)}{_returned(statement)}"
        case ForMatches():
            return "ForMatches"
        case ForRecords():
            return f"ForRecords ${statement.variable} in ${statement.parameter}"
        case _:
            assert_never(statement)


def _node(id_: ir.Expr, type_: ir.Expr | None) -> str:
    return render(id_) if type_ is None else f"{render(type_)} {render(id_)}"


def _chosen(statement: UpdateNodes | UpdateEdges | DeleteNodes | DeleteEdges, change: str = "") -> str:
    """The entities that a statement changes: those of a pattern, of a condition, or of both."""
    bound = "" if statement.bound is None else f" with id {render(statement.bound)}"
    is_all = statement.bound is not None and statement.predicate == ir.TRUE
    where = "" if is_all else f" where {render(statement.predicate)}"
    return f"{statement.type_name}{change}{bound}{where}"


def _returned(statement: EntityStatement) -> str:
    columns = ", ".join(f"{render(column.expression)} as {column.name}" for column in statement.returning)
    return f" returning {columns}" if columns else ""


def _assignments(assignments: tuple[AssignmentIR, ...]) -> str:
    return "{" + ", ".join(f"{item.property}: {render(item.value)}" for item in assignments) + "}"
