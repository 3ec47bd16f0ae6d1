"""Renaming of the variables of an operator tree."""

from __future__ import annotations

from dataclasses import replace

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.query import expressions as ir
from omnigraph.query.ir import Column, Expand, Mark, Operator, OptionalJoin, Outer, Scan, ShortestPath, Stage
from omnigraph.query.rewrite.tree import map_expressions, map_inputs
from omnigraph.query.variables import transform


@dataclass(frozen=True, slots=True)
class Renaming:
    """Other names for the variables of a pattern: in another part of the plan a variable may have another type.

    The stage that a pattern starts from keeps its names, so that several patterns can share its rows, unless ``deep``.
    """

    suffix: str
    deep: bool = False

    def operator(self, operator: Operator) -> Operator:
        changed = operator if isinstance(operator, Stage) and not self.deep else map_inputs(operator, self.operator)
        below = map_expressions(changed, self.expression)
        match below:
            case Scan():
                return replace(below, variable=self._name(below.variable))
            case Outer():
                return Outer(tuple(map(self._name, below.variables)))
            case Expand():
                edge = None if below.edge_variable is None else self._name(below.edge_variable)
                source, target = self._name(below.source), self._name(below.target)
                return replace(below, source=source, target=target, edge_variable=edge)
            case ShortestPath():
                source, target = self._name(below.source), self._name(below.target)
                return replace(below, source=source, target=target, path_variable=self._name(below.path_variable))
            case Mark():
                return replace(below, variable=self._name(below.variable))
            case OptionalJoin():
                return replace(below, introduces=tuple(map(self._name, below.introduces)))
            case Stage():
                return self._stage(below)
            case _:
                return below

    def _stage(self, stage: Stage) -> Stage:
        entities = tuple(replace(item, variable=self._name(item.variable)) for item in stage.entities)
        values = tuple(replace(item, variable=self._name(item.variable)) for item in stage.values)
        columns = self.columns(stage.columns) if self.deep else stage.columns
        return replace(stage, entities=entities, values=values, columns=columns)

    def columns(self, columns: tuple[Column, ...]) -> tuple[Column, ...]:
        return tuple(replace(column, expression=self.expression(column.expression)) for column in columns)

    def expression(self, expression: ir.Expr) -> ir.Expr:
        return transform(expression, self._part)

    def _part(self, part: ir.Expr) -> ir.Expr:
        match part:
            case ir.Property() | ir.EntityId() | ir.TypeName() | ir.Computed():
                return replace(part, variable=self._name(part.variable))
            case ir.Nearest():
                return replace(part, vector=replace(part.vector, variable=self._name(part.vector.variable)))
            case _:
                return part

    def _name(self, name: str) -> str:
        return f"{name}{self.suffix}"
