"""Schema changes of one branch, from what a caller says to what they did."""

from __future__ import annotations

import os
from pathlib import Path

from omnigraph.core.commit import CommitKind
from omnigraph.engine.idempotency import earlier_commit
from omnigraph.engine.schema.result import SchemaResult
from omnigraph.errors import InputError, NotFoundError, UsageError
from omnigraph.lang.source import Source, is_file_name
from omnigraph.manifest import branches
from omnigraph.manifest.reader import Capture
from omnigraph.schema.migration import MigrationPlan
from omnigraph.write.attempt import WriteJob, commit
from omnigraph.write.context import WriteContext, WriteOptions
from omnigraph.write.schema.apply import PreparedSchema, planned, prepare_schema


def schema_source(schema: str | os.PathLike[str]) -> Source:
    """A text as it is, or the text of a file."""
    if isinstance(schema, str):
        if is_file_name(schema):
            raise UsageError(
                f"{schema!r} is the name of a file, but a text in place of a schema is the schema itself",
                hint=f"pass the file as a path: pathlib.Path({schema!r})",
            )
        return Source(schema, "<schema>")
    path = Path(schema)
    try:
        return Source(path.read_text("utf-8"), str(path))
    except FileNotFoundError as error:
        hint = "check the path; a schema can also be given as a text"
        raise NotFoundError(f"there is no file {str(path)!r}", hint=hint, path=str(path)) from error
    except (OSError, ValueError) as error:
        hint = "a schema is a text file in UTF-8"
        raise InputError(f"{path} cannot be read as a schema: {error}", hint=hint, path=str(path)) from error


def plan_schema(context: WriteContext, source: Source, branch: str, *, allow_data_loss: bool) -> MigrationPlan:
    """The steps from the schema of a branch to that of a text."""
    manifests = context.manifests
    accepted = manifests.catalog(branches.find_head(manifests, branch).schema_digest).schema
    return planned(accepted, source, allow_data_loss=allow_data_loss)[1]


def apply_schema(
    context: WriteContext, source: Source, branch: str, options: WriteOptions, *, allow_data_loss: bool
) -> SchemaResult:
    """Give a branch the schema of a text."""
    manifests = context.manifests
    ref = branches.find_ref(manifests, branch)
    info = options.info(context, CommitKind.SCHEMA)
    uri = str(context.store.root)
    # A text replaces the newest schema. One in memory may be older, and then what others added would be dropped.
    state = manifests.fresh(ref.incarnation)
    earlier = earlier_commit(context, ref.incarnation, options)
    if earlier is not None:
        return SchemaResult(uri, branch, MigrationPlan(), earlier, earlier.manifest.counter, repeated=True)

    def prepare(capture: Capture) -> PreparedSchema:
        return prepare_schema(context.store, capture, source, allow_data_loss=allow_data_loss)

    prepared, published = commit(context, WriteJob(ref.incarnation, prepare, info, options))
    if published is None:
        return SchemaResult(uri, branch, prepared.migration, None, state.counter)
    counter = published.commit.manifest.counter
    made, again = published.commit, published.repeated
    return SchemaResult(uri, branch, prepared.migration, made, counter, again, prepared.remarks)
