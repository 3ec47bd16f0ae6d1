"""Ends of edges as hashes: a walk whose nodes are not read is counted over numbers.

Ids are texts, and comparing, shuffling and grouping texts costs the JVM several times as much as numbers do. Hashes
stand for ids exactly if no two nodes of a type have the same one, which a job finds out before: with another salt, if
two do. An end is always a stored node, so that covers all edges.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from omnigraph.core.tables import TablePin
from omnigraph.exec.graph_view import GraphView
from omnigraph.exec.id_map import Hashes
from omnigraph.exec.tables import TableView
from omnigraph.query.ir import Expand
from omnigraph.rows.arrow_types import ID
from omnigraph.schema.catalog import EdgeType
from omnigraph.spark.analytics.node_tables import salted_hashes, salts
from omnigraph.spark.cluster.tasks import run_tasks
from omnigraph.storage.tables.scan import fragment_groups, scan
from omnigraph.storage.tables.store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def salt_of_walk(spark: SparkSession, view: GraphView, steps: Iterable[Expand]) -> str | None:
    """A salt that makes the hashes of all nodes of a walk distinct; None if the walk is over ids.

    A walk over few edges is not worth the job. Edges with types or conditions at their ends compare ids anyway, and an
    external edge may lead nowhere.
    """
    walk = list(steps)
    types: set[str] = set()
    for step in walk:
        edge = view.catalog.edges[step.edge]
        if step.predicate is not None or step.visible is not None or step.columns or view.is_mixed(step):
            return None
        if edge.has_types or not edge.is_single or edge.ir.external is not None:
            return None
        types.update(_ends(edge))
    tables = [view.node_table(name) for name in sorted(types)]
    if not tables or any(view.catalog.nodes[name].ir.external is not None for name in types):
        return None
    tuning = tables[0].store.tuning
    edges = max(view.edge_table(step.edge).rows for step in walk)
    if edges < tuning.hashed_edges_min or sum(table.rows for table in tables) > tuning.divided_nodes_min:
        return None
    return next(salt for salt in salts() if all(_are_distinct(spark, table, salt) for table in tables))


def _ends(edge: EdgeType) -> tuple[str, ...]:
    return (*edge.source.types, *edge.target.types)


def _are_distinct(spark: SparkSession, table: TableView, salt: str) -> bool:
    """True if the ids of a table have different hashes. Eight bytes a node arrive at the driver."""
    pieces = list(fragment_groups(table.store, table.pin, table.store.tuning.partition_rows))
    found = run_tasks(spark, partial(_hashes, table.store, table.pin, salt), pieces)
    ordered = np.sort(np.concatenate([np.zeros(0, np.uint64), *found]))
    return not bool((ordered[1:] == ordered[:-1]).any())


def _hashes(store: Store, pin: TablePin, salt: str, fragments: tuple[int, ...]) -> Hashes:
    batches = scan(store, pin, [ID], fragments=fragments)
    return np.concatenate([np.zeros(0, np.uint64), *(salted_hashes(batch.column(ID), salt) for batch in batches)])
