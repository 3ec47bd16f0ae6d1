"""Files outside the graph, on disk and in an object store: found, read by ranges, and written whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from omnigraph.engine.graph import create
from omnigraph.errors import AlreadyExistsError, InputError, NotFoundError, StorageError, UsageError, ViolationError
from omnigraph.storage.objects.source_files import find_files, open_ranges
from omnigraph.storage.objects.target_files import TargetDirectory
from tests.support.faults.s3 import Bucket, Server

SCHEMA = "node Person {\n name: String @key\n age: I32?\n}\n"


def put(bucket: Bucket, key: str, *records: Any) -> str:
    body = "".join(json.dumps(record) + "\n" for record in records)
    bucket.client.put_object(Bucket=bucket.name, Key=key, Body=body.encode())
    return bucket.uri(key)


def person(name: str, age: object = None) -> dict[str, Any]:
    return {"type": "Person", "data": {"name": name, "age": age}}


@pytest.mark.s3
def test_a_file_and_all_files_below_a_prefix_are_found(s3_server: Server, s3_bucket: Bucket) -> None:
    options = s3_server.storage_options()
    for key in ("in/b.jsonl", "in/deep/a.ndjson", "in/schema.pg", "in/_SUCCESS", "inside.jsonl"):
        put(s3_bucket, key, person("p"))
    [one] = find_files(s3_bucket.uri("in/b.jsonl"), options)
    assert one.path == one.address == s3_bucket.uri("in/b.jsonl")
    found = find_files(s3_bucket.uri("in/"), options)
    assert [file.path for file in found] == [s3_bucket.uri("in/b.jsonl"), s3_bucket.uri("in/deep/a.ndjson")]
    assert [file.path for file in find_files(s3_bucket.uri(""), options)][-1] == s3_bucket.uri("inside.jsonl")
    assert "secret" not in repr(one)


@pytest.mark.s3
def test_what_is_not_there_is_said_with_what_to_do(s3_server: Server, s3_bucket: Bucket) -> None:
    options = s3_server.storage_options()
    put(s3_bucket, "in/schema.pg")
    for address, message in [
        (s3_bucket.uri("in"), "the address of a prefix ends in /"),
        (s3_bucket.uri("in/"), "no data file below .*\\n.*end in .jsonl"),
        (s3_bucket.uri("missing.jsonl"), "there is no file"),
    ]:
        with pytest.raises(NotFoundError, match=message):
            find_files(address, options)
    for address, message in [("gs://bucket/a.jsonl", "gs:// is not supported"), ("s3:///a.jsonl", "names no bucket")]:
        with pytest.raises(UsageError, match=message):
            find_files(address, options)
    nobody = {**options, "aws_endpoint": "http://127.0.0.1:1", "client_max_retries": "0"}
    with pytest.raises(StorageError, match=r"a\.jsonl' cannot be read"):
        find_files(s3_bucket.uri("a.jsonl"), nobody)


@pytest.mark.s3
def test_an_object_that_changes_or_goes_away_is_not_read_on(s3_server: Server, s3_bucket: Bucket) -> None:
    [file] = find_files(put(s3_bucket, "a.jsonl", person("p"), person("q")), s3_server.storage_options())
    with open_ranges(file) as read:
        assert read(1, 6) == b'"type"'
        assert read(file.size - 1, 100) == b"\n"
        assert read(file.size, 100) == b""
        put(s3_bucket, "a.jsonl", person("r"), person("s"))
        with pytest.raises(InputError, match="changed while it was being loaded"):
            read(1, 6)
        s3_bucket.client.delete_object(Bucket=s3_bucket.name, Key="a.jsonl")
        with pytest.raises(NotFoundError, match="was deleted while it was being read"):
            read(1, 6)


def test_a_local_file_that_changes_or_goes_away_is_not_read_on(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"12345")
    [file] = find_files(f"file://{path}", {})

    def read_while(content: bytes) -> None:
        with open_ranges(file) as read:
            path.write_bytes(content)
            os.utime(path, ns=(1, 1))
            read(0, 5)

    with open_ranges(file) as read:
        assert read(1, 2) == b"23"
    for content in (b"54321", b"1", b"12345"):
        with pytest.raises(InputError, match="changed while it was being loaded"):
            read_while(content)
    path.unlink()
    with pytest.raises(NotFoundError):
        read_while(b"")
    with pytest.raises(UsageError, match="is a directory"):
        find_files(str(tmp_path), {})


@pytest.mark.s3
def test_a_file_appears_whole_or_not_at_all(s3_server: Server, s3_bucket: Bucket, tmp_path: Path) -> None:
    for path in (s3_bucket.uri("out"), str(tmp_path / "out")):
        target = TargetDirectory.at(path, s3_server.storage_options())
        target.create("schema.pg", b"schema")
        with pytest.raises(AlreadyExistsError, match="exists already"):
            target.create("schema.pg", b"other")
        with target.writing("good") as file:
            file.write(b"all of it")
        with pytest.raises(TypeError), target.writing("good") as file:
            file.writelines([b"half of it", None])  # type: ignore[list-item] # something goes wrong in the middle
    assert (tmp_path / "out" / "good").read_bytes() == b"all of it"
    assert s3_bucket.read("out/good") == b"all of it"
    assert s3_bucket.keys() == ["out/good", "out/schema.pg"]
    with pytest.raises(StorageError, match="cannot be written"):
        TargetDirectory.at("s3://no-such-bucket/out", s3_server.storage_options()).create("schema.pg", b"")


@pytest.mark.s3
def test_the_embedded_load_reads_from_an_object_store(s3_server: Server, s3_bucket: Bucket, tmp_path: Path) -> None:
    put(s3_bucket, "in/1.jsonl", person("Ada", 36), person("Alan"))
    bad = put(s3_bucket, "in/2.jsonl", person("Kurt"), person("Emmy", "old"))
    graph = create(tmp_path / "graph", SCHEMA, durability="os")
    options = s3_server.storage_options()
    with pytest.raises(ViolationError) as refused:
        graph.load(s3_bucket.uri("in/"), "append", source_options=options)
    assert str(refused.value.samples[0]).startswith(f"{bad}:2: wrong value for Person.age")
    put(s3_bucket, "in/2.jsonl", person("Kurt"))
    assert graph.load(s3_bucket.uri("in/"), "append", source_options=options).nodes == {"Person": 3}
    local = tmp_path / "more.jsonl"
    local.write_text(json.dumps(person("Grace")) + "\n")
    assert graph.load([local, bad], "merge", source_options=options).total == 2
    before = graph.snapshot().commit_id
    with pytest.raises(NotFoundError):
        graph.load([local, s3_bucket.uri("missing.jsonl")], "merge", source_options=options)
    assert graph.snapshot().commit_id == before
