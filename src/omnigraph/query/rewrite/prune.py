"""Every scan and expansion learns which properties are read above it, and brings no others."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from omnigraph.query import expressions as ir
from omnigraph.query.ir import Expand, Operator, Scan, ShortestPath
from omnigraph.query.rewrite.tree import expressions_of, inputs, map_inputs
from omnigraph.query.variables import walk

Reads = dict[str, set[str]]


def prune_columns(root: Operator) -> Operator:
    """Fill in the columns of every operator that brings properties."""
    reads: Reads = defaultdict(set)
    _collect(root, reads)
    return _assign(root, reads)


def _collect(operator: Operator, reads: Reads) -> None:
    for expression in expressions_of(operator):
        for part in walk(expression):
            if isinstance(part, ir.Property):
                reads[part.variable].add(part.name)
            elif isinstance(part, ir.PathValue):
                reads[part.variable].add(part.part.value)
    for below in inputs(operator):
        _collect(below, reads)


def _assign(operator: Operator, reads: Reads) -> Operator:
    operator = map_inputs(operator, lambda below: _assign(below, reads))
    match operator:
        case Scan():
            return replace(operator, columns=_columns(reads, operator.variable))
        case Expand():
            new = () if operator.closes else _columns(reads, operator.new_variable)
            edge = () if operator.edge_variable is None else _columns(reads, operator.edge_variable)
            return replace(operator, columns=new, edge_columns=edge)
        case ShortestPath():
            return replace(operator, wants_nodes=ir.PathPart.NODES.value in reads[operator.path_variable])
        case _:
            return operator


def _columns(reads: Reads, variable: str) -> tuple[str, ...]:
    return tuple(sorted(reads.get(variable, ())))
