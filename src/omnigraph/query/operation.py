"""The ``operation`` descriptor: static result columns, reads and writes of a valid query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from omnigraph.core.scalars import Scalar
from omnigraph.lang import gq_ast as ast
from omnigraph.query import expressions as ir
from omnigraph.query.ir import (
    ONE_HOP,
    Column,
    DeleteEdges,
    DeleteNodes,
    Direction,
    Expand,
    ForMatches,
    InsertEdge,
    InsertNode,
    MutationIR,
    Operator,
    QueryIR,
    Scan,
    ShortestPath,
    UpdateEdges,
    UpdateNodes,
)
from omnigraph.query.rewrite.tree import inputs
from omnigraph.query.shaping.entities import result_columns
from omnigraph.schema.catalog import Catalog, EdgeType

KINDS: Final = {
    Scalar.STRING: "string",
    Scalar.BOOL: "bool",
    Scalar.I32: "int",
    Scalar.U32: "int",
    Scalar.I64: "bigint",
    Scalar.U64: "bigint",
    Scalar.F32: "float",
    Scalar.F64: "float",
    Scalar.DATE: "date",
    Scalar.DATETIME: "datetime",
    Scalar.BLOB: "blob",
    Scalar.VECTOR: "vector",
    # The kinds of Omnigraph 0.10 end here: these values travel as texts, and a JSON value as an object.
    Scalar.DECIMAL: "string",
    Scalar.TIME: "string",
    Scalar.DURATION: "string",
    Scalar.UUID: "string",
    Scalar.JSON: "object",
}


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of the result. ``item_kind`` is set for lists, ``vector_dimension`` for vectors."""

    name: str
    kind: str
    nullable: bool
    item_kind: str | None = None
    vector_dimension: int | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """The columns a query returns and the types it reads and writes, each as kind and name, nodes first."""

    result: tuple[ResultColumn, ...]
    reads: tuple[tuple[str, str], ...]
    writes: tuple[tuple[str, str], ...]


def describe_operation(query: ast.Query, plan: QueryIR | MutationIR, catalog: Catalog) -> Operation:
    """The descriptor of a valid query."""
    reads: set[tuple[str, str]] = set()
    writes: set[tuple[str, str]] = set()
    result: list[ResultColumn] = []
    if isinstance(plan, QueryIR):
        reads = types_read(plan.root, catalog)
        assert isinstance(query.body, ast.ReadBody)
        groups = [group for _, group in result_columns(plan.columns)]
        for projection, group in zip(query.body.projections, groups, strict=True):
            result.append(_result_column(projection, group[0]))
    else:
        result = [_typed_column(column.name, column.expression) for column in plan.returning]
        _collect_writes(plan, catalog, reads, writes)
    return Operation(tuple(result), _sorted_types(reads), _sorted_types(writes))


def _sorted_types(types: set[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(types, key=lambda item: (item[0] != "node", item[1])))


def _result_column(projection: ast.Projection, column: Column) -> ResultColumn:
    name = projection.alias.text if projection.alias else _static_name(projection.expression)
    if column.field is not None:
        return ResultColumn(name, "object", column.expression.type.nullable)
    return _typed_column(name, column.expression)


def _typed_column(name: str, expression: ir.Expr) -> ResultColumn:
    if isinstance(expression, ir.EntityId):
        return ResultColumn(name, "object", expression.type.nullable)
    type_ = expression.type
    nullable = type_.nullable or isinstance(expression, ir.Aggregate)
    if type_.is_list:
        return ResultColumn(name, "list", nullable, item_kind=KINDS[type_.scalar])
    return ResultColumn(name, KINDS[type_.scalar], nullable, vector_dimension=type_.dimension)


def _static_name(node: ast.Expr) -> str:
    match node:
        case ast.PropertyAccess():
            return node.variable.name if ast.is_entity(node) else node.property.text
        case ast.Variable():
            return node.name
        case ast.Aggregate():
            return node.function.value
        case ast.Call():
            return node.function
        case ast.Literal() | ast.ListLiteral():
            return "literal"
        case ast.Member():
            return node.name.text
        case _:
            return "expression"


def types_read(operator: Operator, catalog: Catalog) -> set[tuple[str, str]]:
    """The types that an operator and its inputs read, each as kind and name."""
    found: set[tuple[str, str]] = set()
    match operator:
        case Scan():
            found.add(("node", operator.type_name))
        case Expand() | ShortestPath():
            edge = catalog.edges[operator.edge]
            found.update({("edge", edge.name), *(("node", name) for name in walked_types(operator, edge))})
    for below in inputs(operator):
        found |= types_read(below, catalog)
    return found


def walked_types(operator: Expand | ShortestPath, edge: EdgeType) -> tuple[str, ...]:
    """The types of the nodes that a walk may visit."""
    is_step = isinstance(operator, Expand) and operator.hops == ONE_HOP and operator.direction is not Direction.BOTH
    return operator.pair if operator.pair is not None and is_step else edge.node_types


def _collect_writes(
    plan: MutationIR, catalog: Catalog, reads: set[tuple[str, str]], writes: set[tuple[str, str]]
) -> None:
    for outer in plan.statements:
        if isinstance(outer, ForMatches):
            reads |= types_read(outer.root, catalog)
    for statement in plan.entity_statements:
        touched: set[tuple[str, str]]
        match statement:
            case InsertEdge() | UpdateEdges() | DeleteEdges():
                touched = {("edge", statement.type_name)}
                if isinstance(statement, InsertEdge):
                    reads.update(("node", name) for name in catalog.edges[statement.type_name].node_types)
            case DeleteNodes():
                incident = {("edge", edge.name) for edge in catalog.edges_of(statement.type_name)}
                touched = {("node", statement.type_name), *incident}
            case InsertNode() | UpdateNodes():
                touched = {("node", statement.type_name)}
        reads.update(touched)
        writes.update(touched)
