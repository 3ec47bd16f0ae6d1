"""The property that names the nodes of a type in pictures and lists."""

from __future__ import annotations

from omnigraph.core.scalars import Scalar
from omnigraph.engine.snapshot import Snapshot
from omnigraph.schema.catalog import NodeType


def usual_caption(snapshot: Snapshot, node: NodeType) -> str:
    """A key of one property, otherwise ``name``, ``title`` or the first text, otherwise the id."""
    if len(node.key) == 1:
        return node.key[0]
    texts = [
        name
        for name in snapshot.column_order(node)
        if name in node.properties
        and node.properties[name].type.scalar is Scalar.STRING
        and not node.properties[name].type.is_list
    ]
    return next((name for name in ("name", "title", *texts) if name in texts), "id")
