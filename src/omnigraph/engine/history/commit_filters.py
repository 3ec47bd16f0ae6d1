"""Filters of commits by their fields and provenance."""

from __future__ import annotations

from collections.abc import Mapping

from omnigraph.core.commit import GraphCommit


def passes(commit: GraphCommit, filters: Mapping[str, str]) -> bool:
    """True if every filter holds. A name that is no field of commits is a key of the provenance."""
    for key, wanted in filters.items():
        match key:
            case "actor":
                actual: str | None = commit.actor
            case "kind":
                actual = commit.kind.value
            case "branch":
                actual = commit.branch
            case "message":
                actual = commit.message
            case "idempotency_key":
                actual = commit.idempotency_key
            case _:
                actual = commit.provenance.get(key)
        if actual != wanted:
            return False
    return True
