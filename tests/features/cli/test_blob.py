"""`omnigraph blob`: bytes go out unchanged, whole or in part."""

import base64
import json
from pathlib import Path

import pytest
from click.testing import Result

import omnigraph
from tests.features.cli.run import run

SCHEMA = "node Doc { slug: String @key\n image: Blob? }\nedge Shows: Doc -> Doc { picture: Blob? }"
BYTES = bytes(range(256))


def text_of(value: bytes) -> str:
    return "base64:" + base64.b64encode(value).decode()


@pytest.fixture
def graph(tmp_path: Path) -> omnigraph.Graph:
    graph = omnigraph.create(tmp_path / "g", SCHEMA, durability="os")
    graph.load(
        [
            {"type": "Doc", "data": {"slug": "a", "image": text_of(BYTES)}},
            {"type": "Doc", "data": {"slug": "none"}},
            {"edge": "Shows", "from": "a", "to": "none", "data": {"id": "e", "picture": text_of(b"edge")}},
        ]
    )
    return graph


def blob(graph: omnigraph.Graph, verb: str, *arguments: object) -> Result:
    return run("blob", verb, "--store", graph.uri, *arguments)


def got(graph: omnigraph.Graph, *arguments: object) -> bytes:
    result = blob(graph, "get", *arguments)
    assert result.exit_code == 0, result.stderr
    return result.stdout_bytes


IMAGE = ("node", "Doc", "a", "image")


def test_the_bytes_go_out_as_they_are(graph: omnigraph.Graph) -> None:
    assert got(graph, *IMAGE) == BYTES
    assert got(graph, "edge", "Shows", "e", "picture") == b"edge"


def test_a_part_is_a_half_open_range(graph: omnigraph.Graph) -> None:
    assert got(graph, *IMAGE, "--offset", 250) == BYTES[250:]
    assert got(graph, *IMAGE, "--offset", 10, "--length", 5) == BYTES[10:15]
    assert got(graph, *IMAGE, "--offset", 256) == b""


def test_the_past_and_branches_can_be_read(graph: omnigraph.Graph) -> None:
    before = graph.snapshot().commit_id
    graph.create_branch("side")
    graph.load([{"type": "Doc", "data": {"slug": "a", "image": text_of(b"new")}}])
    assert got(graph, *IMAGE) == b"new"
    assert got(graph, *IMAGE, "--branch", "side") == BYTES
    assert got(graph, *IMAGE, "--at", before) == BYTES
    assert got(graph, *IMAGE, "--snapshot", before) == BYTES


def test_a_file_is_written_when_asked_for(graph: omnigraph.Graph, tmp_path: Path) -> None:
    out = tmp_path / "image.bin"
    assert b"256 bytes" in got(graph, *IMAGE, "--out", out)
    assert out.read_bytes() == BYTES
    shown = json.loads(got(graph, *IMAGE, "--length", 3, "--out", out, "--json"))
    assert shown == {"out": str(out), "bytes": 3, "graph_commit_id": graph.snapshot().commit_id}
    assert out.read_bytes() == BYTES[:3]


def test_a_failed_read_leaves_the_old_file(graph: omnigraph.Graph, tmp_path: Path) -> None:
    out = tmp_path / "image.bin"
    out.write_bytes(b"old")
    assert blob(graph, "get", "node", "Doc", "none", "image", "--out", out).exit_code == 1
    assert out.read_bytes() == b"old"
    assert blob(graph, "get", *IMAGE, "--out", tmp_path / "no" / "image.bin").exit_code == 1


def test_stat_shows_size_and_tag(graph: omnigraph.Graph) -> None:
    commit = graph.snapshot().commit_id
    tag = graph.read_blob(*IMAGE).etag
    assert blob(graph, "stat", *IMAGE).stdout.splitlines() == ["size: 256", f"etag: {tag}", f"commit: {commit}"]
    shown = json.loads(blob(graph, "stat", *IMAGE, "--json").stdout)
    assert shown == {
        "selector": {"entity": "node", "type": "Doc", "id": "a", "property": "image"},
        "kind": "managed",
        "size": 256,
        "etag": tag,
        "target": {"branch": "main", "resolved_snapshot": commit},
    }
    shown = json.loads(blob(graph, "stat", *IMAGE, "--json", "--snapshot", commit).stdout)
    assert shown["target"] == {"snapshot": commit, "resolved_snapshot": commit}


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("node", "Doc", "none", "image"), 1, "is null"),
        (("node", "Doc", "z", "image"), 1, "no Doc"),
        (("node", "Dok", "a", "image"), 1, "Doc"),
        (("node", "Doc", "a", "slug"), 2, "not a Blob"),
        (("thing", "Doc", "a", "image"), 2, "thing"),
        ((*IMAGE, "--offset", 257), 1, "256 bytes"),
        ((*IMAGE, "--length", 257), 1, "256 bytes"),
        ((*IMAGE, "--length", 0), 2, "length"),
        ((*IMAGE, "--offset", -1), 2, "offset"),
        ((*IMAGE, "--at", "x", "--snapshot", "y"), 2, "not both"),
        ((*IMAGE, "--branch", "nowhere"), 1, "nowhere"),
    ],
)
def test_mistakes_are_told_with_their_exit_code(
    graph: omnigraph.Graph, arguments: tuple[object, ...], status: int, message: str
) -> None:
    result = blob(graph, "get", *arguments)
    assert result.exit_code == status
    assert message in result.stderr
    assert result.stdout_bytes == b""
