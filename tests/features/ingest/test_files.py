"""Everyday files into a graph, in Python and on the command line: formats, names, columns and ids."""

from __future__ import annotations

import bz2
import gzip
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from omnigraph.cli.args import load_columns
from omnigraph.engine.graph import Graph, create
from omnigraph.ingest.files.formats import FORMAT_NAMES, FORMATS
from tests.features.cli.run import run
from tests.support.faults.s3 import Bucket, Server

SCHEMA = """
node Person {
  name: String
  age: I32?
  born: Date?
}
node Item {
  sku: I64 @key
  price: F64?
}
edge Knows: Person -> Person {
  since: Date?
}
edge Buys: Person -> Item
"""
PEOPLE: list[dict[str, Any]] = [
    {"id": "1", "name": "007", "age": 36},
    {"id": "2", "name": 'Zo\u00eb, "the"\nsecond', "age": None},
]
TABLE = pa.Table.from_pylist(PEOPLE)


def ipc(table: pa.Table, *, as_file: bool) -> bytes:
    sink = io.BytesIO()
    with (pa.ipc.new_file if as_file else pa.ipc.new_stream)(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def parquet(table: pa.Table = TABLE) -> bytes:
    sink = io.BytesIO()
    pyarrow.parquet.write_table(table, sink)
    return sink.getvalue()


def feather() -> bytes:
    sink = io.BytesIO()
    pyarrow.feather.write_feather(TABLE, sink)
    return sink.getvalue()


def lines(records: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


FILES: dict[str, bytes] = {
    "people.csv": b'id,name,age\n1,007,36\n2,"Zo\xc3\xab, ""the""\nsecond",\n',
    "people.tsv": b'id\tname\tage\n1\t007\t36\n2\t"Zo\xc3\xab, ""the""\nsecond"\t\n',
    "semicolon.csv": b'id;name;age\n1;007;36\n2;"Zo\xc3\xab, ""the""\nsecond";\n',
    "people.parquet": parquet(),
    "people.json": json.dumps(PEOPLE).encode(),
    "indented.json": json.dumps(PEOPLE, indent=2).encode(),
    "people.jsonl": lines(PEOPLE),
    "envelopes.jsonl": lines([{"type": "Person", "data": record} for record in PEOPLE]),
    "envelopes.json": json.dumps([{"type": "Person", "data": record} for record in PEOPLE]).encode(),
    "people.arrow": ipc(TABLE, as_file=True),
    "stream.arrows": ipc(TABLE, as_file=False),
    "people.feather": feather(),
}
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return create(tmp_path_factory.mktemp("files") / "g.omni", SCHEMA)


@pytest.fixture
def branch(graph: Graph, request: pytest.FixtureRequest) -> Iterator[str]:
    name = f"b{abs(hash(request.node.name))}"
    graph.create_branch(name)
    yield name
    graph.delete_branch(name)


def stored(graph: Graph, branch: str, type_name: str = "Person") -> list[dict[str, Any]]:
    return [json.loads(line)["data"] for line in b"".join(graph.export(branch, types=[type_name])).splitlines()]


def people(graph: Graph, branch: str) -> list[dict[str, Any]]:
    found = sorted(stored(graph, branch), key=lambda row: str(row["id"]))
    return [{key: row.get(key) for key in ("id", "name", "age")} for row in found]


@pytest.mark.parametrize("name", FILES)
def test_every_format_and_compression_gives_the_same_rows(name: str, graph: Graph, branch: str, tmp_path: Path) -> None:
    for suffix, pack in PACKED.items():
        path = tmp_path / (name + suffix)
        path.write_bytes(pack(FILES[name]))
        loaded = graph.load(path, "overwrite", branch=branch, type_name="Person")
        assert (loaded.nodes, people(graph, branch)) == ({"Person": 2}, PEOPLE), path.name
    shown = run("load", graph.uri, "--data", "-", "--type", "Person", "--branch", branch, "--format", format_of(name),
                "--mode", "overwrite", "--yes", stdin=pack(FILES[name]))  # fmt: skip
    assert shown.exit_code == 0, shown.output
    assert people(graph, branch) == PEOPLE


def format_of(name: str) -> str:
    return next(known.name for known in FORMATS if name.endswith(known.suffixes))


def test_the_command_line_names_the_formats_of_the_table() -> None:
    assert load_columns.FORMAT_NAMES == FORMAT_NAMES


def write(directory: Path, **files: str) -> None:
    for name, text in files.items():
        path = directory / name.replace("__", "/").replace("_csv", ".csv")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_patterns_directories_and_several_files_are_one_commit(
    graph: Graph, branch: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, d__person_csv="id,name\n1,A\n2,B\n", d__Item__part1_csv="sku\n5\n", d__Item__part2_csv="sku\n6\n",
          d__KNOWS_csv="From,TARGET,since\n1,2,2020-01-31\n", d__Buys_csv="source,dst\n1,005\n", d___log_csv="x\n",
          d__notes="no data", people1_csv="id,name\n3,C\n", people2_csv="id,name\n4,D\n")  # fmt: skip
    before = len(list(graph.commits(branch)))
    whole = graph.load("d", "append", branch=branch)
    assert (whole.nodes, whole.edges) == ({"Item": 2, "Person": 2}, {"Buys": 1, "Knows": 1})
    assert len(list(graph.commits(branch))) == before + 1
    assert graph.load("people*.csv", "append", branch=branch, type_name="Person").nodes == {"Person": 2}
    assert graph.load(["people1.csv", Path("people2.csv")], branch=branch, type_name="Person").total == 2
    mixed = graph.load(
        {"Person": ["people1.csv", "people2.csv"], "Knows": pa.table({"from": [3], "to": [4.0]})}, branch=branch
    )
    assert (mixed.nodes, mixed.edges) == ({"Person": 2}, {"Knows": 1})
    shown = run(
        "load", graph.uri, "--data", "Person=people1.csv", "--data", "Knows=d/KNOWS.csv", "--branch", branch, "--json"
    )
    assert json.loads(shown.stdout)["total_entities"] == 2


@pytest.mark.s3
def test_files_in_a_bucket_are_read_by_name_pattern_and_prefix(
    graph: Graph, branch: str, s3_server: Server, s3_bucket: Bucket
) -> None:
    for key, body in {
        "in/Person.csv.gz": gzip.compress(FILES["people.csv"]),
        "in/Item/a.parquet": parquet(pa.table({"sku": [1]})),
    }.items():
        s3_bucket.client.put_object(Bucket=s3_bucket.name, Key=key, Body=body)
    options = {"branch": branch, "source_options": s3_server.storage_options()}
    assert graph.load(s3_bucket.uri("in/"), "append", **options).nodes == {"Person": 2, "Item": 1}
    assert graph.load(s3_bucket.uri("in/P*.gz"), "upsert", **options).nodes == {"Person": 2}
    assert graph.load(s3_bucket.uri("in/Item/a.parquet"), "upsert", type_name="Item", **options).nodes == {"Item": 1}
    assert people(graph, branch) == PEOPLE
