"""Tables of an export: other libraries read every value, a repeated export replaces all rows at once or nothing."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, QueryBuilder
from pyiceberg.table import StaticTable

import omnigraph
from omnigraph.errors import AlreadyExistsError, ConflictError, UsageError
from tests.support.faults.s3 import Bucket, Server
from tests.support.tuning import tuned

FORMATS = ("iceberg", "delta")
SCHEMA = "node Person { name: String @key\n age: I32? }"


def iceberg_rows(place: str, options: Mapping[str, str] | None = None) -> pa.Table:
    return StaticTable.from_metadata(place, dict(options or {})).scan().to_arrow()


def delta_rows(place: str) -> pa.Table:
    return pa.table(QueryBuilder().register("t", DeltaTable(place)).execute("select * from t").read_all())


READ = {"iceberg": iceberg_rows, "delta": delta_rows}


def facts(place: Path, format: str) -> dict[str, Any]:
    if format == "iceberg":
        table = StaticTable.from_metadata(str(place))
        summary = table.current_snapshot().summary.additional_properties  # type: ignore[union-attr]
        assert {name: summary[name] for name in table.properties} == table.properties
        return dict(table.properties)
    newest = DeltaTable(str(place)).history(1)[0]
    return {name: value for name, value in newest.items() if name.startswith("omnigraph.")}


@pytest.fixture
def people(tmp_path: Path) -> omnigraph.Graph:
    graph = omnigraph.create(tmp_path / "people.omni", SCHEMA, durability="os")
    graph.load([{"type": "Person", "data": {"name": "Ann", "age": 30}}, {"type": "Person", "data": {"name": "Bob"}}])
    return graph


def names(place: Path, format: str) -> list[str]:
    return sorted(READ[format](str(place)).column("name").to_pylist())


@pytest.mark.parametrize("format", FORMATS)
def test_the_library_of_a_format_reads_every_value(every: omnigraph.Graph, tmp_path: Path, format: str) -> None:
    result = every.export_files(tmp_path / "out", format)
    assert [(file.path, file.rows) for file in result.files] == [
        ("edge_Every", 1), ("Link", 2), ("Empty", 0), ("node_Every", 9), ("Plain", 2)
    ]  # fmt: skip
    again = omnigraph.create(tmp_path / "again.omni", (tmp_path / "out" / "schema.pg").read_text(), durability="os")
    for name, type_name in (("node_Every", "node:Every"), ("Plain", "Plain"), ("Empty", "Empty")):
        again.load(READ[format](str(tmp_path / "out" / name)), "append", type_name=type_name)
    for name, type_name in (("Link", "Link"), ("edge_Every", "edge:Every")):
        again.load(READ[format](str(tmp_path / "out" / name)), "append", type_name=type_name)
    assert list(again.export()) == list(every.export())


@pytest.mark.parametrize("format", FORMATS)
def test_columns_have_the_types_of_the_documented_table(every: omnigraph.Graph, tmp_path: Path, format: str) -> None:
    every.export_files(tmp_path / f"every.{format}", format, types="node:Every")
    schema = READ[format](str(tmp_path / f"every.{format}")).schema
    shown = {name: str(schema.field(name).type).replace("large_", "").replace("_view", "") for name in schema.names}
    assert {name: shown[name] for name in ("id", "i32", "u32", "u64", "time", "day", "blob", "vector", "u64s")} == {
        "id": "string",
        "i32": "int32",
        "u32": "int64",
        "u64": "decimal128(20, 0)",
        "time": "timestamp[us, tz=UTC]",
        "day": "date32[day]",
        "blob": "binary",
        "vector": "list<element: float>",
        "u64s": "list<element: decimal128(20, 0)>",
    }


@pytest.mark.parametrize("format", FORMATS)
def test_a_repeated_export_replaces_rows_and_columns_and_says_its_commit(
    people: omnigraph.Graph, tmp_path: Path, format: str
) -> None:
    out = tmp_path / "out"
    people.export_files(out, format)
    first = people.snapshot()
    assert facts(out / "Person", format) == {
        "omnigraph.graph": people.id,
        "omnigraph.branch": "main",
        "omnigraph.commit": first.commit_id,
        "omnigraph.type": "node:Person",
    }
    people.create_branch("b")
    # A column of the same name with another type, and a new one.
    people.apply_schema("node Person { name: String @key }", branch="b", allow_data_loss=True)
    people.apply_schema("node Person { name: String @key\n age: String?\n born: Date? }", branch="b")
    people.mutate('query drop() { delete Person where name = "Bob" }', branch="b")
    people.load([{"type": "Person", "data": {"name": "Cyd", "age": "old", "born": "1990-05-17"}}], branch="b")
    with pytest.raises(AlreadyExistsError, match="exists already"):
        people.export_files(out, format, branch="b")
    assert names(out / "Person", format) == ["Ann", "Bob"]
    people.export_files(out, format, branch="b", replace=True)
    rows = READ[format](str(out / "Person"))
    assert sorted(rows.column("name").to_pylist()) == ["Ann", "Cyd"]
    assert set(rows.schema.names) == {"id", "name", "age", "born"}
    assert facts(out / "Person", format)["omnigraph.branch"] == "b"
    # The rows of the first export are an older version of the table.
    if format == "iceberg":
        table = StaticTable.from_metadata(str(out / "Person"))
        older = table.scan(snapshot_id=table.history()[0].snapshot_id).to_arrow()
        assert sorted(older.column("age").to_pylist(), key=str) == [30, None]
    else:
        assert DeltaTable(str(out / "Person"), version=0).version() == 0


@pytest.mark.parametrize("format", FORMATS)
def test_a_failed_export_leaves_the_old_rows_and_no_file(people: omnigraph.Graph, tmp_path: Path, format: str) -> None:
    out = tmp_path / f"people.{format}"
    people.export_files(out, format, types="Person")
    before = sorted(out.rglob("*.parquet"))
    people.load([{"type": "Person", "data": {"name": "Cyd"}}], "append")
    # One file for each fragment, of which some are complete when the export fails.
    small = tuned(people, row_group_bytes=1, table_file_bytes=1)

    def interrupt(rows: int) -> None:
        if rows == 3:
            assert len(sorted(out.rglob("*.parquet"))) > len(before)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        small.export_files(out, format, types="Person", replace=True, progress=interrupt)
    assert sorted(out.rglob("*.parquet")) == before
    assert names(out, format) == ["Ann", "Bob"]
    small.export_files(out, format, types="Person", replace=True)
    assert len(list(out.rglob("*.parquet"))) == len(before) + 2
    assert names(out, format) == ["Ann", "Bob", "Cyd"]


def test_of_two_exports_at_the_same_time_one_is_refused_and_leaves_nothing(
    people: omnigraph.Graph, tmp_path: Path
) -> None:
    out = tmp_path / "people.iceberg"
    people.export_files(out, "iceberg", types="Person")
    people.load([{"type": "Person", "data": {"name": "Cyd"}}])
    kept: list[Path] = []

    def meanwhile(rows: int) -> None:
        if not kept:
            kept.append(out)
            people.export_files(out, "iceberg", types="Person", replace=True)
            kept.extend(sorted(out.rglob("*.parquet")))

    with pytest.raises(ConflictError, match="another process changed the Iceberg table"):
        people.export_files(out, "iceberg", types="Person", replace=True, at="HEAD~1", progress=meanwhile)
    assert names(out, "iceberg") == ["Ann", "Bob", "Cyd"]
    assert sorted(out.rglob("*.parquet")) == kept[1:]


def test_parquet_files_say_their_origin(people: omnigraph.Graph, tmp_path: Path) -> None:
    people.export_files(tmp_path / "people.parquet", types="Person")
    metadata = pq.read_metadata(tmp_path / "people.parquet").metadata
    assert metadata[b"omnigraph.commit"].decode() == people.snapshot().commit_id
    assert metadata[b"omnigraph.type"] == b"node:Person"


@pytest.mark.parametrize(("format", "library"), [("iceberg", "pyiceberg"), ("delta", "deltalake")])
def test_a_missing_library_is_named_before_anything_is_written(
    people: omnigraph.Graph, tmp_path: Path, format: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [
        name for name in sys.modules if name.partition(".")[0] == library or name.startswith("omnigraph.lake.")
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(UsageError, match=f"needs {library}") as caught:
        people.export_files(tmp_path / "out", format)
    assert caught.value.hint == f'pip install "omnigraph[{format}]"'
    assert not (tmp_path / "out").exists()


def test_only_tables_that_an_export_can_commit_are_replaced(people: omnigraph.Graph, tmp_path: Path) -> None:
    (tmp_path / "of.iceberg" / "metadata").mkdir(parents=True)
    (tmp_path / "of.iceberg" / "metadata" / "00000-abc.metadata.json").write_text("{}")
    with pytest.raises(AlreadyExistsError, match="belongs to a catalog"):
        people.export_files(tmp_path / "of.iceberg", "iceberg", types="Person", replace=True)
    (tmp_path / "mine.delta").mkdir()
    (tmp_path / "mine.delta" / "notes.txt").write_text("mine")
    with pytest.raises(AlreadyExistsError, match="is not a table in the format delta"):
        people.export_files(tmp_path / "mine.delta", "delta", types="Person", replace=True)
    with pytest.raises(UsageError, match="iceberg tables have dates of their own"):
        people.export_files(tmp_path / "new", "iceberg", dates="iso")
    with pytest.raises(UsageError, match="another format"):
        people.export_files(tmp_path / "new.delta", "iceberg", types="Person")


@pytest.mark.s3
def test_tables_in_a_bucket_are_read_by_other_clients(
    people: omnigraph.Graph, s3_server: Server, s3_bucket: Bucket
) -> None:
    options = s3_server.storage_options()
    for format in FORMATS:
        people.export_files(s3_bucket.uri(format), format, target_options=options)
        people.export_files(s3_bucket.uri(format), format, target_options=options, replace=True)
    [file] = DeltaTable(s3_bucket.uri("delta/Person"), storage_options=options).file_uris()
    content = s3_bucket.client.get_object(Bucket=s3_bucket.name, Key=file.removeprefix(s3_bucket.uri("")))[
        "Body"
    ].read()
    assert sorted(pq.read_table(pa.BufferReader(content)).column("name").to_pylist()) == ["Ann", "Bob"]
    client = {"s3.endpoint": s3_server.proxy.endpoint, "s3.access-key-id": "test", "s3.secret-access-key": "test"}
    found = iceberg_rows(s3_bucket.uri("iceberg/Person"), {**client, "s3.region": "us-east-1"})
    assert sorted(found.column("name").to_pylist()) == ["Ann", "Bob"]
