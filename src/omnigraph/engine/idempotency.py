"""Idempotency keys: the commit that an earlier call made."""

from __future__ import annotations

from omnigraph.core.commit import GraphCommit
from omnigraph.manifest.commit_log import find_by_idempotency_key
from omnigraph.write.context import WriteContext, WriteOptions


def earlier_commit(context: WriteContext, incarnation: str, options: WriteOptions) -> GraphCommit | None:
    """The commit of an earlier call with the same idempotency key, if any."""
    if options.idempotency_key is None:
        return None
    return find_by_idempotency_key(context.store, context.manifests.fresh(incarnation), options.idempotency_key)
