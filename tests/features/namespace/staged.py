"""Rows for the tables of these tests, and writes made with Lance alone, as another program makes them."""

from __future__ import annotations

from typing import Any

import lance
import lance_namespace as ln
import pyarrow as pa

from omnigraph.namespace import OmnigraphNamespace
from omnigraph.storage.objects.version_names import lance_version

PERSON, KNOWS, NOTE = ["main", "Person"], ["main", "Knows"], ["main", "Note"]


def rows(*names: str, **others: Any) -> pa.Table:
    count = len(names)
    columns = {
        "id": pa.array(names),
        "name": pa.array(names),
        "age": pa.array([None] * count, pa.int64()),
        "bio": pa.array([None] * count, pa.string()),
        "taste": pa.array([None] * count, pa.list_(pa.float32(), 4)),
    }
    return pa.table({**columns, **{name: pa.array(value) for name, value in others.items()}})


def edges(*ends: tuple[str, str]) -> pa.Table:
    return pa.table(
        {
            "id": [f"{source}-{target}" for source, target in ends],
            "src": [source for source, _ in ends],
            "dst": [target for _, target in ends],
            "since": pa.array([None] * len(ends), pa.int64()),
        }
    )


def current(namespace: OmnigraphNamespace, table: list[str]) -> lance.LanceDataset:
    """The current version of a table, opened by its number."""
    newest = namespace.list_table_versions(ln.ListTableVersionsRequest(id=table, limit=1)).versions[0]
    place = namespace.describe_table(ln.DescribeTableRequest(id=table))
    return lance.dataset(place.location, version=lance_version(newest.manifest_path))


def operation(
    namespace: OmnigraphNamespace, table: list[str], staged: lance.LanceDataset, **fields: Any
) -> dict[str, Any]:
    """The operation that hands a staged version over."""
    newest = namespace.list_table_versions(ln.ListTableVersionsRequest(id=table, limit=1)).versions[0]
    place = namespace.describe_table(ln.DescribeTableRequest(id=table))
    path = f"{place.location}/_versions/d{staged.version}.manifest"
    request = {"id": table, "version": newest.version + 1, "manifest_path": path, **fields}
    return {"create_table_version": {name: value for name, value in request.items() if value is not None}}


def detached(dataset: lance.LanceDataset, operation: Any) -> lance.LanceDataset:
    """A detached Lance commit."""
    return lance.LanceDataset.commit(dataset, operation, read_version=dataset.version, detached=True)


def hand_over(namespace: OmnigraphNamespace, table: list[str], staged: lance.LanceDataset) -> str:
    """Commit one staged version; returns the id of the commit."""
    answer = namespace.batch_commit_tables({"operations": [operation(namespace, table, staged)]})
    return str(answer.transaction_id)
