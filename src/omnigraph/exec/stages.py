"""Former stages: their result rows as bound rows of the stage that follows.

A stage runs once, however many patterns start from its rows. Its entities keep their row numbers where the rows below
still have them; otherwise they are found by their ids.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.core.classes.dataclass import dataclass
from omnigraph.exec.frame import Frame
from omnigraph.exec.graph_view import GraphView
from omnigraph.exec.shape.shaped import Shaped
from omnigraph.exec.tables import Rows, TableView
from omnigraph.query import expressions as ir
from omnigraph.query.ir import Column, Operator, Stage, StageEntity
from omnigraph.query.liveness import Demand
from omnigraph.rows.arrow_types import column_type

VALUE = ir.ComputedPart.VALUE.value
Shape = Callable[[Operator, tuple[Column, ...]], Shaped]
"""Runs the operators of a stage."""


@dataclass
class FormerStages:
    """Runs former stages, each once."""

    graph: GraphView
    shape: Shape
    _known: dict[Operator, Shaped] = field(default_factory=dict)

    def frame(self, operator: Stage, demand: Demand) -> Frame:
        """The rows of a stage with the variables that the demand names."""
        shaped = self._known.get(operator.input)
        if shaped is None:
            shaped = self._known[operator.input] = self.shape(operator.input, operator.columns)
        rows = shaped.rows
        for entity in operator.entities:
            if entity.type_position is not None:
                same = pc.equal(shaped.reads[entity.type_position](rows), entity.type_name)
                rows = rows[pc.fill_null(same, False).to_numpy(zero_copy_only=False)]
        # Rows of a stage are a bag: some may be equal.
        frame = Frame(len(rows), {}, repeats=True)
        for entity in operator.entities:
            if entity.variable in demand.variables:
                table = self._table(entity)
                found = _bound_rows(shaped, operator.columns[entity.position], entity.position, rows, table)
                frame = frame.bind(entity.variable, found, table)
        for value in operator.values:
            if value.variable in demand.variables:
                type_ = column_type(operator.columns[value.position].expression.type)
                column = shaped.reads[value.position](rows).cast(type_)
                frame = frame.with_column(f"{value.variable}.{VALUE}", column)
        return frame

    def _table(self, entity: StageEntity) -> TableView:
        graph = self.graph
        return graph.edge_table(entity.type_name) if entity.is_edge else graph.node_table(entity.type_name)


def _bound_rows(shaped: Shaped, column: Column, position: int, rows: Rows, table: TableView) -> Rows:
    """The row numbers of the entities of a column; -1 for null."""
    match column.expression:
        case ir.EntityId(variable=name) if shaped.source is not None and name in shaped.source.frame.bindings:
            numbers: Rows = shaped.source.frame.bindings[name][rows]
            return numbers
        case _:
            ids = shaped.reads[position](rows)
            found = np.full(len(ids), -1, np.int64)
            valid = pc.is_valid(ids).to_numpy(zero_copy_only=False)
            found[valid] = table.rows_of(ids.filter(pa.array(valid)))
            return found
