"""External types: the versions that a commit pins, and the write that pins the newest ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from omnigraph.core.commit import CommitKind
from omnigraph.engine.external.result import ExternalTypeInfo, ExternalTypeList, RefreshResult
from omnigraph.engine.idempotency import earlier_commit
from omnigraph.engine.names import name_list
from omnigraph.engine.previews import WritePreview
from omnigraph.engine.snapshot import Snapshot
from omnigraph.errors import UsageError
from omnigraph.lake.external.checks import unreadable_files
from omnigraph.lake.external.table import stored_seal
from omnigraph.manifest import branches
from omnigraph.rows.arrow_types import Entity
from omnigraph.schema.catalog import Catalog, type_named
from omnigraph.write.attempt import commit, prepare
from omnigraph.write.context import WriteContext, WriteOptions
from omnigraph.write.external.refresh import refreshing
from omnigraph.write.load.rows import Progress
from omnigraph.write.preview import Previewed
from omnigraph.write.type_tables import external_entities

Types = str | Sequence[str] | None
"""Names of types; None for all external ones."""


def external_types(snapshot: Snapshot, *, check: bool) -> ExternalTypeList:
    """The external types of a snapshot, with ``check`` compared with the files that are there."""
    with snapshot.reading():
        return ExternalTypeList(_info(snapshot, entity, check) for entity in external_entities(snapshot.catalog))


def _info(snapshot: Snapshot, entity: Entity, check: bool) -> ExternalTypeInfo:
    pin = snapshot.state.tables[entity.table_key]
    seal = stored_seal(snapshot.store, pin)
    problem = None
    if check:
        wrong = next(unreadable_files(seal, snapshot.store.options), None)
        problem = None if wrong is None else f"{wrong[0]!r} {wrong[1]}"
    return ExternalTypeInfo(
        entity.table_key.partition(":")[0],
        entity.name,
        seal.format.value,
        seal.address,
        seal.version,
        len(seal.files),
        sum(file.size for file in seal.files),
        seal.rows,
        problem,
    )


def _chosen(types: Types) -> Callable[[Catalog], list[Entity]]:
    """Finds the external types with some names; raises UsageError for a type that the graph stores."""
    names = None if types is None else name_list(types, "type")

    def choose(catalog: Catalog) -> list[Entity]:
        every = external_entities(catalog)
        if names is None:
            return every
        known: list[Entity] = [*catalog.nodes.values(), *catalog.edges.values()]
        found = [type_named(known, name, "type") for name in names]
        for entity in found:
            if entity.ir.external is None:
                others = ", ".join(item.name for item in every) or "none"
                raise UsageError(
                    f"{entity.name} is not external: the graph stores its rows",
                    hint=f"the external types of this branch are: {others}",
                    type=entity.name,
                )
        return found

    return choose


def refresh_external(
    context: WriteContext, branch: str, types: Types, options: WriteOptions, progress: Progress | None
) -> RefreshResult:
    """Pin the newest versions of external tables as one commit."""
    ref = branches.find_ref(context.manifests, branch)
    earlier = earlier_commit(context, ref.incarnation, options)
    if earlier is not None:
        return RefreshResult(branch, (), earlier.actor, earlier, repeated=True)
    info = options.info(context, CommitKind.REFRESH)
    with refreshing(context, ref.incarnation, _chosen(types), info, options, progress) as (made, job):
        _, published = commit(context, job)
    names = tuple(key.partition(":")[2] for key in made.seals)
    made_commit = None if published is None else published.commit
    return RefreshResult(
        branch,
        names,
        options.actor,
        made_commit,
        tuple(made.remarks),
        repeated=published is not None and published.repeated,
    )


def refresh_preview(context: WriteContext, branch: str, types: Types) -> WritePreview:
    """The counts that a refresh would commit. The tables are read and checked."""
    ref = branches.find_ref(context.manifests, branch)
    options = WriteOptions()
    info = options.info(context, CommitKind.REFRESH)
    with refreshing(context, ref.incarnation, _chosen(types), info, options) as (_, job):
        capture, prepared = prepare(context, job)
        return WritePreview.of(branch, Previewed(capture.state.head, prepared.counts(capture)))
