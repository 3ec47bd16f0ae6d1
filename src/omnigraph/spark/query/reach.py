"""Breadth-first search on Spark: nodes within a range of hops, and shortest paths between two ends.

Invariant: after hop n the state has exactly one row per (start, node) whose distance is at most n, with the shortest
distance. Hop n + 1 expands only the frontier, the rows at distance n: the neighbours of nearer rows are in the state.

Example: edges a -> b, a -> c, b -> d, c -> d, d -> a; start a, three hops.

===  ====  ========  ===================================
hop  node  distance  found from
===  ====  ========  ===================================
0    a     0         the start itself
1    b     1         a
1    c     1         a
2    d     2         b and c; one row remains
3    a     3         d; dropped, since (a, 0) is shorter
===  ====  ========  ===================================

Up to ``UNROLLED_HOPS`` hops are one plan. Beyond that every hop is a job, and the search stops at an empty frontier.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from omnigraph.exec.graph_view import stored_pair
from omnigraph.query.ir import Direction, Expand, HopRange, ShortestPath
from omnigraph.schema.ir import Pair
from omnigraph.spark.cluster import limits
from omnigraph.spark.query.bound_rows import BoundRows
from omnigraph.spark.query.scans import MARK, ROW
from omnigraph.spark.query.tables import Edges, QueryTables, marked, unmarked

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
    """Pairs of a start and a node whose shortest distance is within the bounds, as edges of a single hop."""
    from pyspark.sql import functions as f

    near, far = tables.names.new(), tables.names.new()
    if step.hops.low > step.hops.high:
        # An empty range: the compiler gives it to several hops over an edge between two types, which cannot be chained.
        nothing = starts.select(f.col(starts.columns[0]).alias(near), f.col(starts.columns[0]).alias(far)).limit(0)
        return Edges(nothing, near, far)
    lists = _neighbours(tables, step)
    ends = _walked_ends(tables, step)
    start = f.col(starts.columns[0]) if ends is None else marked(f.col(starts.columns[0]), ends[0])
    begin = starts.select(start.alias(_START), start.alias(_NODE), f.lit(0).alias(_DISTANCE))
    found = _search(begin, lambda state, hop: _hop(state, lists, hop), step.hops.high)
    low, high = step.hops.low, step.hops.high
    within = f.col(_DISTANCE).between(low, high)
    loops = _loops(tables, step)
    # A step that is followed backwards searches from its target, so the loop must be at the start of the search.
    target = _START if step.from_target and not step.closes else _NODE
    found = found.where(f.col(_DISTANCE) >= low - 1).join(loops, f.col(target) == f.col(_FROM), "left")
    # One hop too near, but with a self-loop at the target: walking the loop once makes the distance `low`.
    looped = (f.col(_DISTANCE) == low - 1) & f.col(_FROM).isNotNull()
    kept = found.where(within | looped)
    if ends is not None:
        named = unmarked(kept.select(_START, _NODE), {_START: (ends[0], near), _NODE: (ends[1], far)})
        return Edges(named, near, far)
    return Edges(kept.select(f.col(_START).alias(near), f.col(_NODE).alias(far)), near, far)


def _walked_ends(tables: QueryTables, step: Expand) -> Pair | None:
    """The types of the start and the end of a walk over several types; None for any other walk."""
    if step.pair is None or not tables.view.is_mixed(step):
        return None
    left, right = step.pair
    return (right, left) if step.from_target and not step.closes else (left, right)


def _search(begin: DataFrame, hop: Callable[[DataFrame, int], DataFrame], hops: int) -> DataFrame:
    """The state after at most ``hops`` hops."""
    from pyspark.sql import functions as f

    state = begin
    for number in range(1, hops + 1):
        state = hop(state, number)
        if hops > limits.UNROLLED_HOPS:
            # Cuts the lineage. Without it the plan of hop n would contain all n joins, and run them all again.
            state = state.localCheckpoint()
            if state.where(f.col(_DISTANCE) == number).isEmpty():
                break
    return state


def _neighbours(tables: QueryTables, step: Expand, *, numbered: bool = False) -> DataFrame:
    """Adjacency lists in the direction of a step; ``numbered`` adds the row number of each node."""
    from pyspark.sql import functions as f

    plain = replace(step, edge_variable=None, edge_predicate=None)
    is_mixed = tables.view.is_mixed(step)
    edges = tables.mixed_edges(plain) if is_mixed else tables.edges(plain, bind=False)
    lists = edges.frame.groupBy(f.col(edges.near).alias(_FROM)).agg(f.collect_set(edges.far).alias(_NEXT))
    if not numbered:
        return lists
    if is_mixed:
        nodes = tables.marked_nodes(tables.view.catalog.edges[step.edge].node_types)
    else:
        nodes = tables.nodes(step.new_type, "", (ROW,))
    numbers = nodes.frame.select(f.col(nodes.id).alias(_NODE), f.col(nodes.columns[ROW]).alias(_VIA))
    return lists.join(numbers, f.col(_FROM) == f.col(_NODE)).select(_FROM, _NEXT, _VIA)


def _loops(tables: QueryTables, step: Expand) -> DataFrame:
    """Nodes with a self-loop."""
    from pyspark.sql import functions as f

    plain = replace(step, edge_variable=None, edge_predicate=None)
    edges = tables.mixed_edges(plain) if tables.view.is_mixed(step) else tables.edges(plain, bind=False)
    return edges.frame.where(f.col(edges.near) == f.col(edges.far)).select(f.col(edges.near).alias(_FROM))


def _hop(state: DataFrame, lists: DataFrame, hop: int) -> DataFrame:
    """Add the neighbours of the frontier, and keep the shortest distance of every node."""
    from pyspark.sql import functions as f

    is_last = f.col(_DISTANCE) == hop - 1
    # A left join keeps nodes without neighbours and those behind the frontier, which must stay in the state.
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


def shortest_rows(tables: QueryTables, operator: ShortestPath, rows: BoundRows) -> BoundRows:
    """The rows whose two ends are connected, each with one shortest path or with each of them.

    Of several the one of the smallest row numbers is taken.
    """
    from pyspark.sql import functions as f

    step = _as_step(tables, operator)
    ends = [rows.column(operator.source), rows.column(operator.target)]
    begin, end, length, nodes = (tables.names.new() for _ in range(4))
    is_mixed = tables.view.is_mixed(step)
    if not is_mixed and not tables.view.catalog.edges[operator.edge].is_homogeneous:
        edges = tables.edges(step, bind=False)
        is_allowed = operator.hops.low <= 1 <= operator.hops.high
        on = (ends[0] == f.col(edges.near)) & (ends[1] == f.col(edges.far)) & f.lit(is_allowed)
        joined = rows.frame.join(edges.frame, on)
        found = joined.withColumn(length, f.lit(1).cast("long")).withColumn(nodes, f.array(*ends))
    else:
        pairs = rows.frame.select(ends[0].alias(begin), ends[1].alias(end)).dropna().distinct()
        if step.pair is not None and is_mixed:
            types = dict(zip((begin, end), step.pair, strict=True))
            pairs = pairs.select(*(marked(f.col(name), type_).alias(name) for name, type_ in types.items()))
        paths = _paths(tables, step, pairs, (begin, end), operator.hops, every=operator.every)
        if is_mixed:
            paths = paths.withColumns({name: _unmarked_id(f.col(name)) for name in (begin, end)})
            paths = paths.withColumn(_PATH, f.transform(f.col(_PATH), _unmarked_id))
        paths = paths.withColumnsRenamed({_DISTANCE: length, _PATH: nodes})
        other = {begin: tables.names.new(), end: tables.names.new()}
        paths = paths.withColumnsRenamed(other)
        on = (ends[0] == f.col(other[begin])) & (ends[1] == f.col(other[end]))
        found = rows.frame.join(paths, on)
    name = operator.path_variable
    attributes = {(name, "length"): length, **({(name, "nodes"): nodes} if operator.wants_nodes else {})}
    return rows.binding(found, attributes)


def _unmarked_id(node: Column) -> Column:
    """The id of a node whose type may be any."""
    from pyspark.sql import functions as f

    return f.regexp_replace(node, f"^[^{MARK}]*{MARK}", "")


def _as_step(tables: QueryTables, operator: ShortestPath) -> Expand:
    source, target = stored_pair(operator) or tables.view.catalog.edges[operator.edge].pairs[0]
    new_type = source if operator.direction is Direction.IN else target
    step = Expand(
        operator.input, operator.source, operator.target, operator.edge, operator.direction, operator.hops, new_type
    )
    return replace(step, visible=operator.visible, pair=operator.pair)


def _paths(
    tables: QueryTables, step: Expand, pairs: DataFrame, ends: tuple[str, str], hops: HopRange, *, every: bool
) -> DataFrame:
    """The connected pairs, with length and nodes of one shortest path, or a row for each of them."""
    from pyspark.sql import functions as f

    begin, end = ends
    lists = _neighbours(tables, step, numbered=not every)
    starts = pairs.select(f.col(begin).alias(_START)).distinct()
    first = f.array(_START)
    state = starts.select(
        _START,
        f.col(_START).alias(_NODE),
        f.lit(0).alias(_DISTANCE),
        f.lit(-1).cast("long").alias(_VIA),
        (f.array(first) if every else first).alias(_PATH),
    )
    hop = _every_path_hop if every else _path_hop
    found = _search(state, lambda known, number: hop(known, lists, number), hops.high)
    loops = _loops(tables, step)
    connected = pairs.join(found, (f.col(begin) == f.col(_START)) & (f.col(end) == f.col(_NODE)))
    connected = connected.join(loops, f.col(_NODE) == f.col(_FROM), "left")
    if every:
        connected = connected.withColumn(_PATH, f.explode(_PATH))
    low, high = hops.low, hops.high
    # As in reached_pairs: a self-loop at the end of a path one hop too short makes its length `low`.
    looped = (f.col(_DISTANCE) == low - 1) & f.col(_FROM).isNotNull() & f.lit(low <= high)
    kept = connected.where(f.col(_DISTANCE).between(low, high) | looped)
    path = f.when(looped, f.concat(f.col(_PATH), f.array(_NODE))).otherwise(f.col(_PATH))
    length = f.when(looped, f.lit(low)).otherwise(f.col(_DISTANCE)).cast("long")
    return kept.select(begin, end, length.alias(_DISTANCE), path.alias(_PATH))


def _path_hop(state: DataFrame, lists: DataFrame, hop: int) -> DataFrame:
    """``_hop`` with paths: of several shortest ways to a node, keep the one over the smallest row number.

    ``min`` of a struct compares its fields in order: distance, then row number, then path. It is thus the embedded
    executor's tie break, and a node found earlier keeps its way, because its distance is smaller.
    """
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


def _every_path_hop(state: DataFrame, lists: DataFrame, hop: int) -> DataFrame:
    """``_hop`` with all shortest paths to each node: those of every node before it, one node longer."""
    from pyspark.sql import functions as f

    is_last = f.col(_DISTANCE) == hop - 1
    joined = state.join(lists, (f.col(_NODE) == f.col(_FROM)) & is_last, "left")
    known = f.struct(f.col(_NODE), f.col(_DISTANCE), f.col(_PATH))

    def added(node: Column) -> Column:
        longer = f.transform(f.col(_PATH), lambda path: f.concat(path, f.array(node)))
        return f.struct(node.alias(_NODE), f.lit(hop).alias(_DISTANCE), longer.alias(_PATH))

    reached = f.when(f.col(_NEXT).isNull(), f.array(known)).otherwise(
        f.concat(f.array(known), f.transform(f.col(_NEXT), added))
    )
    rows = joined.select(_START, f.explode(reached).alias("reached")).select(_START, "reached.*")
    ways = rows.groupBy(_START, _NODE).agg(
        f.min(_DISTANCE).alias("nearest"), f.collect_list(f.struct(_DISTANCE, _PATH)).alias("ways")
    )
    shortest = f.filter("ways", lambda way: way[_DISTANCE] == f.col("nearest"))
    paths = f.flatten(f.transform(shortest, lambda way: way[_PATH]))
    no_number = f.lit(-1).cast("long")
    return ways.select(_START, _NODE, f.col("nearest").alias(_DISTANCE), no_number.alias(_VIA), paths.alias(_PATH))
