"""``stage``: an ordinary Lance write, made as a detached version that ``batch_commit_tables`` takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import lance_namespace as ln

from omnigraph.errors import UsageError
from omnigraph.namespace.batches import ACTOR, DROP, KEY, MESSAGE, RUN
from omnigraph.rows.read.arrow import as_reader
from omnigraph.storage.objects.version_names import lance_version
from omnigraph.storage.stage import outside

ROW_WRITES = {
    "append": outside.stage_append,
    "upsert": outside.stage_upsert,
    "overwrite": outside.stage_overwrite,
}


def stage(
    namespace: ln.LanceNamespace,
    table_id: Sequence[str],
    rows: Any = None,
    *,
    mode: str = "append",
    delete: str | None = None,
    update: Mapping[str, str] | None = None,
    where: str | None = None,
    add_columns: Any = None,
    index: str | None = None,
    index_type: str = "BTREE",
    on: ln.CommitTableOperation | None = None,
    storage_options: dict[str, str] | None = None,
) -> ln.CommitTableOperation:
    """Stage one write on the current version of a table; no reader sees it until ``commit``.

    =======================  ===================================================================================
    ``rows``, ``mode``       Arrow data or a frame to ``append``, ``upsert`` by id, or ``overwrite`` the table with
    ``delete``               a Lance filter: the rows that go
    ``update``, ``where``    columns by name with a Lance expression such as ``"age + 1"``, and a filter
    ``add_columns``          Arrow data with ``id`` and further columns, which become properties
    ``index``                a column to index, with an ``index_type`` of Lance
    =======================  ===================================================================================

    ``on`` is an operation staged before for the same table, which this one continues. Works with any client of the
    namespace, in process or over REST; ``storage_options`` are needed where the namespace sends none.
    """
    given = {"rows": rows, "delete": delete, "update": update, "add_columns": add_columns, "index": index}
    chosen = [name for name, value in given.items() if value is not None]
    if len(chosen) != 1:
        raise UsageError(
            f"stage makes one write, and got {' and '.join(chosen) or 'none'}",
            hint=f"give one of {', '.join(given)}; continue with a second call and on=",
        )
    if mode not in ROW_WRITES:
        raise UsageError(f"{mode!r} is not a mode", hint=f"the modes are {', '.join(ROW_WRITES)}")
    identifier = list(table_id)
    described = namespace.describe_table(ln.DescribeTableRequest(id=identifier))
    newest = namespace.list_table_versions(ln.ListTableVersionsRequest(id=identifier, limit=1, descending=True))
    current = newest.versions[0]
    manifest_path = current.manifest_path if on is None else _staged(on, identifier)
    options = storage_options or described.storage_options
    dataset = outside.open_version(str(described.location), lance_version(manifest_path), options)
    match chosen[0]:
        case "rows":
            version = ROW_WRITES[mode](dataset, as_reader(rows))
        case "delete":
            version = outside.stage_delete(dataset, str(delete))
        case "update":
            version = outside.stage_update(dataset, update or {}, where)
        case "add_columns":
            version = outside.stage_added_columns(dataset, as_reader(add_columns).read_all())
        case _:
            version = outside.stage_index(dataset, str(index), index_type)
    directory = manifest_path.rpartition("/")[0]
    return ln.CommitTableOperation(
        create_table_version=ln.CreateTableVersionRequest(
            id=identifier, version=current.version + 1, manifest_path=f"{directory}/d{version}.manifest"
        )
    )


def _staged(operation: ln.CommitTableOperation, identifier: list[str]) -> str:
    """The manifest of an operation that was staged for the same table."""
    staged = operation.create_table_version
    if staged is None or staged.id != identifier:
        raise UsageError(f"on= was not staged for {identifier}", hint="continue an operation of the same table")
    return str(staged.manifest_path)


def commit(
    namespace: ln.LanceNamespace,
    operations: Sequence[ln.CommitTableOperation],
    *,
    actor: str | None = None,
    message: str | None = None,
    idempotency_key: str | None = None,
    provenance: Mapping[str, str] | None = None,
    allow_drop: bool = False,
) -> str:
    """Commit operations on several tables as one graph commit, all or none; returns the id of the commit."""
    given = {ACTOR: actor, MESSAGE: message, KEY: idempotency_key, DROP: "true" if allow_drop else None}
    context = {name: value for name, value in given.items() if value is not None}
    context |= {f"{RUN}{name}": value for name, value in (provenance or {}).items()}
    request = ln.BatchCommitTablesRequest(operations=list(operations), context=context or None)
    return str(namespace.batch_commit_tables(request).transaction_id)
