"""The catalog of a graph: its types with their properties and numbers of entities."""

from __future__ import annotations

from omnigraph.engine.explore.captions import usual_caption
from omnigraph.server.call import Call
from omnigraph.server.handlers.explore.moments import cache_headers, read_at, snapshot_of
from omnigraph.server.handlers.targets import check_query_target, query_names_commit, query_target, query_target_needs
from omnigraph.server.http.caching import unmodified
from omnigraph.server.http.replies import Reply, json_reply
from omnigraph.server.roads import Gate, Road
from omnigraph.wire.http.explore import catalog_json


def show(call: Call, _: None) -> Reply:
    """The types of a branch or commit."""
    target = query_target(call)
    snapshot = snapshot_of(call, target)
    headers = cache_headers(target, snapshot)
    unchanged = unmodified(call.headers, headers)
    if unchanged is not None:
        return unchanged
    catalog = snapshot.ordered_catalog()
    captions = {name: usual_caption(snapshot, node) for name, node in catalog.nodes.items()}
    form = {**read_at(target, snapshot), **catalog_json(catalog, snapshot.counts(), captions)}
    return json_reply(form, headers=headers)


SHOW = Road(Gate(query_target_needs, is_blocking=query_names_commit), show, check=check_query_target)
