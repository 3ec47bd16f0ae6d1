"""The search of agents: words, vectors or both over several node types, as one ranking of hits."""

from __future__ import annotations

from typing import Any

from omnigraph.engine.explore.searches import TypeSearch, interleaved
from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import EmbeddingUnavailable, UsageError
from omnigraph.mcp import models
from omnigraph.mcp.answers import Answer
from omnigraph.mcp.budget import fit, shorten
from omnigraph.mcp.reading import snapshot_of
from omnigraph.mcp.session import Session
from omnigraph.rows.write.results import result_rows
from omnigraph.schema.catalog import NodeType, type_named

FIND_TOKENS = 3_000


def find(session: Session, given: models.Find) -> Answer:
    """The best hits over the chosen types."""
    snapshot = snapshot_of(session, given.at)
    has_embedder = session.graph.embedder is not None
    chosen = (TypeSearch.of(type_, given.mode, has_vectors=has_embedder) for type_ in _types(snapshot, given.types))
    searches = [search for search in chosen if search is not None]
    if not searches:
        raise _nothing_to_search(given, has_embedder)
    rankings = [_hits(session, given, search, snapshot.commit_id) for search in searches]
    whole = interleaved(rankings)
    kept = fit([shorten(hit) for hit in whole], FIND_TOKENS, given.limit)
    cut = ["more hits exist; raise `limit`, or search fewer `types`"] if kept.left_out else []
    if kept.items != whole[: len(kept.items)]:
        cut.append("long values are cut; get shows more of one node")
    content = {"hits": kept.items, "searched": [search.type.name for search in searches]}
    return Answer(content, snapshot.commit_id, cut)


def _hits(session: Session, given: models.Find, search: TypeSearch, commit: str) -> list[dict[str, Any]]:
    result = session.graph.query(
        search.query(given.limit), {"words": given.text}, at=commit, timeout=session.settings.query_seconds_max
    )
    return [{"type": search.type.name, **row} for row in result_rows(result.table)]


def _types(snapshot: Snapshot, names: list[str] | None) -> list[NodeType]:
    nodes = list(snapshot.catalog.nodes.values())
    return nodes if names is None else [type_named(nodes, name, "node type") for name in names]


def _nothing_to_search(given: models.Find, has_embedder: bool) -> Exception:
    if given.mode == "vector" and not has_embedder:
        return EmbeddingUnavailable("no embedder is configured, so meaning cannot be searched", hint="use mode `text`")
    return UsageError("none of the types has properties to search", hint="call describe_graph for the properties")
