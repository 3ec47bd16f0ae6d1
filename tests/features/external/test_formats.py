"""Tables of every format are read like rows of the graph: values, partitions, renamed columns and deleted rows."""

from __future__ import annotations

import datetime
import json
import struct
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestWriterV2,
    write_manifest_list,
)
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.update import AddSnapshotUpdate, AssertRefSnapshotId, SetSnapshotRefUpdate
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DateType, DoubleType, ListType, LongType, NestedField, StringType

import omnigraph
from omnigraph.errors import NotFoundError, SourceChanged, UsageError, ViolationError
from tests.features.exports.graphs import AWKWARD, ROWS, SCHEMA
from tests.features.external.shop import write_rows
from tests.support.external import external_copy
from tests.support.faults.s3 import Bucket, Server

ORDER = "no: I64 @key total: F64? note: String?"


def created(directory: Path, address: str, body: str = ORDER, **options: Any) -> omnigraph.Graph:
    """A graph with one external type."""
    text = f'node Order @external("{address}") {{ {body} }}'
    return omnigraph.create(directory / "g.omni", text, durability="os", **options)


def orders(graph: omnigraph.Graph, *columns: str, where: str = "") -> list[tuple[Any, ...]]:
    """Some columns of all orders, by number."""
    shown = " ".join(f"$o.{name}" for name in ("no", *columns))
    text = f"query q() {{ match {{ $o: Order {where} }} return {{ {shown} }} order {{ $o.no }} }}"
    return [tuple(row.values())[1:] if columns else tuple(row.values()) for row in graph.query(text).to_pylist()]


def exported(graph: omnigraph.Graph) -> list[Any]:
    """The entities of a graph; the order of properties is that of a schema text."""
    return [json.loads(line) for line in b"".join(graph.export()).splitlines()]


@pytest.mark.parametrize("format", ["parquet", "iceberg", "delta"])
def test_every_value_of_an_export_is_the_same_value_of_an_external_type(tmp_path: Path, format: str) -> None:
    stored = omnigraph.create(tmp_path / "stored.omni", SCHEMA, durability="os")
    stored.load(ROWS, "append")
    external = external_copy(stored, tmp_path, format)
    assert exported(external) == exported(stored)
    assert {item.format for item in external.external_types()} == {format}
    assert external.read_blob("node", "Every", AWKWARD, "blob").read() == b"\x00\x01\x02"
    assert external.verify().is_clean


def test_files_of_a_pattern_a_directory_and_their_partitions_are_one_table(tmp_path: Path) -> None:
    rows = tmp_path / "orders"
    write_rows(rows / "day=2026-01-31" / "shop=a%2Fb" / "one.parquet", [{"no": 1, "total": 1.5}])
    write_rows(rows / "day=__HIVE_DEFAULT_PARTITION__" / "shop=c" / "two.parquet", [{"no": 2, "extra": "x"}])
    (rows / "_SUCCESS").touch()
    write_rows(rows / "_temporary" / "three.parquet", [{"no": 3}])
    body = "no: I64 @key total: F64? day: Date? shop: String"
    for number, address in enumerate((str(rows), f"{rows}/", f"{rows}/day=*/**/*.parquet", f"file://{rows}")):
        graph = created(tmp_path / str(number), address, body)
        assert orders(graph, "total", "day", "shop") == [(1.5, datetime.date(2026, 1, 31), "a/b"), (None, None, "c")]
        assert orders(graph, where='$o.shop = "c"') == [(2,)]


def test_a_single_file_and_columns_with_other_names_are_read(tmp_path: Path) -> None:
    path = tmp_path / "orders.parquet"
    write_rows(path, [{"order_no": 7, "sum": 3, "note": "x"}])
    body = 'no: I64 @key @column("order_no") total: F64? @column("sum") note: String?'
    assert orders(created(tmp_path, str(path), body), "total", "note") == [(3.0, "x")]


