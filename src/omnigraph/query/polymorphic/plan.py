"""Plans of reads over interfaces, any type and any edge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from omnigraph.lang import gq_ast as ast
from omnigraph.lang.diagnostics import Diagnostics
from omnigraph.query import expressions as ir
from omnigraph.query.ir import Column, Operator
from omnigraph.query.lower import lower_read
from omnigraph.query.polymorphic.expand import Pattern, expand
from omnigraph.query.polymorphic.projections import check_reads, interfaces_of, spelled_out
from omnigraph.query.polymorphic.union import lower_union
from omnigraph.query.reads import CheckedRead, check_read
from omnigraph.query.scope import Context
from omnigraph.query.variables import replace_rankings


def plan_union(context: Context, body: ast.ReadBody) -> tuple[Operator, tuple[Column, ...]] | None:
    """The operators and columns of a polymorphic read; None if an error was reported."""
    check_reads(context, body)
    patterns = None if context.diagnostics.has_errors else expand(context, body.clauses)
    if patterns is None:
        return None
    own, polymorphic = polymorphic_context(context, body.clauses, patterns)
    reads: list[CheckedRead] = []
    for pattern in patterns:
        read = _check(own, body, pattern, polymorphic)
        if read is None:
            return None
        reads.append(read)
    if len(reads) == 1:
        return lower_read(reads[0])
    return lower_union(context, body, reads)


def polymorphic_context(
    context: Context, clauses: tuple[ast.Clause, ...], patterns: Sequence[Pattern]
) -> tuple[Context, frozenset[str]]:
    """The context of the concrete patterns, and the variables whose type is not the same everywhere."""
    names = dict.fromkeys(name for pattern in patterns for name in pattern.types)
    types = {name: {pattern.types[name] for pattern in patterns if name in pattern.types} for name in names}
    # A variable whose type is the same everywhere is like any other one.
    varying = frozenset(name for name, found in types.items() if len(found) > 1)
    interfaces = {name: properties for name, (_, properties) in interfaces_of(context, clauses).items()}
    shared = {name: _shared(context, types[name]) for name in varying}
    return replace(context, interfaces={**shared, **interfaces}), varying | interfaces.keys()


def _check(context: Context, body: ast.ReadBody, pattern: Pattern, polymorphic: frozenset[str]) -> CheckedRead | None:
    """One concrete pattern, checked by itself: errors of the first wrong one are reported."""
    found = Diagnostics(context.diagnostics.source)
    projections = tuple(spelled_out(projection, polymorphic) for projection in body.projections)
    concrete = replace(body, clauses=pattern.clauses, projections=projections)
    read = check_read(replace(context, diagnostics=found), concrete)
    if read is not None and not found.has_errors and _fuses(read):
        found.error("T21", "`rrf` ranks within one type", body.span, "order by `bm25` or `nearest`, or name the type")
    for item in found.report():
        context.error(item.code, item.message, item.span, item.hint)
    return None if found.has_errors else read


def _shared(context: Context, types: set[str]) -> frozenset[str]:
    """The properties that all of these node types have, with one type."""
    declared = [context.catalog.nodes[name].properties for name in sorted(types)]
    kinds = [
        {name: (item.type.scalar, item.type.is_list, item.type.dimension) for name, item in properties.items()}
        for properties in declared
    ]
    return frozenset(name for name, kind in kinds[0].items() if all(other.get(name) == kind for other in kinds))


def _fuses(read: CheckedRead) -> bool:
    found: list[ir.Ranking] = []

    def note(ranking: ir.Ranking) -> ir.Expr:
        found.append(ranking)
        return ranking

    for part in (*(column.expression for column in read.columns), *(key.expression for key in read.order)):
        replace_rankings(part, note)
    return any(isinstance(ranking, ir.Rrf) for ranking in found)
