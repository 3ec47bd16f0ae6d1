"""Scores on Spark: vector distances computed in table scans, BM25 from ``relevance``, and reciprocal rank fusion."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph.exec.search import edits_of, text_of
from omnigraph.query import expressions as ir
from omnigraph.query.ir import Operator, Score
from omnigraph.query.rewrite.prune import prune_columns
from omnigraph.query.rewrite.tree import map_parts
from omnigraph.spark.query.bound_rows import BoundRows
from omnigraph.spark.query.expressions import SCORE
from omnigraph.spark.query.relevance import relevance
from omnigraph.spark.query.scans import Computed, Measured, Searched
from omnigraph.spark.query.tables import QueryTables

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def with_computed(root: Operator) -> tuple[Operator, dict[str, Computed]]:
    """Replace every distance and search in the tree by a computed property; returns the tree and these properties.

    Tasks compute them while they scan a table, so that vectors and texts never leave the task.
    """
    computed: dict[str, Computed] = {}

    def name_of(item: Computed) -> str:
        for name, known in computed.items():
            if known == item:
                return name
        name = f"#{len(computed)}"
        computed[name] = item
        return name

    def change(part: ir.Expr) -> ir.Expr:
        match part:
            case ir.Search(text=ir.Property() as text):
                query, edits = text_of(part.query), edits_of(part)
                if query is None or edits is None:
                    return ir.Constant(None, ir.BOOL)
                return ir.Property(text.variable, name_of(Searched(text.name, query, edits)), ir.BOOL)
            case ir.Nearest(query=ir.Constant(value=value)):
                items = value if isinstance(value, tuple) else ()
                numbers = tuple(float(item) for item in items if isinstance(item, int | float))
                name = name_of(Measured(part.vector.name, numbers or None))
                return replace(part, vector=ir.Property(part.vector.variable, name, ir.SCORE))
            case _:
                return part

    return prune_columns(map_parts(root, change)), computed


def scored(tables: QueryTables, operator: Score, rows: BoundRows) -> BoundRows:
    """Add the scores to the rows; drop rows that lack a required score."""
    for number, ranking in enumerate(operator.rankings):
        if isinstance(ranking, ir.Rrf):
            rows = _fused(tables, ranking, rows, str(number))
        else:
            rows, score = _arm(tables, ranking, rows)
            rows = rows.binding(rows.frame, {(SCORE, str(number)): score})
    for number, required in enumerate(operator.required):
        if required:
            rows = rows.over(rows.frame.where(rows.column(SCORE, str(number)).isNotNull()))
    return rows


def _arm(tables: QueryTables, ranking: ir.Nearest | ir.Bm25, rows: BoundRows) -> tuple[BoundRows, str]:
    """Add one score to the rows; returns the rows and the column of the score."""
    from pyspark.sql import functions as f

    if isinstance(ranking, ir.Nearest):
        return rows, rows.attributes[ranking.vector.variable, ranking.vector.name]
    assert isinstance(ranking.text, ir.Property)
    id_, score = tables.names.new(), tables.names.new()
    found = relevance(tables, ranking).frame(tables.spark, id_, score)
    frame = rows.frame.join(found, rows.column(ranking.text.variable) == f.col(id_), "left")
    return rows.over(frame), score


def _fused(tables: QueryTables, ranking: ir.Rrf, rows: BoundRows, number: str) -> BoundRows:
    """Reciprocal rank fusion: the sum of 1 / (k + rank) over the arms. Nodes of the first arm's variable are ranked by
    their best row."""
    from pyspark.sql import functions as f

    assert isinstance(ranking.k, ir.Constant)
    assert isinstance(ranking.k.value, int)
    variable = _ranked(ranking.arms[0])
    shares: list[Column] = []
    for arm in ranking.arms:
        rows, score = _arm(tables, arm, rows)
        ranks, node, place = _ranks(tables, rows, variable, score, descending=isinstance(arm, ir.Bm25))
        rows = rows.over(rows.frame.join(ranks, rows.column(variable) == f.col(node), "left"))
        shares.append(f.lit(1.0) / (f.lit(ranking.k.value) + f.col(place)))
    total = f.coalesce(shares[0], f.lit(0.0))
    for share in shares[1:]:
        total = total + f.coalesce(share, f.lit(0.0))
    name = tables.names.new()
    fused = f.when(f.coalesce(*shares).isNotNull(), total)
    return rows.binding(rows.frame.withColumn(name, fused), {(SCORE, number): name})


def _ranked(arm: ir.Nearest | ir.Bm25) -> str:
    if isinstance(arm, ir.Nearest):
        return arm.vector.variable
    assert isinstance(arm.text, ir.Property)
    return arm.text.variable


def _ranks(
    tables: QueryTables, rows: BoundRows, variable: str, score: str, *, descending: bool
) -> tuple[DataFrame, str, str]:
    """Nodes with their ranks, from 1; ids break ties."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    node, place, best = (tables.names.new() for _ in range(3))
    known = rows.frame.where(f.col(score).isNotNull() & rows.column(variable).isNotNull())
    choose = f.max if descending else f.min
    nodes = known.groupBy(rows.column(variable).alias(node)).agg(choose(f.col(score)).alias(best))
    order = f.col(best).desc() if descending else f.col(best).asc()
    # A window without partitions sorts all ranked nodes in one task; it holds only ids and scores.
    ranked = nodes.withColumn(place, f.row_number().over(Window.orderBy(order, f.col(node))))
    return ranked.select(node, place), node, place