def test_a_column_of_ids_fills_the_key_and_identifies_nodes_without_one(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.parquet", [{"id": 7, "total": 1.0}])
    keyed = created(tmp_path / "keyed", str(tmp_path / "a.parquet"), "no: I64 @key total: F64?")
    assert orders(keyed, "total") == [(1.0,)]
    text = f'node Order @external("{tmp_path}/a.parquet") {{ total: F64? }}'
    plain = omnigraph.create(tmp_path / "plain.omni", text, durability="os")
    assert plain.nodes("Order").df().to_dict("records") == [{"id": "7", "total": 1.0}]


def test_edges_without_a_key_are_identified_by_their_place_and_keep_it(tmp_path: Path) -> None:
    write_rows(tmp_path / "p.parquet", [{"name": "ann"}, {"name": "bob"}])
    rows = tmp_path / "knows"
    write_rows(rows / "a" / "1.parquet", [{"who": "ann", "whom": "bob"}, {"who": "bob", "whom": "ann"}])
    text = f"""node Person @external("{tmp_path}/p.parquet") {{ name: String @key }}
edge Knows: Person -> Person @external("{rows}", from="who", to="whom")"""
    graph = omnigraph.create(tmp_path / "g.omni", text, durability="os")
    before = graph.edges("Knows").df().to_dict("records")
    assert [row["id"] for row in before] == ["a/1.parquet:0", "a/1.parquet:1"]
    write_rows(rows / "0.parquet", [{"who": "ann", "whom": "ann"}])
    assert graph.refresh_external().commit is not None
    after = {row["id"]: row for row in graph.edges("Knows").df().to_dict("records")}
    assert all(after[row["id"]] == row for row in before)
    assert set(after) == {"0.parquet:0", "a/1.parquet:0", "a/1.parquet:1"}


def test_a_column_that_the_source_lacks_is_null_if_it_may_be_and_named_otherwise(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.parquet", [{"no": 1, "totl": 1.0}])
    address = str(tmp_path / "a.parquet")
    graph = created(tmp_path / "null", address)
    assert orders(graph, "total", "note") == [(None, None)]
    assert graph.refresh_external().remarks == (
        "Order: 2 properties are null, without a column in the source: note, total",
    )
    with pytest.raises(UsageError, match=r"has no column 'total' for Order\.total") as caught:
        created(tmp_path / "required", address, "no: I64 @key total: F64")
    assert caught.value.hint == ('did you mean `totl`? its columns are no, totl; name another one with @column("...")')
    with pytest.raises(UsageError, match=r"has no column 'sum' for Order\.total"):
        created(tmp_path / "named", address, 'no: I64 @key total: F64? @column("sum")')
    with pytest.raises(UsageError, match="has no column 'id' for the ids of Order"):
        created(tmp_path / "ids", address, "totl: F64?")
    assert not (tmp_path / "ids" / "g.omni").exists()


def test_what_is_not_there_or_no_parquet_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="there is no Parquet file"):
        created(tmp_path, f"{tmp_path}/*.parquet")
    with pytest.raises(NotFoundError, match="there is nothing at"):
        created(tmp_path, f"{tmp_path}/nothing")
    lance.write_dataset(pa.table({"no": [1]}), tmp_path / "orders.lance")
    with pytest.raises(UsageError, match="is a Lance table"):
        created(tmp_path, f"{tmp_path}/orders.lance")
    (tmp_path / "text.parquet").write_text("no,total\n1,2\n")
    with pytest.raises(UsageError, match="is not a complete Parquet file"):
        created(tmp_path, f"{tmp_path}/text.parquet")
    text = f'node Order @external("{tmp_path}", format="delta") {{ no: I64 @key }}'
    with pytest.raises(NotFoundError, match="there is no Delta table"):
        omnigraph.create(tmp_path / "g.omni", text)


def test_every_invalid_row_is_reported_with_its_file_and_row(tmp_path: Path) -> None:
    rows = [{"no": 1, "total": 5.0}, {"no": None, "total": 1.0}, {"no": 1, "total": 2.0}, {"no": 4, "total": -1.0}]
    write_rows(tmp_path / "a.parquet", rows)
    body = "no: I64 @key total: F64? @range(total, 0..10)"
    with pytest.raises(ViolationError) as caught:
        created(tmp_path, f"{tmp_path}/a.parquet", body)
    found = [str(sample).removeprefix(f"{tmp_path}/") for sample in caught.value.samples]
    assert sorted(found) == [
        "a.parquet:1: Order '1' is given twice: again in line 3",
        "a.parquet:2: missing required property Order.no (I64)",
        "a.parquet:4: @range violation on Order.total: value -1.0 < min 0",
    ]


def test_a_delta_table_is_read_without_deleted_rows_by_the_names_of_its_files(tmp_path: Path) -> None:
    table = tmp_path / "orders"
    write_rows(table / "part one.parquet", [{"c-1": number, "c-2": f"n{number}"} for number in range(1, 5)])
    _write_delta_log(table, "part one.parquet", "part%20one.parquet", {"no": "c-1", "note": "c-2"}, deleted=[1, 3])
    graph = created(tmp_path, str(table), "no: I64 @key note: String?")
    assert orders(graph, "note") == [("n1",), ("n3",)]
    assert orders(graph, where="$o.no = 2") == []
    assert orders(graph, where='$o.note >= "n3"') == [(3,)]
    assert graph.counts() == {"Order": 2}
    [info] = graph.external_types()
    assert (info.version, info.rows) == ("0", 2)


def test_a_partitioned_delta_table_is_refreshed_to_its_newest_version(tmp_path: Path) -> None:
    place = str(tmp_path / "orders")
    write_deltalake(place, pa.table({"no": [1, 2], "shop": ["a b/ü%", None]}), partition_by=["shop"])
    graph = created(tmp_path, place, "no: I64 @key shop: String?")
    assert orders(graph, "shop") == [("a b/ü%",), (None,)]
    write_deltalake(place, pa.table({"no": [3], "shop": ["c"]}), mode="append")
    assert orders(graph) == [(1,), (2,)]
    result = graph.refresh_external()
    assert result.commit is not None
    assert [(item.inserted, item.updated, item.deleted) for item in result.commit.tables] == [(1, 0, 0)]
    assert orders(graph, "shop") == [("a b/ü%",), (None,), ("c",)]
    assert [item.version for item in graph.external_types()] == ["1"]
    assert [item.version for item in graph.external_types(at="main~1")] == ["0"]


def test_an_iceberg_table_is_read_by_the_numbers_of_its_columns_without_deleted_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = _iceberg_orders(tmp_path, monkeypatch)
    with table.update_schema() as update:
        update.rename_column("sum", "total")
    with table.update_schema() as update:
        update.add_column("note", StringType())
    table.append(pa.Table.from_pylist([{"no": 9, "day": DAYS[0], "note": "new"}], schema=table.schema().as_arrow()))
    body = "no: I64 @key total: F64? note: String? day: Date? tags: [String]?"
    graph = created(tmp_path, "iceberg://shop/sales.orders", body)
    assert orders(graph, "total", "note") == [
        *((number * 1.5, None) for number in range(4)),
        (None, "new"),
    ]
    assert orders(graph, "tags", where=f'$o.day = date("{DAYS[1]}")') == [(["a", "1"],), (["a", "3"],)]
    files = [task.file.file_path for task in table.scan("no = 0").plan_files()]
    _delete_positions(table, files[0], [0])
    before = graph.snapshot().commit_id
    assert graph.refresh_external().commit is not None
    assert orders(graph) == [(1,), (2,), (3,), (9,)]
    assert [(change.op.value, change.id) for change in graph.diff(before, "main").changes()] == [("delete", "0")]
    metadata = table.catalog.load_table("sales.orders").metadata_location
    again = created(tmp_path / "again", metadata.removeprefix("file://"), "no: I64 @key")
    assert orders(again) == [(1,), (2,), (3,), (9,)]


def test_the_directory_of_an_iceberg_table_with_a_catalog_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = _iceberg_orders(tmp_path, monkeypatch)
    with pytest.raises(UsageError, match="belongs to a catalog, which knows its newest version") as caught:
        created(tmp_path, table.location().removeprefix("file://"))
    assert "iceberg://prod/sales.orders" in str(caught.value.hint)


def test_files_in_a_bucket_are_read_with_the_options_of_the_graph(
    tmp_path: Path, s3_server: Server, s3_bucket: Bucket
) -> None:
    options = s3_server.storage_options()
    for number in range(3):
        write_rows(tmp_path / "part.parquet", [{"no": number, "total": 1.0}])
        s3_bucket.client.upload_file(str(tmp_path / "part.parquet"), s3_bucket.name, f"orders/p={number}/a.parquet")
    for number, place in enumerate(("orders/", "orders/p=*/a.parquet", "orders")):
        body = "no: I64 @key total: F64? p: I32"
        graph = created(tmp_path / str(number), s3_bucket.uri(place), body, storage_options=options)
        assert orders(graph, "p") == [(0,), (1,), (2,)]
        [info] = graph.external_types(check=True)
        assert (info.rows, info.files, info.problem) == (3, 3, None)
    assert not any("aws" in path.read_text() for path in (tmp_path / "0").rglob("external/**/*.json"))
    write_rows(tmp_path / "part.parquet", [{"no": 2, "total": 9.0}])
    s3_bucket.client.upload_file(str(tmp_path / "part.parquet"), s3_bucket.name, "orders/p=2/a.parquet")
    fresh = omnigraph.open(tmp_path / "2" / "g.omni", storage_options=options)
    with pytest.raises(SourceChanged, match=r"orders/p=2/a\.parquet' changed after it was sealed for node:Order"):
        orders(fresh, "total")
    fresh.refresh_external()
    assert orders(fresh, "total") == [(1.0,), (1.0,), (9.0,)]


@pytest.mark.parametrize("format", ["iceberg", "delta"])
def test_tables_in_a_bucket_are_read_too(tmp_path: Path, s3_server: Server, s3_bucket: Bucket, format: str) -> None:
    options = s3_server.storage_options()
    stored = omnigraph.create(tmp_path / "stored.omni", f"node Order {{ {ORDER} }}", durability="os")
    stored.load([{"type": "Order", "data": {"no": number}} for number in range(3)])
    place = s3_bucket.uri(f"orders.{format}")
    stored.export_files(place, format, target_options=options)
    graph = created(tmp_path, place, storage_options=options)
    assert orders(graph) == [(0,), (1,), (2,)]


DAYS = [datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)]


