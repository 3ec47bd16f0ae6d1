"""Plans of reads over interfaces, any type and any edge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from omnigraph.lang import gq_ast as ast
from omnigraph.lang.diagnostics import Diagnostics
from omnigraph.query import expressions as ir
from omnigraph.query.lower import lower_read
from omnigraph.query.polymorphic.expand import Pattern, concrete, expand
from omnigraph.query.polymorphic.projections import (
    check_any,
    check_reads,
    distinct_entities,
    former_interfaces,
    interfaces_of,
    spelled_out,
)
from omnigraph.query.polymorphic.union import lower_union
from omnigraph.query.reads import CheckedRead, check_read
from omnigraph.query.scope import Context
from omnigraph.query.stages.former import Former, Planned, merged
from omnigraph.query.variables import replace_rankings
from omnigraph.schema.ir import PropertyIR


def plan_union(context: Context, body: ast.ReadBody) -> Planned | None:
    """The operators and columns of a polymorphic read; None if an error was reported."""
    check_reads(context, body)
    patterns = None if context.diagnostics.has_errors else expand(context, body.clauses, body.span)
    if patterns is None:
        return None
    parts = [projection.expression for projection in body.projections]
    parts += [key.expression for key in body.order]
    check_any(context, body.clauses, parts, common_names(context, body.clauses, patterns))
    if context.diagnostics.has_errors:
        return None
    properties = readable(context, body.clauses, patterns)
    reads: list[CheckedRead] = []
    for pattern in patterns:
        former = None if context.former is None else context.former.narrowed(pattern.former)
        own = replace(context, interfaces=properties, former=former)
        read = _check(own, body, pattern, context.former)
        if read is None:
            return None
        reads.append(read)
    first = reads[0]
    if len(reads) == 1:
        return Planned(*lower_read(first), first.entities, first.names)
    lowered = lower_union(context, body, reads)
    if lowered is None:
        return None
    found = {place: merged([read.entities[place] for read in reads]) for place in first.entities}
    return Planned(*lowered, {place: item for place, item in found.items() if item is not None}, first.names)


def readable(
    context: Context, clauses: tuple[ast.Clause, ...], patterns: Sequence[Pattern]
) -> dict[str, frozenset[str]]:
    """The polymorphic variables with the properties that can be read of them.

    Those are the properties of the interface, or those that all types share. A variable whose type is the same in all
    patterns is like any other one.
    """
    catalog = context.catalog
    interfaces = {**former_interfaces(context, clauses), **interfaces_of(context, clauses)}
    found = {name: properties for name, (_, properties) in interfaces.items()}
    for name in dict.fromkeys(name for pattern in patterns for name in pattern.types):
        types = {pattern.types[name] for pattern in patterns if name in pattern.types}
        if len(types) > 1 and name not in found:
            found[name] = _shared([catalog.nodes[type_].properties for type_ in sorted(types)])
    for name, edges in _edge_types(context, clauses, patterns).items():
        found[name] = _shared([catalog.edges[type_].properties for type_ in sorted(edges)])
    return found


def common_names(
    context: Context, clauses: tuple[ast.Clause, ...], patterns: Sequence[Pattern]
) -> dict[str, frozenset[str]]:
    """The variables with several types and no interface, and the names of the properties that all of these have."""
    known = {**former_interfaces(context, clauses), **interfaces_of(context, clauses)}
    nodes, edges = context.catalog.nodes, context.catalog.edges
    found: dict[str, list[frozenset[str]]] = {}
    for pattern in patterns:
        for name, type_ in pattern.types.items():
            found.setdefault(name, []).append(frozenset(nodes[type_].properties))
    for name, types in _edge_types(context, clauses, patterns).items():
        found[name] = [frozenset(edges[type_].properties) for type_ in types]
    return {name: frozenset.intersection(*every) for name, every in found.items() if name not in known and every}


def _any_edges(clauses: tuple[ast.Clause, ...]) -> list[str]:
    """The variables of the edges of any type."""
    return [
        clause.edge_variable.name
        for clause in clauses
        if isinstance(clause, ast.Traversal) and clause.is_any and clause.edge_variable is not None
    ]


def _edge_types(context: Context, clauses: tuple[ast.Clause, ...], patterns: Sequence[Pattern]) -> dict[str, set[str]]:
    """The types of the edges that are bound over any type."""
    found: dict[str, set[str]] = {name: set() for name in _any_edges(clauses)}
    for pattern in patterns:
        for clause in pattern.clauses:
            if isinstance(clause, ast.Traversal) and clause.edge_variable is not None:
                edge = context.catalog.edge(clause.edge.text)
                if edge is not None and clause.edge_variable.name in found:
                    found[clause.edge_variable.name].add(edge.name)
    return found


def _check(context: Context, body: ast.ReadBody, pattern: Pattern, whole: Former | None) -> CheckedRead | None:
    """One concrete pattern, checked by itself: errors of the first wrong one are reported."""
    found = Diagnostics(context.diagnostics.source)
    start = None if whole is None or context.former is None else context.former.operator(whole)
    read = check_read(replace(context, diagnostics=found), _concrete(context, body, pattern), start)
    if read is not None and not found.has_errors and _fuses(read):
        found.error("T21", "`rrf` ranks within one type", body.span, "order by `bm25` or `nearest`, or name the type")
    for item in found.report():
        context.error(item.code, item.message, item.span, item.hint)
    return None if found.has_errors else read


def _concrete(context: Context, body: ast.ReadBody, pattern: Pattern) -> ast.ReadBody:
    """The read with the types of one pattern."""
    # Alone an edge is no value, except to the next stage.
    edges = frozenset() if context.is_former else frozenset(_any_edges(body.clauses))
    polymorphic = frozenset(context.interfaces) - edges

    def typed(node: ast.Expr) -> ast.Expr:
        return concrete(context, distinct_entities(node, polymorphic), pattern.typing)

    shown = (spelled_out(projection, polymorphic) for projection in body.projections)
    return replace(
        body,
        clauses=pattern.clauses,
        projections=tuple(replace(projection, expression=typed(projection.expression)) for projection in shown),
        order=tuple(replace(key, expression=typed(key.expression)) for key in body.order),
        having=None if body.having is None else typed(body.having),
    )


def _shared(declared: list[Mapping[str, PropertyIR]]) -> frozenset[str]:
    """The properties that all of these types have, with one type."""
    kinds = [{name: item.type.form for name, item in properties.items()} for properties in declared]
    return frozenset(name for name, kind in kinds[0].items() if all(other.get(name) == kind for other in kinds))


def _fuses(read: CheckedRead) -> bool:
    found: list[ir.Ranking] = []

    def note(ranking: ir.Ranking) -> ir.Expr:
        found.append(ranking)
        return ranking

    for part in (*(column.expression for column in read.columns), *(key.expression for key in read.order)):
        replace_rankings(part, note)
    return any(isinstance(ranking, ir.Rrf) for ranking in found)
