"""Entities as values: ``$p.*`` is one column per property for the executors, and one struct in the result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from omnigraph.lang import gq_ast as ast
from omnigraph.query import expressions as ir
from omnigraph.query.ir import Column
from omnigraph.query.scope import Context, Scope, VariableKind, entity_type, report_gone, suggest_variable

FIRST = "id"
"""The first field of every entity. No property has this name, so it also marks where an entity starts."""
TYPE = "type"
ENDS = (("src", "from"), ("dst", "to"))
"""The stored names of the ends of an edge, and those in the language."""


def entity_columns(context: Context, scope: Scope, node: ast.PropertyAccess, name: str) -> tuple[Column, ...] | None:
    """The columns of ``$v.*``: id, type and all properties but Blobs; of an interface only its own properties."""
    properties = context.interfaces.get(node.variable.name)
    bound = scope.lookup(node.variable.name)
    if bound is None or bound.kind not in (VariableKind.NODE, VariableKind.EDGE):
        if not scope.is_broken(node.variable.name) and not report_gone(context, bound, node.variable.span):
            hint = suggest_variable(context, scope, node.variable.name)
            context.error("T6", f"`${node.variable.name}` is no node or edge", node.variable.span, hint)
        return None
    text = ir.OPTIONAL_TEXT if bound.optional else ir.TEXT
    if context.is_former:
        # The later stage reads what it needs of the entity; of several types it must know which.
        varies = node.variable.name in context.interfaces
        kind = Column(name, ir.TypeName(bound.name, bound.type_name, text), TYPE)
        identity = Column(name, ir.EntityId(bound.name, text), FIRST if varies else None)
        return (identity, kind) if varies else (identity,)
    columns = [Column(name, ir.EntityId(bound.name, text, is_text=True), FIRST)]
    if bound.kind is VariableKind.EDGE:
        columns += [Column(name, ir.Property(bound.name, end, text), field) for end, field in ENDS]
        edge = context.catalog.edges[bound.type_name]
        for end in edge.ends:
            if end.is_typed:
                columns.append(Column(name, ir.Property(bound.name, f"{end.column}_type", text), end.type_word))
            elif properties is not None:
                # An edge of any type has the types of both ends, so that all edge types have the same fields.
                columns.append(Column(name, ir.Constant(end.types[0], ir.TEXT), end.type_word))
    declared = entity_type(context.catalog, bound).properties
    if TYPE not in declared:
        columns.append(Column(name, ir.TypeName(bound.name, bound.type_name, text), TYPE))
    for property_ in declared.values():
        type_ = property_.type
        if type_.is_blob or (properties is not None and property_.name not in properties):
            continue
        held = replace(type_, nullable=type_.nullable or bound.optional, enum_values=None)
        columns.append(Column(name, ir.Property(bound.name, property_.name, held), property_.name))
    return tuple(columns)


def result_columns(columns: tuple[Column, ...]) -> Iterator[tuple[int, tuple[Column, ...]]]:
    """The columns of a result: each with the position of its first column, an entity with all of its columns."""
    start = 0
    while start < len(columns):
        stop = start + 1
        if columns[start].field is not None:
            while stop < len(columns) and columns[stop].field not in (None, FIRST):
                stop += 1
        yield start, columns[start:stop]
        start = stop
