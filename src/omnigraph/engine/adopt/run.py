"""Commits of table versions that another program staged with Lance."""

from __future__ import annotations

from collections.abc import Mapping

from omnigraph.core.commit import CommitKind, GraphCommit
from omnigraph.engine.idempotency import earlier_commit
from omnigraph.errors import UsageError
from omnigraph.manifest import branches
from omnigraph.manifest.reader import Capture
from omnigraph.write.adopt.versions import OfferedVersion, PreparedAdoption, prepare_adoption
from omnigraph.write.attempt import WriteJob, commit
from omnigraph.write.context import WriteContext, WriteOptions
from omnigraph.write.schema.edits import SchemaEdits


def commit_versions(
    context: WriteContext,
    offered: Mapping[str, OfferedVersion],
    edits: SchemaEdits,
    branch: str,
    options: WriteOptions,
) -> GraphCommit:
    """Publish staged versions of tables, by table key, and changes of the schema as one commit."""
    if not (offered or edits.declared or edits.dropped):
        raise UsageError("there is nothing to commit", hint="stage a table version, or declare or drop a type")
    ref = branches.find_ref(context.manifests, branch)
    earlier = earlier_commit(context, ref.incarnation, options)
    if earlier is not None:
        return earlier

    def prepare(capture: Capture) -> PreparedAdoption:
        return prepare_adoption(context.store, capture, offered, edits)

    info = options.info(context, CommitKind.LOAD)
    _, published = commit(context, WriteJob(ref.incarnation, prepare, info, options))
    assert published is not None, "an adoption with versions is never empty"
    return published.commit
