"""The ``operation`` descriptor: what a valid query returns, reads and writes, known without running it."""

from __future__ import annotations

from typing import Final

from omnigraph.core.scalars import Scalar
from omnigraph.lang import gq_ast as ast
from omnigraph.query import expressions as ir
from omnigraph.query.ir import (
    DeleteEdges,
    DeleteNodes,
    Expand,
    InsertEdge,
    InsertNode,
    MutationIR,
    Operator,
    QueryIR,
    Scan,
    ShortestPath,
    UpdateNodes,
)
from omnigraph.query.rewrite.tree import inputs
from omnigraph.schema.catalog import Catalog

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
}


def describe_operation(query: ast.Query, plan: QueryIR | MutationIR, catalog: Catalog) -> dict[str, object]:
    """What a valid query returns, reads and writes."""
    reads: set[tuple[str, str]] = set()
    writes: set[tuple[str, str]] = set()
    result: list[dict[str, object]] = []
    if isinstance(plan, QueryIR):
        _collect_reads(plan.root, catalog, reads)
        assert isinstance(query.body, ast.ReadBody)
        for projection, column in zip(query.body.projections, plan.columns, strict=True):
            result.append(_result_column(projection, column.expression))
    else:
        _collect_writes(plan, catalog, reads, writes)
    return {"result": result, "reads": _sorted_types(reads), "writes": _sorted_types(writes)}


def _sorted_types(types: set[tuple[str, str]]) -> list[dict[str, str]]:
    return [
        {"kind": kind, "type_name": name} for kind, name in sorted(types, key=lambda item: (item[0] != "node", item[1]))
    ]


def _result_column(projection: ast.Projection, expression: ir.Expr) -> dict[str, object]:
    name = projection.alias.text if projection.alias else _static_name(projection.expression)
    if isinstance(expression, ir.EntityId):
        return {"name": name, "kind": "object", "nullable": expression.type.nullable}
    type_ = expression.type
    nullable = type_.nullable or isinstance(expression, ir.Aggregate)
    if type_.is_list:
        return {"name": name, "kind": "list", "item_kind": KINDS[type_.scalar], "nullable": nullable}
    column: dict[str, object] = {"name": name, "kind": KINDS[type_.scalar]}
    if type_.is_vector:
        column["vector_dim"] = type_.dimension
    return {**column, "nullable": nullable}


def _static_name(node: ast.Expr) -> str:
    match node:
        case ast.PropertyAccess():
            return node.property.text
        case ast.Variable():
            return node.name
        case ast.Aggregate():
            return node.function.value
        case ast.Call():
            return node.function
        case ast.Literal() | ast.ListLiteral():
            return "literal"
        case _:
            return "expression"


def _collect_reads(operator: Operator, catalog: Catalog, reads: set[tuple[str, str]]) -> None:
    match operator:
        case Scan():
            reads.add(("node", operator.type_name))
        case Expand() | ShortestPath():
            edge = catalog.edges[operator.edge]
            reads.update({("edge", edge.name), ("node", edge.source), ("node", edge.target)})
    for below in inputs(operator):
        _collect_reads(below, catalog, reads)


def _collect_writes(
    plan: MutationIR, catalog: Catalog, reads: set[tuple[str, str]], writes: set[tuple[str, str]]
) -> None:
    for statement in plan.statements:
        touched: set[tuple[str, str]]
        match statement:
            case InsertEdge() | DeleteEdges():
                touched = {("edge", statement.type_name)}
                if isinstance(statement, InsertEdge):
                    edge = catalog.edges[statement.type_name]
                    reads.update({("node", edge.source), ("node", edge.target)})
            case DeleteNodes():
                incident = {("edge", edge.name) for edge in catalog.edges_of(statement.type_name)}
                touched = {("node", statement.type_name), *incident}
            case InsertNode() | UpdateNodes():
                touched = {("node", statement.type_name)}
        reads.update(touched)
        writes.update(touched)
