"""Small files carry their own checksums; files of earlier versions, which had none, are still read."""

import json
from pathlib import Path

import pytest

import omnigraph
from omnigraph.errors import CorruptionError
from omnigraph.manifest.layout import STAMP_PATH
from omnigraph.manifest.refs import mark_path
from omnigraph.storage.objects.sealed import seal, unseal
from tests.promises.damage import sweep
from tests.promises.damage.graphs import insert
from tests.promises.protocol.graphs import create, names, reopen

FIELDS = {"name": "review/ä", "spans": {"a": [[1, 2, 3]]}, "actor": None, "created_at": 1_700_000_000_000_000}


def test_sealed_fields_come_back_as_they_were() -> None:
    content = seal(FIELDS)
    assert unseal(content, "refs/x.json") == FIELDS
    assert {**json.loads(content), "checksum": None} == {**FIELDS, "checksum": None}


def test_no_changed_bit_of_a_sealed_file_goes_unnoticed() -> None:
    content = seal(FIELDS)
    for place in range(len(content)):
        for bit in range(8):
            damaged = bytearray(content)
            damaged[place] ^= 1 << bit
            with pytest.raises(CorruptionError, match=r"refs/x\.json is damaged"):
                unseal(bytes(damaged), "refs/x.json", earlier=FIELDS)
    for size in range(len(content)):
        with pytest.raises(CorruptionError):
            unseal(content[:size], "refs/x.json", earlier=FIELDS)


def test_a_graph_of_an_earlier_version_has_no_checksums_and_is_read(tmp_path: Path) -> None:
    graph = create(tmp_path)
    graph.create_branch("review")
    insert(graph, "a", branch="review")
    graph.cleanup(keep=1)
    root = Path(graph.uri)
    for file in (root / STAMP_PATH, root / "refs/review.json", *root.glob("cleanup/*.json")):
        fields = json.loads(file.read_text())
        del fields["checksum"]
        sweep.rewrite(file, json.dumps(fields, indent=2).encode())
    for mark in root.glob("branches/*/named.json"):
        mark.unlink()
    again = reopen(graph)
    assert names(again.snapshot("review")) == ["a"]
    assert again.verify().is_clean
    again.cleanup(keep=1)
    again.delete_branch("review")


def test_a_branch_has_a_mark_from_its_creation_to_its_deletion(tmp_path: Path) -> None:
    graph = create(tmp_path)
    root = Path(graph.uri)
    graph.create_branch("review")
    [ref] = [json.loads(path.read_text()) for path in root.glob("refs/*.json")]
    mark = root / mark_path(ref["incarnation"])
    assert json.loads(mark.read_text()) == ref
    graph.rename_branch("review", "draft")
    assert mark.read_bytes() == (root / "refs/draft.json").read_bytes()
    graph.delete_branch("draft")
    assert not mark.exists()
    assert graph.verify().is_clean


def test_a_branch_that_lost_its_ref_is_kept_by_cleanup(root: Path) -> None:
    before = b"".join(omnigraph.open(root).snapshot("review/one").export())
    content = (root / "refs/review%2Fone.json").read_bytes()
    (root / "refs/review%2Fone.json").unlink()
    for _ in range(2):
        assert not omnigraph.open(root).cleanup(keep=1, grace="0s").damaged
    (root / "refs/review%2Fone.json").write_bytes(content)
    assert b"".join(omnigraph.open(root).snapshot("review/one").export()) == before
    assert omnigraph.open(root).verify().is_clean


def test_half_a_mark_does_not_outlive_its_branch(tmp_path: Path) -> None:
    graph = create(tmp_path)
    root = Path(graph.uri)
    graph.create_branch("review")
    [directory] = root.glob("branches/*")
    (directory / f".{'0' * 32}.tmp").write_text("half")
    graph.delete_branch("review")
    for _ in range(2):
        graph.cleanup(grace="0s")
    assert not directory.exists()


@pytest.mark.parametrize("path", ["refs/old.json", "cleanup/00000001.json", "jobs/JOB.0.json"])
def test_a_cleanup_that_cannot_read_a_root_says_so_and_deletes_no_data(root: Path, path: str) -> None:
    orphan = next(root.glob("nodes/*/data/orphan.lance"))
    content = (root / path).read_bytes()
    sweep.truncate(root / path)
    result = omnigraph.open(root).cleanup(keep=1, grace="0s")
    assert [item.path for item in result.damaged] == [path]
    assert result.deleted.files == 0
    assert orphan.exists()
    (root / path).write_bytes(content)
    result = omnigraph.open(root).cleanup(keep=1, grace="0s")
    assert not result.damaged
    assert not orphan.exists()


def test_a_table_version_that_cannot_be_read_keeps_its_own_table_only(root: Path) -> None:
    graph = omnigraph.open(root)
    pin = graph.snapshot().state.tables["node:Person"]
    transactions = {kind: list(root.glob(f"{kind}/*/_transactions/*")) for kind in ("nodes", "edges")}
    sweep.flip(0.5)(root / pin.location / "_versions" / f"d{pin.lance_version}.manifest")
    [damage] = omnigraph.open(root).cleanup(grace="0s").damaged
    assert damage.path.startswith(pin.location)
    assert all(path.exists() for path in transactions["nodes"])
    assert not any(path.exists() for path in transactions["edges"])


def test_doctor_names_what_is_damaged_and_looks_at_the_rest(root: Path) -> None:
    sweep.empty(root / "refs/old.json")
    sweep.empty(root / "cleanup/00000001.json")
    findings = omnigraph.open(root).doctor()
    problems = {finding.check: finding.facts["path"] for finding in findings if finding.verdict.value == "problem"}
    assert problems == {"branch old": "refs/old.json", "cleanup": "cleanup/00000001.json"}
    assert "table node:Person" in {finding.check for finding in findings}


def test_a_schema_that_is_not_what_its_name_says_is_refused(root: Path) -> None:
    graph = omnigraph.open(root)
    digest = graph.snapshot().state.schema_digest.removeprefix("sha256:")
    path = root / "schemas" / f"{digest}.json"
    sweep.rewrite(path, path.read_bytes().replace(b"city", b"town"))
    with pytest.raises(CorruptionError, match="its digest is not its name"):
        omnigraph.open(root).snapshot()
    text = root / "schemas" / f"{digest}.pg"
    sweep.rewrite(path, path.read_bytes().replace(b"town", b"city"))
    sweep.rewrite(text, text.read_bytes().replace(b"city", b"town"))
    with pytest.raises(CorruptionError, match="is not the text of"):
        omnigraph.open(root).snapshot().schema_text()
    sweep.rewrite(text, text.read_bytes().replace(b"town", b"city").replace(b"where", b"There"))
    [problem] = omnigraph.open(root).verify().problems
    assert problem.path == f"schemas/{digest}.pg"
