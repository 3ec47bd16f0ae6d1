"""Blob properties: values of every size survive everything that happens to their entities, and are read in ranges."""

import base64
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import omnigraph
from omnigraph.engine.blobs import READ_BYTES_MAX
from omnigraph.errors import BlobRangeError, CorruptionError, NotFoundError, UsageError
from omnigraph.storage.tables.blob_files import INLINE_BYTES_MAX
from tests.support.tuning import tuned

SCHEMA = """
node Doc { slug: String @key
    rank: I32?
    image: Blob?
    other: Blob? }
node Must { body: Blob }
edge Shows: Doc -> Doc { picture: Blob? }
"""
SIZES = (0, 1, INLINE_BYTES_MAX, INLINE_BYTES_MAX + 1, 300_000, READ_BYTES_MAX, READ_BYTES_MAX + 12_345)


def content(size: int) -> bytes:
    return (b"%07d." % size * (size // 8 + 1))[:size]


def text_of(value: bytes | None) -> str | None:
    return None if value is None else "base64:" + base64.b64encode(value).decode()


def doc(slug: str, image: bytes | None = None, **others: Any) -> dict[str, Any]:
    return {"type": "Doc", "data": {"slug": slug, "image": text_of(image), **others}}


@pytest.fixture
def graph(tmp_path: Path) -> omnigraph.Graph:
    return omnigraph.create(tmp_path / "g", SCHEMA, durability="os")


@pytest.fixture
def sized(graph: omnigraph.Graph) -> omnigraph.Graph:
    graph.load([*(doc(f"d{size}", content(size)) for size in SIZES), doc("none", None)])
    return graph


def image(graph: omnigraph.Graph, slug: str, **options: Any) -> bytes:
    return graph.read_blob("node", "Doc", slug, "image", **options).read()


def holds_all(graph: omnigraph.Graph, **options: Any) -> None:
    for size in SIZES:
        assert image(graph, f"d{size}", **options) == content(size)
    with pytest.raises(NotFoundError, match="is null"):
        image(graph, "none", **options)


def fragments(graph: omnigraph.Graph, key: str = "node:Doc") -> int:
    snapshot = graph.snapshot()
    pin = snapshot.state.tables[key]
    return len(snapshot.store.open(pin.location, pin.lance_version).get_fragments())


# --- reading -----------------------------------------------------------------------------------------------


def test_values_of_every_size_come_back_and_null_is_not_found(sized: omnigraph.Graph) -> None:
    holds_all(sized)
    holds_all(omnigraph.open(sized.uri))


def test_every_range_within_a_value_is_read(sized: omnigraph.Graph) -> None:
    for size in SIZES:
        blob = sized.read_blob("node", "Doc", f"d{size}", "image")
        whole = content(size)
        assert blob.size == size
        for start in {min(start, size) for start in (0, 1, size // 2, size)}:
            assert blob.read(start) == whole[start:]
            for length in {min(length, size - start) for length in (0, 1, 7)}:
                assert blob.read(start, length) == whole[start : start + length]


@pytest.mark.parametrize(("start", "length"), [(-1, None), (0, 6), (6, None), (6, 0), (5, 1), (2, -1), (-5, 5)])
def test_a_range_that_is_not_there_is_refused_with_its_bounds(
    graph: omnigraph.Graph, start: int, length: int | None
) -> None:
    graph.load([doc("a", b"12345")])
    blob = graph.read_blob("node", "Doc", "a", "image")
    with pytest.raises(BlobRangeError, match="5 bytes") as caught:
        blob.read(start, length)
    assert caught.value.facts["length"] == 5
    assert caught.value.facts["start"] == start


def test_no_more_than_a_chunk_is_in_memory_at_once(sized: omnigraph.Graph) -> None:
    size = SIZES[-1]
    chunks = list(sized.read_blob("node", "Doc", f"d{size}", "image").chunks())
    assert [len(chunk) for chunk in chunks] == [READ_BYTES_MAX, size - READ_BYTES_MAX]


def test_the_tag_is_equal_for_equal_bytes_only(graph: omnigraph.Graph) -> None:
    graph.load([doc("a", b"same"), doc("b", b"same"), doc("c", b"sane"), doc("e", b"")])
    tags = [graph.read_blob("node", "Doc", slug, "image").etag for slug in "abce"]
    assert tags[0] == tags[1]
    assert len(set(tags)) == 3
    assert all(tag.startswith('"') and tag.endswith('"') and len(tag) == 34 for tag in tags)
    graph.mutate('query q() { update Doc set { rank: 1 } where slug = "a" }')
    assert graph.read_blob("node", "Doc", "a", "image").etag == tags[0]


def test_the_tag_of_the_place_changes_with_the_entity_and_reads_nothing(graph: omnigraph.Graph) -> None:
    graph.load([doc("a", b"same"), doc("b", b"same")])
    before = graph.read_blob("node", "Doc", "a", "image")
    assert before.place_etag != graph.read_blob("node", "Doc", "b", "image").place_etag
    graph.load([doc("c", b"other")])
    assert graph.read_blob("node", "Doc", "a", "image").place_etag == before.place_etag, "the entity did not change"
    graph.load([doc("a", b"else")])
    assert graph.read_blob("node", "Doc", "a", "image").place_etag != before.place_etag
    assert graph.read_blob("node", "Doc", "a", "image", at=before.commit_id).place_etag == before.place_etag


def test_edges_have_blobs_too(graph: omnigraph.Graph) -> None:
    edge = {"edge": "Shows", "from": "a", "to": "b", "data": {"id": "e", "picture": text_of(b"edge")}}
    graph.load([doc("a"), doc("b"), edge])
    assert graph.read_blob("edge", "Shows", "e", "picture").read() == b"edge"


@pytest.mark.parametrize(
    ("selector", "kind", "message"),
    [
        (("vertex", "Doc", "a", "image"), UsageError, "node and edge"),
        (("edge", "Doc", "a", "image"), NotFoundError, "no edge type 'Doc'"),
        (("node", "Dok", "a", "image"), NotFoundError, "Doc"),
        (("node", "Doc", "z", "image"), NotFoundError, "no Doc with id 'z'"),
        (("node", "Doc", "' OR 1=1", "image"), NotFoundError, "no Doc with id"),
        (("node", "Doc", "a", "imag"), NotFoundError, "image"),
        (("node", "Doc", "a", "id"), NotFoundError, "no property"),
        (("node", "Doc", "a", "rank"), UsageError, "not a Blob"),
    ],
)
def test_a_wrong_selector_is_told_apart(
    graph: omnigraph.Graph, selector: tuple[str, str, str, str], kind: type[Exception], message: str
) -> None:
    graph.load([doc("a", b"1", rank=1)])
    with pytest.raises(kind) as caught:
        graph.read_blob(*selector)
    assert message in str(caught.value)


def test_a_blob_stays_what_it_is_on_branches_and_in_the_past(graph: omnigraph.Graph) -> None:
    first = graph.load([doc("a", b"one")]).commit
    assert first is not None
    held = graph.read_blob("node", "Doc", "a", "image")
    graph.create_branch("side")
    graph.load([doc("a", b"two, longer")], branch="side")
    graph.load([doc("a", b"three")])
    assert image(graph, "a") == b"three"
    assert image(graph, "a", branch="side") == b"two, longer"
    assert image(graph, "a", at=first.id) == b"one"
    assert (held.read(), held.commit_id) == (b"one", first.id)


def test_threads_may_share_a_blob(sized: omnigraph.Graph) -> None:
    blob = sized.read_blob("node", "Doc", "d300000", "image")
    whole, wrong = content(300_000), []

    def read(start: int) -> None:
        for _ in range(20):
            if blob.read(start, 1000) != whole[start : start + 1000]:
                wrong.append(start)

    threads = [threading.Thread(target=read, args=(start,)) for start in range(0, 200_000, 25_001)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# --- writing -----------------------------------------------------------------------------------------------


def test_an_export_loads_again_and_gives_the_same_values(sized: omnigraph.Graph, tmp_path: Path) -> None:
    exported = b"".join(sized.export())
    (tmp_path / "export.jsonl").write_bytes(exported)
    copy = omnigraph.create(tmp_path / "copy", SCHEMA, durability="os")
    copy.load(tmp_path / "export.jsonl", "overwrite")
    holds_all(copy)
    assert b"".join(copy.export()) == exported


def test_a_mutation_writes_blobs_from_parameters_and_literals(graph: omnigraph.Graph) -> None:
    insert = "query q($s: String, $b: Blob?) { insert Doc { slug: $s, image: $b } }"
    graph.mutate(insert, {"s": "a", "b": text_of(b"by parameter")})
    graph.mutate(insert.replace("Blob?", "String"), {"s": "b", "b": text_of(b"by text")})
    graph.mutate('query q() { insert Doc { slug: "c", image: "base64:bGl0ZXJhbA==" } }')
    graph.mutate(insert, {"s": "d"})
    assert [image(graph, slug) for slug in "abc"] == [b"by parameter", b"by text", b"literal"]
    with pytest.raises(NotFoundError):
        image(graph, "d")


def test_an_update_of_another_property_keeps_every_value(sized: omnigraph.Graph) -> None:
    sized.mutate("query q() { update Doc set { rank: 1 } where slug >= 'd' }".replace("'", '"'))
    holds_all(sized)
    rows = sized.query("query q() { match { $d: Doc { rank: 1 } } return { count($d) as n } }")
    assert rows.to_pylist() == [{"n": len(SIZES) + 1}]


def test_an_update_replaces_a_value_and_can_take_it_away(graph: omnigraph.Graph) -> None:
    graph.load([doc("a", b"old", other=text_of(b"stays"))])
    update = 'query q($b: Blob?) { update Doc set { image: $b } where slug = "a" }'
    graph.mutate(update, {"b": text_of(content(100_000))})
    assert image(graph, "a") == content(100_000)
    graph.mutate(update, {"b": None})
    with pytest.raises(NotFoundError, match="is null"):
        image(graph, "a")
    assert graph.read_blob("node", "Doc", "a", "other").read() == b"stays"


def test_a_load_in_merge_mode_replaces_some_values_and_leaves_the_others(sized: omnigraph.Graph) -> None:
    sized.load([doc("d1", b"replaced"), doc("new", content(70_000))])
    assert image(sized, "d1") == b"replaced"
    assert image(sized, "new") == content(70_000)
    for size in SIZES[2:]:
        assert image(sized, f"d{size}") == content(size)


def test_a_delete_leaves_the_values_of_the_others(sized: omnigraph.Graph) -> None:
    sized.mutate('query q() { delete Doc where slug = "d1" }')
    with pytest.raises(NotFoundError):
        image(sized, "d1")
    assert image(sized, "d300000") == content(300_000)


def test_a_large_load_writes_blobs_as_a_small_one_does(graph: omnigraph.Graph, tmp_path: Path) -> None:
    graph = tuned(graph, buffered_rows_max=0)
    records = [*(doc(f"d{size}", content(size)) for size in SIZES), doc("none", None)]
    file = tmp_path / "large.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    graph.load(file)
    holds_all(graph)
    assert not graph.verify().problems


def test_a_table_that_grows_blob_by_blob_stays_small_in_number_and_whole(graph: omnigraph.Graph) -> None:
    insert = "query q($s: String, $b: Blob?) { insert Doc { slug: $s, image: $b } }"
    expected: dict[str, bytes | None] = {}
    for number in range(60):
        value = None if number % 7 == 0 else content(70_000 if number % 10 == 1 else number)
        # Another handle knows nothing of what was written, and has to read it.
        handle = omnigraph.open(graph.uri, durability="os") if number % 9 == 0 else graph
        handle.mutate(insert, {"s": f"s{number}", "b": text_of(value)})
        expected[f"s{number}"] = value
    assert fragments(graph) <= 20
    rows = graph.snapshot().to_arrow("node:Doc").to_pylist()
    assert {row["slug"]: row["image"] for row in rows} == expected
    assert not graph.verify().problems


def test_a_write_does_not_take_large_values_along(graph: omnigraph.Graph) -> None:
    large = content(READ_BYTES_MAX)
    graph.load([doc("large", large)])
    for number in range(20):
        graph.load([doc(f"s{number}", b"small")], "append")
    names = [record.path for commit in graph.commits() for record in commit.files if record.path.endswith(".blob")]
    assert len(names) == 1
    assert image(graph, "large") == large


# --- files -------------------------------------------------------------------------------------------------


def blob_files(graph: omnigraph.Graph) -> list[Path]:
    return sorted(Path(graph.uri.removeprefix("file://")).rglob("*.blob"))


def test_the_files_of_large_values_are_recorded_and_verified(sized: omnigraph.Graph) -> None:
    files = blob_files(sized)
    recorded = {record.path: record for commit in sized.commits() for record in commit.files}
    root = Path(sized.uri.removeprefix("file://"))
    assert {str(file.relative_to(root)) for file in files} <= set(recorded)
    assert len(files) >= 2
    assert not sized.verify().problems


def _damage(file: Path) -> None:
    with open(file, "r+b") as handle:
        handle.write(b"damaged")


@pytest.mark.parametrize("hurt", [os.unlink, _damage], ids=["missing", "damaged"])
def test_a_missing_or_damaged_file_of_a_large_value_is_found(
    sized: omnigraph.Graph, hurt: Callable[[Path], None]
) -> None:
    file = blob_files(sized)[0]
    hurt(file)
    problems = omnigraph.open(sized.uri).verify().problems
    assert [file.name in problem.path for problem in problems] == [True]


def test_a_value_whose_file_is_missing_is_corruption(graph: omnigraph.Graph) -> None:
    graph.load([doc("a", content(100_000))])
    (file,) = blob_files(graph)
    file.unlink()
    with pytest.raises(CorruptionError):
        image(omnigraph.open(graph.uri), "a")


def test_with_fsync_the_files_of_large_values_are_synced_with_their_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = omnigraph.create(tmp_path / "g", SCHEMA)
    synced: list[str] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    graph.load([doc("a", content(100_000))])
    (file,) = blob_files(graph)
    assert {str(file), str(file.parent), str(file.parent.parent)} <= set(synced)
