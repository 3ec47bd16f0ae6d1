"""Another object store is one backend: a client of obstore, its conditional delete, and a hint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest

from omnigraph.errors import AlreadyExistsError, InputError, NotFoundError, UsageError
from omnigraph.storage.objects import backends
from omnigraph.storage.objects.backends import backend_of, open_objects, parse_root
from omnigraph.storage.objects.bucket import BucketBackend
from omnigraph.storage.objects.durability import Durability
from omnigraph.storage.objects.protocol import Objects, honours_create_if_absent
from omnigraph.storage.objects.source_files import find_files, open_ranges
from omnigraph.storage.objects.target_files import TargetDirectory, write_file

if TYPE_CHECKING:
    from obstore.store import ObjectStore


class MemoryBackend(BucketBackend):
    """A bucket of this process. It has no conditional delete."""

    scheme = "memory-bucket"

    def __init__(self) -> None:
        self._buckets: dict[str, ObjectStore] = {}

    def connect(self, url: str, options: Mapping[str, str]) -> ObjectStore:
        from obstore.store import MemoryStore

        return self._buckets.setdefault(url, MemoryStore())

    def delete_matching(self, client: ObjectStore, path: str, e_tag: str) -> bool | None:
        return None

    def hint(self, options: Mapping[str, str], environment: Mapping[str, str]) -> str:
        return "start the process again"


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> MemoryBackend:
    """The table with one more row."""
    added = MemoryBackend()
    known = (*backends.backends(), added)
    monkeypatch.setattr(backends, "backends", lambda: known)
    return added


@pytest.fixture
def objects(backend: MemoryBackend) -> Objects:
    return open_objects(parse_root("memory-bucket://b"), {}, Durability.FSYNC)


def test_its_address_is_a_root_with_its_capabilities(backend: MemoryBackend) -> None:
    root = parse_root("memory-bucket://b/g/")
    assert backend_of(root) is backend
    assert (str(root), root.is_local, root.table_uri("t")) == ("memory-bucket://b/g", False, "memory-bucket://b/g/t")


def test_an_unknown_scheme_is_refused_with_every_row_as_an_example(backend: MemoryBackend) -> None:
    with pytest.raises(UsageError, match="gs:// is not supported") as refused:
        parse_root("gs://b/g")
    assert refused.value.hint == "use a path or s3://bucket/prefix or memory-bucket://bucket/prefix"
    with pytest.raises(UsageError, match="names no bucket") as nameless:
        find_files("memory-bucket:///a.jsonl", {})
    assert nameless.value.hint == "write memory-bucket://bucket/key"


def test_its_small_files_are_created_once_and_deleted_by_content(objects: Objects) -> None:
    assert honours_create_if_absent(objects)
    assert objects.create("refs/x.json", b"first")
    assert not objects.create("refs/x.json", b"second")
    assert objects.create("refs/x.json", b"first"), "a retry whose response was lost has won"
    assert not objects.delete_if("refs/x.json", b"second")
    assert objects.read("refs/x.json") == b"first"
    assert objects.delete_if("refs/x.json", b"first")
    assert objects.read("refs/x.json") is None
    assert objects.size("refs/x.json") is None


def test_its_small_files_are_replaced_by_content(objects: Objects) -> None:
    assert not objects.replace_if("state.json", b"", b"first"), "a missing file has no content"
    assert objects.create("state.json", b"first")
    assert objects.replace_if("state.json", b"first", b"second")
    assert not objects.replace_if("state.json", b"first", b"third")
    assert objects.read("state.json") == b"second"


def test_its_small_files_are_listed_by_level_and_below(objects: Objects) -> None:
    for path in ("a", "d/b", "d/e/c"):
        objects.replace(path, path.encode())
    assert dict(objects.list("d")) == {"d/b": 3, "d/e/c": 5}
    level = objects.level("d")
    assert ([file.path for file in level.files], level.directories) == (["d/b"], ["d/e"])
    assert {file.path for file in objects.walk("")} == {"a", "d/b", "d/e/c"}
    objects.delete_all(["a", "d/b", "missing"])
    assert dict(objects.list("")) == {"d/e/c": 5}


def test_its_files_are_exported_whole_and_read_by_ranges(backend: MemoryBackend) -> None:
    target = TargetDirectory.at("memory-bucket://b/out/", {})
    target.create("schema.pg", b"node P {}")
    with pytest.raises(AlreadyExistsError):
        target.create("schema.pg", b"again")
    with target.writing("part.jsonl") as file:
        file.write(b"0123456789")
    with pytest.raises(ZeroDivisionError), target.writing("broken.jsonl") as file:
        file.write(b"0" * (1 // 0))
    [found] = find_files("memory-bucket://b/out/", {})
    assert (found.path, found.size) == ("memory-bucket://b/out/part.jsonl", 10)
    with open_ranges(found) as read:
        assert (read(2, 3), read(8, 9), read(10, 1)) == (b"234", b"89", b"")
        with write_file(found.address, {}) as file:
            file.write(b"abcdefghij")
        with pytest.raises(InputError, match="changed while it was being loaded"):
            read(0, 1)
    with pytest.raises(NotFoundError, match="ends in /"):
        find_files("memory-bucket://b/out", {})
    with pytest.raises(UsageError, match="names no object"), write_file("memory-bucket://b/out/", {}):
        pass