def _iceberg_orders(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Table:
    """A partitioned table in a catalog that the environment names."""
    (directory / "warehouse").mkdir()
    settings = {"type": "sql", "uri": f"sqlite:///{directory}/catalog.db", "warehouse": f"file://{directory}/warehouse"}
    for name, value in settings.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__SHOP__{name.upper()}", value)
    catalog = SqlCatalog("shop", **settings)
    catalog.create_namespace("sales")
    columns = Schema(
        NestedField(1, "no", LongType(), required=True),
        NestedField(2, "sum", DoubleType()),
        NestedField(3, "day", DateType()),
        NestedField(4, "tags", ListType(5, StringType(), False)),
    )
    spec = PartitionSpec(PartitionField(3, 1000, IdentityTransform(), "day"))
    table = catalog.create_table("sales.orders", columns, partition_spec=spec)
    rows = [{"no": n, "sum": n * 1.5, "day": DAYS[n % 2], "tags": ["a", str(n)]} for n in range(4)]
    table.append(pa.Table.from_pylist(rows, schema=table.schema().as_arrow()))
    return table


class _DeleteManifest(ManifestWriterV2):
    """A manifest of delete files, which the library reads and does not write."""

    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


def _delete_positions(table: Table, data_file: str, positions: list[int]) -> None:
    """Commit a position delete file, as an engine with merge-on-read does."""
    table.refresh()
    parent, number = table.current_snapshot(), 77
    assert parent is not None
    schema = pa.schema(
        [
            pa.field("file_path", pa.string(), False, {b"PARQUET:field_id": b"2147483546"}),
            pa.field("pos", pa.int64(), False, {b"PARQUET:field_id": b"2147483545"}),
        ]
    )
    root = table.location()
    path = f"{root}/data/deletes.parquet"
    rows = pa.table({"file_path": [data_file] * len(positions), "pos": positions}, schema=schema)
    pq.write_table(rows, path.removeprefix("file://"))
    [of_file] = [task.file for task in table.scan().plan_files() if task.file.file_path == data_file]
    deletes = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES,
        file_path=path,
        file_format=FileFormat.PARQUET,
        partition=of_file.partition,
        record_count=len(positions),
        file_size_in_bytes=Path(path.removeprefix("file://")).stat().st_size,
        lower_bounds={2147483546: data_file.encode()},
        upper_bounds={2147483546: data_file.encode()},
        spec_id=of_file.spec_id,
    )
    spec, current = table.specs()[of_file.spec_id], table.schema()
    manifest = table.io.new_output(f"{root}/metadata/deletes.avro")
    with _DeleteManifest(spec, current, manifest, number, "null") as writer:
        writer.add_entry(
            ManifestEntry.from_args(status=ManifestEntryStatus.ADDED, snapshot_id=number, data_file=deletes)
        )
    listed = f"{root}/metadata/deletes-list.avro"
    sequence = table.metadata.next_sequence_number()
    with write_manifest_list(2, table.io.new_output(listed), number, parent.snapshot_id, sequence, "null") as manifests:
        manifests.add_manifests([writer.to_manifest_file(), *parent.manifests(table.io)])
    snapshot = Snapshot(
        snapshot_id=number,
        parent_snapshot_id=parent.snapshot_id,
        sequence_number=sequence,
        timestamp_ms=parent.timestamp_ms + 1,
        manifest_list=listed,
        summary=Summary(Operation.DELETE),
        schema_id=current.schema_id,
    )
    table.catalog.commit_table(
        table,
        (AssertRefSnapshotId(ref="main", snapshot_id=parent.snapshot_id),),
        (
            AddSnapshotUpdate(snapshot=snapshot),
            SetSnapshotRefUpdate(ref_name="main", type="branch", snapshot_id=number),
        ),
    )


