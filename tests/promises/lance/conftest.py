"""Fixtures of the Lance tests: a directory for datasets, a table of people, and an S3 server that counts.

The tests in this directory use Lance only, none of our package. Each of them holds one fact the storage design rests
on, so that an upgrade of Lance which changes the fact fails here, by name, before anything else does.

There is no `__init__.py` here on purpose: with one, this directory would be imported as the package `lance`.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import lance
import pyarrow as pa
import pytest
from lance import LanceDataset, LanceOperation
from lance.fragment import write_fragments
from tests.support.faults.fixtures import s3_bucket, s3_server
from tests.support.faults.proxy import Proxy
from tests.support.faults.request_log import Request
from tests.support.faults.s3 import Bucket, Server, boto3_options, storage_options

__all__ = ["s3_bucket", "s3_server"]

PEOPLE = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("age", pa.int32())])


@dataclass(frozen=True, slots=True)
class Place:
    """A directory on local disk, seen both as a path and as the URIs we open datasets with."""

    directory: Path

    def uri(self, name: str) -> str:
        return f"file-object-store://{self.directory / name}"

    def files(self, name: str = "") -> set[str]:
        """Every file below `name`, relative to it."""
        top = self.directory / name
        return {str(path.relative_to(top)) for path in top.rglob("*") if path.is_file()}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


class People:
    """Builds tables of (id, age) and commits them the way the design does."""

    schema = PEOPLE

    @staticmethod
    def rows(ages: dict[str, int | None]) -> pa.Table:
        return pa.table({"id": list(ages), "age": pa.array(list(ages.values()), pa.int32())}, schema=PEOPLE)

    @staticmethod
    def create(uri: str, ages: dict[str, int | None], **options: Any) -> LanceDataset:
        fragments = write_fragments(People.rows(ages), uri, mode="create", **options) if ages else []
        return LanceDataset.commit(
            uri, LanceOperation.Overwrite(PEOPLE, fragments), enable_stable_row_ids=True, **options
        )

    @staticmethod
    def append(base: LanceDataset, ages: dict[str, int | None]) -> LanceDataset:
        fragments = write_fragments(People.rows(ages), base, mode="append")
        return commit_detached(base, LanceOperation.Append(fragments))

    @staticmethod
    def upsert(base: LanceDataset, ages: dict[str, int | None]) -> LanceDataset:
        builder = base.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        transaction, _ = builder.execute_uncommitted(People.rows(ages))
        return LanceDataset.commit(base, transaction, detached=True)

    @staticmethod
    def delete(base: LanceDataset, ids: Sequence[str]) -> LanceDataset:
        keys = pa.table({"id": list(ids)}, schema=pa.schema([PEOPLE.field("id")]))
        transaction, _ = base.merge_insert("id").when_matched_delete().execute_uncommitted(keys)
        return LanceDataset.commit(base, transaction, detached=True)

    @staticmethod
    def ages(dataset: LanceDataset) -> dict[str, int | None]:
        table = dataset.to_table(columns=["id", "age"])
        return dict(zip(table["id"].to_pylist(), table["age"].to_pylist(), strict=True))

    @staticmethod
    def row_ids(dataset: LanceDataset) -> dict[str, int]:
        table = dataset.to_table(columns=["id"], with_row_id=True)
        return dict(zip(table["id"].to_pylist(), table["_rowid"].to_pylist(), strict=True))


@pytest.fixture
def people() -> type[People]:
    return People


def commit_detached(base: LanceDataset, operation: LanceOperation.BaseOperation) -> LanceDataset:
    return LanceDataset.commit(base, operation, read_version=base.version, detached=True)


@pytest.fixture
def detach() -> Callable[[LanceDataset, LanceOperation.BaseOperation], LanceDataset]:
    """Commit an operation on top of an open dataset without moving its latest version."""
    return commit_detached


def index_coverage(dataset: LanceDataset) -> dict[str, list[list[int]]]:
    return {
        index.name: [sorted(segment.fragment_ids) for segment in index.segments] for index in dataset.describe_indices()
    }


@pytest.fixture
def coverage() -> Callable[[LanceDataset], dict[str, list[list[int]]]]:
    """Index name -> for each of its segments, the fragments it covers."""
    return index_coverage


@dataclass(frozen=True, slots=True)
class S3:
    """A bucket, seen through a proxy that counts."""

    proxy: Proxy
    bucket: Bucket

    def uri(self, name: str) -> str:
        return self.bucket.uri(name)

    @property
    def options(self) -> dict[str, str]:
        return storage_options(self.proxy)

    def client(self) -> Any:
        return boto3.client("s3", **boto3_options(self.proxy))

    def open(self, name: str, **arguments: Any) -> LanceDataset:
        return lance.dataset(self.uri(name), storage_options=self.options, **arguments)

    def requests(self) -> list[Request]:
        """The requests that the server received since the last call."""
        received = list(self.proxy.requests())
        self.proxy.reset()
        return received

    def counts(self) -> dict[str, int]:
        """Requests by kind since the last call; a GET that lists counts as LIST, not as GET."""
        return dict(Counter(request.kind.value for request in self.requests()))


@pytest.fixture
def s3(s3_server: Server, s3_bucket: Bucket) -> S3:
    return S3(s3_server.proxy, s3_bucket)


@pytest.fixture
def careless_s3(s3_server: Server) -> Iterator[S3]:
    """A bucket of a store that ignores `If-None-Match`."""
    with closing(s3_server.another_proxy()) as proxy, proxy.ignoring_preconditions():
        yield S3(proxy, s3_server.bucket())
