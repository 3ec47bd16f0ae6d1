"""The catalog of a graph: its types with their properties and numbers of entities."""

from __future__ import annotations

from typing import Any

from omnigraph.engine.explore.captions import usual_caption
from omnigraph.engine.snapshot import Snapshot
from omnigraph.server.call import Call
from omnigraph.server.handlers.explore.moments import conditional_reply
from omnigraph.server.handlers.targets import check_query_target, query_names_commit, query_target_needs
from omnigraph.server.http.replies import Reply
from omnigraph.server.roads import Gate, Road
from omnigraph.wire.http.explore import catalog_json


def show(call: Call, _: None) -> Reply:
    """The types of a branch or commit."""
    return conditional_reply(call, _form)


def _form(snapshot: Snapshot) -> dict[str, Any]:
    catalog = snapshot.ordered_catalog()
    captions = {name: usual_caption(snapshot, node) for name, node in catalog.nodes.items()}
    return catalog_json(catalog, snapshot.counts(), captions)


SHOW = Road(Gate(query_target_needs, is_blocking=query_names_commit), show, check=check_query_target)