_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def _z85(content: bytes) -> str:
    padded = content + b"\0" * (-len(content) % 4)
    words = [int.from_bytes(padded[place : place + 4]) for place in range(0, len(padded), 4)]
    return "".join(_Z85[word // 85**power % 85] for word in words for power in (4, 3, 2, 1, 0))


def _write_delta_log(table: Path, file: str, path: str, names: dict[str, str], deleted: list[int]) -> None:
    """The log of a table with mapped columns and a deletion vector, which the library reads and does not write."""
    fields = [
        {
            "name": name,
            "type": "long" if name == "no" else "string",
            "nullable": True,
            "metadata": {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical},
        }
        for number, (name, physical) in enumerate(names.items(), 1)
    ]
    # One Roaring bitmap with one array container, behind the magic number and the count of bitmaps.
    bitmap = struct.pack("<IIHHI", 12346, 1, 0, len(deleted) - 1, 16)
    bitmap += b"".join(struct.pack("<H", row) for row in deleted)
    vector = struct.pack("<IQI", 1681511377, 1, 0) + bitmap
    features = ["deletionVectors", "columnMapping"]
    actions: list[dict[str, Any]] = [
        {
            "protocol": {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": features,
                "writerFeatures": features,
            }
        },
        {
            "metaData": {
                "id": "00000000-0000-0000-0000-000000000001",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps({"type": "struct", "fields": fields}),
                "partitionColumns": [],
                "configuration": {"delta.columnMapping.mode": "name", "delta.enableDeletionVectors": "true"},
                "createdTime": 1,
            }
        },
        {
            "add": {
                "path": path,
                "partitionValues": {},
                "size": (table / file).stat().st_size,
                "modificationTime": 1,
                "dataChange": True,
                "stats": '{"numRecords":4}',
                "deletionVector": {
                    "storageType": "i",
                    "pathOrInlineDv": _z85(vector),
                    "sizeInBytes": len(vector),
                    "cardinality": len(deleted),
                },
            }
        },
    ]
    log = table / "_delta_log"
    log.mkdir()
    (log / f"{0:020}.json").write_text("\n".join(map(json.dumps, actions)))
