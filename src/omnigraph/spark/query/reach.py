"""Several hops on Spark: which nodes lie how far from which starts, and shortest paths between two ends.

The search keeps one row per start and node that was reached, with the distance. A hop adds the neighbours of the last
ones. A few hops are one plan; with more, every hop is a job, and the search ends when nothing is added.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph.query.ir import Direction, Expand, HopRange, ShortestPath
from omnigraph.spark.cluster import limits
from omnigraph.spark.query.bound_rows import BoundRows
from omnigraph.spark.query.scans import ROW
from omnigraph.spark.query.tables import Edges, QueryTables

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_DISTANCE = "distance"
_START = "start"
_NODE = "node"
_NEXT = "next"
_VIA = "via"
_PATH = "path"
_FROM = "from"


def reached_pairs(tables: QueryTables, step: Expand, starts: DataFrame) -> Edges:
    """Every start with every node whose shortest distance lies within the bounds, as edges that are walked at once."""
    from pyspark.sql import functions as f

    near, far = tables.names.new(), tables.names.new()
    if step.hops.low > step.hops.high:
        # Two hops over an edge between two types.
        nothing = starts.select(f.col(starts.columns[0]).alias(near), f.col(starts.columns[0]).alias(far)).limit(0)
        return Edges(nothing, near, far)
    lists = _neighbours(tables, step)
    begin = starts.select(
        f.col(starts.columns[0]).alias(_START), f.col(starts.columns[0]).alias(_NODE), f.lit(0).alias(_DISTANCE)
    )
    # The last hop is only taken where it can still matter.
    found = _search(begin, lambda state, hop: _hop(state, lists, hop), step.hops.high)
    looped = f.lit(False)
    low, high = step.hops.low, step.hops.high
    within = f.col(_DISTANCE).between(low, high)
    loops = _loops(tables, step)
    target = _START if step.from_target and not step.closes else _NODE
    found = found.where(f.col(_DISTANCE) >= low - 1).join(loops, f.col(target) == f.col(_FROM), "left")
    looped = (f.col(_DISTANCE) == low - 1) & f.col(_FROM).isNotNull()
    kept = found.where(within | looped)
    return Edges(kept.select(f.col(_START).alias(near), f.col(_NODE).alias(far)), near, far)


def _search(begin: DataFrame, hop: Callable[[DataFrame, int], DataFrame], hops: int) -> DataFrame:
    """All that is reached within so many hops."""
    from pyspark.sql import functions as f

    state = begin
    for number in range(1, hops + 1):
        state = hop(state, number)
        if hops > limits.UNROLLED_HOPS:
            state = state.localCheckpoint()
            if state.where(f.col(_DISTANCE) == number).isEmpty():
                break
    return state


def _neighbours(tables: QueryTables, step: Expand, *, numbered: bool = False) -> DataFrame:
    """Nodes with their neighbours in the direction of a step, and with their row numbers if wanted."""
    from pyspark.sql import functions as f

    plain = replace(step, edge_variable=None, edge_predicate=None)
    edges = tables.edges(plain, bind=False)
    lists = edges.frame.groupBy(f.col(edges.near).alias(_FROM)).agg(f.collect_set(edges.far).alias(_NEXT))
    if not numbered:
        return lists
    nodes = tables.nodes(step.new_type, "", (ROW,))
    numbers = nodes.frame.select(f.col(nodes.id).alias(_NODE), f.col(nodes.columns[ROW]).alias(_VIA))
    return lists.join(numbers, f.col(_FROM) == f.col(_NODE)).select(_FROM, _NEXT, _VIA)


def _loops(tables: QueryTables, step: Expand) -> DataFrame:
    """Nodes that have an edge to themselves."""
    from pyspark.sql import functions as f

    edges = tables.edges(replace(step, edge_variable=None, edge_predicate=None), bind=False)
    return edges.frame.where(f.col(edges.near) == f.col(edges.far)).select(f.col(edges.near).alias(_FROM))


def _hop(state: DataFrame, lists: DataFrame, hop: int) -> DataFrame:
    """What was reached, and the neighbours of what was reached last, each at its shortest distance."""
    from pyspark.sql import functions as f

    is_last = f.col(_DISTANCE) == hop - 1
    joined = state.join(lists, (f.col(_NODE) == f.col(_FROM)) & is_last, "left")
    reached = f.concat(
        f.array(_reached(f.col(_NODE), f.col(_DISTANCE))),
        f.transform(f.coalesce(f.col(_NEXT), f.array().cast("array<string>")), lambda node: _reached(node, f.lit(hop))),
    )
    rows = joined.select(_START, f.explode(reached).alias("reached")).select(_START, "reached.*")
    return rows.groupBy(_START, _NODE).agg(f.min(_DISTANCE).alias(_DISTANCE))


def _reached(node: Column, distance: Column) -> Column:
    from pyspark.sql import functions as f

    return f.struct(node.alias(_NODE), distance.alias(_DISTANCE))


# --- shortest paths --------------------------------------------------------------------------------------


def shortest_rows(tables: QueryTables, operator: ShortestPath, rows: BoundRows) -> BoundRows:
    """The rows whose two ends are connected, each with one shortest path: among equals, the smallest row numbers."""
    from pyspark.sql import functions as f

    step = _as_step(tables, operator)
    ends = [rows.column(operator.source), rows.column(operator.target)]
    begin, end, length, nodes = (tables.names.new() for _ in range(4))
    if not tables.view.catalog.edges[operator.edge].is_homogeneous:
        edges = tables.edges(step, bind=False)
        is_allowed = operator.hops.low <= 1 <= operator.hops.high
        on = (ends[0] == f.col(edges.near)) & (ends[1] == f.col(edges.far)) & f.lit(is_allowed)
        joined = rows.frame.join(edges.frame, on)
        found = joined.withColumn(length, f.lit(1).cast("long")).withColumn(nodes, f.array(*ends))
    else:
        pairs = rows.frame.select(ends[0].alias(begin), ends[1].alias(end)).dropna().distinct()
        paths = _paths(tables, step, pairs, (begin, end), operator.hops)
        paths = paths.withColumnsRenamed({_DISTANCE: length, _PATH: nodes})
        other = {begin: tables.names.new(), end: tables.names.new()}
        paths = paths.withColumnsRenamed(other)
        on = (ends[0] == f.col(other[begin])) & (ends[1] == f.col(other[end]))
        found = rows.frame.join(paths, on)
    name = operator.path_variable
    attributes = {(name, "length"): length, **({(name, "nodes"): nodes} if operator.wants_nodes else {})}
    return rows.binding(found, attributes)


def _as_step(tables: QueryTables, operator: ShortestPath) -> Expand:
    target = tables.view.catalog.edges[operator.edge]
    new_type = target.source if operator.direction is Direction.IN else target.target
    return Expand(
        operator.input, operator.source, operator.target, operator.edge, operator.direction, operator.hops, new_type
    )


def _paths(tables: QueryTables, step: Expand, pairs: DataFrame, ends: tuple[str, str], hops: HopRange) -> DataFrame:
    """Both ends of the pairs that are connected, with the length and the nodes of one shortest path."""
    from pyspark.sql import functions as f

    begin, end = ends
    lists = _neighbours(tables, step, numbered=True)
    starts = pairs.select(f.col(begin).alias(_START)).distinct()
    state = starts.select(
        _START,
        f.col(_START).alias(_NODE),
        f.lit(0).alias(_DISTANCE),
        f.lit(-1).cast("long").alias(_VIA),
        f.array(_START).alias(_PATH),
    )
    found = _search(state, lambda known, hop: _path_hop(known, lists, hop), hops.high)
    loops = _loops(tables, step)
    connected = pairs.join(found, (f.col(begin) == f.col(_START)) & (f.col(end) == f.col(_NODE)))
    connected = connected.join(loops, f.col(_NODE) == f.col(_FROM), "left")
    low, high = hops.low, hops.high
    looped = (f.col(_DISTANCE) == low - 1) & f.col(_FROM).isNotNull() & f.lit(low <= high)
    kept = connected.where(f.col(_DISTANCE).between(low, high) | looped)
    path = f.when(looped, f.concat(f.col(_PATH), f.array(_NODE))).otherwise(f.col(_PATH))
    length = f.when(looped, f.lit(low)).otherwise(f.col(_DISTANCE)).cast("long")
    return kept.select(begin, end, length.alias(_DISTANCE), path.alias(_PATH))


def _path_hop(state: DataFrame, lists: DataFrame, hop: int) -> DataFrame:
    """The same as for distances; of several ways to a node the one over the smallest row number is kept."""
    from pyspark.sql import functions as f

    is_last = f.col(_DISTANCE) == hop - 1
    onwards = lists.withColumnRenamed(_VIA, "number")
    joined = state.join(onwards, (f.col(_NODE) == f.col(_FROM)) & is_last, "left")
    known = f.struct(f.col(_NODE), f.struct(f.col(_DISTANCE), f.col(_VIA), f.col(_PATH)).alias("way"))

    def added(node: Column) -> Column:
        path = f.concat(f.col(_PATH), f.array(node))
        way = f.struct(f.lit(hop).alias(_DISTANCE), f.col("number").alias(_VIA), path.alias(_PATH))
        return f.struct(node.alias(_NODE), way.alias("way"))

    ways = f.when(f.col(_NEXT).isNull(), f.array(known)).otherwise(
        f.concat(f.array(known), f.transform(f.col(_NEXT), added))
    )
    rows = joined.select(_START, f.explode(ways).alias("reached")).select(_START, "reached.*")
    best = rows.groupBy(_START, _NODE).agg(f.min("way").alias("way"))
    return best.select(_START, _NODE, "way.*")
