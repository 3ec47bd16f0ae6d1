"""The commit of a batch: operations handed to the graph as one commit, and its answer in the terms of the interface."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never
from urllib.parse import urlsplit

import lance_namespace as ln

from omnigraph.core.commit import GraphCommit, TableChange
from omnigraph.core.tables import TablePin
from omnigraph.engine.history.table_versions import VersionMade
from omnigraph.lang.declarations.edits import declared_types
from omnigraph.lang.pg_parser import parse_schema
from omnigraph.lang.source import Source
from omnigraph.namespace.batches import Batch, CommitOptions, Declared, Deregistered, NewVersion
from omnigraph.namespace.table_ids import Path, Ref
from omnigraph.namespace.tables import Graphs, Table, described
from omnigraph.storage.objects.uri import is_remote
from omnigraph.write.adopt.versions import OfferedVersion

Answer = ln.CreateTableVersionResponse | ln.DeclareTableResponse | ln.DeregisterTableResponse
"""The result of one operation."""


@dataclass(frozen=True, slots=True)
class Committed:
    """The graph commit of a batch, and the answer to each operation, in the order of the request."""

    commit_id: str
    answers: list[Answer]


@dataclass(frozen=True, slots=True)
class _Step:
    """One operation with the key of its table, and the table as it is before the commit."""

    operation: NewVersion | Declared | Deregistered
    key: str
    table: Table | None = None


def commit_batch(graphs: Graphs, batch: Batch, options: CommitOptions) -> Committed:
    """Commit a batch as one graph commit."""
    snapshot = graphs.snapshot(Path(batch.graph, Ref(batch.branch)))
    steps: list[_Step] = []
    for operation in batch.operations:
        if isinstance(operation, Declared):
            steps.append(_Step(operation, _declared_key(operation)))
        else:
            table = graphs.table(operation.path, snapshot)
            steps.append(_Step(operation, table.entity.table_key, table))
    graph = graphs.graph(batch.graph)
    commit = graph.commit_versions(
        {step.key: _offer(step.table, step.operation) for step in steps if isinstance(step.operation, NewVersion)},
        declare={step.key: step.operation.declaration for step in steps if isinstance(step.operation, Declared)},
        drop=[step.key for step in steps if isinstance(step.operation, Deregistered)],
        allow_drop=options.allow_drop,
        branch=batch.branch,
        actor=options.actor,
        message=options.message,
        idempotency_key=options.idempotency_key,
        provenance=options.provenance,
    )
    root = str(snapshot.store.root)
    return Committed(commit.id, [_answer(step, commit, _change(commit, step.key, steps), root) for step in steps])


def result(answer: Answer) -> ln.CommitTableResult:
    """An answer among those of a batch."""
    match answer:
        case ln.CreateTableVersionResponse():
            return ln.CommitTableResult(create_table_version=answer)
        case ln.DeclareTableResponse():
            return ln.CommitTableResult(declare_table=answer)
        case ln.DeregisterTableResponse():
            return ln.CommitTableResult(deregister_table=answer)
        case _:
            assert_never(answer)


def _declared_key(operation: Declared) -> str:
    """The table key of a declared type. A declaration of something else is refused by the graph."""
    parsed = parse_schema(Source(operation.declaration))
    suffix = f":{operation.path.table}"
    return next((key for key in declared_types(parsed) if key.endswith(suffix)), f"node{suffix}")


def _offer(table: Table | None, operation: NewVersion) -> OfferedVersion:
    assert table is not None, "a version is one of a table that exists"
    path = table.manifest_path(TablePin("", table.pin.location, operation.lance_version, 0, 0))
    given = operation.manifest_path
    given = urlsplit(given).path if is_remote(given) else given
    # Clients name the file as Lance's object store does, or relative to the directory of the table.
    if not f"/{path.lstrip('/')}".endswith(f"/{given.lstrip('/')}"):
        raise ln.InvalidInputError(
            f"{operation.manifest_path} is not a manifest of {table.entity.name}; its versions are in {table.uri}"
        )
    return OfferedVersion(operation.lance_version, operation.expected)


def _change(commit: GraphCommit, key: str, steps: Sequence[_Step]) -> TableChange:
    change = next((change for change in commit.tables if change.key == key), None)
    if change is None:
        tables = ", ".join(step.key for step in steps)
        raise ln.InvalidInputError(
            f"the idempotency key belongs to the commit {commit.id}, which is not one of {tables};"
            " use another key for another batch"
        )
    return change


def _answer(step: _Step, commit: GraphCommit, change: TableChange, root: str) -> Answer:
    location = f"{root}/{change.location}"
    match step.operation:
        case NewVersion():
            assert step.table is not None, "a version is one of a table that exists"
            assert change.after is not None, "a staged version never drops its table"
            pin = TablePin(step.key, change.location, *change.after)
            version = described(step.table, VersionMade(pin, commit))
            return ln.CreateTableVersionResponse(transaction_id=commit.id, version=version)
        case Declared():
            return ln.DeclareTableResponse(transaction_id=commit.id, location=location, managed_versioning=True)
        case Deregistered(path=path):
            return ln.DeregisterTableResponse(transaction_id=commit.id, id=path.parts(), location=location)
        case _:
            assert_never(step.operation)
