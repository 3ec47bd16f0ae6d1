"""Topologies of the visible edges: a walk over one of them cannot lead through a hidden node or edge.

The lists are those of all edges, reduced to the edges whose own predicate holds and whose ends are both visible. They
are derived once per version of the three tables and predicate, in time that follows the number of edges.
"""

from __future__ import annotations

import numpy as np

from omnigraph.exec.adjacency import Mask, adjacency
from omnigraph.exec.budget import Budget
from omnigraph.exec.evaluate import Evaluator
from omnigraph.exec.scan import scan_rows
from omnigraph.exec.search import Searcher
from omnigraph.exec.tables import TableView
from omnigraph.exec.topology.cache import topology_of
from omnigraph.exec.topology.neighbours import Topology
from omnigraph.exec.topology.pins import Pins
from omnigraph.query import expressions as ir
from omnigraph.query.ir import VisibleEdges
from omnigraph.query.standalone.formula import OWNER


def visible_topology(whole: Topology, pins: Pins, visible: VisibleEdges, searcher: Searcher) -> Topology:
    """The lists of the visible edges of three tables."""
    edge, source, target = pins.tables
    evaluator = Evaluator(searcher, Budget())
    # The lists hold rows of the present version: the predicates are about those, and numbers of a base are not rows.
    lists = whole.out.whole
    starts, stops = lists.origins(), lists.neighbours.astype(np.int64)
    keep = _visible(source, visible.node(source.entity.name), evaluator)[starts]
    keep &= _visible(target, visible.node(target.entity.name), evaluator)[stops]
    keep &= _visible(edge, visible.edge, evaluator)[lists.edges]
    kept = adjacency(starts[keep], stops[keep], lists.edges[keep], source.size)
    return topology_of(pins, kept, has_dangling=whole.base.has_dangling)


def _visible(table: TableView, predicate: ir.Expr, evaluator: Evaluator) -> Mask:
    """For every row of a table whether it satisfies the predicate."""
    found = np.zeros(table.size, bool)
    found[scan_rows(table, OWNER, predicate, evaluator)] = True
    return found
