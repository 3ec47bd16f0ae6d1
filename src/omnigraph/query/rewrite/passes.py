"""The ordered rewrite passes."""

from __future__ import annotations

from collections.abc import Callable

from omnigraph.query.ir import Operator
from omnigraph.query.rewrite.coerce import coerce_literals
from omnigraph.query.rewrite.prune import prune_columns
from omnigraph.query.rewrite.pushdown import push_predicates

PASSES: tuple[Callable[[Operator], Operator], ...] = (coerce_literals, push_predicates, prune_columns)
"""Coercion first, so that predicates reach the scans in the columns' own types; pruning last, over the final tree."""


def rewrite(root: Operator) -> Operator:
    """Run every pass once."""
    for run in PASSES:
        root = run(root)
    return root
