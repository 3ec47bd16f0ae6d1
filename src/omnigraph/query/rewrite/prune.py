"""Column pruning: every scan and expansion provides only the properties that operators above read.

Reads propagate top-down per block: two ``not`` blocks may use one name for variables of different types.
"""

from __future__ import annotations

from dataclasses import replace

from omnigraph.query import expressions as ir
from omnigraph.query.ir import AntiJoin, Expand, Mark, Operator, OptionalJoin, Scan, ShortestPath, Stage
from omnigraph.query.rewrite.tree import expressions_of, inputs, map_inputs
from omnigraph.query.variables import walk

Reads = frozenset[tuple[str, str]]
"""Pairs of a variable and the property or path attribute that is read."""


def prune_columns(root: Operator) -> Operator:
    """Set the columns of every scan and expansion."""
    return _prune(root, frozenset())


def _prune(operator: Operator, above: Reads) -> Operator:
    reads = above | _own_reads(operator)
    match operator:
        case AntiJoin() | Mark():
            inner = _prune(operator.inner, frozenset())
            return replace(operator, input=_prune(operator.input, reads | _all_reads(operator.inner)), inner=inner)
        case OptionalJoin():
            visible = frozenset(read for read in reads if read[0] in operator.introduces)
            inner = _prune(operator.inner, visible)
            return replace(operator, input=_prune(operator.input, reads | _all_reads(operator.inner)), inner=inner)
        case Stage():
            # The variables of the former stage are others, even those of the same name.
            entities = tuple(replace(item, columns=_columns(reads, item.variable)) for item in operator.entities)
            return replace(operator, input=_prune(operator.input, frozenset()), entities=entities)
    changed = map_inputs(operator, lambda below: _prune(below, reads))
    match changed:
        case Scan():
            return replace(changed, columns=_columns(reads, changed.variable))
        case Expand():
            new = () if changed.closes else _columns(reads, changed.new_variable)
            edge = () if changed.edge_variable is None else _columns(reads, changed.edge_variable)
            return replace(changed, columns=new, edge_columns=edge)
        case ShortestPath():
            return replace(changed, wants_nodes=(changed.path_variable, ir.ComputedPart.NODES.value) in reads)
        case _:
            return changed


def _own_reads(operator: Operator) -> Reads:
    found: set[tuple[str, str]] = set()
    for expression in expressions_of(operator):
        for part in walk(expression):
            if isinstance(part, ir.Property):
                found.add((part.variable, part.name))
            elif isinstance(part, ir.Computed):
                found.add((part.variable, part.part.value))
    return frozenset(found)


def _all_reads(operator: Operator) -> Reads:
    """All reads of a block, of its own and of outer variables."""
    return _own_reads(operator).union(*map(_all_reads, inputs(operator)))


def _columns(reads: Reads, variable: str) -> tuple[str, ...]:
    return tuple(sorted(name for reader, name in reads if reader == variable))
